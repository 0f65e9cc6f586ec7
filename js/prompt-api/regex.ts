/**
 * Regular expressions of JavaScript in the syntax of Rust's `regex` crate, which the grammars take. The whole answer
 * has to match, so anchors at its ends say nothing and are left out.
 */
import { notSupported } from './errors.js';

/** Classes that are ASCII in JavaScript and Unicode in Rust, inside of brackets. */
const CLASSES: Readonly<Record<string, string>> = { d: '0-9', w: '0-9A-Za-z_' };
const NEGATED: Readonly<Record<string, string>> = { D: '0-9', W: '0-9A-Za-z_' };

/** Throws a `NotSupportedError` for what can never be followed. The grammar refuses the others. @internal */
export function regexText({ source, flags }: RegExp): string {
  if (flags.includes('v')) throw notSupported('responseConstraint: a RegExp with the flag v');
  if (/\(\?<?[=!]/.test(source.replaceAll(/\\./g, ''))) {
    throw notSupported('responseConstraint: a RegExp that looks ahead or behind');
  }
  const wanted = ['i', 's'].filter((flag) => flags.includes(flag)).join('');
  return `${wanted ? `(?${wanted})` : ''}${new Translation(source).run()}`;
}

/** Reads an expression from left to right. */
class Translation {
  readonly #source: string;
  #at = 0;
  #depth = 0;
  #inClass = false;
  /** What comes next begins an alternative of the whole expression. */
  #isStart = true;

  constructor(source: string) {
    this.#source = source;
  }

  run(): string {
    let text = '';
    while (this.#at < this.#source.length) text += this.#inClass ? this.#classPart() : this.#part();
    return text;
  }

  #take(length = 1): string {
    const taken = this.#source.slice(this.#at, this.#at + length);
    this.#at += length;
    return taken;
  }

  #part(): string {
    const isStart = this.#isStart;
    this.#isStart = false;
    if (this.#source.startsWith('[^]', this.#at)) return this.#take(3) && '(?s:.)';
    const sign = this.#take();
    const after = this.#source[this.#at];
    if (sign === '\\') return this.#escape();
    if (sign === '[') this.#inClass = true;
    if (sign === '(') this.#depth += 1;
    if (sign === ')') this.#depth -= 1;
    if (this.#depth > 0) return sign;
    this.#isStart = sign === '|';
    if (sign === '^' && isStart) return '';
    if (sign === '$' && (after === undefined || after === '|')) return '';
    return sign;
  }

  #classPart(): string {
    // Beside a class such as \w a hyphen is no range.
    const isBeside = /\\[dDwWsS]$/.test(this.#source.slice(0, this.#at));
    const sign = this.#take();
    if (sign === ']') this.#inClass = false;
    if (sign === '-' && (isBeside || /^\\[dDwWsS]/.test(this.#source.slice(this.#at)))) return '\\-';
    if (sign === '[' || sign === '&' || sign === '~') return `\\${sign}`; // operators in Rust
    return sign === '\\' ? this.#escape() : sign;
  }

  #escape(): string {
    const sign = this.#take();
    const chars = CLASSES[sign];
    if (chars) return this.#inClass ? chars : `[${chars}]`;
    const others = NEGATED[sign];
    if (others) return `[^${others}]`;
    if (/[1-9k]/.test(sign)) throw notSupported('responseConstraint: a RegExp that refers back to a group');
    if (sign === '0') return '\\x00';
    if (sign === 'b' && this.#inClass) return '\\x08';
    if (sign === 'u' && !/[\dA-Fa-f{]/.test(this.#source[this.#at] ?? '')) return 'u';
    return /[\w.*+?^$|()[\]{}\\&~#-]/.test(sign) ? `\\${sign}` : sign;
  }
}
