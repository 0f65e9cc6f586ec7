/**
 * The engine in this thread: the WebAssembly handle behind asynchronous calls.
 */
import { cancellable, settled } from './cancel.js';
import { type Input, runInputs } from './embedding.js';
import type { EmbedCall, Engine, Prompt, StartOptions } from './engine.js';
import { WebggufError, fromWasm, guarded, invalidArgument } from './errors.js';
import { Grammars } from './grammar.js';
import { progressReporter } from './progress.js';
import { splitSourceOptions } from './options.js';
import { withSources } from './sources.js';
import type { Evaluation, GenerationResult, LoadOptions, ModelInfo, Piece, Source } from './types.js';
import { wasmClasses } from './wasm.js';
import type { ByteSource, Conversation, TensorEngine, TensorHandle } from './wasm/webgguf.js';
import type { WasmModel as WasmHandle } from './wasm/webgguf.js';

/** Most elements of a typed array that WebAssembly can address. */
const MOST_ELEMENTS = 2 ** 32 - 1;

/** @internal */
export class LocalEngine implements Engine {
  readonly info: ModelInfo;
  readonly #handle: WasmHandle;
  readonly #grammars: Grammars;

  private constructor(handle: WasmHandle) {
    this.#handle = handle;
    this.#grammars = new Grammars(handle);
    this.info = handle.info();
  }

  /** `options` are checked; see {@link WasmModel.load}. */
  static async load(source: Source, options: LoadOptions): Promise<LocalEngine> {
    const { source: from, rest: others } = splitSourceOptions(options);
    const { signal, onProgress, backend = 'auto', gpu, worker: _, ...rest } = others;
    return cancellable(signal, async (scope) => {
      const { WasmModel: Handle } = await wasmClasses();
      const report = progressReporter(onProgress, scope);
      const start = async (sources: ByteSource[]): Promise<WasmHandle> =>
        Handle.load(sources, { backend, ...rest }, report, gpu && guarded(() => gpu.engine.device()));
      const handle = await withSources(source, from, {
        signal: scope,
        work: (sources) => settled(start(sources), scope),
        free: (made) => made.free(),
      });
      try {
        report('ready', 1, 1);
        return new LocalEngine(handle);
      } catch (error) {
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
    return guarded(() => this.#handle.applyChatTemplate(conversation));
  }

  async start(prompt: Prompt, { grammar, ...options }: StartOptions): Promise<void> {
    const ids = guarded(() => this.#encode(prompt));
    await translated(this.#handle.adopt(ids));
    guarded(() => this.#handle.start(ids, options));
    if (!grammar) return;
    const matcher = this.#grammars.matcher(grammar);
    matcher.catch(() => {}); // the generation reports it, unless that was stopped before
    guarded(() => this.#handle.constrain(matcher));
  }

  async next(): Promise<Piece | undefined> {
    return translated(this.#handle.next());
  }

  cancel(): void {
    this.#handle.cancel();
  }

  async finish(): Promise<GenerationResult> {
    return translated(this.#handle.finish());
  }

  async evaluate(ids: Uint32Array, logits: boolean): Promise<Evaluation> {
    const room = logits ? this.#roomForLogits(ids.length) : undefined;
    return translated(this.#handle.evaluate(ids, room));
  }

  async embed(inputs: readonly Input[], options: EmbedCall, signal?: AbortSignal): Promise<Float32Array[]> {
    const handle = this.#handle;
    const { truncate, normalize, dimensions } = options;
    const encode = (text: string): Uint32Array => handle.encodeInput(text, truncate);
    const run = runInputs({
      handle,
      inputs,
      signal,
      encode,
      run: ({ ids, lengths }) => handle.embed(ids, lengths, normalize, dimensions),
    });
    return translated(run);
  }

  async rank(
    query: string,
    documents: readonly Input[],
    { truncate }: { readonly truncate: boolean },
    signal?: AbortSignal,
  ): Promise<Float32Array[]> {
    const handle = this.#handle;
    const encode = (document: string): Uint32Array => handle.encodePair(query, document, truncate);
    const run = runInputs({
      handle,
      inputs: documents,
      signal,
      encode,
      run: ({ ids, lengths }) => handle.rank(ids, lengths),
    });
    return translated(run);
  }

  async hiddenStates(ids: Uint32Array, tensors: TensorEngine): Promise<TensorHandle> {
    return translated(this.#handle.hiddenStates(ids, tensors));
  }

  async count(prompt: Prompt): Promise<number> {
    return guarded(() => this.#encode(prompt)).length;
  }

  async another(withCache: boolean): Promise<Engine> {
    return new LocalEngine(await translated(this.#handle.another(withCache)));
  }

  async reset(): Promise<void> {
    guarded(() => this.#handle.reset());
  }

  async wasmMemoryBytes(): Promise<number> {
    return this.#handle.wasmMemoryBytes();
  }

  async free(): Promise<void> {
    this.#grammars.free();
    this.#handle.free();
  }

  #encode(prompt: Prompt): Uint32Array {
    if (typeof prompt === 'object' && 'messages' in prompt) return this.#handle.encodeMessages(prompt);
    const ids = typeof prompt === 'string' ? this.#handle.encodePrompt(prompt) : prompt;
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

async function translated<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    throw fromWasm(error);
  }
}
