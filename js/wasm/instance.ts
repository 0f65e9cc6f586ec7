/**
 * Starting the WebAssembly module: once per page, from wherever the application put the file.
 */
import { files } from '../engine/files.js';
import { WebggufError, fromWasm } from '../errors.js';
import { show } from '../check.js';
import type { WasmInput } from '../types/source.js';
import {
  givenGrammarFile,
  givenMediaFile,
  openWasm,
  setGrammarFile,
  setMediaFile,
  wasmBesideScript,
} from '../wasm-file.js';
import glue, {
  CpuThread,
  giveDevice,
  giveRare,
  inspect,
  TensorEngine,
  VocabularyHandle,
  WasmEncoder,
  WasmModel,
} from './webgguf.js';

/** Options of {@link init}. */
export interface InitOptions {
  /**
   * The file `webgguf_bg.wasm` of this package: its URL, a response, its bytes, or the compiled module.
   * Default: the file beside the package's own JavaScript.
   */
  wasm?: WasmInput | Promise<WasmInput> | undefined;
  /**
   * The URL of the script `webgguf/worker.js`, bundled or as it is, for `load(…, { worker: true })`. Default: the file
   * beside the package's own JavaScript, which Vite, webpack and Next.js find by themselves. A page that wants trusted
   * types may give a `TrustedScriptURL`, or allow the policy `webgguf`.
   */
  worker?: string | URL | undefined;
  /**
   * The file `webgguf_grammar_bg.wasm` in the same way; it is only fetched when a text is first to follow a grammar.
   */
  grammarWasm?: WasmInput | Promise<WasmInput> | undefined;
  /** The file `webgguf_media_bg.wasm` in the same way; it is only fetched with the first encoder of images. */
  mediaWasm?: WasmInput | Promise<WasmInput> | undefined;
  /**
   * Loads at once what else is loaded when it is first needed: scripts and WebAssembly of chats, grammars, images and
   * sounds, about 800 KB. For pages that go on without a network. Default: false
   */
  preload?: boolean | undefined;
}

let started: Promise<void> | undefined;
let exports: WebAssembly.Exports | undefined;
/** What the last `init` was given, for workers. */
let settings: { wasm?: WasmInput | undefined; worker?: string | URL | undefined } = {};

/**
 * Starts WebAssembly. Only needed where `webgguf_bg.wasm` is served from elsewhere, or to do this work early:
 * `load` calls it by itself. The first successful call decides; later ones do nothing.
 *
 * @example
 * import wasm from 'webgguf/webgguf_bg.wasm?url'; // Vite
 * await init({ wasm });
 *
 * @throws {WebggufError} `download_failed` where the file is not at its URL, or the URL is not known (bundles that
 *   are no ES modules); `feature_missing` where the page may not use WebAssembly; `invalid_argument` for a file that
 *   is not the WebAssembly of this version
 */
export async function init(options: InitOptions = {}): Promise<void> {
  setGrammarFile(options.grammarWasm);
  setMediaFile(options.mediaWasm);
  started ??= start(options);
  try {
    await started;
  } catch (error) {
    started = undefined; // the next call may know a better address
    throw error;
  }
  if (options.preload) await files.preload();
}

/** The classes that Rust exports, which the public ones wrap. @internal */
export interface WasmClasses {
  CpuThread: typeof CpuThread;
  WasmModel: typeof WasmModel;
  WasmEncoder: typeof WasmEncoder;
  TensorEngine: typeof TensorEngine;
  VocabularyHandle: typeof VocabularyHandle;
  inspect: typeof inspect;
  giveRare: typeof giveRare;
  giveDevice: typeof giveDevice;
  /** What the module exports, for {@link linkPart}. */
  exports: WebAssembly.Exports;
}

/** The classes that Rust exports, ready to use. @internal */
export async function wasmClasses(): Promise<WasmClasses> {
  await init();
  const classes = { CpuThread, WasmModel, WasmEncoder, TensorEngine, VocabularyHandle, inspect, giveRare, giveDevice };
  return { ...classes, exports: exports as WebAssembly.Exports };
}

/** The module that runs here, for a thread that is to have the same. @internal */
export function compiledModule(): WebAssembly.Module {
  return glue.__wbindgen_wasm_module;
}

/** What `init` has to be given in a worker of this page; waits for an `init` that is on. @internal */
export async function initForWorker(): Promise<InitOptions> {
  await started?.catch(() => {});
  const given = [settings.wasm, givenGrammarFile(), givenMediaFile()];
  const [wasm, grammarWasm, mediaWasm] = await Promise.all(given.map(forWorker));
  return { wasm, grammarWasm, mediaWasm };
}

/** The same file as it crosses to a worker. */
async function forWorker(given: InitOptions['wasm']): Promise<WasmInput | undefined> {
  const input = await given;
  if (input instanceof Response) return input.bodyUsed ? undefined : input.clone().arrayBuffer();
  if (input instanceof Request) return input.url;
  return typeof input === 'string' || input instanceof URL ? new URL(input, baseUrl()).href : input;
}

/** The URL of the worker's script, where `init` was given one. @internal */
export function workerScript(): string | URL | undefined {
  const { worker } = settings;
  return typeof worker === 'string' ? new URL(worker, baseUrl()) : worker;
}

/** The base URL of the page, or of this worker. */
function baseUrl(): string {
  return globalThis.document?.baseURI ?? location.href;
}

async function start({ wasm, worker }: InitOptions): Promise<void> {
  checkWebAssembly();
  const input = await wasm;
  // A response can be read once.
  settings = { wasm: input instanceof Response ? input.clone() : input, worker };
  const file = input === undefined ? await wasmBesideScript() : await openWasm(input);
  try {
    exports = await glue({ module_or_path: file });
  } catch (cause) {
    if (!(cause instanceof Error)) throw cause;
    const name = file instanceof Response ? file.url : show(input ?? 'webgguf_bg.wasm');
    const message = `${name} is not the WebAssembly of this version of webgguf: ${cause.message}`;
    throw fromWasm(new WebggufError('invalid_argument', message, { cause }));
  }
}

/** The shortest valid module: magic number and version. */
const EMPTY_MODULE = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];

/** Sections that are valid where WebAssembly has what the newest parts of the file need. */
const NEEDED: Readonly<Record<string, readonly number[]>> = {
  // (func (result v128) (i8x16.splat (i32.const 0)))
  SIMD: [1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 8, 1, 6, 0, 65, 0, 253, 15, 11],
  // (table 1 externref)
  'reference types': [4, 4, 1, 111, 0, 1],
};

/** Throws `feature_missing` where no file would help: not even an empty module compiles, or an extension is missing. */
function checkWebAssembly(): void {
  if (typeof WebAssembly === 'undefined') {
    throw new WebggufError('feature_missing', 'this browser has no WebAssembly, or it is switched off (lockdown mode)');
  }
  try {
    new WebAssembly.Module(Uint8Array.from(EMPTY_MODULE));
  } catch (cause) {
    const message =
      "the page's content security policy forbids WebAssembly: allow 'wasm-unsafe-eval' in its script-src";
    throw new WebggufError('feature_missing', message, { cause });
  }
  for (const [name, sections] of Object.entries(NEEDED)) {
    if (WebAssembly.validate(Uint8Array.from([...EMPTY_MODULE, ...sections]))) continue;
    const message = `WebAssembly of this browser, or of this processor, has no ${name}, which webgguf needs`;
    throw new WebggufError('feature_missing', message);
  }
}
