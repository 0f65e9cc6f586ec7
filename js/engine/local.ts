/**
 * The engine in this thread: the WebAssembly handle behind asynchronous calls.
 */
import { stoppable } from '../cancel.js';
import { guarded, invalidArgument, translated } from '../errors.js';
import type { TileRows } from '../media/encoder.js';
import type { Wanted } from '../media/prompt.js';
import type { Begun, Said, Speaker, Text, ToHear, ToSay } from '../voice/reader.js';
import type { SoundPart, Vocoder } from '../voice/vocoder.js';
import { type Group, type Input, type InputRun, runInputs } from '../model/embedding.js';
import type { Matcher } from '../grammar/webgguf_grammar.js';
import type { Conversation } from '../templates/types.js';
import type { Evaluation, GenerationResult, Piece, PrefixCacheUse } from '../types.js';
import type { LoadOptions, ModelInfo, ModelState, Source } from '../types.js';
import { giveNeeded } from '../wasm/give-needed.js';
import type { TensorEngine, TensorHandle, WasmModel as WasmHandle } from '../wasm/webgguf.js';
import {
  type EmbedCall,
  type EncodedParts,
  type Engine,
  type EvaluateCall,
  type Inserted,
  now,
  type Prompt,
  type PromptPart,
  PromptReport,
  type Restored,
  type StartOptions,
} from './engine.js';
import type { GrammarText } from './grammar.js';
import type { Grammars } from './grammars.js';
import { files } from './files.js';
import type { Asked } from './insert.js';
import { later } from './later.js';
import { type Loaded, loadModel } from './load.js';
import { roomForLogits } from './logits.js';

/** @internal */
export class LocalEngine implements Engine {
  readonly #loaded: Loaded;
  readonly #handle: WasmHandle;
  /** The compiled grammars, once a text is to follow one. */
  #grammars: Promise<Grammars> | undefined;
  /** The engines of a model whose requests run together. */
  #lanes: readonly LocalEngine[] = [this];
  /** The lanes without a request, the one that is idle for longest first. */
  #free: LocalEngine[] = [];
  /** Whether this is the model's engine, not a session's. */
  #isFirst = false;
  #isFreed = false;
  /** Ends the text that is being written. */
  #run = new AbortController();
  /** The rows in the prompt of that text, and the milliseconds until the prompt was encoded. */
  #prepared = { imageTokens: 0, audioTokens: 0, ms: 0 };
  /** The prompt of that text, and the options. */
  #asked: Asked | undefined;
  /** The rows of the images and sounds of that text. */
  #rows = new Map<string, TileRows>();
  /** The ids of that prompt, where what is read of it is to be kept on disk. */
  #prompt: Uint32Array | undefined;
  /** Tells how far the reading of that prompt is. */
  #report = new PromptReport(undefined, () => {});

  private constructor(loaded: Loaded, handle: WasmHandle) {
    this.#loaded = loaded;
    this.#handle = handle;
  }

