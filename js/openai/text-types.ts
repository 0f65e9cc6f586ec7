/**
 * The shapes of OpenAI's older completions, as far as they are taken here, and what is added to them. No code here.
 */
import type { OpenAiSamplingOptions } from '../sampling.js';
import type { AdapterUse } from '../types/generate.js';
import type { CompletionUsage, Origin } from './types.js';

/** A request of `completions.create`, with the options of the sampler under their names in the OpenAI API. */
export interface TextRequest extends OpenAiSamplingOptions {
  /** The text that goes on, or several; or token ids of a text or of several. Control tokens in a text are tokens. */
  prompt: string | readonly string[] | readonly number[] | readonly (readonly number[])[];
  /**
   * What stands behind the gap that is to be filled, for models whose vocabulary has tokens for that. Control tokens in
   * this and in `prompt` are text then.
   */
  suffix?: string | null | undefined;
  /** Comes back in the result. */
  model?: string | undefined;
  /** Most tokens of the answer. Default 16. */
  max_tokens?: number | null | undefined;
  /** Default false. */
  stream?: boolean | null | undefined;
  /** Whether the last chunk of a stream has `usage`. */
  stream_options?: { include_usage?: boolean | undefined } | null | undefined;
  /** Strings that end the answer. */
  stop?: string | readonly string[] | null | undefined;
  /** How many answers for each text, 1 to 128. Default 1. */
  n?: number | null | undefined;
  /** The same number as `n`: each answer is given back. */
  best_of?: number | null | undefined;
  /** Adds how likely tokens were, with this many of the most likely ones for each place, 0 to 5. */
  logprobs?: number | null | undefined;
  /** Whether the answer begins with the text that it was asked for. Default false. */
  echo?: boolean | null | undefined;
  /** Added to the logits of tokens, by their ids. */
  logit_bias?: Readonly<Record<string, number>> | null | undefined;
  /** Beyond OpenAI's: adapters of the model and how much of each, as `generate` takes them. */
  adapters?: readonly AdapterUse[] | null | undefined;
  /** Beyond OpenAI's: a grammar in llama.cpp's notation. */
  grammar?: string | null | undefined;
  /** Taken and without effect here. */
  user?: string | null | undefined;
}

/** The tokens of a text and how likely they were. */
export interface TextLogprobs {
  /** The texts of the tokens. */
  tokens: string[];
  /** Their natural log-probabilities. */
  token_logprobs: number[];
  /** The tokens that were likeliest in each place. */
  top_logprobs: Record<string, number>[];
  /** Where each token begins in the text. */
  text_offset: number[];
}

/** What `completions.create` gives; of a stream, each chunk. */
export interface TextCompletion {
  /** A name of the answer, another each time. */
  id: string;
  /** Always `text_completion`. */
  object: 'text_completion';
  /** Seconds since 1970. */
  created: number;
  /** What the request called the model, else its own name. */
  model: string;
  /** `webgguf-webgpu` or `webgguf-cpu`; of a server what it says. */
  system_fingerprint: string;
  /** The answers: `n` for the first text, then those for the next. `abort`: `model.stop()` or `model.free()` cut it. */
  choices: {
    index: number;
    text: string;
    finish_reason: 'stop' | 'length' | 'abort' | null;
    logprobs: TextLogprobs | null;
  }[];
  /** Counts of tokens. */
  usage?: CompletionUsage | null;
  /** Not OpenAI's. */
  webgguf: Origin;
}
