/**
 * The tokens of a tag, as the parser and expressions read them.
 */
import { AtPlace, type Token } from './lexer.js';

/** How deep expressions may nest. */
const DEEPEST = 64;

/** The tokens of one tag, from left to right. @internal */
export class TokenReader {
  #at = 0;
  #depth = 0;
  #length = 0;

  constructor(private readonly tokens: readonly Token[]) {}

  /** Where the next token begins. */
  get at(): number {
    return (this.tokens[this.#at] as Token).at;
  }

  next(): Token {
    const token = this.tokens[this.#at] as Token;
    if (token.kind !== 'end') this.#at += 1;
    return token;
  }

  /** The error that the next token is another than what was expected. */
  unexpected(expected: string): AtPlace {
    const { text, at } = this.tokens[this.#at] as Token;
    return new AtPlace(at, `expected ${expected}, found ${text}`);
  }

  /** The same of the token that was read last. */
  before(expected: string): AtPlace {
    if (!this.atEnd()) this.#at -= 1;
    return this.unexpected(expected);
  }

  /** Reads something that stands inside of what is being read. */
  nested<T>(read: () => T): T {
    this.#depth += 1;
    if (this.#depth > DEEPEST) throw new AtPlace(this.at, `an expression nests deeper than ${DEEPEST} levels`);
    const result = read();
    this.#depth -= 1;
    return result;
  }

  /** Each filter, field and call is evaluated inside of the next. */
  longer(): void {
    this.#length += 1;
    if (this.#length > 500) throw new AtPlace(this.at, 'more than 500 filters, fields and calls in a tag');
  }

  peekSign(): string {
    const { kind, text } = this.tokens[this.#at] as Token;
    return kind === 'sign' ? text : '';
  }

  peek(sign: string): boolean {
    const token = this.tokens[this.#at] as Token;
    return token.kind === 'sign' && token.text === sign;
  }

  peekKind(): Token['kind'] {
    return (this.tokens[this.#at] as Token).kind;
  }

  peekName(ahead = 0): string | undefined {
    const token = this.tokens[this.#at + ahead];
    return token?.kind === 'name' ? token.text : undefined;
  }

  /** Whether an argument by name begins here. */
  isNamed(): boolean {
    return this.peekName() !== undefined && this.tokens[this.#at + 1]?.text === '=';
  }

  skip(sign: string): boolean {
    const found = this.peek(sign);
    if (found) this.#at += 1;
    return found;
  }

  skipName(name: string): boolean {
    const found = this.peekName() === name;
    if (found) this.#at += 1;
    return found;
  }

  expect(sign: string): void {
    if (!this.skip(sign)) throw this.unexpected(`'${sign}'`);
  }

  expectName(name: string): void {
    if (!this.skipName(name)) throw this.unexpected(`'${name}'`);
  }

  name(): string {
    if (this.peekKind() !== 'name') throw this.unexpected('a name');
    return this.next().text;
  }

  atEnd(): boolean {
    return this.peekKind() === 'end';
  }

  end(): void {
    if (!this.atEnd()) throw this.unexpected('the end of the tag');
  }

  closed<T>(sign: string, read: () => T): T {
    const result = read();
    this.expect(sign);
    return result;
  }

  /** Whether a test's argument without brackets begins here. */
  startsArgument(): boolean {
    const name = this.peekName();
    if (name !== undefined) return !['else', 'or', 'and', 'is', 'if', 'in', 'not', 'recursive'].includes(name);
    return ['text', 'integer', 'float'].includes(this.peekKind()) || this.peek('[') || this.peek('{');
  }
}
