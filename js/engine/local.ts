/**
 * The engine in this thread: the WebAssembly handle behind asynchronous calls.
 */
import { type LoadWarning, warner } from '../load/cache/warning.js';
import { cancellable, settled, stoppable } from '../cancel.js';
import { type Group, type Input, runInputs } from '../model/embedding.js';
import {
  type EmbedCall,
  type EncodedParts,
  type Engine,
  type EvaluateCall,
  now,
  type Prompt,
  type PromptPart,
  type Restored,
  type StartOptions,
} from './engine.js';
import { WebggufError, fromWasm, guarded, invalidArgument } from '../errors.js';
import type { EncoderOptions, EncoderScope, TileRows } from '../media/encoder.js';
import type { Encoders } from '../media/encoders.js';
import type { Wanted } from '../media/prompt.js';
import { backendReason } from './backend-reason.js';
import { Grammars } from './grammar.js';
import { progressReporter } from '../load/progress.js';
import { Recovery, type Reload, readOnce } from './recovery.js';
import { later } from './later.js';
import { LazyThreads } from './lazy-threads.js';
import { splitSourceOptions } from '../options.js';
import { withSources } from '../load/sources.js';
import type {
  Evaluation,
  GenerationResult,
  LoadOptions,
  ModelInfo,
  Piece,
  Source,
  SourceOptions,
  Tuning,
} from '../types.js';
import { Verdicts } from '../tuning/verdicts.js';
import { giveRare } from '../wasm/give-rare.js';
import { wasmClasses } from '../wasm/instance.js';
import type { Conversation } from '../templates/types.js';
import type { ByteSource, DeviceHandle, TensorEngine, TensorHandle, WasmLoadOptions } from '../wasm/webgguf.js';
import type { WasmModel as WasmHandle } from '../wasm/webgguf.js';

/** Most elements of a typed array that WebAssembly can address. */
const MOST_ELEMENTS = 2 ** 32 - 1;

/** Bytes of a saved session that say how long its head is. */
const SHORTEST_HEAD = 64;

/** What was found for models that were tuned. */
const tunings = new WeakMap<WasmHandle, Tuning>();

/** Threads of models on the CPU. */
const threadCounts = new WeakMap<WasmHandle, number>();

/** The models that draft for others. */
const drafts = new WeakMap<WasmHandle, ModelInfo['draft']>();

type Report = ReturnType<typeof progressReporter>;

/** @internal */
export class LocalEngine implements Engine {
  readonly info: ModelInfo;
  readonly #handle: WasmHandle;
  readonly #grammars: Grammars;
  readonly #recovery: Recovery;
  readonly #encoder: Encoders | undefined;
  /** All engines of a model whose requests run together. */
  #lanes: readonly LocalEngine[] = [this];
  /** Of these, those that no request has: the one that is free for longest first. */
  #free: LocalEngine[] = [];
  /** Whether it is the model's, not a session's. */
  #isFirst = false;
  #isFreed = false;
  /** Of the text that is being written. */
  #run = new AbortController();
  /** Of that text: rows in its prompt, and milliseconds until the prompt was there. */
  #prepared = { imageTokens: 0, audioTokens: 0, ms: 0 };
  /** Of that text: the rows of its images and sounds. */
  #rows = new Map<string, TileRows>();
  /** Of that text: what its `onProgress` threw. */
  #thrown: { readonly error: unknown } | undefined;

  private constructor(handle: WasmHandle, recovery: Recovery, encoder?: Encoders, info = handle.info()) {
    this.#handle = handle;
    this.#encoder = encoder;
    this.#recovery = recovery;
    this.#grammars = new Grammars(handle, recovery.warn);
    const [tuning, draft] = [tunings.get(handle), drafts.get(handle)];
    this.info = {
      ...info,
      threads: info.backend === 'cpu' ? (threadCounts.get(handle) ?? 1) : 0,
      ...(tuning && { tuning }),
      ...(draft && { draft }),
      ...encoder?.info,
    };
  }

