/// <reference lib="esnext.disposable" preserve="true" />
/**
 * A loaded language model: checks what it is given, and lets one request after the other use the engine.
 */
import { cancellable } from '../cancel.js';
import { conversationOf, textConversationOf } from './conversation.js';
import { checkInputs, countWork, embedding, rankWork } from './embedding.js';
import type { EncodedParts, Engine, PromptPart } from '../engine/engine.js';
import { invalidArgument } from '../errors.js';
import { Generation, type Turn } from './generation.js';
import { onDemand } from './on-demand.js';
import type { Gpu } from '../tensor/gpu.js';
import { files } from '../engine/files.js';
import { engineOf } from './place.js';
import { type LoadWarning, warner } from '../load/cache/warning.js';
import type { Completions } from '../openai/completions.js';
import type { Embeddings } from '../openai/embeddings.js';
import type { TranscriptionRequest, Transcriptions } from '../openai/transcriptions.js';
import type { RunToolsOptions, ToolRun } from '../openai/run-tools.js';
import type { ChatRequest, EmbeddingRequest, RequestOptions } from '../openai/types.js';
import { checkIds, checkText, show, signalOption } from '../check.js';
import {
  adapterOptions,
  adapterSource,
  checkGpu,
  embedOptions,
  evaluateOptions,
  flagOptions,
  loadOptions,
  rankOptions,
} from '../options.js';
import { asked, checkCall, scalesOf, someIds, started } from './prompt.js';
import { Queue, type Request } from './queue.js';
import { knowItself, throughProxies } from '../proxies.js';
import { Session, type SessionHost } from './session.js';
import { Speaking } from './speaking.js';
import { steered } from './steering.js';
import { Tensor } from '../tensor/tensor.js';
import type { ChatTemplateOptions, Message, SessionOptions } from '../types/chat.js';
import type { GenerateOptions, SourcePrompt } from '../types/generate.js';
import type { Inspection, ModelInfo, ModelState, PrefixCacheUse } from '../types/info.js';
import type { InspectOptions, AdapterOptions, LoadOptions } from '../types/load.js';
import type {
  DetokenizeOptions,
  EmbedContent,
  EmbedInput,
  EmbedOptions,
  EvaluateOptions,
  Evaluation,
  RankOptions,
  TokenIds,
  TokenizeOptions,
} from '../types/read.js';
import type { Source } from '../types/source.js';
import type { VoiceSound } from '../types/speech.js';

files.startWorker = async (signal) => (await onDemand.worker()).startWorker(signal);
files.preload = async () => (await onDemand.preload()).preload();

const UNKNOWN_CALLS =
  'the chat template lists tools, and how the model writes calls is not known: a call may stay in the text';

/**
 * A GGUF language model, loaded and ready to write.
 *
 * @example
 * const model = await WasmModel.load('/models/qwen3-0.6b-q4_k_m.gguf');
 * for await (const piece of model.generate('Once upon a time', { maxTokens: 200 })) out.textContent += piece.text;
 */
export class WasmModel extends Speaking {
  /** What the model is and where it runs. */
  readonly info: ModelInfo;
  /** The voices that a model like Pocket TTS speaks with, by name: the option `voice` of `speak`. */
  readonly voices: Map<string, VoiceSound> = new Map<string, VoiceSound>();
  readonly #engine: Engine;
  readonly #queue: Queue;
  /** The engines of sessions. */
  readonly #sessions = new Set<Engine>();
  /** What ends before the model's memory goes. */
  readonly #users = new Set<() => Promise<void>>();
  #freeing: Promise<void> | undefined;
  readonly #warn: (warning: LoadWarning) => void;

  private constructor(engine: Engine, tools: ModelInfo['tools'], warn: (warning: LoadWarning) => void) {
    if (!engine) throw invalidArgument('new WasmModel: a model is made by await WasmModel.load(source)');
    super();
    knowItself(this);
    this.#engine = engine;
    this.#warn = warn;
    this.info = Object.freeze({ ...engine.info, ...(tools !== undefined && { tools }) });
    this.#queue = new Queue(this.info.parallel);
  }

