/**
 * How fast a run is.
 */

/** Steps that are averaged over. */
const STEPS = 10;

/** The speed of the last steps. */
export class Pace {
  readonly #last: { readonly seconds: number; readonly tokens: number }[] = [];
  #count = 0;

  /** After a step: tokens in a second, and seconds for the steps that are left. */
  after(milliseconds: number, tokens: number, left: number): { tokensPerSecond: number; secondsLeft: number } {
    // The first step makes the pipelines of the GPU, and is no measure of the others.
    if (this.#count === 1) this.#last.length = 0;
    this.#count += 1;
    this.#last.push({ seconds: milliseconds / 1000, tokens });
    if (this.#last.length > STEPS) this.#last.shift();
    const seconds = this.#last.reduce((sum, step) => sum + step.seconds, 0);
    const read = this.#last.reduce((sum, step) => sum + step.tokens, 0);
    return {
      tokensPerSecond: seconds > 0 ? read / seconds : 0,
      secondsLeft: (left * seconds) / this.#last.length,
    };
  }
}
