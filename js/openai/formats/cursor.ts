/**
 * Reads text that is still being written: what a format says is here is taken, waited for, or found to be something
 * else.
 */

/** A call of a tool, as far as it is written. @internal */
export interface Call {
  name: string;
  /** JSON text; what is there never changes as more text comes. */
  arguments: string;
  complete: boolean;
}

/** The parameters of the tools, JSON Schemas, by the tools' names. @internal */
export type Tools = ReadonlyMap<string, unknown>;

/** Thrown where the text ends too early. */
const MORE = Symbol('more');
/** Thrown where the text is not what the format says. */
const OTHER = Symbol('other');

/** Until its arguments begin, it may turn out to be something else. */
const isCertain = (call: Call): boolean => call.complete || call.arguments !== '';

/** What stands at the start of a text. @internal */
export interface Region {
  readonly calls: readonly Call[];
  /** Where the calls end, 0 where there are none; `undefined` where more text may belong to them. */
  readonly end: number | undefined;
}

/** A place in a text. @internal */
export class Cursor {
  readonly text: string;
  /** No text follows. */
  readonly final: boolean;
  readonly tools: Tools;
  readonly calls: Call[] = [];
  at = 0;
  /** Something is here that no call has, and that must not be lost. */
  keeps = false;
  /** All before belongs to `calls`. */
  #mark = 0;

  constructor(text: string, final: boolean, tools: Tools) {
    this.text = text;
    this.final = final;
    this.tools = tools;
  }

  /**
   * What `read` finds at the start of the text.
   * @param cut the text was cut off, in calls whose arguments are JSON or something else: what belongs to a call that
   *   is not complete is no text
   */
  static region(cursor: Cursor, read: (cursor: Cursor) => void, cut?: 'json' | 'other'): Region {
    try {
      read(cursor);
      cursor.mark();
    } catch (stop) {
      if (stop !== MORE && stop !== OTHER) throw stop;
      if (stop === MORE && !cursor.final) return { calls: cursor.calls.filter(isCertain), end: undefined };
      if (stop === MORE && cut && cursor.#ends(cut)) return { calls: cursor.calls, end: cursor.text.length };
    }
    return { calls: cursor.calls.filter(isCertain), end: cursor.#mark };
  }

  /** Gives the rest of a text that was cut off to the last call. Whether nothing is lost by that. */
  #ends(cut: 'json' | 'other'): boolean {
    const last = this.calls.at(-1);
    if (this.keeps || (cut === 'other' && last && !last.complete)) return false;
    if (last && !last.complete && last.arguments !== '') last.arguments += this.text.slice(this.#mark);
    return true;
  }

  /** Ends reading: here is something else. */
  other(): never {
    throw OTHER;
  }

  /** Ends reading until there is more text. */
  more(): never {
    throw MORE;
  }

  /** All before belongs to the calls. */
  mark(): void {
    this.#mark = this.at;
  }

  /** The next character. */
  peek(): string {
    return this.text[this.at] ?? this.more();
  }

  space(): void {
    while (/\s/.test(this.text[this.at] ?? 'x')) this.at += 1;
  }

  /** Takes `word` if it is here. */
  take(word: string): boolean {
    if (this.text.startsWith(word, this.at)) {
      this.at += word.length;
      return true;
    }
    if (word.startsWith(this.text.slice(this.at))) this.more();
    return false;
  }

  /** Takes `word` if it is here, also where the text is over. */
  takeOptional(word: string): boolean {
    return !(this.final && this.at >= this.text.length) && this.take(word);
  }

  /** Takes `word`; nothing else may be here. */
  expect(word: string): void {
    if (!this.take(word)) this.other();
  }

  /** Takes the text before `word`, and `word`. */
  until(word: string): string {
    const end = this.text.indexOf(word, this.at);
    if (end < 0) this.more();
    const found = this.text.slice(this.at, end);
    this.at = end + word.length;
    return found;
  }

  /** Takes what `pattern` (sticky) matches; waits where that goes to the end of the text. */
  match(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const [found] = pattern.exec(this.text) ?? [''];
    if (this.at + found.length === this.text.length && !this.final) this.more();
    this.at += found.length;
    return found;
  }

  /** A new call of a tool. */
  call(name: string): Call {
    if (!/^[\w.:-]{1,128}$/.test(name)) this.other();
    const call = { name, arguments: '', complete: false };
    this.calls.push(call);
    return call;
  }
}
