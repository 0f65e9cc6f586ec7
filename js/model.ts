/// <reference lib="esnext.disposable" preserve="true" />
/**
 * A loaded language model.
 */
import { abortable, cancellable, settled } from './cancel.js';
import { checkInputs, type Input, runInputs } from './embedding.js';
import { WebggufError, fromWasm, guarded, invalidArgument } from './errors.js';
import { Generation, Mutex } from './generation.js';
import type { Gpu } from './gpu.js';
import {
  checkGpu,
  checkIds,
  checkMessages,
  checkPrompt,
  checkText,
  embedOptions,
  flagOptions,
  generateOptions,
  inspectOptions,
  loadOptions,
  rankOptions,
} from './options.js';
import { progressReporter } from './progress.js';
import { openSources } from './sources.js';
import { Tensor } from './tensor.js';
import type {
  ChatTemplateOptions,
  DetokenizeOptions,
  EmbedOptions,
  Evaluation,
  GenerateOptions,
  InspectOptions,
  Inspection,
  LoadOptions,
  Message,
  ModelInfo,
  RankOptions,
  Source,
  TokenIds,
  TokenizeOptions,
} from './types.js';
import { wasmClasses } from './wasm.js';
import type { WasmGenerateOptions, WasmModel as WasmHandle } from './wasm/webgguf.js';

/** Most elements of a typed array that WebAssembly can address. */
const MOST_ELEMENTS = 2 ** 32 - 1;

/**
 * A GGUF language model, loaded and ready to write.
 *
 * @example
 * const model = await WasmModel.load('/models/qwen3-0.6b-q4_k_m.gguf');
 * for await (const piece of model.generate('Once upon a time', { maxTokens: 200 })) out.textContent += piece.text;
 */
export class WasmModel {
  /** What the model is and where it runs. */
  readonly info: ModelInfo;
  readonly #mutex = new Mutex();
  #handle: WasmHandle | undefined;

  private constructor(handle: WasmHandle) {
    this.#handle = handle;
    this.info = Object.freeze(handle.info());
  }

  /**
   * Reads a GGUF and puts its weights on the GPU. The file is read once, as a stream; it is never whole in memory.
   *
   * @param source where the file comes from, see {@link Source}
   * @param options see {@link LoadOptions}
   * @throws {WebggufError} `download_failed`, `bad_file`, `unsupported_quant`, `unsupported_architecture`,
   *   `webgpu_unavailable` (only with `backend: 'webgpu'`), `limit_exceeded`, `out_of_memory`, `invalid_argument`
   * @throws the reason of `options.signal` when that fires, by default a `DOMException` named `AbortError`;
   *   everything is freed then
   */
  static async load(source: Source, options: LoadOptions = {}): Promise<WasmModel> {
    const { signal, onProgress, backend = 'auto', gpu, ...rest } = loadOptions(options);
    if (gpu && backend === 'cpu') throw invalidArgument("load: option 'gpu' does not go with backend 'cpu'");
    return cancellable(signal, async (scope) => {
      const { WasmModel: Handle } = await wasmClasses();
      const sources = await openSources(source, scope);
      const report = progressReporter(onProgress, scope);
      const start = async (): Promise<WasmHandle> =>
        Handle.load(sources, { backend, ...rest }, report, gpu && guarded(() => gpu.engine.device()));
      const loading = start();
      const handle = await settled(loading, scope).catch((error: unknown) => {
        for (const part of sources) part.cancel();
        throw error;
      });
      try {
        report('ready', 1, 1);
        return new WasmModel(handle);
      } catch (error) {
        handle.free();
        throw error;
      }
    });
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
    const { signal, ...rest } = inspectOptions(options);
    return cancellable(signal, async (scope) => {
      const { inspect } = await wasmClasses();
      const sources = await openSources(source, scope);
      try {
        return await abortable(inspect(sources, rest), scope);
      } finally {
        for (const part of sources) part.cancel();
      }
    });
  }

  /** Whether the model runs on the GPU; false on the CPU path. */
  hasGpu(): boolean {
    return this.info.backend === 'webgpu';
  }

