/**
 * What a model computes of texts without writing any: token ids, probabilities, vectors and scores. No code here.
 */
import type { TextPart } from './chat.js';
import type { AdapterUse, PromptProgress } from './generate.js';
import type { AudioPart, ImagePart, VideoPart } from './media.js';

/** What {@link WasmModel.evaluate} finds, for n ids and a vocabulary of v. */
export interface Evaluation {
  /** Shape [n]: the most likely token after `ids[0..i]`. */
  readonly top1: Uint32Array;
  /** Shape [n - 1]: natural log-probability of `ids[i + 1]` after `ids[0..i]`. */
  readonly logprobs: Float32Array;
  /** Shape [n, v], row-major, on request: the logits after `ids[0..i]`. */
  readonly logits?: Float32Array;
}

/** Options of {@link WasmModel.evaluate}. */
export interface EvaluateOptions {
  /** Also return all logits, n × `info.vocabularySize` floats. Default false. */
  logits?: boolean | undefined;
  /** As the option `adapters` of `generate`. */
  adapters?: readonly AdapterUse[] | undefined;
  /** Ends the call early, which then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** What {@link WasmModel.embed} makes a vector of: a text, token ids as they are, or what a message may hold. */
export type EmbedInput = string | TokenIds | EmbedContent;

/**
 * Texts, images and sounds that become one vector, in this order; texts follow each other with nothing between them.
 * For models that embed images and sounds, such as EmbeddingGemma 2, loaded with {@link LoadOptions.mmproj}.
 */
export type EmbedContent =
  | ImagePart
  | VideoPart
  | AudioPart
  | { readonly content: string | readonly (TextPart | ImagePart | VideoPart | AudioPart)[] };

/** What vectors are for: see {@link EmbedOptions.task}. */
export type EmbedTask =
  | 'search query'
  | 'document'
  | 'question answering'
  | 'fact checking'
  | 'classification'
  | 'clustering'
  | 'sentence similarity'
  | 'code retrieval';

/** Options of {@link WasmModel.embed}. */
export interface EmbedOptions {
  /**
   * What the vectors are for: puts the prompt before each input with which EmbeddingGemma 1 and 2 were trained for it.
   * Other models want other texts, which are the page's to write: `invalid_argument`. Default: no prompt.
   */
  task?: EmbedTask | undefined;
  /** Divide each vector by its length, so that the dot product of two is their cosine. Default true. */
  normalize?: boolean | undefined;
  /** Number of first values of each vector to keep, before that: for models trained so (Matryoshka). Default: all. */
  dimensions?: number | undefined;
  /**
   * Cut texts that are longer than the context. Default false: they are an error, and so are inputs with images and
   * sounds that are too long, always.
   */
  truncate?: boolean | undefined;
  /**
   * Called at the start and after about each 4,000 tokens, with how many texts are done; without it all go in one call.
   * What it throws ends the call.
   */
  onProgress?: ((progress: PromptProgress) => void) | undefined;
  /** Ends the call early, which then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** Options of {@link WasmModel.rank}. */
export interface RankOptions {
  /** Cut documents that do not fit the context with the query. Default false: they are an error. */
  truncate?: boolean | undefined;
  /** Called with how many documents are done, as of `embed`. */
  onProgress?: ((progress: PromptProgress) => void) | undefined;
  /** Ends the call early, which then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** Options of `tokenize`. */
export interface TokenizeOptions {
  /** Add the BOS and EOS tokens that the model's file asks for. Default false. */
  addSpecial?: boolean | undefined;
  /** Read text such as `<|im_end|>` as the special token of that name. Default false: it is plain text. */
  parseSpecial?: boolean | undefined;
}

/** Options of `detokenize`. */
export interface DetokenizeOptions {
  /** Write special tokens by their names. Default false: they are left out. */
  showSpecial?: boolean | undefined;
}

/** Anything that lists token ids. */
export type TokenIds = Uint32Array | readonly number[];
