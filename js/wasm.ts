/**
 * Starting the WebAssembly module: once per page, from wherever the application put the file.
 */
import { WebggufError, fromEngine, invalidArgument } from './errors.js';
import { show } from './options.js';
import type { WasmInput } from './types.js';
import glue, { Engine, TensorEngine, VocabularyHandle } from './wasm/webgguf.js';

/** Options of {@link init}. */
export interface InitOptions {
  /**
   * The file `webgguf_bg.wasm` of this package: its URL, a response, its bytes, or the compiled module.
   * Default: the file beside the package's own JavaScript.
   */
  wasm?: WasmInput | Promise<WasmInput> | undefined;
}

let started: Promise<void> | undefined;

/**
 * Starts WebAssembly. Only needed where `webgguf_bg.wasm` is served from elsewhere, or to do this work early:
 * `load` calls it by itself. The first successful call decides; later ones do nothing.
 *
 * @example
 * import wasm from 'webgguf/webgguf_bg.wasm?url'; // Vite
 * await init({ wasm });
 *
 * @throws {WebggufError} `download_failed` with the URL where the file is not there; `invalid_argument` for
 *   anything that is no WebAssembly of this version
 */
export async function init(options: InitOptions = {}): Promise<void> {
  started ??= start(options.wasm);
  try {
    await started;
  } catch (error) {
    started = undefined; // the next call may know a better address
    throw error;
  }
}

/** The classes behind the public ones. @internal */
export interface EngineClasses {
  Engine: typeof Engine;
  TensorEngine: typeof TensorEngine;
  VocabularyHandle: typeof VocabularyHandle;
}

/** The classes of the engine, started. @internal */
export async function engineClasses(): Promise<EngineClasses> {
  await init();
  return { Engine, TensorEngine, VocabularyHandle };
}

async function start(given: InitOptions['wasm']): Promise<void> {
  const input = (await given) ?? new URL('./wasm/webgguf_bg.wasm', import.meta.url);
  const fetched = await fetchWasm(input);
  try {
    await glue({ module_or_path: fetched });
  } catch (cause) {
    if (!(cause instanceof Error)) throw cause;
    const name = fetched instanceof Response ? fetched.url : show(input);
    const message = `${name} is not the WebAssembly of this version of webgguf: ${cause.message}`;
    throw fromEngine(new WebggufError('invalid_argument', message, { cause }));
  }
}

/** Fetches an address; a missing file is reported here, where its URL is known. */
async function fetchWasm(input: WasmInput): Promise<WasmInput> {
  const isAddress = typeof input === 'string' || input instanceof URL || input instanceof Request;
  const response = isAddress ? await fetchOrExplain(input) : input;
  if (!(response instanceof Response)) {
    if (typeof response === 'object' && response !== null) return response;
    throw invalidArgument(`init: 'wasm' must be a URL, response, bytes or module, found ${show(response)}`);
  }
  const isPage = response.headers.get('content-type')?.startsWith('text/html');
  if (response.ok && !isPage) return response;
  const what = isPage && response.ok ? 'a web page instead of WebAssembly' : `HTTP status ${response.status}`;
  throw new WebggufError('download_failed', `${response.url}: ${what}; give its address with init({ wasm: url })`);
}

async function fetchOrExplain(input: string | URL | Request): Promise<Response> {
  try {
    return await fetch(input);
  } catch (cause) {
    const url = input instanceof Request ? input.url : String(input);
    const message = `${url}: could not be fetched; give its address with init({ wasm: url })`;
    throw new WebggufError('download_failed', message, { cause });
  }
}
