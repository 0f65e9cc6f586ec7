/**
 * What writing a text takes and gives. No code here.
 */
import type { SamplingOptions } from '../sampling.js';
import type { TokenIds } from './read.js';

/** How far the reading of a prompt is: see {@link GenerateOptions.onProgress}. */
export interface PromptProgress {
  /**
   * `encode`: its images and sounds become rows; those that the model has met before are not encoded again, and not
   * reported. `prefill`: the model reads it, and has read all of it in the last report, before the first piece of text;
   * of `embed` and `rank` it is the only stage.
   */
  readonly stage: 'encode' | 'prefill';
  /** Images and sounds that are done, with the share of the one that is not; in stage `prefill` tokens, or texts. */
  readonly loaded: number;
  /** Images and sounds of the prompt; in stage `prefill` its tokens, those that were read before included, or texts. */
  readonly total: number;
  /** `loaded / total`. */
  readonly fraction: number;
}

/** Options of {@link WasmModel.generate}. */
export interface GenerateOptions extends SamplingOptions {
  /**
   * Called while the prompt becomes ready: at the start of each of its images and sounds, and after each of their tiles
   * (`encode`); then while the model reads it, after each pass over it (`prefill`). What it throws ends the request.
   */
  onProgress?: ((progress: PromptProgress) => void) | undefined;
  /** Most tokens to write, 1 or more. Default: until the context is full. */
  maxTokens?: number | undefined;
  /** Strings that end the text, also where they cross token borders; they are not part of it. */
  stop?: string | readonly string[] | undefined;
  /**
   * For a prompt of messages: whether special tokens that are written in them are tokens. Default false: they are text.
   * In a prompt that is a string they always are tokens.
   */
  parseSpecial?: boolean | undefined;
  /**
   * Whether what is read of this prompt may be kept for later requests, and taken from what is kept, see
   * {@link LoadOptions.prefixCache}. Default true.
   */
  prefixCache?: boolean | undefined;
  /**
   * For a prompt of messages: whether the model thinks before it answers, where its chat template can say so. Default:
   * what the template says; in a session, what that was told. With a prompt that is a string or ids, which no template
   * writes, it is refused.
   */
  enableThinking?: boolean | undefined;
  /**
   * For a prompt of messages, and in a session: most tokens of thoughts. Once they are spent, the thought is closed,
   * and the answer follows. Not with `grammar`. Default: no bound.
   */
  reasoningBudget?: number | undefined;
  /** Go on after the end-of-text token, for measurements. */
  ignoreEos?: boolean | undefined;
  /**
   * DRY: no repetition goes beyond these texts, at most 32 of 1 to 40 characters; an empty array for none. Default line
   * break, `:`, `"` and `*`.
   */
  drySequenceBreakers?: readonly string[] | undefined;
  /** Control tokens whose names appear in the text, such as `[TOOL_CALLS]`; by default it leaves them all out. */
  showSpecial?: readonly string[] | undefined;
  /**
   * What the text must be: see {@link Grammar}. Tokens that it does not allow are never chosen, and the text ends where
   * it allows an end; with `finishReason: 'length'` it may be cut off before. The first call with a grammar fetches
   * `webgguf_grammar_bg.wasm`.
   */
  grammar?: Grammar | undefined;
  /** Numbers from -100 to 100 that are added to the logits of these token ids, at most 1024 of them. */
  logitBias?: Readonly<Record<number, number>> | undefined;
  /**
   * Also give the log-probability of each token, and this number of the most likely tokens in its place, 0 to 20: see
   * {@link Piece.tokens}.
   */
  logprobs?: number | undefined;
  /**
   * Tokens that the model looks at several at a time, since the text so far foretells them (`'prompt'`), since the
   * model or drafter of {@link LoadOptions.draft} has written them (`'model'`), or since a block of the file that
   * predicts the token after the next has (`'mtp'`), as long as some are right; `false`, never. By default as long as
   * that takes less time, by the smaller model or the block where there is one. The text is the same in any case. There
   * are none on the CPU, with `logprobs`, or in models with embeddings per layer; by the smaller model or the block
   * none after images, nor past its own context length.
   */
  draft?: 'prompt' | 'model' | 'mtp' | false | undefined;
  /** A text that much of the answer may be like, such as the file that it changes: drafts come from there, too. */
  prediction?: string | undefined;
  /**
   * The adapters that prompt and answer are read and written with, instead of the adapters that `load` was given with
   * their scales; an empty array: none. Requests with different ones run together.
   */
  adapters?: readonly AdapterUse[] | undefined;
  /** Ends the text early: the loop and the result reject with its reason; `generation.partial` is what was written. */
  signal?: AbortSignal | undefined;
}

