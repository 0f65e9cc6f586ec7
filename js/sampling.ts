/**
 * The options of the sampler: one row each. Their checks, their names in the OpenAI API and the types of requests
 * follow from here; `src/sampler/options.rs` has the same rows for the engine.
 */

/** How the next token is chosen: options of {@link WasmModel.generate} and of everything that writes text. */
export interface SamplingOptions {
  /** 0 (default) always takes the most likely token; 0.7 is usual for varied text; above 1 text becomes erratic. */
  temperature?: number | undefined;
  /** Keep only the k most likely tokens; 0 (default) keeps all. */
  topK?: number | undefined;
  /** Keep the most likely tokens that together have this probability, above 0; 1 (default) keeps all. */
  topP?: number | undefined;
  /** Drop tokens less likely than this share of the most likely one, 0 (default) to 1. */
  minP?: number | undefined;
  /**
   * Keep the tokens whose information is nearest to the mean until they have this probability together, above 0; 1
   * (default) keeps all (Meister et al. 2022, arXiv 2202.00666).
   */
  typicalP?: number | undefined;
  /** Makes tokens of prompt and answer less likely to come again; 1 (default) does nothing, 1.1 is usual. */
  repetitionPenalty?: number | undefined;
  /** Subtracted from a token's logit once per use in the answer, -2 to 2. Default 0. */
  frequencyPenalty?: number | undefined;
  /** Subtracted from a token's logit if the answer used it at all, -2 to 2. Default 0. */
  presencePenalty?: number | undefined;
  /** Integer from 0 to 2^53 - 1. Same seed, same text. Default: another each time. */
  seed?: number | undefined;
}

/** What an option may be, and how the OpenAI API, or a server that follows it, calls it. @internal */
export interface SamplingRow {
  readonly openai: string;
  readonly least: number;
  readonly most: number;
  readonly isInteger?: boolean;
  /** What messages call the range. */
  readonly words: string;
}

/** The least number above 0 that the engine's f32 has with all of its digits. */
const LEAST_ABOVE_0 = 2 ** -126;
const WORDS_OF_SEED = 'an integer from 0 to 2^53 - 1';

/** @internal */
export const SAMPLING: Readonly<Record<keyof SamplingOptions, SamplingRow>> = {
  temperature: { openai: 'temperature', least: 0, most: 100, words: 'a number from 0 to 100' },
  topK: { openai: 'top_k', least: 0, most: 2 ** 32 - 1, isInteger: true, words: 'an integer from 0 to 2^32 - 1' },
  topP: { openai: 'top_p', least: LEAST_ABOVE_0, most: 1, words: 'a number above 0 and at most 1' },
  minP: { openai: 'min_p', least: 0, most: 1, words: 'a number from 0 to 1' },
  typicalP: { openai: 'typical_p', least: LEAST_ABOVE_0, most: 1, words: 'a number above 0 and at most 1' },
  repetitionPenalty: { openai: 'repetition_penalty', least: 1e-3, most: 100, words: 'a number from 0.001 to 100' },
  frequencyPenalty: { openai: 'frequency_penalty', least: -2, most: 2, words: 'a number from -2 to 2' },
  presencePenalty: { openai: 'presence_penalty', least: -2, most: 2, words: 'a number from -2 to 2' },
  seed: { openai: 'seed', least: 0, most: Number.MAX_SAFE_INTEGER, isInteger: true, words: WORDS_OF_SEED },
};

/** The rows with their names. @internal */
export const SAMPLING_ROWS = Object.entries(SAMPLING) as [keyof SamplingOptions, SamplingRow][];

/** Says what was expected, or `undefined` where the value is fine. @internal */
export function checkSampling({ least, most, isInteger, words }: SamplingRow, value: unknown): string | undefined {
  const fits = typeof value === 'number' && value >= least && value <= most;
  return fits && (!isInteger || Number.isInteger(value)) ? undefined : words;
}

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

/** The options under the names of the OpenAI API: `topP` is `top_p`. */
export type OpenAiSamplingOptions = {
  [Name in keyof SamplingOptions as SnakeCase<Name>]?: SamplingOptions[Name] | null;
};
