/**
 * Cuts a template into text and tags, with the white space that Hugging Face's settings (`trim_blocks`,
 * `lstrip_blocks`) and the signs `-` and `+` take away or keep.
 */
import { SPACE, stripped } from './text.js';
import { TemplateError } from './values.js';

/** A name, number, text or operator in a tag. @internal */
export interface Token {
  readonly kind: 'name' | 'integer' | 'float' | 'text' | 'sign' | 'end';
  readonly text: string;
  /** Where it begins in the template. */
  readonly at: number;
}

/** @internal */
export type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'block' | 'print'; readonly tokens: readonly Token[]; readonly at: number };

/** Names, numbers and signs allowed in one tag: expressions are evaluated recursively. */
const MOST_IN_A_TAG = 1000;
/** In the order of `KINDS`; white space is none of them. */
const TOKENS = [
  /[\p{L}_][\p{L}\p{N}\p{M}_]*/u,
  /\d[\d_]*\.\d[\d_]*(?:[eE][+-]?\d[\d_]*)?|\d[\d_]*[eE][+-]?\d[\d_]*/,
  /0[xX][\da-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|\d[\d_]*/,
  /'[^'\\]*(?:\\[^][^'\\]*)*'|"[^"\\]*(?:\\[^][^"\\]*)*"/,
  /\*\*|\/\/|==|!=|<=|>=|[-+*/%~<>=()[\]{}.,:|]/,
];
const TOKEN = new RegExp(`[${SPACE}]+|${TOKENS.map(({ source }) => `(${source})`).join('|')}`, 'uy');
const KINDS = ['name', 'float', 'integer', 'text', 'sign'] as const;

/** With line ends as jinja2 reads them. @internal */
export const withLines = (source: string): string => source.replace(/\r\n?/g, '\n');

/** @internal */
export function partsOf(source: string): Part[] {
  // As jinja2: one newline at the end of a template is left out.
  return new Lexer(source.replace(/\n$/, '')).parts();
}

class Lexer {
  #at = 0;
  readonly #parts: Part[] = [];

  constructor(private readonly source: string) {}

  parts(): Part[] {
    const { source } = this;
    /** What the tag before takes of the white space behind it: all of it, a newline, or nothing. */
    let trim = '';
    while (this.#at < source.length) {
      const next = this.#nextTag();
      this.#text(source.slice(this.#at, next), trim, next);
      if (next === source.length) break;
      this.#at = next;
      trim = this.#tag();
    }
    return this.#parts;
  }

  #nextTag(): number {
    for (let at = this.#at; ; at += 1) {
      at = this.source.indexOf('{', at);
      if (at < 0) return this.source.length;
      const sign = this.source[at + 1];
      if (sign === '%' || sign === '{' || sign === '#') return at;
    }
  }

  /** A text between tags, without the white space that they take; `next` is where the tag behind it begins. */
  #text(text: string, trim: string, next: number): void {
    let rest = trim === '-' ? stripped(text, true, false) : trim === 'newline' ? text.replace(/^\n/, '') : text;
    const sign = this.source[next + 2];
    if (next < this.source.length) {
      const startsLine = this.#at === 0 || (trim !== '' && this.source[next - rest.length - 1] === '\n');
      rest = withoutIndent(rest, sign, startsLine, this.source[next + 1] !== '{');
    }
    if (rest !== '') this.#parts.push({ kind: 'text', text: rest });
  }

  /** Reads the tag at the present place; returns what it takes of the white space behind it. */
  #tag(): string {
    const opening = this.source[this.#at + 1];
    if (opening === '#') return this.#comment();
    const begin = this.#at;
    const kind = opening === '%' ? 'block' : 'print';
    const [tokens, trim] = this.#tokens(kind === 'block' ? '%}' : '}}', begin);
    const isRaw = kind === 'block' && tokens.length === 2 && tokens[0]?.text === 'raw' && tokens[0].kind === 'name';
    if (isRaw) return this.#raw(trim, begin);
    this.#parts.push({ kind, tokens, at: begin });
    return trim;
  }

  #comment(): string {
    const end = this.source.indexOf('#}', this.#at + 2);
    if (end < 0) throw new AtPlace(this.#at, 'a comment does not end');
    this.#at = end + 2;
    return this.#trimOf(this.source[end - 1], 'newline');
  }

  #trimOf(sign: string | undefined, usual: string): string {
    return sign === '-' ? '-' : sign === '+' ? '' : usual;
  }

  #tokens(close: string, begin: number): [Token[], string] {
    const { source } = this;
    const tokens: Token[] = [];
    let at = this.#at + 2;
    if (source[at] === '-' || source[at] === '+') at += 1;
    for (let depth = 0; ; ) {
      // A dict may end with braces that look like the end of the tag.
      const ends = depth === 0 && (source.startsWith(close, at) || source.startsWith(close, at + 1));
      const sign = source.startsWith(close, at) ? '' : source[at];
      if (ends && (sign === '' || sign === '-' || sign === '+')) {
        this.#at = at + close.length + (sign as string).length;
        tokens.push({ kind: 'end', text: 'the end of the tag', at });
        return [tokens, this.#trimOf(sign, close === '%}' ? 'newline' : '')];
      }
      TOKEN.lastIndex = at;
      const match = TOKEN.exec(source);
      if (!match) {
        const found = at < source.length ? `unexpected ${JSON.stringify(source[at])}` : 'a tag does not end';
        throw new AtPlace(at < source.length ? at : begin, found);
      }
      at = TOKEN.lastIndex;
      const kind = KINDS.findIndex((_, index) => match[index + 1] !== undefined);
      if (kind < 0) continue;
      if (kind === 4) depth += '([{'.includes(match[0]) ? 1 : ')]}'.includes(match[0]) ? -1 : 0;
      tokens.push({ kind: KINDS[kind] as Token['kind'], text: match[0], at: at - match[0].length });
      if (tokens.length > MOST_IN_A_TAG) throw new AtPlace(at, `more than ${MOST_IN_A_TAG} names and signs in a tag`);
    }
  }

  #raw(trim: string, begin: number): string {
    const end = /\{%([-+]?)\s*endraw\s*([-+]?)%\}/g;
    end.lastIndex = this.#at;
    const match = end.exec(this.source);
    if (!match) throw new AtPlace(begin, 'a raw block does not end');
    const text = this.source.slice(this.#at, match.index);
    // The newline behind it stays.
    const rest = withoutIndent(trim === '-' ? stripped(text, true, false) : text, match[1], false, true);
    if (rest !== '') this.#parts.push({ kind: 'text', text: rest });
    this.#at = end.lastIndex;
    return this.#trimOf(match[2], 'newline');
  }
}

/** Without the white space that the tag behind takes: all, or what stands between the beginning of a line and it. */
function withoutIndent(text: string, sign: string | undefined, startsLine: boolean, isBlock: boolean): string {
  if (sign === '-') return stripped(text, false, true);
  if (sign === '+' || !isBlock) return text;
  const line = text.lastIndexOf('\n') + 1;
  const isIndent = (line > 0 || startsLine) && stripped(text.slice(line), true, false) === '';
  return isIndent ? text.slice(0, line) : text;
}

/** An error in the template's text. @internal */
export class AtPlace extends TemplateError {
  constructor(
    readonly at: number,
    message: string,
  ) {
    super(message);
  }
}
