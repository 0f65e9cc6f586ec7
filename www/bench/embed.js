// Measures an embedder: many texts of one length in one call of `embed`, by wall clock.

import { medians } from './runs.js';

/** Texts of the call that warms up: kernels of small and of full batches run once. */
const WARM_UP = [1, 100];
/** Ids below this may be special tokens. */
const FIRST_ID = 1000;

/** `count` inputs of `length` random token ids. */
function inputs(count, length, vocabularySize, random) {
  const from = Math.min(FIRST_ID, vocabularySize - 1);
  const id = () => from + Math.floor(random() * (vocabularySize - from));
  return Array.from({ length: count }, () => Uint32Array.from({ length }, id));
}

/**
 * Times `embed` over `texts` inputs of `prompt` tokens, new ones in each run.
 * @returns {{ runs: object[], median: object }} with `texts_per_second` and `pp`, tokens per second
 */
export async function embedRuns(model, { texts, prompt, runs }, random, say) {
  const { vocabularySize } = model.info;
  for (const count of WARM_UP) await model.embed(inputs(count, prompt, vocabularySize, random));
  const list = [];
  for (let i = 0; i < runs; i++) {
    say(`run ${i + 1} of ${runs}`, i / runs);
    const some = inputs(texts, prompt, vocabularySize, random);
    const begun = performance.now();
    await model.embed(some);
    const ms = performance.now() - begun;
    list.push({
      n: texts,
      prompt_n: prompt,
      ms,
      texts_per_second: (texts / ms) * 1000,
      pp: (texts * prompt * 1000) / ms,
    });
  }
  return { runs: list, median: medians(list, ['ms', 'texts_per_second', 'pp']) };
}
