/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The one class of this package: a loaded model.
 */
import { cancellable, settled } from './cancel.js';
import { fromEngine, guarded, invalidArgument } from './errors.js';
import { Generation, Turns } from './generation.js';
import { checkIds, checkMessages, checkText, flagOptions, generateOptions, loadOptions } from './options.js';
import { progressReporter } from './progress.js';
import { openSources } from './sources.js';
import type {
  ChatTemplateOptions,
  DetokenizeOptions,
  Evaluation,
  GenerateOptions,
  LoadOptions,
  Message,
  ModelInfo,
  Source,
  TokenIds,
  TokenizeOptions,
} from './types.js';
import { engineClasses } from './wasm.js';
import type { Engine, EngineGenerateOptions } from './wasm/webgguf.js';

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
  readonly #turns = new Turns();
  #engine: Engine | undefined;

  private constructor(engine: Engine) {
    this.#engine = engine;
    this.info = Object.freeze(engine.info());
  }

  /**
   * Reads a GGUF and puts its weights on the GPU. The file is read once, as a stream; it is never whole in memory.
   *
   * @param source where the file comes from, see {@link Source}
   * @param options see {@link LoadOptions}
   * @throws {WebggufError} `download_failed`, `bad_file`, `unsupported_quant`, `unsupported_architecture`,
   *   `webgpu_unavailable` (only with `backend: 'webgpu'`), `limit_exceeded`, `out_of_memory`, `invalid_argument`
   * @throws {DOMException} named `AbortError` when `options.signal` fires; everything is freed then
   */
  static async load(source: Source, options: LoadOptions = {}): Promise<WasmModel> {
    const { signal, onProgress, backend = 'auto', ...rest } = loadOptions(options);
    return cancellable(signal, async (scope) => {
      const { Engine } = await engineClasses();
      const sources = await openSources(source, scope);
      const report = progressReporter(onProgress, scope);
      const loading = Engine.load(sources, { backend, ...rest }, report);
      const engine = await settled(loading, scope).catch((error: unknown) => {
        for (const part of sources) part.cancel();
        throw error;
      });
      try {
        report('ready', 1, 1);
        return new WasmModel(engine);
      } catch (error) {
        engine.free();
        throw error;
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
   * @param prompt a string (the model's BOS rule applies and special tokens in it are parsed); messages, which go
   *   through the model's chat template; or token ids as they are. What equals the start of the last prompt and
   *   answer is not computed again.
   * @param options see {@link GenerateOptions}
   * @returns an async iterable of pieces with the promise `result`; leaving the loop cancels
   * @throws {WebggufError} here: `invalid_argument`, also while another generation runs; from the iteration and
   *   `result`: `context_full`, `device_lost`, `out_of_memory`
   */
  generate(prompt: string | readonly Message[] | TokenIds, options: GenerateOptions = {}): Generation {
    const { signal, stop = [], seed = randomSeed(), ...rest } = generateOptions(options);
    this.#use('generate');
    this.#turns.check('generate');
    const encode = this.#promptEncoder(prompt);
    const engineOptions: EngineGenerateOptions = { ...rest, seed, stop: [stop].flat() };
    const start = (): Engine => {
      const engine = this.#use('generate');
      engine.start(encode(engine), engineOptions);
      return engine;
    };
    return new Generation({ turns: this.#turns, signal, start });
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
    let release = (): void => {};
    const turn = { cancelled: false, settled: new Promise<void>((resolve) => (release = resolve)) };
    await this.#turns.take('evaluate', turn);
    try {
      return await this.#use('evaluate').evaluate(checked, logits);
    } catch (error) {
      throw fromEngine(error);
    } finally {
      this.#turns.end(turn);
      release();
    }
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
    const engine = this.#use('tokenize');
    return guarded(() => engine.tokenize(text, addSpecial, parseSpecial));
  }

  /**
   * Token ids to text. Bytes that are no UTF-8 become U+FFFD.
   *
   * @throws {WebggufError} `invalid_argument`, also for an id that is not in the vocabulary
   */
  detokenize(ids: TokenIds, options: DetokenizeOptions = {}): string {
    const { showSpecial = false } = flagOptions('detokenize', options, ['showSpecial']);
    const checked = checkIds('detokenize', ids, this.info.vocabularySize);
    const engine = this.#use('detokenize');
    return guarded(() => engine.detokenize(checked, showSpecial));
  }

  /**
   * A conversation as the text that the model was trained on, by the chat template of its file.
   *
   * @throws {WebggufError} `invalid_argument` where the file has no template or the template refuses the messages
   */
  applyChatTemplate(messages: readonly Message[], options: ChatTemplateOptions = {}): string {
    const { addGenerationPrompt = true } = flagOptions('applyChatTemplate', options, ['addGenerationPrompt']);
    const checked = checkMessages('applyChatTemplate', messages);
    const engine = this.#use('applyChatTemplate');
    return guarded(() => engine.applyChatTemplate(checked, addGenerationPrompt));
  }

  /**
   * Forgets the KV cache: the next prompt is computed from its first token.
   *
   * @throws {WebggufError} `invalid_argument` while a generation runs
   */
  reset(): void {
    const engine = this.#use('reset');
    this.#turns.check('reset');
    guarded(() => engine.reset());
  }

  /** Bytes of WebAssembly memory in use by the page's engine, all models together. It grows and never shrinks. */
  wasmMemoryBytes(): number {
    return this.#use('wasmMemoryBytes').wasmMemoryBytes();
  }

  /**
   * Frees all memory on the GPU and in WebAssembly, and cancels a running generation. Later calls of any other
   * method throw `invalid_argument`; freeing twice does nothing.
   */
  free(): void {
    const engine = this.#engine;
    this.#engine = undefined;
    const turn = this.#turns.current;
    if (!turn) return engine?.free();
    if (turn instanceof Generation) void turn.cancel();
    void turn.settled.then(() => engine?.free());
  }

  /** `using model = …` frees it at the end of the block. */
  [Symbol.dispose](): void {
    this.free();
  }

  #use(call: string): Engine {
    if (this.#engine) return this.#engine;
    throw invalidArgument(`${call}: the model was freed`);
  }

  #ids(call: string, ids: TokenIds): Uint32Array {
    const checked = checkIds(call, ids, this.info.vocabularySize);
    if (checked.length > 0) return checked;
    throw invalidArgument(`${call}: expected at least one token id, found none`);
  }

  /** Checks the prompt now; it is encoded later, when the engine is free. */
  #promptEncoder(prompt: string | readonly Message[] | TokenIds): (engine: Engine) => Uint32Array {
    if (typeof prompt === 'string') return (engine) => this.#ids('generate', engine.tokenize(prompt, true, true));
    if (isConversation(prompt)) {
      const messages = checkMessages('generate', prompt);
      return (engine) => engine.encodeMessages(messages, true);
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
