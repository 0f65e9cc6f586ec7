/**
 * Whose turn it is in an answer of text and sound, as LFM3 is trained: text, a sound until its last frame, or blocks of
 * both in turn, six tokens and twelve frames, until `<|text_end|>`; what follows of the sound ends with its last frame.
 */

/** Tokens and frames of a block. */
const [TOKENS, FRAMES] = [6, 12];

/** How an answer is made. @internal */
export type Mode = 'text' | 'sound' | 'mixed';

/** What a token does: it begins blocks or a sound, or ends the text. @internal */
export type Switch = 'mixed' | 'sound' | 'over';

/** @internal */
export class Slots {
  #mode: Mode;
  /** Slots that are left of a block, whether they are frames, and whether no text follows. */
  #left = TOKENS;
  #speaks = false;
  #isTextOver = false;

  constructor(mode: Mode) {
    this.#mode = mode;
  }

  /** Whether the next one is a token of text. */
  get isText(): boolean {
    return this.#mode === 'text' || (this.#mode === 'mixed' && !this.#speaks);
  }

  /** Whether `<|text_end|>` ends the answer here. */
  get isPlain(): boolean {
    return this.#mode === 'text';
  }

  /** Frames until text may follow. */
  get frames(): number {
    return this.#mode === 'mixed' && !this.#isTextOver ? this.#left : Number.POSITIVE_INFINITY;
  }

  /** A token was written. */
  wrote(token: Switch | undefined): void {
    const isBlock = this.#mode === 'mixed';
    if (isBlock && token === 'over') [this.#isTextOver, this.#speaks] = [true, true];
    if (!isBlock && token === 'sound') this.#mode = 'sound';
    if (!isBlock && token === 'mixed') {
      [this.#mode, this.#left, this.#speaks, this.#isTextOver] = ['mixed', TOKENS, false, false];
    }
    if (isBlock) this.#count();
  }

  /** A frame was made; the last one of a sound leads back to text. */
  spoke(isEnd: boolean): void {
    if (isEnd) this.#mode = 'text';
    else if (this.#mode === 'mixed') this.#count();
  }

  #count(): void {
    if (this.#isTextOver || --this.#left > 0) return;
    this.#speaks = !this.#speaks;
    this.#left = this.#speaks ? FRAMES : TOKENS;
  }
}
