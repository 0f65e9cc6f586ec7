/**
 * Values as Python and Gemma write them, turned into JSON.
 */
import type { Call, Cursor } from './cursor.js';
import { takeCalls } from './json.js';

/** How values are written. @internal */
export interface Style {
  /** What strings begin and end with; within one of a single character, a backslash escapes. */
  readonly quotes: readonly string[];
  /** What stands between a key and a value. */
  readonly assign: string;
}

/** Keyword arguments of Python. @internal */
export const PYTHON: Style = { quotes: ['"', "'"], assign: '=' };

const WORD = /[-+.\w]*/y;
const KEY = /[\w.$-]*/y;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;
const WORDS: Record<string, string> = { True: 'true', False: 'false', None: 'null' };
const CLOSES: Record<string, string> = { '[': ']', '(': ')', '{': '}' };
const ESCAPES: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', '0': '\0', '\n': '' };
const DEEPEST = 64;

/** Takes `key=value, …` up to `close` as the arguments of `call`, which grow by a whole value at a time. @internal */
export function takePairs(cursor: Cursor, call: Call, style: Style, close: string): void {
  let text = '{';
  for (;;) {
    cursor.space();
    if (cursor.take(close)) break;
    if (text !== '{') {
      cursor.expect(',');
      cursor.space();
      if (cursor.take(close)) break;
    }
    const key = takeKey(cursor, style);
    cursor.space();
    cursor.expect(style.assign);
    text += `${text === '{' ? '' : ', '}${key}: ${takeValue(cursor, style)}`;
    call.arguments = text;
    cursor.mark();
  }
  call.arguments = `${text}}`;
  call.complete = true;
  cursor.mark();
}

function takeKey(cursor: Cursor, style: Style): string {
  const quoted = takeQuoted(cursor, style);
  if (quoted !== undefined) return quoted;
  return JSON.stringify(cursor.match(KEY) || cursor.other());
}

function takeValue(cursor: Cursor, style: Style, depth = 0): string {
  if (depth > DEEPEST) cursor.other();
  cursor.space();
  const quoted = takeQuoted(cursor, style);
  if (quoted !== undefined) return quoted;
  const open = cursor.peek();
  const close = CLOSES[open];
  if (!close) return scalar(cursor);
  cursor.at += 1;
  const items: string[] = [];
  for (;;) {
    cursor.space();
    if (cursor.take(close)) break;
    if (items.length > 0) {
      cursor.expect(',');
      cursor.space();
      if (cursor.take(close)) break;
    }
    items.push(`${open === '{' ? takeMemberKey(cursor, style) : ''}${takeValue(cursor, style, depth + 1)}`);
  }
  const [first, last] = open === '{' ? '{}' : '[]';
  return `${first}${items.join(', ')}${last}`;
}

function takeMemberKey(cursor: Cursor, style: Style): string {
  const key = takeKey(cursor, style);
  cursor.space();
  cursor.expect(':');
  return `${key}: `;
}

function scalar(cursor: Cursor): string {
  const word = cursor.match(WORD);
  if (NUMBER.test(word) || ['true', 'false', 'null'].includes(word)) return word;
  return WORDS[word] ?? cursor.other();
}

/** Takes a string and gives it as JSON; `undefined` where none is here. */
function takeQuoted(cursor: Cursor, style: Style): string | undefined {
  const quote = style.quotes.find((mark) => cursor.take(mark));
  if (quote === undefined) return undefined;
  if (quote.length > 1) return JSON.stringify(cursor.until(quote));
  let text = '';
  for (;;) {
    const char = cursor.peek();
    cursor.at += 1;
    if (char === quote) return JSON.stringify(text);
    if (char === '\\') text += takeEscape(cursor);
    else text += char;
  }
}

function takeEscape(cursor: Cursor): string {
  const char = cursor.peek();
  cursor.at += 1;
  if (char !== 'u' && char !== 'x') return ESCAPES[char] ?? (/[\w]/.test(char) ? `\\${char}` : char);
  const length = char === 'u' ? 4 : 2;
  const digits = cursor.text.slice(cursor.at, cursor.at + length);
  if (digits.length < length) cursor.more();
  cursor.at += length;
  return /^[\da-fA-F]+$/.test(digits) ? String.fromCharCode(Number.parseInt(digits, 16)) : `\\${char}${digits}`;
}

/** Takes calls that are written in JSON or in Python. @internal */
export function takeJsonOrPython(cursor: Cursor, known = false): void {
  const { at } = cursor;
  if (cursor.peek() === '[') cursor.at += 1;
  cursor.space();
  const isJson = cursor.peek() === '{';
  cursor.at = at;
  if (isJson) takeCalls(cursor, known);
  else takePythonCalls(cursor, known);
}

/** Takes `[name(key=value), …]` or `name(key=value)`. */
function takePythonCalls(cursor: Cursor, known = false): void {
  const isList = cursor.take('[');
  for (;;) {
    cursor.space();
    const name = cursor.match(KEY);
    if (known && !cursor.tools.has(name)) cursor.other();
    cursor.expect('(');
    takePairs(cursor, cursor.call(name), PYTHON, ')');
    if (!isList) return;
    cursor.space();
    if (cursor.take(']')) return;
    cursor.expect(',');
  }
}