  /**
   * Writes text after a prompt.
   *
   * @param prompt a string, in which special tokens are parsed, and before which BOS is put where the model wants it
   *   and the text does not begin with it; messages, which go through the model's chat template; or token ids as they
   *   are. What equals the start of the last prompt and answer is not computed again.
   * @param options see {@link GenerateOptions}
   * @returns a {@link Generation}: iterate it with `for await` for the text as it is written, or `await` it for the
   *   whole result; leaving the loop, its `stop()` and `options.signal` end it early
   * @throws {WebggufError} here: `invalid_argument`, also while another generation runs; from the iteration and
   *   the result: `context_full`, `device_lost`, `out_of_memory`
   *
   * @example
   * for await (const piece of model.generate('Once upon a time')) out.textContent += piece.text;
   * const { text } = await model.generate([{ role: 'user', content: 'Hi!' }], { maxTokens: 100 });
   */
  generate(prompt: string | readonly Message[] | TokenIds, options: GenerateOptions = {}): Generation {
    const { signal, stop = [], seed = randomSeed(), ...rest } = generateOptions(options);
    this.#use('generate');
    this.#mutex.check('generate');
    const encode = this.#promptEncoder(prompt);
    const wasmOptions: WasmGenerateOptions = { ...rest, seed, stop: [stop].flat() };
    const start = (): WasmHandle => {
      const handle = this.#use('generate');
      handle.start(encode(handle), wasmOptions);
      return handle;
    };
    return new Generation({ mutex: this.#mutex, signal, start });
  }

  /**
   * Ends the running generation early, if there is one: its iteration ends without throwing, and its `finishReason` is
   * `abort`. Resolves when the model is free for the next call.
   *
   * @throws {WebggufError} `invalid_argument` where the model was freed
   */
  async stop(): Promise<void> {
    this.#use('stop');
    const { holder } = this.#mutex;
    if (holder instanceof Generation) await holder.stop();
  }

  /**
   * Reads `ids` without writing: how likely each is after those before it. Clears what the KV cache held.
   *
   * @param ids n token ids, at least one, at most `info.contextLength`
   * @param options `logits`: also return all logits, n × `info.vocabularySize` floats
   * @returns see {@link Evaluation} for shapes
   * @throws {WebggufError} `invalid_argument`, `context_full`, `device_lost`, `out_of_memory`
   */
  async evaluate(ids: TokenIds, options: { logits?: boolean | undefined } = {}): Promise<Evaluation> {
    const { logits = false } = flagOptions('evaluate', options, ['logits']);
    const checked = this.#ids('evaluate', ids);
    return this.#locked('evaluate', (handle) => {
      const room = logits ? this.#roomForLogits(checked.length) : undefined;
      return handle.evaluate(checked, room);
    });
  }

  /**
   * Turns texts into vectors whose directions say how alike the texts are; many go through the model at once. For
   * models that embed: `info.pooling` is `mean`, `cls` or `last`.
   *
   * @param texts a text, or an array of texts; in the array also token ids, which are taken as they are
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
  async embed(texts: string, options?: EmbedOptions): Promise<Float32Array>;
  async embed(texts: readonly (string | TokenIds)[], options?: EmbedOptions): Promise<Float32Array[]>;
  async embed(
    texts: string | readonly (string | TokenIds)[],
    options: EmbedOptions = {},
  ): Promise<Float32Array | Float32Array[]> {
    const { signal, truncate = false, normalize = true, dimensions } = embedOptions(options);
    const isOne = typeof texts === 'string';
    const inputs = checkInputs('embed', 'text', isOne ? [texts] : texts, this.info.vocabularySize);
    const rows = await this.#locked('embed', (handle) => {
      const encode = (text: string): Uint32Array => handle.encodeInput(text, truncate);
      return runInputs({
        handle,
        inputs,
        signal,
        encode,
        run: ({ ids, lengths }) => handle.embed(ids, lengths, normalize, dimensions),
      });
    });
    return isOne ? (rows[0] as Float32Array) : rows;
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
    const { signal, truncate = false } = rankOptions(options);
    checkText('rank', query);
    const inputs: Input[] = checkInputs('rank', 'document', documents, this.info.vocabularySize);
    const rows = await this.#locked('rank', (handle) => {
      const encode = (document: string): Uint32Array => handle.encodePair(query, document, truncate);
      return runInputs({ handle, inputs, signal, encode, run: ({ ids, lengths }) => handle.rank(ids, lengths) });
    });
    return rows.map(([score]) => score as number);
  }

  /** Does `work` while nothing else uses the model. */
  async #locked<T>(call: string, work: (handle: WasmHandle) => Promise<T>): Promise<T> {
    let settle = (): void => {};
    const holder = { cancelled: false, settled: new Promise<void>((resolve) => (settle = resolve)) };
    await this.#mutex.lock(call, holder);
    try {
      return await work(this.#use(call));
    } catch (error) {
      throw fromWasm(error);
    } finally {
      this.#mutex.unlock(holder);
      settle();
    }
  }

