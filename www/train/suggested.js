// The options that suit a model, until a person says otherwise.

/** Weights above which a model is asked to learn with more care. */
const LARGE = 5e7;
/** Sequences of a step. With more of them twenty short examples are few steps, too few for the model of the page. */
const BATCH = 2;

/**
 * What the fields of the page hold, by their names.
 * @param {{parameters: number, contextLength: number}} info of the model
 */
export function suggested({ parameters, contextLength }) {
  const isLarge = parameters > LARGE;
  return {
    epochs: isLarge ? 3 : 5,
    rate: isLarge ? 0.0002 : 0.01,
    rank: isLarge ? 16 : 8,
    length: Math.min(isLarge ? 512 : 128, contextLength),
    batch: BATCH,
    'held-out': 10,
  };
}
