/**
 * How tokens are chosen.
 */
import { show } from '../check.js';
import type { LanguageModelCreateCoreOptions, LanguageModelParams, LanguageModelSamplingMode } from './types.js';

/** @internal */
export interface Sampling {
  /** Null where the page gave numbers instead. */
  readonly mode: LanguageModelSamplingMode | null;
  readonly topK: number;
  readonly temperature: number;
}

const MODES: Record<LanguageModelSamplingMode, Omit<Sampling, 'mode'>> = {
  'most-predictable': { topK: 1, temperature: 0 },
  predictable: { topK: 20, temperature: 0.4 },
  'slightly-predictable': { topK: 40, temperature: 0.6 },
  balanced: { topK: 40, temperature: 0.8 },
  'slightly-creative': { topK: 64, temperature: 0.9 },
  creative: { topK: 64, temperature: 1 },
  'most-creative': { topK: 128, temperature: 1.3 },
};

const DEFAULT = MODES.balanced;

/** @internal */
export const PARAMS: LanguageModelParams = Object.freeze({
  defaultTopK: DEFAULT.topK,
  maxTopK: 128,
  defaultTemperature: DEFAULT.temperature,
  maxTemperature: 2,
});

/** Numbers above the most are the most. @internal */
export function samplingOf({ samplingMode, topK, temperature }: LanguageModelCreateCoreOptions): Sampling {
  if (samplingMode !== undefined && !Object.hasOwn(MODES, samplingMode)) {
    const names = Object.keys(MODES).join("', '");
    throw new TypeError(`samplingMode must be one of '${names}', found ${show(samplingMode)}`);
  }
  if (topK === undefined && temperature === undefined) {
    const mode = samplingMode ?? 'balanced';
    return { mode, ...MODES[mode] };
  }
  if (samplingMode !== undefined) throw new TypeError('samplingMode does not go with topK and temperature');
  if (topK !== undefined && !(topK >= 1)) throw new RangeError(`topK must be at least 1, found ${topK}`);
  if (temperature !== undefined && !(temperature >= 0)) {
    throw new RangeError(`temperature must be at least 0, found ${temperature}`);
  }
  return {
    mode: null,
    topK: Math.min(Math.floor(topK ?? PARAMS.defaultTopK), PARAMS.maxTopK),
    temperature: Math.min(temperature ?? PARAMS.defaultTemperature, PARAMS.maxTemperature),
  };
}