/** What {@link WasmModel.generate} takes for a model whose encoder reads a source, such as T5 and MADLAD-400. */
export interface SourcePrompt {
  /** The text that the encoder reads, in which special tokens are parsed; or its token ids as they are. */
  readonly source: string | TokenIds;
}

/** An adapter in a text. */
export interface AdapterUse {
  /** What {@link WasmModel.addAdapter} gave. */
  readonly id: number;
  /** How much of it, any number; default 1. With 0 it is not used. */
  readonly scale?: number | undefined;
}

/**
 * What a text must be. One of:
 *
 * - `{ jsonSchema }`: JSON that a JSON Schema (draft 2020-12, as an object or its text) describes; or a schema of zod,
 *   valibot or arktype that says how it is converted (Standard Schema)
 * - `{ json: true }`: a JSON object
 * - `{ regex }`: a regular expression in Rust's syntax that the whole text matches, without anchors
 * - `{ choice }`: one of some texts
 * - `{ lark }`: a grammar in llguidance's variant of Lark
 * - `{ gbnf }`: a grammar in llama.cpp's notation
 *
 * A schema or grammar that cannot be followed is refused with `invalid_argument`, which says why.
 */
export type Grammar =
  | { readonly jsonSchema: object | boolean | string }
  | { readonly json: true }
  | { readonly regex: string }
  | { readonly choice: readonly string[] }
  | { readonly lark: string }
  | { readonly gbnf: string };

/** A token and how likely it was. */
export interface TokenProbability {
  /** The id of the token. */
  readonly id: number;
  /** The text of the token; a token that is part of a character has U+FFFD there. */
  readonly text: string;
  /** The bytes of its text. */
  readonly bytes: Uint8Array;
  /**
   * Natural log-probability by the model's own logits, before bias, penalties, filters, temperature and grammar, as
   * OpenAI and llama.cpp give it.
   */
  readonly logprob: number;
}

/** A token that was chosen, and those that were most likely in its place. */
export interface ChosenToken extends TokenProbability {
  /** As many as `logprobs` asks for, the most likely first. */
  readonly top: readonly TokenProbability[];
}

/** A piece of text as it is written. */
export interface Piece {
  /** Text that is final; whole characters only. May be empty while a character or a stop string is incomplete. */
  readonly text: string;
  /** The tokens made since the last piece. */
  readonly ids: Uint32Array;
  /** The token of each of `ids`, with the option `logprobs`. */
  readonly tokens?: readonly ChosenToken[];
}

/** How a generation went. */
export interface GenerationResult {
  /** All text, without the stop string. */
  readonly text: string;
  /** All tokens of the answer. */
  readonly ids: Uint32Array;
  /** The token of each of `ids`, with the option `logprobs`. */
  readonly tokens?: readonly ChosenToken[];
  /** `stop`: end of text or a stop string; `length`: `maxTokens` or the context; `abort`: cancelled. */
  readonly finishReason: 'stop' | 'length' | 'abort';
  /** Counts of tokens. */
  readonly usage: Usage;
  /** How fast it was. */
  readonly timings: Timings;
}

/** Counts of tokens. */
export interface Usage {
  /** Tokens of the prompt, template included. */
  readonly promptTokens: number;
  /** Tokens of the answer. */
  readonly completionTokens: number;
  /** Tokens of the prompt that were in the KV cache already. */
  readonly cachedTokens: number;
  /** What the tokens of the prompt are. */
  readonly promptTokensDetails: PromptTokensDetails;
  /** `promptTokens + completionTokens`. */
  readonly totalTokens: number;
  /** Tokens of the answer that were drafted: see {@link GenerateOptions.draft}. */
  readonly acceptedDraftTokens: number;
  /** Drafted tokens that were no part of the answer. */
  readonly rejectedDraftTokens: number;
}

/** What the tokens of a prompt are. A row of an image or a sound takes the place of a token, and counts as one. */
export interface PromptTokensDetails {
  /** As {@link Usage.cachedTokens}, text and rows alike. */
  readonly cachedTokens: number;
  /** Rows of images, without the tokens that the model wants around and between them. */
  readonly imageTokens: number;
  /** Rows of sounds, likewise. */
  readonly audioTokens: number;
}

/** How fast a generation was. */
export interface Timings {
  /** Tokens of the prompt, without cached ones, per second of reading them; encoding images and sounds is no part. */
  readonly promptTokensPerSecond: number;
  /** Tokens of the answer per second, from the first to the last. */
  readonly tokensPerSecond: number;
  /**
   * Milliseconds to the first token from when the model was free for the request, so without the wait for requests
   * before it; with what the prompt takes: fetching, decoding and encoding its images and sounds, and reading it. 0
   * where there was no token.
   */
  readonly timeToFirstTokenMs: number;
}