  /** `options` are checked; see {@link WasmModel.load}. */
  static async load(source: Source, options: LoadOptions): Promise<LocalEngine> {
    const { source: from, rest: asked } = splitSourceOptions(options);
    const { signal, onProgress, backend = 'auto', gpu, worker: _, ...withImages } = asked;
    const { mmproj, keepEncoder, maxImageTokens, resize, adapters: _a, draft, ...withChecks } = withImages;
    const { selfCheck = true, tune = false, ...rest } = withChecks;
    return cancellable(signal, async (scope) => {
      // What messages need comes beside the weights.
      later.chatText().catch(() => {});
      const hasImages = mmproj !== undefined;
      const given = gpu && (() => guarded(() => gpu.engine.device()));
      const others = { ...(hasImages && { hasImages }), ...(draft !== undefined && { mtp: false }) };
      const alone = loader(source, from, { ...rest, ...others, selfCheck, tune }, given);
      const { precision, kvType } = rest;
      const load = draft
        ? withDraft(alone, draft, from, { ...(precision && { precision }), ...(kvType && { kvType }), selfCheck })
        : alone;
      const why = gpu
        ? 'the model is not loaded again, since the page opened the device'
        : ((await readOnce(source)) ?? (draft ? await readOnce(draft) : undefined));
      let encoder: Encoders | undefined;
      const reload: Reload = (signal) =>
        cancellable(signal, (scope) => load(scope, () => scope.throwIfAborted(), 'webgpu'));
      const recovery = new Recovery(why ?? reload, warner(from.onWarning));
      const report = progressReporter(onProgress, scope);
      const attempt = (): Promise<WasmHandle> => load(scope, report, backend);
      const handle = await attempt().catch((error: unknown) => {
        recovery.check(error);
        return attempt();
      });
      try {
        const width = mmproj === undefined ? 0 : guarded(() => handle.rowWidth());
        const options = { backend, precision, keepEncoder, maxImageTokens, resize, selfCheck };
        const open = { scope, report, width, device: given };
        encoder = mmproj === undefined ? undefined : await openEncoder(source, mmproj, from, options, open);
        report('ready', 1, 1);
        const info = infoOf(handle, backend, warner(from.onWarning));
        return await new LocalEngine(handle, recovery, encoder, info).#withLanes();
      } catch (error) {
        encoder?.free();
        handle.free();
        throw error;
      }
    });
  }

