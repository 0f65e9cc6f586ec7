// How close answers are to llama.cpp's, and how close they must be. Needs no browser.
//
// `wanted` is what a model's JSON in tests/fixtures/models has under `exact`: llama.cpp's greedy ids after a prompt,
// and for given ids its most probable next ones and their log-probabilities; with margins, the distances between its
// two best logits.

/** Where llama.cpp's two best logits are closer than this, rounding may swap them. */
const NEAR_TIE = 5e-3;
/** For given ids: the minimum share of equal most probable ones, the maximum mean difference of log-probabilities. */
const LEAST_SHARE = 0.99;
const MOST_OFF = 1e-2;

/**
 * The lead below which rounded activations may change the choice: what rounding to 8 bits moves two logits in llama.cpp
 * itself, with this file, on average.
 *
 * @param {{rounding?: {native?: {mean_abs_logprob: number}}}} entry the JSON of a model
 */
export function nearTieWhereRounded({ rounding }) {
  return Math.max(NEAR_TIE, 2 * (rounding?.native?.mean_abs_logprob ?? 0));
}

/**
 * Greedy ids: how many are equal before the first that is not, and whether that difference is allowed.
 *
 * @param {ArrayLike<number>} generated
 * @param {{greedy: number[], greedy_margin: number[]}} wanted
 * @param {{count?: number, nearTie?: number}} [options] ids that are compared; the lead below which rounding may swap
 */
export function compareGreedy(generated, wanted, { count = wanted.greedy.length, nearTie = NEAR_TIE } = {}) {
  const at = wanted.greedy.slice(0, count).findIndex((id, i) => generated[i] !== id);
  const agrees = generated.length === count && (at < 0 || wanted.greedy_margin[at] < nearTie);
  return { equal: at < 0 ? count : at, of: count, agrees };
}

/** Given ids: the share of equal most probable ones, the mean difference of log-probabilities, and what is wrong. */
export function compareForced({ top1, logprobs }, wanted) {
  const differing = wanted.top1.map((_, i) => i).filter((i) => top1[i] !== wanted.top1[i]);
  const share = 1 - differing.length / wanted.top1.length;
  const off =
    wanted.logprobs.reduce((sum, value, i) => sum + Math.abs(value - logprobs[i]), 0) / wanted.logprobs.length;
  const unexcused = differing.filter((i) => !(wanted.margin[i] < NEAR_TIE));
  const whole = top1.length === wanted.top1.length && logprobs.length === wanted.logprobs.length;
  // Written so that a NaN agrees with nothing.
  const agrees = whole && share >= LEAST_SHARE && unexcused.length === 0 && off < MOST_OFF;
  return { share, off, differing, unexcused, agrees };
}
