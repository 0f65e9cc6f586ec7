/**
 * Cuts a template into text and tags, with the white space that Hugging Face's settings (`trim_blocks`,
 * `lstrip_blocks`) and the signs `-` and `+` take away or keep.
 */
import { TemplateError } from './values.js';

/** A name, number, text or operator in a tag. @internal */
export interface Token {
  readonly kind: 'name' | 'integer' | 'float' | 'text' | 'sign' | 'end';
  readonly text: string;
}

/** @internal */
export type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'block' | 'print'; readonly tokens: readonly Token[]; readonly line: number };

/** Names, numbers and signs allowed in one tag: expressions are evaluated recursively. */
const MOST_IN_A_TAG = 1000;
/** In the order of `KINDS`; white space is none of them. */
const TOKENS = [
  /[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*/,
  /\d[\d_]*\.\d+(?:[eE][+-]?\d+)?|\d[\d_]*[eE][+-]?\d+/,
  /\d[\d_]*/,
  /'(?:[^'\\]|\\[^])*'|"(?:[^"\\]|\\[^])*"/,
  /\*\*|\/\/|==|!=|<=|>=|[-+*/%~<>=()[\]{}.,:|]/,
];
const TOKEN = new RegExp(`\\s+|${TOKENS.map(({ source }) => `(${source})`).join('|')}`, 'y');
const KINDS = ['name', 'float', 'integer', 'text', 'sign'] as const;

/** @internal */
export function partsOf(source: string): Part[] {
  // As jinja2: one newline at the end of a template is left out.
  return new Lexer(source.replace(/\r\n?/g, '\n').replace(/\n$/, '')).parts();
}

class Lexer {
  #at = 0;
  #line = 1;
  #counted = 0;
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
    let rest = trim === '-' ? text.trimStart() : trim === 'newline' ? text.replace(/^\n/, '') : text;
    const opening = this.source[next + 1];
    const sign = this.source[next + 2];
    if (next < this.source.length && sign === '-') rest = rest.trimEnd();
    else if (next < this.source.length && opening !== '{' && sign !== '+') {
      // White space between the beginning of a line and a block or comment.
      const line = rest.lastIndexOf('\n') + 1;
      const startsLine = line > 0 || this.#at === 0 || (trim === 'newline' && text.startsWith('\n'));
      if (startsLine && /^[^\S\n]*$/.test(rest.slice(line))) rest = rest.slice(0, line);
    }
    if (rest !== '') this.#parts.push({ kind: 'text', text: rest });
  }

  /** Reads the tag at the present place; returns what it takes of the white space behind it. */
  #tag(): string {
    const opening = this.source[this.#at + 1];
    if (opening === '#') return this.#comment();
    const line = this.#lineAt(this.#at);
    const kind = opening === '%' ? 'block' : 'print';
    const [tokens, trim] = this.#tokens(kind === 'block' ? '%}' : '}}', line);
    const isRaw = kind === 'block' && tokens.length === 2 && tokens[0]?.text === 'raw' && tokens[0].kind === 'name';
    if (isRaw) return this.#raw(trim, line);
    this.#parts.push({ kind, tokens, line });
    return trim;
  }

  #comment(): string {
    const end = this.source.indexOf('#}', this.#at + 2);
    if (end < 0) throw new AtLine(this.#lineAt(this.#at), 'a comment does not end');
    this.#at = end + 2;
    return this.#trimOf(this.source[end - 1], 'newline');
  }

  #trimOf(sign: string | undefined, usual: string): string {
    return sign === '-' ? '-' : sign === '+' ? '' : usual;
  }

  #tokens(close: string, line: number): [Token[], string] {
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
        tokens.push({ kind: 'end', text: 'the end of the tag' });
        return [tokens, this.#trimOf(sign, close === '%}' ? 'newline' : '')];
      }
      TOKEN.lastIndex = at;
      const match = TOKEN.exec(source);
      if (!match) {
        const found = at < source.length ? `unexpected ${JSON.stringify(source[at])}` : 'a tag does not end';
        throw new AtLine(at < source.length ? this.#lineAt(at) : line, found);
      }
      at = TOKEN.lastIndex;
      const kind = KINDS.findIndex((_, index) => match[index + 1] !== undefined);
      if (kind < 0) continue;
      if (kind === 4) depth += '([{'.includes(match[0]) ? 1 : ')]}'.includes(match[0]) ? -1 : 0;
      tokens.push({ kind: KINDS[kind] as Token['kind'], text: match[0] });
      if (tokens.length > MOST_IN_A_TAG) throw new AtLine(line, `more than ${MOST_IN_A_TAG} names and signs in a tag`);
    }
  }

  #raw(trim: string, line: number): string {
    const end = /\{%([-+]?)\s*endraw\s*([-+]?)%\}/g;
    end.lastIndex = this.#at;
    const match = end.exec(this.source);
    if (!match) throw new AtLine(line, 'a raw block does not end');
    let text = this.source.slice(this.#at, match.index);
    if (trim === '-') text = text.trimStart();
    if (trim === 'newline') text = text.replace(/^\n/, '');
    if (match[1] === '-') text = text.trimEnd();
    if (text !== '') this.#parts.push({ kind: 'text', text });
    this.#at = end.lastIndex;
    return this.#trimOf(match[2], 'newline');
  }

  #lineAt(at: number): number {
    for (; this.#counted < at; this.#counted += 1) if (this.source[this.#counted] === '\n') this.#line += 1;
    return this.#line;
  }
}

/** An error in the template's text. @internal */
export class AtLine extends TemplateError {
  constructor(
    readonly line: number,
    message: string,
  ) {
    super(message);
  }
}
