/**
 * Values as Python and Gemma write them, turned into JSON.
 */
import type { Sink, Tools } from './format.js';
import { DEEPEST, isNumber, wordOf } from './json.js';
import { OTHER, OVER, Scanner, type Wait, Words } from './scanner.js';
import { isOnlyText } from './values.js';

/** How values are written. @internal */
export interface Style {
  /** What strings begin and end with, the longest first. */
  readonly quotes: readonly string[];
  /** A backslash escapes within quotes of a single character, and of three. */
  readonly isPython: boolean;
  /** What may stand between a key and a value. */
  readonly assign: readonly string[];
}

/** Keyword arguments of Python. @internal */
export const PYTHON: Style = { quotes: ['"""', "'''", '"', "'"], isPython: true, assign: ['=', ':'] };

const WORD = /[^\s,:=()[\]{}"'<]*/y;
const KEY = /[^\s,:=()[\]{}"'<]*/y;
const PREFIX = /^(?:[bu]|[bf]?r|rb)$/i;
const CLOSES: Record<string, string> = { '[': ']', '(': ')', '{': '}' };
const ESCAPES: Record<string, string> = {
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  f: '\f',
  v: '\v',
  a: '\x07',
  '\n': '',
  '\\': '\\',
  "'": "'",
  '"': '"',
};
/** Digits of escapes by number. */
const DIGITS: Record<string, number> = { x: 2, u: 4, U: 8 };

/** Whose arguments these are. @internal */
export interface Place {
  readonly name: string;
  readonly tools: Tools;
}

/** Takes `key=value, …` up to `close` as the arguments of a call, by a whole value at a time. @internal */
export function* takePairs(scanner: Scanner, sink: Sink, style: Style, [close, place]: readonly [string, Place]): Wait {
  sink.add('{');
  for (let isFirst = true; ; isFirst = false) {
    yield* scanner.space();
    if (yield* scanner.take(close)) break;
    if (!isFirst) {
      yield* scanner.expect(',');
      yield* scanner.space();
      if (yield* scanner.take(close)) break;
    }
    const key = yield* takeKey(scanner, style);
    yield* scanner.space();
    if ((yield* scanner.takeAny(style.assign)) === undefined) yield* scanner.expect(style.assign[0] as string);
    const value = yield* takeArgument(scanner, style, place, key);
    sink.add(`${isFirst ? '' : ', '}${JSON.stringify(key)}: ${value}`);
  }
  sink.add('}');
  sink.done();
}

function* takeKey(scanner: Scanner, style: Style): Wait<string> {
  const quoted = yield* takeQuoted(scanner, style);
  if (quoted !== undefined) return quoted;
  const key = yield* scanner.run(KEY);
  if (key === '') throw (yield* scanner.peekOrEnd()) === '' ? OVER : OTHER;
  return key;
}

/** A value of the call itself; a word that is no literal is text where the schema says so. */
function* takeArgument(scanner: Scanner, style: Style, { name, tools }: Place, key: string): Wait<string> {
  const tool = tools.get(name);
  yield* scanner.space();
  const char = yield* scanner.peek();
  const isBare = !CLOSES[char] && !(yield* startsQuoted(scanner, style));
  if (!isBare) return yield* takeValue(scanner, style);
  const word = yield* scanner.run(WORD);
  const quoted = yield* prefixed(scanner, style, word);
  if (quoted !== undefined) return quoted;
  if (isOnlyText(tool, key) && word !== '' && !style.isPython) return JSON.stringify(word);
  const value = scalarOf(word);
  if (value !== undefined) return value;
  if (style.isPython || word === '') throw (yield* scanner.peekOrEnd()) === '' ? OVER : OTHER;
  return JSON.stringify(word);
}

function* takeValue(scanner: Scanner, style: Style, depth = 0): Wait<string> {
  if (depth > DEEPEST) throw OTHER;
  yield* scanner.space();
  const quoted = yield* takeQuoted(scanner, style);
  if (quoted !== undefined) return JSON.stringify(yield* joined(scanner, style, quoted));
  const open = yield* scanner.peek();
  if (CLOSES[open]) return yield* takeItems(scanner, style, depth, open);
  const word = yield* scanner.run(WORD);
  const text = yield* prefixed(scanner, style, word);
  const value = text ?? scalarOf(word) ?? (style.isPython || word === '' ? undefined : JSON.stringify(word));
  if (value === undefined) throw (yield* scanner.peekOrEnd()) === '' ? OVER : OTHER;
  return value;
}

/** Takes a list, a tuple, a set or a dict. */
function* takeItems(scanner: Scanner, style: Style, depth: number, open: string): Wait<string> {
  const close = CLOSES[open] as string;
  scanner.at += 1;
  const items: string[] = [];
  let isDict = open === '{';
  let hasComma = false;
  for (;;) {
    yield* scanner.space();
    if (yield* scanner.take(close)) break;
    if (items.length > 0) {
      yield* scanner.expect(',');
      hasComma = true;
      yield* scanner.space();
      if (yield* scanner.take(close)) break;
    }
    const item = yield* takeValue(scanner, style, depth + 1);
    yield* scanner.space();
    if (isDict && items.length === 0) isDict = yield* scanner.is(':');
    if (!isDict) items.push(item);
    else {
      yield* scanner.expect(':');
      items.push(
        `${item.startsWith('"') ? item : JSON.stringify(item)}: ${yield* takeValue(scanner, style, depth + 1)}`,
      );
    }
  }
  // A value in parentheses is that value; with a comma it is a tuple.
  if (open === '(' && items.length === 1 && !hasComma) return items[0] as string;
  const isObject = open === '{' && (isDict || items.length === 0);
  return isObject ? `{${items.join(', ')}}` : `[${items.join(', ')}]`;
}

/** The JSON of a number or a word; numbers keep their digits. */
function scalarOf(word: string): string | undefined {
  if (isNumber(word)) return word;
  const known = wordOf(word);
  if (known !== undefined) return known;
  const [, sign = '', digits = ''] = /^([-+]?)([\d_.xXoObBa-fA-F+-]+)$/.exec(word) ?? [];
  const plain = digits.replaceAll('_', '');
  const minus = sign === '-' ? '-' : '';
  if (/^0(?:x[\da-f]+|o[0-7]+|b[01]+)$/i.test(plain)) return minus + String(BigInt(plain));
  const [, whole = '', fraction = '', exponent = ''] = /^(\d*)(\.\d*)?(e[-+]?\d+)?$/i.exec(plain) ?? [];
  if (whole === '' && fraction.length < 2) return undefined;
  const number = `${minus}${whole.replace(/^0+(?=\d)/, '') || '0'}${fraction === '.' ? '.0' : fraction}${exponent}`;
  return isNumber(number) ? number : undefined;
}

function* startsQuoted(scanner: Scanner, style: Style): Wait<boolean> {
  for (const quote of style.quotes) if (yield* scanner.is(quote)) return true;
  return false;
}

/** A string behind a prefix of Python, as in `r"\d"`, with those behind it; `undefined` where none is here. */
function* prefixed(scanner: Scanner, style: Style, word: string): Wait<string | undefined> {
  if (!style.isPython || !PREFIX.test(word) || !(yield* startsQuoted(scanner, style))) return undefined;
  const text = yield* takeQuoted(scanner, style, /r/i.test(word));
  return text === undefined ? undefined : JSON.stringify(yield* joined(scanner, style, text));
}

/** Python joins strings that follow each other. */
function* joined(scanner: Scanner, style: Style, first: string): Wait<string> {
  let text = first;
  while (style.isPython) {
    yield* scanner.space();
    const next = yield* takeQuoted(scanner, style);
    if (next === undefined) break;
    text += next;
  }
  return text;
}

/** Takes a string; `undefined` where none is here. */
function* takeQuoted(scanner: Scanner, style: Style, isRaw = false): Wait<string | undefined> {
  const quote = yield* scanner.takeAny(style.quotes);
  if (quote === undefined) return undefined;
  return style.isPython || quote.length === 1
    ? yield* takeEscaped(scanner, quote, isRaw)
    : yield* takeMarked(scanner, quote);
}

/** Takes what stands before a mark that a value ends with: within a text such a mark is part of it. */
function* takeMarked(scanner: Scanner, mark: string): Wait<string> {
  const words = new Words([mark]);
  const parts: string[] = [];
  for (;;) {
    const { text } = yield* scanner.until(words);
    parts.push(text);
    const gap = yield* scanner.space();
    const next = yield* scanner.peekOrEnd();
    scanner.rewind(gap.length);
    if (next === '' || ',:}])<'.includes(next)) return parts.join('');
    parts.push(mark);
  }
}

/** Takes what stands before a quote. */
function* takeEscaped(scanner: Scanner, quote: string, isRaw: boolean): Wait<string> {
  const words = new Words(['\\', quote]);
  const parts: string[] = [];
  for (;;) {
    const { text, word } = yield* scanner.until(words);
    parts.push(text);
    if (word === quote) return parts.join('');
    const char = yield* scanner.peek();
    if (isRaw) {
      scanner.at += 1;
      parts.push(`\\${char}`);
    } else parts.push(yield* takeEscape(scanner));
  }
}

function* takeEscape(scanner: Scanner): Wait<string> {
  const char = yield* scanner.peek();
  scanner.at += 1;
  if (/[0-7]/.test(char)) return yield* takeOctal(scanner, char);
  const length = DIGITS[char];
  if (length === undefined) return ESCAPES[char] ?? `\\${char}`;
  while (scanner.text.length - scanner.at < length) yield* scanner.more();
  const digits = scanner.text.slice(scanner.at, scanner.at + length);
  const code = /^[\da-fA-F]+$/.test(digits) ? Number.parseInt(digits, 16) : Number.POSITIVE_INFINITY;
  if (code > 0x10ffff) return `\\${char}`;
  scanner.at += length;
  return length === 8 ? String.fromCodePoint(code) : String.fromCharCode(code);
}

function* takeOctal(scanner: Scanner, first: string): Wait<string> {
  let digits = first;
  while (digits.length < 3) {
    const next = yield* scanner.peek();
    if (!/[0-7]/.test(next)) break;
    digits += next;
    scanner.at += 1;
  }
  return String.fromCharCode(Number.parseInt(digits, 8));
}

/** The JSON of a text that is a literal of Python. @internal */
export function pythonValue(text: string): string | undefined {
  const scanner = new Scanner();
  scanner.push(text);
  scanner.isOver = true;
  try {
    const { value } = takeValue(scanner, PYTHON).next();
    return scanner.at === text.length ? (value as string) : undefined;
  } catch (stop) {
    if (stop === OVER || stop === OTHER) return undefined;
    throw stop;
  }
}

const NAME = /[^\s()[\]{},;'"=<>]*/y;

/** Takes `[name(key=value), …]` or calls one after the other; `isKnown`: of tools that there are. @internal */
export function* takePython(scanner: Scanner, sink: Sink, isKnown = false): Wait {
  const isList = yield* scanner.take('[');
  for (let isFirst = true; ; isFirst = false) {
    yield* scanner.space();
    if (isList && (yield* scanner.take(']'))) return;
    if (!isFirst && !isList && !(yield* startsCall(scanner))) return;
    const name = yield* scanner.run(NAME);
    yield* scanner.expect('(');
    sink.begin(name, isKnown);
    yield* takePairs(scanner, sink, PYTHON, [')', { name, tools: sink.tools }]);
    yield* scanner.space();
    yield* scanner.takeAny([',', ';']);
  }
}

/** Whether another call is here: a name, and a parenthesis right behind it. */
function* startsCall(scanner: Scanner): Wait<boolean> {
  const name = yield* scanner.run(NAME);
  const isCall = name !== '' && (yield* scanner.peekOrEnd()) === '(';
  scanner.rewind(name.length);
  return isCall;
}
