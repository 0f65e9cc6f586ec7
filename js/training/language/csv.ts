/**
 * Tables of comma-separated values, as RFC 4180 and spreadsheets write them.
 */
import { invalidArgument } from '../../errors.js';

/** A row, and the line that it begins on, from 1. @internal */
export interface Row {
  readonly line: number;
  readonly fields: readonly string[];
}

/**
 * The rows of a table. What stands between the fields is what its first line has most of: a comma, a semicolon or a
 * tab. Empty lines are no rows.
 *
 * @throws {WebggufError} `invalid_argument` for quotes that are not closed, or have text behind them
 * @internal
 */
export function csvRows(text: string): Row[] {
  return new Reader(text).rows();
}

/** The separator in the first line; quoted text does not count. */
function separatorOf(text: string): string {
  const [first = ''] = text.replaceAll(/"[^"]*"/g, '').split(/\r|\n/, 1);
  const count = (mark: string): number => first.split(mark).length;
  return [',', ';', '\t'].reduce((best, mark) => (count(mark) > count(best) ? mark : best));
}

class Reader {
  readonly #text: string;
  readonly #separator: string;
  #at = 0;
  #line = 1;

  constructor(text: string) {
    this.#text = text;
    this.#separator = separatorOf(text);
  }

  rows(): Row[] {
    const rows: Row[] = [];
    while (this.#at < this.#text.length) {
      const line = this.#line;
      const fields = [this.#field()];
      while (this.#takes(this.#separator)) fields.push(this.#field());
      this.#endLine();
      if (fields.length > 1 || fields[0] !== '') rows.push({ line, fields });
    }
    return rows;
  }

  #field(): string {
    if (this.#text[this.#at] === '"') return this.#quoted();
    const start = this.#at;
    while (this.#at < this.#text.length && !this.#isEnd(this.#text[this.#at] as string)) this.#at++;
    return this.#text.slice(start, this.#at);
  }

  #quoted(): string {
    const line = this.#line;
    let value = '';
    for (this.#at++; ; this.#at++) {
      const end = this.#text.indexOf('"', this.#at);
      if (end < 0) throw invalidArgument(`line ${line}: a quoted field is not closed: " is missing`);
      const part = this.#text.slice(this.#at, end);
      this.#line += part.split(/\r\n|\r|\n/).length - 1;
      value += part;
      this.#at = end + 1;
      if (this.#text[this.#at] !== '"') break;
      value += '"';
    }
    const next = this.#text[this.#at];
    if (next === undefined || this.#isEnd(next)) return value;
    throw invalidArgument(
      `line ${this.#line}: found ${JSON.stringify(next)} behind a quoted field, expected ` +
        `${JSON.stringify(this.#separator)} or the end of the line; quotes in a field are written twice`,
    );
  }

  #isEnd(char: string): boolean {
    return char === this.#separator || char === '\n' || char === '\r';
  }

  #takes(mark: string): boolean {
    const isThere = this.#text[this.#at] === mark;
    if (isThere) this.#at++;
    return isThere;
  }

  #endLine(): void {
    if (this.#takes('\r') || this.#text[this.#at] === '\n') {
      this.#takes('\n');
      this.#line++;
    }
  }
}