  async tokenize(text: string, addSpecial: boolean, parseSpecial: boolean): Promise<Uint32Array> {
    return guarded(() => this.#handle.tokenize(text, addSpecial, parseSpecial));
  }

  async detokenize(ids: Uint32Array, showSpecial: boolean): Promise<string> {
    return guarded(() => this.#handle.detokenize(ids, showSpecial));
  }

  async applyChatTemplate(conversation: Conversation): Promise<string> {
    const { conversationText } = await later.chatText();
    return conversationText(this.#handle, conversation);
  }

  /** Makes an engine for each request that may run. */
  async #withLanes(): Promise<this> {
    this.#isFirst = true;
    const others = Array.from({ length: (this.info.parallel ?? 1) - 1 }, async () => {
      return new LocalEngine(await this.#handle.another(false, 0), this.#recovery, this.#encoder, this.info);
    });
    const made = await Promise.allSettled(others);
    const failed = made.find((lane) => lane.status === 'rejected');
    const lanes = made.flatMap((lane) => (lane.status === 'fulfilled' ? [lane.value] : []));
    if (failed) {
      for (const lane of lanes) lane.#handle.free();
      throw failed.reason;
    }
    this.#lanes = [this, ...lanes];
    const free = [...this.#lanes];
    for (const lane of this.#lanes) lane.#free = free;
    return this;
  }

  #release(): void {
    if (!this.#free.includes(this)) this.#free.push(this);
  }

  async lane(prompt: Prompt, signal?: AbortSignal): Promise<Engine> {
    if (this.#free.length < 2) return this.#free.pop() ?? this;
    const ids = await this.#ids(prompt, { signal });
    const known = this.#free.map((lane) => lane.#handle.commonPrefix(ids));
    const most = Math.max(...known);
    // Texts that merely begin alike are not worth what the lane has read besides.
    return this.#free.splice(2 * most >= ids.length ? known.indexOf(most) : 0, 1)[0] as Engine;
  }

  async start(prompt: Prompt, options: StartOptions): Promise<void> {
    try {
      await this.#start(prompt, options);
    } catch (error) {
      this.#rows = new Map();
      this.#release();
      throw error;
    }
  }

  async #start(prompt: Prompt, { grammar, onProgress, begun = now(), ...options }: StartOptions): Promise<void> {
    this.#run = new AbortController();
    [this.#rows, this.#thrown] = [new Map(), undefined];
    const ids = await this.#ids(prompt, { signal: this.#run.signal, onProgress, rows: this.#rows, fits: true });
    const adapters = options.adapters ?? this.#recovery.scales();
    await this.#kept(() => this.#handle.adopt(ids, adapters));
    const rows = this.#encoder?.rowsIn(ids) ?? { imageTokens: 0, audioTokens: 0 };
    this.#prepared = { ...rows, ms: Math.max(0, now() - begun) };
    const all = adapters.length > 0 ? { ...options, adapters } : options;
    const tell = onProgress && this.#teller(onProgress, ids.length);
    const { cachedTokens } = guarded(() => this.#handle.start(ids, all, tell));
    tell?.(cachedTokens);
    if (!grammar) return;
    const matcher = this.#grammars.matcher(grammar);
    matcher.catch(() => {}); // the generation reports it, unless that was stopped before
    guarded(() => this.#handle.constrain(matcher));
  }

  /** Tells how much of a prompt is read. What `onProgress` throws ends the text. */
  #teller(onProgress: NonNullable<StartOptions['onProgress']>, total: number): (loaded: number) => void {
    let last = -1;
    return (loaded) => {
      if (loaded === last || this.#thrown) return;
      last = loaded;
      try {
        onProgress({ stage: 'prefill', loaded, total, fraction: loaded / total });
      } catch (error) {
        this.#thrown = { error };
        this.cancel();
      }
    };
  }

  async next(): Promise<Piece | undefined> {
    const step = async (): Promise<Piece | undefined> => {
      this.#encoder?.giveRows(this.#handle, this.#rows);
      return this.#handle.next();
    };
    const piece = await this.#kept(step, this.#run.signal);
    if (this.#thrown) throw this.#thrown.error;
    return piece;
  }

  cancel(): void {
    this.#run.abort();
    this.#handle.cancel();
  }

  async finish(): Promise<GenerationResult> {
    try {
      const result = await translated(this.#handle.finish());
      const { ms, ...rows } = this.#prepared;
      const { usage, timings } = result;
      const first = timings.timeToFirstTokenMs;
      return {
        ...result,
        usage: { ...usage, promptTokensDetails: { cachedTokens: usage.cachedTokens, ...rows } },
        timings: { ...timings, timeToFirstTokenMs: first > 0 ? first + ms : 0 },
      };
    } finally {
      this.#rows = new Map();
      this.#release();
    }
  }

  async evaluate(ids: Uint32Array, { logits, adapters }: EvaluateCall, signal?: AbortSignal): Promise<Evaluation> {
    const room = logits ? this.#roomForLogits(ids.length) : undefined;
    const scales = adapters ?? this.#recovery.scales();
    const read = (): Promise<Evaluation | undefined> => this.#handle.evaluate(ids, room, scales);
    return this.#kept(() => stoppable(this.#handle, signal, read), signal);
  }

  async addAdapter(file: Uint8Array, scale: number): Promise<number> {
    const id = this.#recovery.nextAdapter();
    await giveRare(later.rare);
    await this.#kept(() => this.#handle.addAdapter(id, file));
    this.#recovery.adapters.set(id, { file: new Blob([file as Uint8Array<ArrayBuffer>]), scale });
    return id;
  }

  async removeAdapter(id: number): Promise<boolean> {
    this.#recovery.adapters.delete(id);
    return guarded(() => this.#handle.removeAdapter(id));
  }

  async embed(inputs: readonly Input[], options: EmbedCall, signal?: AbortSignal): Promise<Float32Array[]> {
    const handle = this.#handle;
    const { truncate, normalize, dimensions } = options;
    const encode = (text: string): Uint32Array => handle.encodeInput(text, truncate);
    const run = {
      handle,
      inputs,
      signal,
      encode,
      run: ({ ids, lengths }: Group) => handle.embed(ids, lengths, normalize, dimensions),
    };
    return this.#kept(() => runInputs(run), signal);
  }

  async rank(
    query: string,
    documents: readonly Input[],
    { truncate }: { readonly truncate: boolean },
    signal?: AbortSignal,
  ): Promise<Float32Array[]> {
    const handle = this.#handle;
    const encode = (document: string): Uint32Array => handle.encodePair(query, document, truncate);
    const run = {
      handle,
      inputs: documents,
      signal,
      encode,
      run: ({ ids, lengths }: Group) => handle.rank(ids, lengths),
    };
    return this.#kept(() => runInputs(run), signal);
  }

  async hiddenStates(ids: Uint32Array, tensors: TensorEngine, signal?: AbortSignal): Promise<TensorHandle> {
    const drop = ({ id }: TensorHandle): void => tensors.free_tensor(id);
    return translated(stoppable(this.#handle, signal, () => this.#handle.hiddenStates(ids, tensors), drop));
  }

  /** See `exportProgram` of the WebAssembly. */
  exportProgram(shaders: string): ReturnType<WasmHandle['exportProgram']> {
    return guarded(() => this.#handle.exportProgram(shaders));
  }

  async count(prompt: Prompt, signal?: AbortSignal): Promise<number> {
    return (await this.#ids(prompt, { signal })).length;
  }

  async encodeParts(parts: readonly PromptPart[]): Promise<EncodedParts> {
    const { encodeParts } = await later.encodeParts();
    return encodeParts(this.#handle, this.#encoder, parts);
  }

  /** The ids of a prompt; images and sounds in it are encoded. */
  async #ids(prompt: Prompt, wanted: Wanted = {}): Promise<Uint32Array> {
    try {
      return await this.#idsOf(prompt, wanted);
    } catch (error) {
      // Whoever counts tokens takes no turn, so the model may have gone meanwhile.
      throw this.#isFreed ? invalidArgument('the model was freed') : error;
    }
  }

  async #idsOf(prompt: Prompt, wanted: Wanted): Promise<Uint32Array> {
    if (!isConversation(prompt)) return guarded(() => this.#encode(prompt));
    if (!prompt.media) {
      const text = await this.applyChatTemplate(prompt);
      return guarded(() => this.#encode(text));
    }
    const { idsOfConversation } = await later.imagePrompt();
    const { contextLength } = this.info;
    return idsOfConversation(this.#handle, this.#encoder, prompt, { ...wanted, contextLength });
  }

  async another(withCache: boolean): Promise<Engine> {
    const handle = await this.#kept(() => this.#handle.another(withCache, 0));
    return new LocalEngine(handle, this.#recovery, this.#encoder);
  }

  async save(notes: string, text?: Prompt): Promise<Blob> {
    const type = 'application/octet-stream';
    return this.#kept(async () => {
      const ids = text === undefined || text instanceof Uint32Array ? text : await this.#ids(text);
      const handle = ids ? this.#laneWith(ids) : this.#handle;
      let saved = new Blob([await handle.saveHead(notes, ids)], { type });
      for (let number = 0; ; number++) {
        const part = await handle.readPart(number);
        if (!part) return saved;
        // A part is in memory until the browser has taken it.
        saved = new Blob([saved, part], { type });
      }
    });
  }

  /** Where most of `ids` was read. No request may run. */
  #laneWith(ids: Uint32Array): WasmHandle {
    const known = this.#lanes.map((lane) => lane.#handle.commonPrefix(ids));
    return (this.#lanes[known.indexOf(Math.max(...known))] as LocalEngine).#handle;
  }

  async restore(saved: Blob): Promise<Restored> {
    return this.#kept(async () => {
      const shares = this.#lanes.length > 1;
      const [end = 0, tokens = 0] = this.#handle.checkSaved(await bytesOf(saved, 0, SHORTEST_HEAD), saved.size);
      // No request runs: all lanes are free, and that of the last comes last.
      const lane = shares ? (this.#free.shift() ?? this) : undefined;
      const handle = lane ? lane.#handle : await this.#handle.another(false, tokens);
      try {
        const notes = await restoreIn(handle, saved, end);
        return { engine: lane ? this : new LocalEngine(handle, this.#recovery, this.#encoder), notes };
      } catch (error) {
        if (!lane) handle.free();
        throw error;
      } finally {
        if (lane) lane.#release();
      }
    });
  }

  async reset(): Promise<void> {
    for (const lane of this.#lanes) guarded(() => lane.#handle.reset());
  }

  async wasmMemoryBytes(): Promise<number> {
    return this.#handle.wasmMemoryBytes();
  }

  async free(): Promise<void> {
    this.#isFreed = true;
    for (const lane of this.#lanes) {
      lane.#grammars.free();
      lane.#handle.free();
    }
    if (this.#isFirst) this.#encoder?.free();
  }

  /** Does `work`, and again where the device was lost meanwhile. */
  #kept<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#recovery.during(this.#handle, work, signal);
  }

  #encode(text: string | Uint32Array): Uint32Array {
    const ids = typeof text === 'string' ? this.#handle.encodePrompt(text) : text;
    if (ids.length > 0) return ids;
    throw invalidArgument('generate: expected at least one token id, found none');
  }

  /** An array for all logits of `count` ids; `undefined` where the ids do not fit the context, which is reported. */
  #roomForLogits(count: number): Float32Array | undefined {
    const { contextLength, vocabularySize } = this.info;
    if (count > contextLength) return undefined;
    const elements = count * vocabularySize;
    try {
      if (elements > MOST_ELEMENTS) throw new RangeError(`a typed array has at most ${MOST_ELEMENTS} elements here`);
      return new Float32Array(elements);
    } catch (cause) {
      const message =
        `evaluate: no memory for the logits of ${count} ids over a vocabulary of ${vocabularySize}: ` +
        `${4 * elements} bytes`;
      throw new WebggufError('out_of_memory', message, { cause });
    }
  }
}

const isConversation = (prompt: Prompt): prompt is Conversation => typeof prompt === 'object' && 'messages' in prompt;

/** The encoders of images and sounds beside a model. */
async function openEncoder(
  source: Source,
  mmproj: Source | true,
  from: SourceOptions,
  options: EncoderOptions,
  scope: EncoderScope,
): Promise<Encoders> {
  const { Encoders: Kind, beside } = await later.encoder();
  // Key and digests are the model's.
  const { sha256: _, cacheKey: _key, ...others } = from;
  const found = mmproj === true ? await beside(await source, others, scope.scope) : mmproj;
  return Kind.load(found, options, others, scope);
}

/** What is known of a model; a page that left the backend to `auto` hears why it is the CPU. */
function infoOf(
  handle: WasmHandle,
  asked: WasmLoadOptions['backend'],
  warn: (warning: LoadWarning) => void,
): ModelInfo {
  const info = { ...handle.info(), endOfText: handle.chatTemplate().eos };
  for (const message of info.warnings) warn({ code: 'file', message });
  if (asked !== 'auto' || info.backend !== 'cpu') return info;
  const reason = backendReason(info.backendReason);
  // Where there is no page, nobody expects a GPU.
  if (globalThis.isSecureContext !== undefined) warn({ code: 'cpu', message: `the model runs on the CPU: ${reason}` });
  return { ...info, backendReason: reason };
}

/** What a load does about the kernels of a model, and about threads. */
interface Kernels {
  readonly selfCheck: boolean;
  readonly tune: boolean;
  readonly threads?: number | undefined;
}

type Load = (scope: AbortSignal, report: Report, backend: WasmLoadOptions['backend']) => Promise<WasmHandle>;

/** Loads a model as `load` does and, on its device, the model `draft`, which drafts tokens for it. */
function withDraft(
  load: Load,
  draft: Source,
  { cacheKey: _key, sha256: _digest, ...from }: SourceOptions, // key and digests are the model's
  options: Pick<WasmLoadOptions, 'precision' | 'kvType'> & Pick<Kernels, 'selfCheck'>,
): Load {
  return async (scope, report, backend) => {
    const handle = await load(scope, (stage, ...counts) => stage === 'ready' || report(stage, ...counts), backend);
    try {
      const { backend: where, contextLength: draftContext } = handle.info();
      if (where === 'cpu') return handle; // where nothing drafts
      const device = (): DeviceHandle | undefined => guarded(() => handle.device());
      const made = await loader(
        draft,
        from,
        { ...options, tune: false, draftContext },
        device,
      )(scope, report, 'webgpu');
      const { architecture, name, quantization, parameters, contextLength, gpuBytes } = made.info();
      guarded(() => handle.useDraft(made));
      drafts.set(handle, { architecture, name, quantization, parameters, contextLength, gpuBytes });
      return handle;
    } catch (error) {
      handle.free();
      throw error;
    }
  };
}

/** Loads what `source` holds with these options, as often as it is called. */
function loader(
  source: Source,
  from: SourceOptions,
  { selfCheck, tune, threads, ...options }: Omit<WasmLoadOptions, 'backend' | keyof Kernels> & Kernels,
  device: (() => DeviceHandle | undefined) | undefined,
): Load {
  return async (scope, report, backend) => {
    const { WasmModel: Handle } = await wasmClasses();
    const start = async (sources: ByteSource[]): Promise<WasmHandle> => {
      const kind = [tune && 'tuned', selfCheck && 'checked'].filter(Boolean).join(' ');
      const verdicts = kind && backend !== 'cpu' ? await Verdicts.read(kind) : undefined;
      const Tuner = tune ? (await later.tuning()).ModelTuning : undefined;
      const tuning = Tuner && new Tuner((key) => verdicts?.find(key).tuning, report);
      const kernels = verdicts && {
        ...(selfCheck && { selfCheck: tuning?.checked(verdicts.known) ?? verdicts.known }),
        ...(tuning && { tune: tuning.choose }),
      };
      const said: Report = (...progress) => {
        tuning?.check();
        report(...progress);
      };
      const team = LazyThreads.areThere() && threads !== 1 ? new LazyThreads(threads, scope) : undefined;
      const withThreads = { ...options, rare: () => giveRare(later.rare), ...(team && { threads: team.start }) };
      const handle = await Handle.load(sources, { backend, ...withThreads, ...kernels }, said, device?.());
      if (team) threadCounts.set(handle, team.count);
      const found = tuning?.found(handle.info());
      if (found) tunings.set(handle, found);
      await verdicts?.note(handle.info(), found, warner(from.onWarning));
      return handle;
    };
    return withSources(source, from, {
      signal: scope,
      work: (sources) => settled(start(sources), scope),
      free: (made) => made.free(),
    });
  };
}

/** Fills the cache of `handle` with what was saved; its head ends at `end`. Resolves to the notes. */
async function restoreIn(handle: WasmHandle, saved: Blob, end: number): Promise<string> {
  const { size } = saved;
  const [notes, part] = await handle.restoreHead(await bytesOf(saved, 0, end), size);
  for (let number = 0, from = end; part > 0 && from < size; number++, from += part) {
    await handle.writePart(number, await bytesOf(saved, from, from + part));
  }
  return notes;
}

async function bytesOf(blob: Blob, from: number, to: number): Promise<Uint8Array> {
  try {
    return new Uint8Array(await blob.slice(from, to).arrayBuffer());
  } catch (cause) {
    throw new WebggufError('download_failed', (cause as Error).message, { cause });
  }
}

async function translated<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    throw fromWasm(error);
  }
}
