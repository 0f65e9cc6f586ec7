/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The vocabulary of a GGUF without its weights.
 */
import { cancellable } from '../cancel.js';
import { textConversationOf } from './conversation.js';
import { guarded, invalidArgument } from '../errors.js';
import { onDemand } from './on-demand.js';
import { checkIds, checkText } from '../check.js';
import { flagOptions, tokenizerOptions } from '../options.js';
import { openSources } from '../load/sources.js';
import type { ChatTemplateOptions, Message } from '../types/chat.js';
import type { TokenizerOptions } from '../types/load.js';
import type { DetokenizeOptions, TokenIds, TokenizeOptions } from '../types/read.js';
import type { Source } from '../types/source.js';
import { knowItself, throughProxies } from '../proxies.js';
import { wasmClasses } from '../wasm/instance.js';
import type { VocabularyHandle } from '../wasm/webgguf.js';

type Templates = typeof import('../engine/chat-text.js');

/**
 * Text to token ids and back, as a model's own file defines them.
 *
 * @example
 * const tokenizer = await Tokenizer.load('/models/qwen3-0.6b-q4_k_m.gguf');
 * console.log(tokenizer.tokenize('How many tokens is this?').length);
 */
export class Tokenizer {
  #handle: VocabularyHandle | undefined;
  readonly #templates: Templates;

  private constructor(handle: VocabularyHandle, templates: Templates) {
    if (!handle) throw invalidArgument('new Tokenizer: a tokenizer is made by await Tokenizer.load(source)');
    knowItself(this);
    this.#handle = handle;
    this.#templates = templates;
  }

  /**
   * Reads the vocabulary of a GGUF; the download stops where the weights begin. Needs no GPU.
   *
   * @param source where the file comes from, see {@link Source}; of a split file the first part is enough
   * @param options see {@link TokenizerOptions}
   * @throws {WebggufError} `download_failed`, `bad_file`, `unsupported_architecture` (its tokenizer is unknown),
   *   `invalid_argument`
   * @throws the reason of `options.signal` when that fires, by default a `DOMException` named `AbortError`
   */
  static async load(source: Source, options: TokenizerOptions = {}): Promise<Tokenizer> {
    const { signal, ...rest } = tokenizerOptions(options);
    return cancellable(signal, async (scope) => {
      const [{ VocabularyHandle }, templates] = await Promise.all([wasmClasses(), onDemand.templates()]);
      const sources = await openSources(source, scope, { ...rest, cache: 'read', only: 'first' });
      try {
        return new Tokenizer(await VocabularyHandle.load(sources), templates);
      } finally {
        for (const part of sources) part.cancel();
      }
    });
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
    const checked = checkIds('detokenize', ids);
    const handle = this.#use('detokenize');
    return guarded(() => handle.detokenize(checked, showSpecial));
  }

  /**
   * A conversation as the text that the model was trained on, by the chat template of its file.
   *
   * @throws {WebggufError} `invalid_argument` where the file has no template, the template refuses the messages, or
   *   these have images or sounds
   */
  applyChatTemplate(messages: readonly Message[], options: ChatTemplateOptions = {}): string {
    const conversation = textConversationOf(messages, { parseSpecial: true, ...options });
    const handle = this.#use('applyChatTemplate');
    return guarded(() => this.#templates.chatText(handle, conversation));
  }

  /** Frees the vocabulary. Later calls throw `invalid_argument`; freeing twice does nothing. */
  free(): void {
    this.#handle?.free();
    this.#handle = undefined;
  }

  /** `using tokenizer = …` frees it at the end of the block. */
  [Symbol.dispose](): void {
    this.free();
  }

  #use(call: string): VocabularyHandle {
    if (this.#handle) return this.#handle;
    throw invalidArgument(`${call}: the tokenizer was freed`);
  }
}
throughProxies(Tokenizer);