  /**
   * Reads a GGUF and puts its weights on the GPU. The file is read once, as a stream; it is never whole in memory.
   *
   * @param source where the file comes from, see {@link Source}
   * @param options see {@link LoadOptions}
   * @throws {WebggufError} `download_failed`, `integrity_failed`, `bad_file`, `unsupported_quant`,
   *   `unsupported_architecture`, `webgpu_unavailable` (only with `backend: 'webgpu'`), `limit_exceeded`,
   *   `out_of_memory`, `worker_lost` (only with `worker: true`), `feature_missing`, `invalid_argument`
   * @throws the reason of `options.signal` when that fires, by default a `DOMException` named `AbortError`;
   *   everything is freed then
   */
  static async load(source: Source, options: LoadOptions = {}): Promise<WasmModel> {
    const checked = loadOptions(options);
    const { adapters = [], ...others } = checked;
    const { engine, tools } = await engineOf(source, checked);
    const model = new WasmModel(engine, tools, warner(checked.onWarning));
    if (tools === false) model.warn({ code: 'tools', message: UNKNOWN_CALLS });
    try {
      for (const { source: from, scale = 1, config } of adapters) {
        await model.#addAdapter(from, { ...adapterSource(others), config }, scale);
      }
    } catch (error) {
      await model.free();
      throw error;
    }
    return model;
  }

  /**
   * Adds an adapter (LoRA): a GGUF file that llama.cpp's converter wrote of one, or `adapter_model.safetensors` of PEFT
   * with its `adapter_config.json`. Its weights stay apart from the model's, so requests with and without it follow
   * each other at no cost, and those with different ones run together.
   *
   * @param source where the file comes from; it is read whole
   * @returns its number for {@link GenerateOptions.adapters}; without that option requests do not use it
   * @throws {WebggufError} `bad_file` for an adapter of another model, which names what differs; `unsupported_quant`,
   *   `unsupported_architecture`, `download_failed`, `out_of_memory`, `limit_exceeded` for more than 16 on
   *   the GPU
   *
   * @example
   * const id = await model.addAdapter('/adapters/pirate.gguf');
   * const { text } = await model.generate('Hello', { adapters: [{ id, scale: 0.8 }] });
   */
  async addAdapter(source: Source, options: AdapterOptions = {}): Promise<number> {
    return this.#addAdapter(source, adapterOptions(options), 0);
  }

