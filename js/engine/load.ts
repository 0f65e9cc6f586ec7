/**
 * Loading a model in this thread: from a source and the options of `load` to handles of the WebAssembly.
 */
import { cancellable, settled } from '../cancel.js';
import { guarded, invalidArgument } from '../errors.js';
import { type LoadWarning, warner } from '../load/cache/warning.js';
import { progressReporter } from '../load/progress.js';
import { withSources } from '../load/sources.js';
import type { EncoderScope } from '../media/encoder.js';
import type { Encoders } from '../media/encoders.js';
import { splitSourceOptions } from '../options.js';
import type { ModelTuning } from '../tuning/index.js';
import { Verdicts } from '../tuning/verdicts.js';
import type { ModelInfo } from '../types/info.js';
import type { LoadOptions } from '../types/load.js';
import type { Source, SourceOptions } from '../types/source.js';
import { giveNeeded, type NeededFiles } from '../wasm/give-needed.js';
import { wasmClasses } from '../wasm/instance.js';
import type { ByteSource, CpuThreads, DeviceHandle, WasmModel as Handle, WasmLoadOptions } from '../wasm/webgguf.js';
import { files } from './files.js';
import { Idle } from './idle.js';
import { later } from './later.js';
import { KeptUse } from './kept-use.js';
import type { Prefixes } from './prefixes.js';
import { Recovery, type Reload, readOnce } from './recovery.js';

/** A loaded model, which its sessions share. @internal */
export interface Loaded {
  readonly info: ModelInfo;
  readonly recovery: Recovery;
  readonly encoders: Encoders | undefined;
  /** Waits for the time at which the model gives its device away; `undefined` where it keeps that. */
  readonly idle: Idle | undefined;
  /** What was read of prompts and is kept on disk, if the page asks for that. */
  readonly prefixes: Prefixes | undefined;
  readonly keptUse: KeptUse;
  /** A handle for each request that may run beside others. */
  readonly handles: readonly Handle[];
}

/** Rows of an image that an embedder reads, at most, unless the page says how many. */
const OF_EMBEDDER = 280;

const MIB = 2 ** 20;

type Backend = WasmLoadOptions['backend'];
type Report = EncoderScope['report'];
type Warn = (warning: LoadWarning) => void;

/** A file to load, and how. @internal */
export interface Wanted {
  readonly source: Source;
  readonly from: SourceOptions;
  /** What the WebAssembly takes as it is. */
  readonly options: Omit<WasmLoadOptions, 'backend' | 'selfCheck' | 'tune' | 'tuneUnmeasured' | 'fetch' | 'threads'>;
  readonly selfCheck: boolean;
  /** `undefined`: in brief, on a GPU on which the tables were not measured. */
  readonly tune: LoadOptions['tune'];
  readonly threads?: number | undefined;
  /** A device that is open already. */
  readonly device?: (() => DeviceHandle | undefined) | undefined;
  /** Opens more sources and starts the load with all of them, of which the first `ownSources` are the model's. */
  readonly work?: (
    sources: ByteSource[],
    start: (all: ByteSource[], ownSources?: number) => Promise<Opened>,
  ) => Promise<Opened>;
}

/** A handle, and what loading it has found out. @internal */
export interface Opened extends Partial<Pick<ModelInfo, 'tuning' | 'draft'>> {
  readonly handle: Handle;
  readonly threads: number;
  free(): void;
}

/** Loads a model for this backend. @internal */
export type Open = (scope: AbortSignal, report: Report, backend: Backend) => Promise<Opened>;
/** @internal */
export type OpenModel = (wanted: Wanted, ...attempt: Parameters<Open>) => Promise<Opened>;