  /**
   * Reads `ids` and leaves what the last layer makes of them on the GPU: the residual stream before the output norm, a
   * row per id. Clears what the KV cache held.
   *
   * @param ids n token ids, at least one, at most `info.contextLength`
   * @param gpu the `Gpu` that the model was loaded on, by `load(…, { gpu })`
   * @returns a tensor [n, width of the model] of `gpu`
   * @throws {WebggufError} `invalid_argument`, `context_full`, `device_lost`, `out_of_memory`
   *
   * @example
   * const gpu = await Gpu.create();
   * const model = await WasmModel.load(url, { gpu });
   * const states = await model.hiddenStates(model.tokenize('a sentence'), gpu);
   * const mean = await gpu.mean(states, { axis: 0 }).data();
   */
  async hiddenStates(ids: TokenIds, gpu: Gpu): Promise<Tensor<'f32'>> {
    const checked = this.#ids('hiddenStates', ids);
    checkGpu('hiddenStates', gpu);
    const made = await this.#locked('hiddenStates', (handle) => handle.hiddenStates(checked, gpu.engine));
    return new Tensor<'f32'>(gpu, made);
  }

  /**
   * Text to token ids. `detokenize` of the result gives the text again.
   *
   * @throws {WebggufError} `invalid_argument`
   */
  tokenize(text: string, options: TokenizeOptions = {}): Uint32Array {
    const flags = flagOptions('tokenize', options, ['addSpecial', 'parseSpecial']);
    const { addSpecial = false, parseSpecial = false } = flags;
    checkText('tokenize', text);
    const handle = this.#use('tokenize');
    return guarded(() => handle.tokenize(text, addSpecial, parseSpecial));
  }

  /**
   * Token ids to text. Bytes that are no UTF-8 become U+FFFD.
   *
   * @throws {WebggufError} `invalid_argument`, also for an id that is not in the vocabulary
   */
  detokenize(ids: TokenIds, options: DetokenizeOptions = {}): string {
    const { showSpecial = false } = flagOptions('detokenize', options, ['showSpecial']);
    const checked = checkIds('detokenize', ids, this.info.vocabularySize);
    const handle = this.#use('detokenize');
    return guarded(() => handle.detokenize(checked, showSpecial));
  }

  /**
   * A conversation as the text that the model was trained on, by the chat template of its file.
   *
   * @throws {WebggufError} `invalid_argument` where the file has no template or the template refuses the messages
   */
  applyChatTemplate(messages: readonly Message[], options: ChatTemplateOptions = {}): string {
    const { addGenerationPrompt = true } = flagOptions('applyChatTemplate', options, ['addGenerationPrompt']);
    const checked = checkMessages('applyChatTemplate', messages);
    const handle = this.#use('applyChatTemplate');
    return guarded(() => handle.applyChatTemplate(checked, addGenerationPrompt));
  }

  /**
   * Forgets the KV cache: the next prompt is computed from its first token.
   *
   * @throws {WebggufError} `invalid_argument` while a generation runs
   */
  reset(): void {
    const handle = this.#use('reset');
    this.#mutex.check('reset');
    guarded(() => handle.reset());
  }

  /** Bytes of WebAssembly memory in use on this page, all models together. It grows and never shrinks. */
  wasmMemoryBytes(): number {
    return this.#use('wasmMemoryBytes').wasmMemoryBytes();
  }

  /**
   * Frees all memory on the GPU and in WebAssembly, and ends a running generation. Later calls of any other
   * method throw `invalid_argument`; freeing twice does nothing.
   */
  free(): void {
    const handle = this.#handle;
    this.#handle = undefined;
    const { holder } = this.#mutex;
    if (!holder) {
      handle?.free();
      return;
    }
    if (holder instanceof Generation) void holder.stop();
    void holder.settled.then(() => handle?.free());
  }

  /** `using model = …` frees it at the end of the block. */
  [Symbol.dispose](): void {
    this.free();
  }

  #use(call: string): WasmHandle {
    if (this.#handle) return this.#handle;
    throw invalidArgument(`${call}: the model was freed`);
  }

  #ids(call: string, ids: TokenIds): Uint32Array {
    const checked = checkIds(call, ids, this.info.vocabularySize);
    if (checked.length > 0) return checked;
    throw invalidArgument(`${call}: expected at least one token id, found none`);
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

  /** Checks the prompt now; it is encoded later, when the model is free. */
  #promptEncoder(prompt: string | readonly Message[] | TokenIds): (handle: WasmHandle) => Uint32Array {
    checkPrompt(prompt);
    if (typeof prompt === 'string') return (handle) => this.#ids('generate', handle.encodePrompt(prompt));
    if (isConversation(prompt)) {
      const messages = checkMessages('generate', prompt);
      return (handle) => handle.encodeMessages(messages, true);
    }
    const ids = this.#ids('generate', prompt);
    return () => ids;
  }
}

function randomSeed(): number {
  return Math.floor(Math.random() * 2 ** 32);
}

/** Messages are objects; ids are numbers. */
function isConversation(prompt: readonly Message[] | TokenIds): prompt is readonly Message[] {
  return Array.isArray(prompt) && typeof prompt[0] === 'object';
}