  async #addAdapter(source: Source, options: AdapterOptions, scale: number): Promise<number> {
    const { readAdapter } = await onDemand.adapter();
    const file = await readAdapter(source, options, this.info.architecture);
    return this.#inTurn('addAdapter', (engine) => engine.addAdapter(file, scale), options.signal);
  }

  /** Forgets an adapter and frees its memory. @throws {WebggufError} `invalid_argument` where there is none like it */
  async removeAdapter(id: number): Promise<void> {
    if (await this.#inTurn('removeAdapter', (engine) => engine.removeAdapter(id))) return;
    throw invalidArgument(`removeAdapter: the model has no adapter ${show(id)}`);
  }

  /**
   * Reads the header of a GGUF and says what it is, whether it runs here and how much memory it takes; no weight is
   * downloaded.
   *
   * @param source where the file comes from, see {@link Source}; of a split file all parts are asked
   * @param options see {@link InspectOptions}
   * @returns see {@link Inspection}: an architecture or a tensor type that webgguf does not run is a `reason` in it
   * @throws {WebggufError} `download_failed`; `bad_file` and `unsupported_quant` where the header cannot be read;
   *   `invalid_argument`
   *
   * @example
   * const { supported, reason, gpu } = await WasmModel.inspect(url, { contextLength: 8192 });
   * if (!supported) console.log(reason.message);
   * else if (!gpu?.fits) console.log('too large for this GPU');
   */
  static async inspect(source: Source, options: InspectOptions = {}): Promise<Inspection> {
    const { inspect } = await onDemand.inspect();
    return inspect(source, options);
  }

  /**
   * OpenAI's chat completions: `await model.chat.completions.create({ messages })`, or with `stream: true` in parts.
   * See {@link Completions}.
   */
  get chat(): { readonly completions: Completions } {
    // OpenAI's shapes come with the first request.
    const create = async (request: ChatRequest, options?: RequestOptions) =>
      new (await onDemand.completions()).LocalCompletions(this).create(request, options);
    return { completions: { create: create as Completions['create'] } };
  }

  /**
   * Answers a conversation with functions of the page: the model calls them, gets their results, and goes on until it
   * answers without a call.
   *
   * @param messages the conversation; it stays as it is
   * @param options functions (`tools`), `maxRounds`, `signal`, and the fields of a chat completion, such as
   *   `max_completion_tokens` and `temperature`
   * @returns the answer, and the messages that the conversation has more
   * @throws {WebggufError} `invalid_argument`; `limit_exceeded` where the model still calls tools after `maxRounds`;
   *   the errors of `generate`
   * @throws the reason of `options.signal` when that fires
   */
  async runTools(messages: readonly Message[], options: RunToolsOptions): Promise<ToolRun> {
    const { runTools } = await onDemand.runTools();
    return runTools(this.chat.completions, messages, options);
  }

  /** OpenAI's embeddings: `await model.embeddings.create({ input })`. See {@link Embeddings}. */
  get embeddings(): Embeddings {
    const create = async (request: EmbeddingRequest, options?: RequestOptions) =>
      new (await onDemand.embeddings()).LocalEmbeddings(this).create(request, options);
    return { create: create as Embeddings['create'] };
  }

  /** OpenAI's transcriptions: `await model.audio.transcriptions.create({ file })`. See {@link Transcriptions}. */
  get audio(): { readonly transcriptions: Transcriptions } {
    const create = async (request: TranscriptionRequest, options?: RequestOptions) =>
      new (await onDemand.transcriptions()).LocalTranscriptions(this).create(request, options);
    return { transcriptions: { create: create as Transcriptions['create'] } };
  }

  /** Tells the page of what is no error. @internal */
  get warn(): (warning: LoadWarning) => void {
    return this.#warn;
  }

  /** Whether its worker was lost: nothing but loading the model again helps. @internal */
  get isLost(): boolean {
    return this.#engine.isLost ?? false;
  }

  /** Where the weights are now, see {@link LoadOptions.idleTimeout}. */
  get state(): ModelState {
    return this.#engine.state ?? 'ready';
  }

  /** Whether the model runs on the GPU; false on the CPU path. */
  hasGpu(): boolean {
    return this.info.backend === 'webgpu';
  }

  /**
   * Writes text after a prompt. While other requests use the model, as many as `info.parallel`, it waits for one of
   * them; meanwhile it can be stopped.
   *
   * @param prompt a string, in which special tokens are parsed, and which gets a BOS that the model wants and it lacks;
   *   messages, which go through the chat template; or token ids as they are; `{ source }`, where an encoder reads it
   * @param options see {@link GenerateOptions}
   * @returns a {@link Generation}: iterate it with `for await` for the text as it is written, or `await` it for the
   *   whole result; leaving the loop, its `stop()` and `options.signal` end it early
   * @throws {WebggufError} here: `invalid_argument`; from the iteration and the result: `context_full`, `device_lost`,
   *   `out_of_memory`, `engine_moved` (only with `shared: true`), and `invalid_argument` where the model was freed
   *
   * @example
   * for await (const piece of model.generate('Once upon a time')) out.textContent += piece.text;
   * const { text } = await model.generate([{ role: 'user', content: 'Hi!' }], { maxTokens: 100 });
   */
  generate(prompt: string | readonly Message[] | TokenIds | SourcePrompt, options: GenerateOptions = {}): Generation {
    const { signal, prompt: checked, given } = asked(prompt, options, this.info);
    const engine = this.#use('generate');
    const start = async (turn: Turn): Promise<Engine> =>
      started(await engine.lane(checked, given.adapters, turn.ending), checked, given, turn);
    return new Generation({ queue: this.#queue, signal, start, ...steered(options, engine, () => checked) });
  }

  /**
   * A conversation with the model that keeps its messages, see {@link Session}. Any number of them share the model.
   *
   * @throws {WebggufError} `invalid_argument`
   */
  session(options: SessionOptions = {}): Session {
    this.#use('session');
    return new Session(this.#sessionHost(), options);
  }

  /**
   * The session that `session.save()` made `saved` of, as it was then: it goes on without reading the conversation
   * again. Where the model runs otherwise (another `kvType` or `contextLength`, the CPU) or webgguf has another
   * version, its first answer begins by reading it.
   *
   * @throws {WebggufError} `bad_file` and `integrity_failed` for other bytes; `invalid_argument` where it is of another
   *   model, `context_full` where the context is too short for it; `out_of_memory`, `device_lost`
   *
   * @example
   * const saved = await session.save();
   * const again = await model.restoreSession(saved);
   */
  async restoreSession(saved: Blob): Promise<Session> {
    return Session.restore(this.#sessionHost(), saved);
  }

  #sessionHost(): SessionHost {
    const use = (call: string): Engine => this.#use(call);
    const inTurn = <T>(call: string, work: () => Promise<T>): Promise<T> => this.#inTurn(call, work);
    const shares = (this.info.parallel ?? 1) > 1;
    return { info: this.info, queue: this.#queue, engines: this.#sessions, shares, use, inTurn };
  }

  /**
   * Ends the generations that run early, if there are any: their iterations end without throwing, and their
   * `finishReason` is `abort`. Resolves when the model is free for the next call. Requests that wait are not stopped.
   *
   * @throws {WebggufError} `invalid_argument` where the model was freed
   */
  async stop(): Promise<void> {
    this.#use('stop');
    const running = this.#queue.holders.filter((holder) => holder instanceof Generation);
    await Promise.all(running.map((generation) => generation.stop()));
  }

  /**
   * Reads `ids` without writing: how likely each is after those before it. Clears what the KV cache held.
   *
   * @param ids n token ids, at least one, at most `info.contextLength`
   * @param options see {@link EvaluateOptions}
   * @returns see {@link Evaluation} for shapes
   * @throws {WebggufError} `invalid_argument`, `context_full`, `device_lost`, `out_of_memory`
   * @throws the reason of `options.signal` when that fires
   */
  async evaluate(ids: TokenIds, options: EvaluateOptions = {}): Promise<Evaluation> {
    const { logits = false, adapters, signal } = evaluateOptions(options);
    const checked = someIds('evaluate', ids, this.info.vocabularySize);
    const call = { logits, adapters: adapters && scalesOf(adapters) };
    return this.#inTurn('evaluate', (engine, scope) => engine.evaluate(checked, call, scope), signal);
  }

  /**
   * Turns texts into vectors whose directions say how alike the texts are; many go through the model at once. For
   * models that embed: `info.pooling` is `mean`, `cls` or `last`. Some embed images and sounds, too.
   *
   * @param texts a text or an {@link EmbedContent}, or an array of them, which may have token ids, taken as they are
   * @param options see {@link EmbedOptions}
   * @returns for a text its vector, of `info.embeddingLength` or `options.dimensions` values; for an array one for each
   * @throws {WebggufError} `invalid_argument`, also for a model that writes text; `context_full` where a text is longer
   *   than `info.contextLength`; `device_lost`, `out_of_memory`
   * @throws the reason of `options.signal` when that fires
   *
   * @example
   * const [a, b] = await model.embed(['a cat on a wall', 'a kitten on a fence']);
   * const likeness = a.reduce((sum, value, i) => sum + value * b[i], 0);
   */
  async embed(texts: string | EmbedContent, options?: EmbedOptions): Promise<Float32Array>;
  async embed(texts: readonly EmbedInput[], options?: EmbedOptions): Promise<Float32Array[]>;
  async embed(texts: unknown, options: EmbedOptions = {}): Promise<Float32Array | Float32Array[]> {
    const { work, isOne, signal } = embedding(texts, embedOptions(options), this.info, onDemand.embedContents);
    const rows = await this.#inTurn('embed', work, signal);
    return isOne ? (rows[0] as Float32Array) : rows;
  }

  /** How many tokens inputs of `embed` have together. @internal */
  async countInputs(given: readonly EmbedInput[], { task, signal }: EmbedOptions): Promise<number> {
    return this.#inTurn('embed', countWork(given, task, this.info, onDemand.embedContents), signal);
  }

  /**
   * Scores documents by how well they answer a query. For rerankers: `info.pooling` is `rank`.
   *
   * @param query what is looked for
   * @param documents texts; or token ids of query and document together, which are taken as they are
   * @param options see {@link RankOptions}
   * @returns a score for each document, in their order; larger is better
   * @throws {WebggufError} `invalid_argument`, also for a model that is no reranker; `context_full` where query and
   *   document are longer than `info.contextLength`; `device_lost`, `out_of_memory`
   * @throws the reason of `options.signal` when that fires
   */
  async rank(query: string, documents: readonly (string | TokenIds)[], options: RankOptions = {}): Promise<number[]> {
    const { signal, onProgress, truncate = false } = rankOptions(options);
    checkText('rank', query);
    const inputs = checkInputs('rank', 'document', documents, this.info.vocabularySize);
    const rows = await this.#inTurn('rank', rankWork(query, inputs, onProgress, truncate), signal);
    return rows.map(([score]) => score as number);
  }

  /**
   * Reads `ids` and leaves what the last layer makes of them on the GPU: the residual stream before the output norm, a
   * row per id. Clears what the KV cache held.
   *
   * @param ids n token ids, at least one, at most `info.contextLength`
   * @param gpu the `Gpu` that the model was loaded on, by `load(…, { gpu })`
   * @param options `signal`: ends the call early, which then rejects with the signal's reason
   * @returns a tensor [n, width of the model] of `gpu`
   * @throws {WebggufError} `invalid_argument`, `context_full`, `device_lost`, `out_of_memory`
   * @throws the reason of `options.signal` when that fires
   *
   * @example
   * const gpu = await Gpu.create();
   * const model = await WasmModel.load(url, { gpu });
   * const states = await model.hiddenStates(await model.tokenize('a sentence'), gpu);
   * const mean = await gpu.mean(states, { axis: 0 }).data();
   */
  async hiddenStates(
    ids: TokenIds,
    gpu: Gpu,
    options: { signal?: AbortSignal | undefined } = {},
  ): Promise<Tensor<'f32'>> {
    const signal = signalOption('hiddenStates', options);
    const checked = someIds('hiddenStates', ids, this.info.vocabularySize);
    checkGpu('hiddenStates', gpu);
    const read = (engine: Engine, scope: AbortSignal) => engine.hiddenStates(checked, gpu.engine, scope);
    const made = await this.#inTurn('hiddenStates', read, signal);
    return new Tensor<'f32'>(gpu, made);
  }

  /**
   * Text to token ids. `detokenize` of the result gives the text again.
   *
   * @throws {WebggufError} `invalid_argument`
   */
  async tokenize(text: string, options: TokenizeOptions = {}): Promise<Uint32Array> {
    const flags = flagOptions('tokenize', options, ['addSpecial', 'parseSpecial']);
    const { addSpecial = false, parseSpecial = false } = flags;
    checkText('tokenize', text);
    return this.#use('tokenize').tokenize(text, addSpecial, parseSpecial);
  }

  /**
   * Token ids to text. Bytes that are no UTF-8 become U+FFFD.
   *
   * @throws {WebggufError} `invalid_argument`, also for an id that is not in the vocabulary
   */
  async detokenize(ids: TokenIds, options: DetokenizeOptions = {}): Promise<string> {
    const { showSpecial = false } = flagOptions('detokenize', options, ['showSpecial']);
    const checked = checkIds('detokenize', ids, this.info.vocabularySize);
    return this.#use('detokenize').detokenize(checked, showSpecial);
  }

  /**
   * A conversation as the text that the model was trained on, by the chat template of its file. A text holds no images
   * and sounds: give messages that have some to `generate`.
   *
   * @throws {WebggufError} `invalid_argument` where the file has no template, the template refuses the messages, or
   *   these have images or sounds
   */
  async applyChatTemplate(messages: readonly Message[], options: ChatTemplateOptions = {}): Promise<string> {
    const conversation = textConversationOf(messages, { parseSpecial: true, ...options });
    return this.#use('applyChatTemplate').applyChatTemplate(conversation);
  }

  /** The same text with a mark for each image and each sound, for a prompt that has these, too. @internal */
  async textWithMarks(messages: readonly Message[], options: ChatTemplateOptions): Promise<string> {
    const conversation = conversationOf('applyChatTemplate', messages, options);
    return this.#use('applyChatTemplate').applyChatTemplate(conversation);
  }

  /** A text for a prompt, whose control tokens (`ofModel`: except around thoughts and calls) are text. @internal */
  async protectedText(text: string, ofModel: boolean): Promise<string> {
    const role = ofModel ? 'assistant' : 'user';
    return this.#use('generate').applyChatTemplate({ messages: [{ role, content: null }], text });
  }

  /** Texts with parsed special tokens, images and sounds as ids for `generate`, and their rows. @internal */
  async encodeParts(parts: readonly PromptPart[]): Promise<EncodedParts> {
    return this.#use('encodeParts').encodeParts(parts);
  }

  /** For `webgguf/training`: does `work` with the engine while no request uses it. @internal */
  async withEngine<T>(call: string, work: (engine: Engine) => Promise<T>): Promise<T> {
    return this.#inTurn(call, work);
  }

  /** Calls `end` before the model's memory goes, unless what this returns was called. @internal */
  beforeFree(end: () => Promise<void>): () => void {
    this.#users.add(end);
    return () => void this.#users.delete(end);
  }

  /** Forgets the KV cache, once requests made before are done: the next prompt is computed from its first token. */
  async reset(): Promise<void> {
    await this.#inTurn('reset', (engine) => engine.reset());
  }

  /** Bytes of WebAssembly memory in use on this page, all models together. It grows and never shrinks. */
  async wasmMemoryBytes(): Promise<number> {
    return this.#use('wasmMemoryBytes').wasmMemoryBytes();
  }

  /** What the prefix cache in memory holds now, see {@link LoadOptions.prefixCache}; zeros where there is none. */
  async prefixCache(): Promise<PrefixCacheUse> {
    return this.#use('prefixCache').prefixCache();
  }

  /**
   * Frees all memory on the GPU and in WebAssembly: ends a running generation, refuses all requests that wait, and
   * resolves when that is done. Later calls of any other method throw `invalid_argument`; freeing twice does nothing.
   */
  free(): Promise<void> {
    this.#freeing ??= this.#free();
    return this.#freeing;
  }

  async #free(): Promise<void> {
    await this.#queue.close(freed);
    await Promise.allSettled([...this.#users].map((end) => end()));
    await Promise.allSettled([...this.#sessions].map((engine) => engine.free()));
    this.#sessions.clear();
    await this.#engine.free();
  }

  /** `await using model = …` frees it at the end of the block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.free();
  }

  #use(call: string): Engine {
    if (this.#freeing) throw freed(call);
    checkCall(call, this.info);
    return this.#engine;
  }

  /**
   * Does `work` while no other request uses the model. Rejects with the reason of `signal` where that fires, also while
   * it waits; `work` gets a signal that fires then and when the model is freed.
   */
  async #inTurn<T>(
    call: string,
    work: (engine: Engine, scope: AbortSignal) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    checkCall(call, this.info);
    return cancellable(signal, async (scope) => {
      const end = new AbortController();
      const request: Request = { alone: true, stop: () => end.abort(freed(call)) };
      const onAbort = (): void => {
        this.#queue.withdraw(request);
        end.abort(scope.reason);
      };
      scope.addEventListener('abort', onAbort, { once: true });
      await this.#queue.enter(call, request);
      try {
        end.signal.throwIfAborted();
        return await work(this.#engine, end.signal);
      } finally {
        scope.removeEventListener('abort', onAbort);
        this.#queue.leave(request);
      }
    });
  }
}
throughProxies(WasmModel);

const freed = (call: string): Error => invalidArgument(`${call}: the model was freed`);