/** Loads a model with checked options. @internal */
export function loadModel(source: Source, options: LoadOptions): Promise<Loaded> {
  const { gpu, backend = 'auto', draft } = options;
  const from = splitSourceOptions(options).source;
  const device = gpu && (() => guarded(() => gpu.engine.device()));
  const open = opener(source, from, options, device);
  return cancellable(options.signal, async (scope) => {
    // The code that writes messages as a prompt comes beside the weights.
    later.chatText().catch(() => {});
    const warn = warner(from.onWarning);
    const once = gpu
      ? 'the model is not loaded again, since the page opened the device'
      : ((await readOnce(source)) ?? (draft ? await readOnce(draft) : undefined));
    const reload: Reload = (signal) =>
      cancellable(signal, async (scope) => (await open(scope, () => scope.throwIfAborted(), 'webgpu')).handle);
    const recovery = new Recovery(once ?? reload, warn);
    if (options.idleTimeout !== undefined && once) throw invalidArgument(`option 'idleTimeout': ${once}`);
    const report = progressReporter(options.onProgress, scope);
    const attempt = (): Promise<Opened> => open(scope, report, backend);
    const opened = await attempt().catch((error: unknown) => {
      recovery.check(error);
      return attempt();
    });
    let encoders: Encoders | undefined;
    try {
      encoders = await openEncoders(source, from, options, { handle: opened.handle, scope, report, device });
      report('ready', 1, 1);
      const info = infoOf(opened, backend, encoders, warn);
      const handles = await handlesOf(opened.handle, info.parallel);
      const idle = idleOf(options.idleTimeout, { info, handle: opened.handle, recovery, encoders });
      const prefixes = await prefixesOf(options.prefixCache, info, warn);
      const keptUse = new KeptUse(handles, recovery);
      return { info, recovery, encoders, handles, idle, prefixes, keptUse };
    } catch (error) {
      encoders?.free();
      opened.free();
      throw error;
    }
  });
}

/** The prompts that are kept on disk; `undefined` for embedders. */
async function prefixesOf(
  asked: LoadOptions['prefixCache'],
  info: ModelInfo,
  warn: Warn,
): Promise<Prefixes | undefined> {
  const { diskBytes } = asked || {};
  if (diskBytes === undefined || info.kvType === undefined) return undefined;
  const { Prefixes } = await later.prefixes();
  return new Prefixes(info, diskBytes, warn);
}

/**
 * Most bytes of what was read of prompts in memory, of the GPU or the WebAssembly: by default a share of it, as far as
 * the browser says.
 */
function prefixBytes(asked: LoadOptions['prefixCache']): number {
  const { deviceMemory = 4 } = (globalThis.navigator ?? {}) as { deviceMemory?: number };
  const { memoryBytes = Math.min(512, deviceMemory * 32) * MIB } = asked || {};
  return asked === false ? 0 : memoryBytes;
}

/** What gives the device of a model away after `after` milliseconds; `undefined` for one that has none. */
function idleOf(
  after: number | undefined,
  { info, handle, recovery, encoders }: Pick<Loaded, 'info' | 'recovery' | 'encoders'> & { readonly handle: Handle },
): Idle | undefined {
  if (after === undefined || info.backend !== 'webgpu') return undefined;
  return new Idle(after, () => {
    if (recovery.state !== 'ready') return;
    recovery.rest();
    encoders?.rest(true);
    (guarded(() => handle.device())?.raw() as { destroy(): void } | undefined)?.destroy();
  });
}

/** The options that the WebAssembly takes as they are. */
const PASSED = ['contextLength', 'kvType', 'parallel', 'precision', 'pooling', 'perLayerEmbeddings'] as const;

function passed<K extends (typeof PASSED)[number]>(options: LoadOptions, names: readonly K[]): Pick<LoadOptions, K> {
  const given = names.filter((name) => options[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, options[name]])) as Pick<LoadOptions, K>;
}