  /** `options` are checked; see {@link WasmModel.load}. */
  static async load(source: Source, options: LoadOptions, onState?: (state: ModelState) => void): Promise<LocalEngine> {
    const loaded = await loadModel(source, options);
    if (onState) loaded.recovery.onState = onState;
    const lanes = loaded.handles.map((handle) => new LocalEngine(loaded, handle));
    const free = [...lanes];
    for (const lane of lanes) [lane.#lanes, lane.#free] = [lanes, free];
    const first = lanes[0] as LocalEngine;
    first.#isFirst = true;
    return first;
  }

  get info(): ModelInfo {
    return this.#loaded.info;
  }

  get state(): ModelState {
    return this.#loaded.recovery.state;
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

  #release(): void {
    this.#loaded.idle?.leave(this);
    if (!this.#free.includes(this)) this.#free.push(this);
  }

  async lane(prompt: Prompt, adapters: StartOptions['adapters'], signal?: AbortSignal): Promise<Engine> {
    if (this.#free.length < 2) return this.#free.pop() ?? this;
    const ids = await this.#ids(prompt, { signal });
    const known = this.#free.map((lane) => lane.#handle.commonPrefix(ids, adapters ?? lane.#loaded.recovery.scales()));
    const most = Math.max(...known);
    // Texts that merely begin alike are not worth what the lane has read besides.
    return this.#free.splice(2 * most >= ids.length ? known.indexOf(most) : 0, 1)[0] as Engine;
  }

  async start(prompt: Prompt, options: StartOptions): Promise<void> {
    this.#loaded.idle?.enter(this);
    try {
      await this.#start(prompt, options);
    } catch (error) {
      this.#rows = new Map();
      this.#release();
      throw error;
    }
  }

  async #start(prompt: Prompt, given: StartOptions): Promise<void> {
    const { grammar, onProgress, begun = now(), prefixCache = true, source, ...options } = given;
    [this.#run, this.#rows] = [new AbortController(), new Map()];
    this.#report = new PromptReport(onProgress, () => this.cancel());
    const ids = await this.#ids(prompt, { signal: this.#run.signal, onProgress, rows: this.#rows, fits: true });
    const adapters = options.adapters ?? this.#loaded.recovery.scales();
    await this.#kept(() => this.#handle.adopt(ids, adapters, prefixCache));
    this.#loaded.keptUse.now(); // later the text may keep the handle busy
    await this.#recall(prefixCache && adapters.length === 0 && source === undefined ? ids : undefined);
    const rows = this.#loaded.encoders?.rowsIn(ids) ?? { imageTokens: 0, audioTokens: 0 };
    this.#prepared = { ...rows, ms: Math.max(0, now() - begun) };
    const read = typeof source === 'string' ? await this.tokenize(source, true, true) : source;
    const more = { ...(adapters.length > 0 && { adapters }), ...(read && { source: [...read] }) };
    const all = { ...options, ...more, ...(!prefixCache && { isPrivate: true }) };
    const tell = this.#report.prefill(ids.length);
    const { cachedTokens } = guarded(() => this.#handle.start(ids, all, tell));
    tell?.(cachedTokens);
    this.#asked = { ids, options: all };
    this.#follow(grammar);
  }

  /** Whether no other request runs, so that caches may be filled and read. */
  readonly #isAlone = (): boolean => this.#lanes.length - this.#free.length <= 1;

  /** Takes what is stored of a prompt, if more of it is than this lane has now; `ids`: where it is to be kept. */
  async #recall(ids: Uint32Array | undefined): Promise<void> {
    const { prefixes } = this.#loaded;
    this.#prompt = prefixes && ids;
    await prefixes?.idle();
    if (!prefixes || !ids || !this.#isAlone()) return;
    // A device that was lost has taken the caches along.
    const known = (): number => Math.max(...this.#lanes.map((lane) => lane.#handle.commonPrefix(ids)));
    await this.#kept(() => prefixes.recall(this.#handle, ids, known()), this.#run.signal);
  }

  #follow(grammar: GrammarText | undefined): void {
    if (!grammar) return;
    const matcher = this.#matcher(grammar);
    matcher.catch(() => {}); // the generation reports it, unless that was stopped before
    guarded(() => this.#handle.constrain(matcher));
  }

  async #matcher(grammar: GrammarText): Promise<Matcher> {
    this.#grammars ??= later.grammars().then(({ Grammars }) => new Grammars(this.#handle, this.#loaded.recovery.warn));
    const grammars = await this.#grammars.catch((error: unknown) => {
      this.#grammars = undefined; // the next call may reach the file
      throw error;
    });
    return grammars.matcher(grammar);
  }

  async next(): Promise<Piece | undefined> {
    const step = async (): Promise<Piece | undefined> => {
      this.#loaded.encoders?.giveRows(this.#handle, this.#rows);
      return this.#handle.next();
    };
    const piece = await this.#kept(step, this.#run.signal);
    this.#report.check();
    return piece;
  }

  async insert(inserted: Inserted, kept: number, settled?: () => Promise<unknown>): Promise<Piece | undefined> {
    const { insert } = await later.insert();
    const room = { kept, contextLength: this.info.contextLength, settled };
    const found = await translated(insert(this.#handle, this.#asked as Asked, inserted, room));
    if (!found) return undefined;
    this.#asked = found.asked;
    this.#run = new AbortController();
    this.#follow(inserted.grammar);
    return found.piece;
  }

  cancel(): void {
    this.#run.abort();
    this.#handle.cancel();
  }

  async finish(): Promise<GenerationResult> {
    try {
      const last = await translated(this.#handle.finish());
      if (this.#prompt && this.#isAlone()) await this.#loaded.prefixes?.remember(this.#handle, this.#prompt, last);
      const result = this.#asked?.before ? (await later.insert()).whole(this.#asked, last) : last;
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
    const room = logits ? roomForLogits(ids.length, this.info) : undefined;
    const scales = adapters ?? this.#loaded.recovery.scales();
    const read = (): Promise<Evaluation | undefined> => this.#handle.evaluate(ids, room, scales);
    return this.#kept(() => stoppable(this.#handle, signal, read), signal);
  }

  async addAdapter(file: Uint8Array, scale: number): Promise<number> {
    const { recovery } = this.#loaded;
    const id = recovery.nextAdapter();
    await giveNeeded('rare', files);
    await this.#kept(() => this.#handle.addAdapter(id, file));
    recovery.adapters.set(id, { file: new Blob([file as Uint8Array<ArrayBuffer>]), scale });
    return id;
  }

  async removeAdapter(id: number): Promise<boolean> {
    this.#loaded.recovery.adapters.delete(id);
    return guarded(() => this.#handle.removeAdapter(id));
  }

  async embed(inputs: readonly Input[], options: EmbedCall, signal?: AbortSignal): Promise<Float32Array[]> {
    const handle = this.#handle;
    const { truncate, normalize, dimensions, first } = options;
    const rows = new Map<string, TileRows>();
    const encode: InputRun['encode'] = (input) => this.#inputIds(input, truncate, { signal, rows });
    const run: InputRun['run'] = ({ ids, lengths }) => handle.embed(ids, lengths, normalize, dimensions);
    return this.#kept(() => runInputs({ handle, inputs, rows, first, signal, encode, run }), signal);
  }

  /** The ids of an input of an embedder; images and sounds in it are encoded. */
  async #inputIds(input: Prompt, truncate: boolean, wanted: Wanted): Promise<Uint32Array> {
    if (!isConversation(input)) return typeof input === 'string' ? this.#handle.encodeInput(input, truncate) : input;
    const { idsOfInput } = await later.imagePrompt();
    const { contextLength } = this.info;
    return idsOfInput(this.#handle, this.#loaded.encoders, input, { ...wanted, contextLength });
  }

  async rank(...[query, documents, call, signal]: Parameters<Engine['rank']>): Promise<Float32Array[]> {
    const handle = this.#handle;
    const encode: InputRun['encode'] = (document) => handle.encodePair(query, document as string, call.truncate);
    const run = ({ ids, lengths }: Group): ReturnType<typeof handle.rank> => handle.rank(ids, lengths);
    return this.#kept(() => runInputs({ handle, inputs: documents, first: call.first, signal, encode, run }), signal);
  }

  async hiddenStates(ids: Uint32Array, tensors: TensorEngine, signal?: AbortSignal): Promise<TensorHandle> {
    const drop = ({ id }: TensorHandle): void => tensors.free_tensor(id);
    return translated(stoppable(this.#handle, signal, () => this.#handle.hiddenStates(ids, tensors), drop));
  }

  async voice(ids: Uint32Array, first: number, part: SoundPart, signal?: AbortSignal): Promise<Float32Array> {
    const read = (): Promise<Float32Array | undefined> => this.#handle.normedStates(ids);
    const states = await this.#kept(() => stoppable(this.#handle, signal, read), signal);
    const vocoder = this.#loaded.encoders?.vocoder as Vocoder;
    return vocoder.samples(states.subarray((states.length / ids.length) * first), part, signal);
  }

  async say(asked: ToSay | ToHear | Begun | undefined, signal?: AbortSignal): Promise<Said> {
    const [{ encoders }, handle, rows] = [this.#loaded, this.#handle, new Map()];
    const run: Text['run'] = (work, of) => this.#kept(() => stoppable(handle, of, work), of);
    const prompt = asked && 'prompt' in asked && (await this.#ids(asked.prompt, { signal, rows, fits: true }));
    const text = { handle, run, contextLength: this.info.contextLength, media: [...rows.values()] };
    if (asked && 'heard' in asked) return (await later.hear()).hearingOf(encoders).say(asked, text, signal);
    const speaker = encoders?.vocoder as Speaker;
    return speaker.say(asked && prompt ? { ...asked, prompt } : asked, text, signal);
  }

  exportProgram(shaders: string): ReturnType<WasmHandle['exportProgram']> {
    return guarded(() => this.#handle.exportProgram(shaders));
  }

  async count(prompt: Prompt, signal?: AbortSignal): Promise<number> {
    const ids = this.info.pooling ? this.#inputIds(prompt, false, { signal }) : this.#ids(prompt, { signal });
    return (await ids).length;
  }

  async encodeParts(parts: readonly PromptPart[]): Promise<EncodedParts> {
    const { encodeParts } = await later.encodeParts();
    return encodeParts(this.#handle, this.#loaded.encoders, parts);
  }

  /** The ids of a prompt; images and sounds in it are encoded. */
  async #ids(prompt: Prompt, wanted: Wanted = {}): Promise<Uint32Array> {
    try {
      return await this.#idsOf(prompt, wanted);
    } catch (error) {
      // Counting tokens takes no turn, so the model may have been freed meanwhile.
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
    return idsOfConversation(this.#handle, this.#loaded.encoders, prompt, { ...wanted, contextLength });
  }

  async another(withCache: boolean): Promise<Engine> {
    const handle = await this.#kept(() => this.#handle.another(withCache, 0));
    return new LocalEngine(this.#loaded, handle);
  }

  async save(notes: string, text?: Prompt): Promise<Blob> {
    return this.#kept(async () => {
      const ids = text === undefined || text instanceof Uint32Array ? text : await this.#ids(text);
      return (await later.saved()).savedSession(ids ? this.#laneWith(ids) : this.#handle, notes, ids);
    });
  }

  /** The lane with the longest common prefix with `ids`. No request may run. */
  #laneWith(ids: Uint32Array): WasmHandle {
    const known = this.#lanes.map((lane) => lane.#handle.commonPrefix(ids));
    return (this.#lanes[known.indexOf(Math.max(...known))] as LocalEngine).#handle;
  }

  async restore(saved: Blob): Promise<Restored> {
    return this.#kept(async () => {
      const shares = this.#lanes.length > 1;
      const { headOf, restoreIn } = await later.saved();
      const { end, tokens } = await headOf(this.#handle, saved);
      // No request runs: all lanes are idle, and the lane of the last request comes last.
      const lane = shares ? (this.#free.shift() ?? this) : undefined;
      const handle = lane ? lane.#handle : await this.#handle.another(false, tokens);
      try {
        const notes = await restoreIn(handle, saved, end);
        return { engine: lane ? this : new LocalEngine(this.#loaded, handle), notes };
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

  async prefixCache(): Promise<PrefixCacheUse> {
    return this.#loaded.keptUse.now();
  }

  async free(): Promise<void> {
    this.#isFreed = true;
    for (const lane of this.#lanes) {
      lane.#grammars?.then((grammars) => grammars.free()).catch(() => {});
      lane.#handle.free();
    }
    if (!this.#isFirst) return;
    this.#loaded.idle?.end();
    this.#loaded.encoders?.free();
  }

  /** Does `work`, and again where the device was lost meanwhile. */
  #kept<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const { idle, recovery } = this.#loaded;
    const kept = (): Promise<T> => recovery.during(this.#handle, work, signal);
    return idle ? idle.during(kept) : kept();
  }

  #encode(text: string | Uint32Array): Uint32Array {
    const ids = typeof text === 'string' ? this.#handle.encodePrompt(text) : text;
    if (ids.length > 0) return ids;
    throw invalidArgument('generate: expected at least one token id, found none');
  }
}

const isConversation = (prompt: Prompt): prompt is Conversation => typeof prompt === 'object' && 'messages' in prompt;
