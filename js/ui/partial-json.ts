/**
 * JSON that is still being written.
 */

/** Deeper values are left out: what a model writes is hostile input. */
const DEEPEST = 100;
const ESCAPES: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };
const WORDS: Record<string, unknown> = { true: true, false: false, null: null };

/** What a beginning of JSON says so far: texts without their end, objects without what is not there; else nothing. */
export function partialJson(text: string): unknown {
  return new Reader(text).value(0);
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): unknown {
    this.#skip();
    if (depth > DEEPEST) return this.#stop();
    const first = this.#text[this.#at];
    if (first === '{') return this.#object(depth + 1);
    if (first === '[') return this.#array(depth + 1);
    if (first === '"') return this.#string();
    return this.#word();
  }

  #object(depth: number): object {
    const fields: [string, unknown][] = [];
    this.#at += 1;
    while (this.#next('"', '}')) {
      const name = this.#string();
      this.#skip();
      if (this.#text[this.#at] !== ':') break;
      this.#at += 1;
      const value = this.value(depth);
      if (value !== undefined) fields.push([name, value]);
    }
    return Object.fromEntries(fields);
  }

  #array(depth: number): unknown[] {
    const items: unknown[] = [];
    this.#at += 1;
    while (this.#next('', ']')) {
      const item = this.value(depth);
      if (item !== undefined) items.push(item);
    }
    return items;
  }

  /** Goes to the next part, whose first character is one of `first`, or behind `end`. */
  #next(first: string, end: string): boolean {
    this.#skip();
    if (this.#text[this.#at] === ',') this.#at += 1;
    this.#skip();
    const found = this.#text[this.#at];
    if (found === end) this.#at += 1;
    return found !== undefined && found !== end && (first === '' || found === first);
  }

  #string(): string {
    let value = '';
    for (this.#at += 1; this.#at < this.#text.length; this.#at += 1) {
      const char = this.#text[this.#at] as string;
      if (char === '"') {
        this.#at += 1;
        return value;
      }
      value += char === '\\' ? this.#escape() : char;
    }
    // Half of a character may be missing.
    return /[\ud800-\udbff]$/.test(value) ? value.slice(0, -1) : value;
  }

  #escape(): string {
    this.#at += 1;
    const char = this.#text[this.#at] ?? '';
    if (char !== 'u') return ESCAPES[char] ?? char;
    const digits = this.#text.slice(this.#at + 1, this.#at + 5);
    this.#at += 4;
    return /^[\da-f]{4}$/i.test(digits) ? String.fromCharCode(Number.parseInt(digits, 16)) : '';
  }

  /** A number or a word; nothing where it is not whole, or none. */
  #word(): unknown {
    const [word = ''] = /^[^\s,\]}"]*/.exec(this.#text.slice(this.#at, this.#at + 400)) ?? [];
    if (word === '') return this.#stop();
    this.#at += word.length;
    if (Object.hasOwn(WORDS, word)) return WORDS[word];
    return /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(word) ? Number(word) : undefined;
  }

  #skip(): void {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at += 1;
  }

  #stop(): undefined {
    this.#at = this.#text.length;
    return undefined;
  }
}