/** How the model is loaded, as often as that is called: with its draft model, where the options name one. */
function opener(
  source: Source,
  from: SourceOptions,
  options: LoadOptions,
  device: (() => DeviceHandle) | undefined,
): Open {
  const { selfCheck = true, tune, threads, draft, mmproj } = options;
  const ofModel = {
    ...(passed(options, PASSED) as Wanted['options']),
    prefixBytes: prefixBytes(options.prefixCache),
    ...(mmproj !== undefined && { hasImages: true }),
    ...(draft !== undefined && { mtp: false }),
    // A vocoder hears what rounding does to the states.
    ...(options.vocoder !== undefined && { precision: 'exact' as const }),
  };
  const wanted: Wanted = { source, from, options: ofModel, selfCheck, tune, threads, device };
  if (!draft) return (...attempt) => openModel(wanted, ...attempt);
  const ofDraft = passed(options, ['precision', 'kvType', 'parallel']) as Wanted['options'];
  // Key and digests are the model's.
  const { cacheKey: _key, sha256: _digest, ...others } = from;
  const drafting: Wanted = { source: draft, from: others, options: ofDraft, selfCheck, tune: false };
  return async (...attempt) => (await later.drafts()).withDraft(openModel, wanted, drafting)(...attempt);
}

/** Loads what the file holds. */
async function openModel(wanted: Wanted, scope: AbortSignal, report: Report, backend: Backend): Promise<Opened> {
  const { source, from, options, threads, device, work } = wanted;
  const { WasmModel } = await wasmClasses();
  const start = async (sources: ByteSource[], ownSources?: number): Promise<Opened> => {
    const { verdicts, tuning, hooks } = await kernelsOf(wanted, report, backend);
    const told: Report = (...progress) => {
      tuning()?.check();
      report(...progress);
    };
    const team = LazyThreads.of(threads, scope);
    const given = { ...options, ...hooks, ...(ownSources && { ownSources }), ...(team && { threads: team.start }) };
    const fetch = (name: keyof NeededFiles): Promise<void> => giveNeeded(name, files);
    const handle = await WasmModel.load(sources, { backend, fetch, ...given }, told, device?.());
    const info = handle.info();
    const found = tuning()?.found(info);
    await verdicts?.note(info, found, warner(from.onWarning));
    return { handle, threads: team?.count ?? 1, ...(found && { tuning: found }), free: () => handle.free() };
  };
  return withSources(source, from, {
    signal: scope,
    work: (sources) => settled(work ? work(sources, start) : start(sources), scope),
    free: (made) => made.free(),
  });
}

/** What earlier loads have found out about the kernels of a model, and the functions that Rust calls about them. */
async function kernelsOf({ selfCheck, tune, options }: Wanted, report: Report, backend: Backend) {
  // Without rounding other choices remain, and the kernels before tuning may be the same.
  const tuned =
    tune !== false && `${tune === true ? 'tuned' : 'quick'}${options.precision === 'exact' ? ' exact' : ''}`;
  const kind = [tuned, selfCheck && 'checked'].filter(Boolean).join(' ');
  const verdicts = kind && backend !== 'cpu' ? await Verdicts.read(kind) : undefined;
  const tuningOf = async (): Promise<ModelTuning> => {
    const { ModelTuning: Tuner } = await later.tuning();
    return new Tuner((key) => verdicts?.find(key).tuning, report, tune !== true);
  };
  // Where nobody asked, its code is only fetched for a device that is tuned.
  let tuning = tune ? await tuningOf() : undefined;
  const choose: WasmLoadOptions['tune'] = async (model, key) => {
    tuning ??= await tuningOf().catch((error: unknown) => {
      model.free();
      throw error;
    });
    return tuning.choose(model, key);
  };
  const hooks = verdicts && {
    ...(selfCheck && { selfCheck: verdicts.known }),
    ...(tune !== false && { tune: choose, tuneUnmeasured: tune === undefined }),
  };
  return { verdicts, tuning: () => tuning, hooks };
}

