/**
 * Reads text that is still being written. What a format says is here is taken, waited for, or found to be something
 * else. Readers are generators, which stop where the text ends and go on there with the next piece: each character is
 * read once, however the text is cut.
 */

/** What a reader does: it yields where it waits for more text. @internal */
export type Wait<T = void> = Generator<void, T, void>;

/** Thrown where the text is over too early. @internal */
export const OVER = Symbol('over');
/** Thrown where the text is not what the format says. @internal */
export const OTHER = Symbol('other');

/** A place in a text. @internal */
export class Scanner {
  /** What is not read yet begins at `at`. */
  text = '';
  at = 0;
  /** No text follows. */
  isOver = false;
  /** It was cut off at its end. */
  isCut = false;
  /** How often a value without its end had to be read a second time. */
  secondReadings = 0;
  /** What was read since the mark: this, and the text from `#from` on. */
  #taken = '';
  #from = 0;

  push(piece: string): void {
    if (this.at > 0) {
      this.#taken += this.text.slice(this.#from, this.at);
      this.text = this.text.slice(this.at);
      this.#from = 0;
      this.at = 0;
    }
    this.text += piece;
  }

  /** All before is done with. */
  mark(): void {
    this.#taken = '';
    this.#from = this.at;
  }

  /** What was read since the mark. */
  sinceMark(): string {
    return this.#taken + this.text.slice(this.#from, this.at);
  }

  /** Goes back by `count` characters, at most to the mark. */
  rewind(count: number): void {
    const read = this.sinceMark();
    const keep = read.length - count;
    this.#taken = read.slice(0, keep);
    this.text = read.slice(keep) + this.text.slice(this.at);
    this.#from = 0;
    this.at = 0;
  }

  /** Goes back to the mark. */
  back(): void {
    this.rewind(this.sinceMark().length);
  }

  /** Waits for more text; throws where there is none. */
  *more(): Wait {
    if (this.isOver) throw OVER;
    yield;
  }

  /** The next character. */
  *peek(): Wait<string> {
    while (this.at >= this.text.length) yield* this.more();
    return this.text[this.at] as string;
  }

  /** The next character; empty at the end of the text. */
  *peekOrEnd(): Wait<string> {
    while (this.at >= this.text.length && !this.isOver) yield;
    return this.text[this.at] ?? '';
  }

  /** Takes all that a sticky pattern of the form `[…]*` matches. */
  *run(pattern: RegExp): Wait<string> {
    let taken = '';
    for (;;) {
      pattern.lastIndex = this.at;
      const [found = ''] = pattern.exec(this.text) ?? [];
      taken += found;
      this.at += found.length;
      if (this.at < this.text.length || this.isOver) return taken;
      yield;
    }
  }

  space(): Wait<string> {
    return this.run(/\s*/y);
  }

  /** Whether `word` is here. */
  *is(word: string): Wait<boolean> {
    for (;;) {
      if (this.text.startsWith(word, this.at)) return true;
      const short = this.text.length - this.at < word.length;
      if (!short || this.isOver || !word.startsWith(this.text.slice(this.at))) return false;
      yield;
    }
  }

  /** Takes `word` if it is here. */
  *take(word: string): Wait<boolean> {
    const isHere = yield* this.is(word);
    if (isHere) this.at += word.length;
    return isHere;
  }

  /** Takes the longest of `words` that is here. */
  *takeAny(words: readonly string[]): Wait<string | undefined> {
    let best: string | undefined;
    for (const word of words) {
      if (word.length > (best?.length ?? 0) && (yield* this.is(word))) best = word;
    }
    this.at += best?.length ?? 0;
    return best;
  }

  /** Takes `word`; nothing else may be here. */
  *expect(word: string): Wait {
    if (yield* this.take(word)) return;
    throw this.isOver && word.startsWith(this.text.slice(this.at)) ? OVER : OTHER;
  }

  /**
   * Takes the text before the first of `words` and stops there. `grown` gets it as it comes; what is left may be the
   * beginning of one of them. Gives the word, or `undefined` at the end of the text, all of which is taken.
   */
  *before(words: Words, grown: (text: string) => void): Wait<string | undefined> {
    for (;;) {
      const { at, word } = words.find(this.text, this.at, this.isOver);
      const text = this.text.slice(this.at, at);
      this.at = at;
      if (text) grown(text);
      if (word !== undefined || this.isOver) return word;
      yield;
    }
  }

  /** Takes the text before `word`, and `word`; the text has at most `most` characters. */
  *until(words: Words, most = Number.POSITIVE_INFINITY): Wait<{ text: string; word: string }> {
    let text = '';
    const word = yield* this.before(words, (part) => {
      text += part;
      if (text.length > most) throw OTHER;
    });
    if (word === undefined) throw OVER;
    this.at += word.length;
    return { text, word };
  }
}

/** Words that are looked for together. @internal */
export class Words {
  readonly #pattern: RegExp | undefined;
  readonly #longest: number;

  constructor(readonly list: readonly string[]) {
    const sorted = [...new Set(list)].filter(Boolean).sort((a, b) => b.length - a.length);
    const escaped = sorted.map((word) => word.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`));
    this.#pattern = sorted.length > 0 ? new RegExp(escaped.join('|'), 'g') : undefined;
    this.#longest = sorted[0]?.length ?? 0;
  }

  /**
   * The first that is in `text`, and where; else where at its end a part of one may begin. Which one it is does not
   * depend on how the text was cut: as long as more text may make another of it, none is found.
   */
  find(text: string, from: number, isOver: boolean): { at: number; word: string | undefined } {
    if (!this.#pattern) return { at: text.length, word: undefined };
    this.#pattern.lastIndex = from;
    const found = this.#pattern.exec(text);
    const held = isOver ? text.length : this.#heldFrom(text, from);
    return found && found.index < held ? { at: found.index, word: found[0] } : { at: held, word: undefined };
  }

  #heldFrom(text: string, from: number): number {
    for (let at = Math.max(from, text.length - this.#longest + 1); at < text.length; at += 1) {
      const rest = text.slice(at);
      if (this.list.some((word) => word.length > rest.length && word.startsWith(rest))) return at;
    }
    return text.length;
  }
}
