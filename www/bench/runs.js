// One timed generation of a loaded model, and medians. Everything that measures models goes by these.

/** Uniform numbers in [0, 1) from a seed (mulberry32): the same ids in every browser. */
export function seeded(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The middle of a list, null where it holds no number. */
export function median(values) {
  const sorted = values.filter((value) => Number.isFinite(value)).sort((a, b) => a - b);
  if (sorted.length === 0) return null;
  const half = sorted.length / 2;
  return sorted.length % 2 ? sorted[Math.floor(half)] : (sorted[half - 1] + sorted[half]) / 2;
}

/** Tokens that a prompt says over and over, with `repeat`. */
const REPEATED = 64;

/** A loaded model with the settings of this measurement. */
export class Bench {
  constructor(model, settings) {
    this.model = model;
    this.settings = settings;
    this.random = seeded(20);
  }

  /** A prompt that no run had before: the KV cache helps none of them. With `repeat` it says the same over and over. */
  prompt(length) {
    const { vocabularySize } = this.model.info;
    const once = this.settings.repeat ? Math.min(length, REPEATED) : length;
    const ids = Array.from({ length: once }, () => Math.floor(this.random() * vocabularySize));
    return Uint32Array.from({ length }, (_, at) => ids[at % once]);
  }

  /** The options of `generate`. */
  options(maxTokens) {
    const { temperature, schema } = this.settings;
    const draft = { auto: undefined, prompt: 'prompt', model: 'model', 0: false }[this.settings.draft];
    const grammar = schema && { jsonSchema: schema };
    return { maxTokens, temperature, seed: 1, draft, ...(grammar ? { grammar } : { ignoreEos: true }) };
  }

  /**
   * One generation, timed from outside. `tg` counts the tokens after the first piece, from its arrival to the end of
   * the loop.
   */
  async once(promptLength, maxTokens) {
    const ids = this.prompt(promptLength);
    await this.model.reset();
    const begun = performance.now();
    let [n, first, firstIds] = [0, undefined, 0];
    const generation = this.model.generate(ids, this.options(maxTokens));
    for await (const piece of generation) {
      n += piece.ids.length;
      if (first === undefined && n > 0) [first, firstIds] = [performance.now(), n];
    }
    const ms = performance.now() - first;
    const ttft_ms = first - begun;
    const tg = n > firstIds ? ((n - firstIds) / ms) * 1000 : null;
    const { acceptedDraftTokens: drafted, rejectedDraftTokens: wrong } = (await generation.result).usage;
    return { prompt_n: promptLength, pp: (promptLength / ttft_ms) * 1000, n, tg, ttft_ms, drafted, wrong };
  }
}

/** Medians of these fields of runs. */
export function medians(runs, names) {
  return Object.fromEntries(names.map((name) => [name, median(runs.map((run) => run[name]))]));
}