/** The encoders and the vocoder beside a model, where the options name their files. */
async function openEncoders(
  source: Source,
  from: SourceOptions,
  options: LoadOptions,
  { handle, ...scope }: Omit<EncoderScope, 'width'> & { readonly handle: Handle },
): Promise<Encoders | undefined> {
  if (options.mmproj === undefined && options.vocoder === undefined) return undefined;
  const width = guarded(() => handle.rowWidth());
  const { Encoders: Kind } = await later.encoder();
  // Key and digests are the model's.
  const { sha256: _, cacheKey: _key, ...others } = from;
  const threads = (signal: AbortSignal): WasmLoadOptions['threads'] => LazyThreads.of(options.threads, signal)?.start;
  // As many rows as the processor of EmbeddingGemma 2 makes of an image.
  const { maxImageTokens = handle.info().pooling && OF_EMBEDDER } = options;
  return Kind.open(
    source,
    others,
    { ...options, maxImageTokens },
    { ...scope, width, threads, vocoder: later.vocoder },
  );
}

/** What is known of a model. A page that left the backend to `auto` is told why the model runs on the CPU. */
function infoOf(
  { handle, threads, tuning, draft }: Opened,
  asked: Backend,
  encoders: Encoders | undefined,
  warn: Warn,
): ModelInfo {
  const found = handle.info();
  const isOnCpu = found.backend === 'cpu';
  const info: ModelInfo = {
    ...found,
    endOfText: handle.chatTemplate().eos,
    threads: isOnCpu ? threads : 0,
    ...(tuning && { tuning }),
    ...(draft && { draft }),
    ...encoders?.info,
  };
  for (const message of info.warnings) warn({ code: 'file', message });
  if (asked !== 'auto' || !isOnCpu) return info;
  const reason = backendReason(info.backendReason);
  // Outside of pages, in Node.js for example, a GPU is not expected.
  if (globalThis.isSecureContext !== undefined) warn({ code: 'cpu', message: `the model runs on the CPU: ${reason}` });
  return { ...info, backendReason: reason };
}

/** The model's handle, and one for each further request that may run beside others. */
async function handlesOf(handle: Handle, parallel = 1): Promise<Handle[]> {
  const others = Array.from({ length: parallel - 1 }, async () => handle.another(false, 0));
  const made = await Promise.allSettled(others);
  const handles = made.flatMap((lane) => (lane.status === 'fulfilled' ? [lane.value] : []));
  const failed = made.find((lane) => lane.status === 'rejected');
  if (!failed) return [handle, ...handles];
  for (const lane of handles) lane.free();
  throw failed.reason;
}

/** Why a model runs on the CPU though the page left the backend to `auto`: a sentence for people. */
function backendReason(found: string | undefined): string {
  // Node.js and the like do not have the property.
  if (globalThis.isSecureContext === false) {
    return 'this page is not secure (http:), and browsers offer WebGPU on https: pages and localhost alone';
  }
  if (!(globalThis.navigator as { gpu?: object } | undefined)?.gpu) {
    return `there is no WebGPU here${globalThis.isSecureContext ? '' : ", which npm's webgpu would add"}`;
  }
  return found ?? 'the browser offers no GPU adapter';
}

/** The threads of a model or an encoder that comes to run on the CPU, which is known only while it is loaded. */
class LazyThreads {
  /** Number of threads, with the one that runs the model. */
  count = 1;
  readonly #wanted: number | undefined;
  readonly #signal: AbortSignal;

  private constructor(wanted: number | undefined, signal: AbortSignal) {
    this.#wanted = wanted;
    this.#signal = signal;
  }

  /** As many as are wanted, where this page or worker may have memory that other threads see. */
  static of(wanted: number | undefined, signal: AbortSignal): LazyThreads | undefined {
    const areThere = globalThis.crossOriginIsolated === true && typeof Worker !== 'undefined';
    return areThere && wanted !== 1 ? new LazyThreads(wanted, signal) : undefined;
  }

  /** Starts threads. If they do not start, the model runs in this thread alone. */
  readonly start = async (): Promise<CpuThreads | undefined> => {
    const { defaultThreads, Threads } = await later.threads();
    const count = this.#wanted ?? defaultThreads();
    try {
      const threads = count > 1 ? await Threads.open(count - 1, this.#signal) : undefined;
      this.count = threads ? count : 1;
      return threads;
    } catch {
      this.#signal.throwIfAborted();
      return undefined;
    }
  };
}
