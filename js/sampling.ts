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
  /**
   * DRY: lowers the logits of tokens that would lengthen a repetition of the text, by this for the shortest that is
   * penalised; 0 (default) is off, 0.8 is usual. Not with a grammar.
   */
  dryMultiplier?: number | undefined;
  /** DRY: the penalty grows by this factor with each token of the repetition. Default 1.75. */
  dryBase?: number | undefined;
  /** DRY: a repetition of fewer tokens than this has no penalty. Default 2. */
  dryAllowedLength?: number | undefined;
  /** DRY: how many of the last tokens of prompt and answer count. Default all. */
  dryPenaltyLastN?: number | undefined;
  /**
   * XTC: with this probability, 0 (default) to 1, of the tokens that are at least as likely as `xtcThreshold` only the
   * least likely stays. Not with a grammar, and without effect at `temperature: 0`.
   */
  xtcProbability?: number | undefined;
  /** See `xtcProbability`. Default 0.1; above 0.5 nothing is left out. */
  xtcThreshold?: number | undefined;
  /** Integer from 0 to 2^53 - 1. Same seed, same text. Default: another each time. */
  seed?: number | undefined;
}

/** `drySequenceBreakers`, which is no number: says what was expected, or `undefined`. @internal */
export function checkBreakers(value: unknown): string | undefined {
  const fits = (each: unknown): boolean => typeof each === 'string' && each.length > 0 && each.length <= 40;
  const isList = Array.isArray(value) && value.length <= 32 && value.every(fits);
  return isList ? undefined : 'an array of at most 32 texts of 1 to 40 characters';
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
const COUNT = { least: 0, most: 2 ** 32 - 1, isInteger: true, words: 'an integer from 0 to 2^32 - 1' };
const WORDS_OF_SEED = 'an integer from 0 to 2^53 - 1';

/** @internal */
export const SAMPLING: Readonly<Record<keyof SamplingOptions, SamplingRow>> = {
  temperature: { openai: 'temperature', least: 0, most: 100, words: 'a number from 0 to 100' },
  topK: { openai: 'top_k', ...COUNT },
  topP: { openai: 'top_p', least: LEAST_ABOVE_0, most: 1, words: 'a number above 0 and at most 1' },
  minP: { openai: 'min_p', least: 0, most: 1, words: 'a number from 0 to 1' },
  typicalP: { openai: 'typical_p', least: LEAST_ABOVE_0, most: 1, words: 'a number above 0 and at most 1' },
  repetitionPenalty: { openai: 'repetition_penalty', least: 1e-3, most: 100, words: 'a number from 0.001 to 100' },
  frequencyPenalty: { openai: 'frequency_penalty', least: -2, most: 2, words: 'a number from -2 to 2' },
  presencePenalty: { openai: 'presence_penalty', least: -2, most: 2, words: 'a number from -2 to 2' },
  dryMultiplier: { openai: 'dry_multiplier', least: 0, most: 100, words: 'a number from 0 to 100' },
  dryBase: { openai: 'dry_base', least: 1, most: 100, words: 'a number from 1 to 100' },
  dryAllowedLength: { openai: 'dry_allowed_length', ...COUNT },
  dryPenaltyLastN: { openai: 'dry_penalty_last_n', ...COUNT },
  xtcProbability: { openai: 'xtc_probability', least: 0, most: 1, words: 'a number from 0 to 1' },
  xtcThreshold: { openai: 'xtc_threshold', least: 0, most: 1, words: 'a number from 0 to 1' },
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
} & {
  /** As `drySequenceBreakers` of `generate`. */
  dry_sequence_breakers?: readonly string[] | null | undefined;
};
