/**
 * JSON that is still being written, and calls written as JSON objects.
 */
import type { Call, Cursor } from './cursor.js';

const SCALAR = /[-+.\w]*/y;
const VALID = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null)$/;
const ESCAPE = /^\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/;
const PART_OF_ESCAPE = /^\\(?:u[\da-fA-F]{0,3})?$/;
/** Values nested deeper than this are refused. */
const DEEPEST = 64;

/**
 * Takes a JSON value. `grown` is called with all of it that is certain, also where the text ends within it or it turns
 * out not to be JSON; a number or a word is certain once it is over.
 * @internal
 */
export function takeJson(cursor: Cursor, grown?: () => void, depth = 0): void {
  const first = cursor.peek();
  if (first === '"') takeString(cursor, grown);
  else if (first === '{' || first === '[') takeList(cursor, grown, depth);
  else takeScalar(cursor);
  grown?.();
}

function takeScalar(cursor: Cursor): void {
  const { at } = cursor;
  if (VALID.test(cursor.match(SCALAR))) return;
  cursor.at = at;
  cursor.other();
}

/** Takes a string with its quotes. */
function takeString(cursor: Cursor, grown?: () => void): void {
  cursor.expect('"');
  for (;;) {
    const { text, at } = cursor;
    const char = text[at];
    if (char === '"') break;
    const escaped = char === '\\' ? text.slice(at, at + 6) : '';
    const wanted = escaped ? (ESCAPE.exec(escaped)?.[0].length ?? 0) : 1;
    if (char === undefined || (!wanted && PART_OF_ESCAPE.test(escaped))) {
      grown?.();
      cursor.more();
    }
    if (!wanted || char < ' ') {
      grown?.();
      cursor.other();
    }
    cursor.at += wanted;
  }
  cursor.at += 1;
}

/** Takes an object or an array. */
function takeList(cursor: Cursor, grown: (() => void) | undefined, depth: number): void {
  const isObject = cursor.peek() === '{';
  const close = isObject ? '}' : ']';
  if (depth >= DEEPEST) cursor.other();
  cursor.at += 1;
  const next = (): string => {
    cursor.space();
    grown?.();
    return cursor.peek();
  };
  if (next() !== close) {
    for (;;) {
      if (isObject) {
        takeString(cursor, grown);
        if (next() !== ':') cursor.other();
        cursor.at += 1;
        next();
      }
      takeJson(cursor, grown, depth + 1);
      const sign = next();
      if (sign === close) break;
      if (sign !== ',') cursor.other();
      cursor.at += 1;
      next();
    }
  }
  cursor.at += 1;
}

/** Takes a JSON value and gives its text. @internal */
export function jsonText(cursor: Cursor): string {
  const { at } = cursor;
  takeJson(cursor);
  return cursor.text.slice(at, cursor.at);
}

/** Takes a JSON object as the arguments of `call`, which grow with it. @internal */
export function takeArguments(cursor: Cursor, call: Call): void {
  if (cursor.peek() !== '{') cursor.other();
  const { at } = cursor;
  takeJson(cursor, () => {
    call.arguments = cursor.text.slice(at, cursor.at);
    cursor.mark();
  });
  call.complete = true;
}

const NAMES = ['name', 'function'];
const ARGUMENTS = ['arguments', 'parameters'];

/** What was found of a call before its name is known. */
interface Found {
  call?: Call;
  early?: string;
  depth: number;
}

/**
 * Takes `{"name": …, "arguments": {…}}`, also `parameters`, also within `function`. With `known`, the name must be that
 * of a tool.
 * @internal
 */
export function takeCall(cursor: Cursor, known = false): void {
  const found: Found = { depth: 0 };
  takeMembers(cursor, found, known);
  if (!found.call) cursor.other();
  finish(found.call);
}

function finish(call: Call): void {
  if (!call.complete) call.arguments = '{}';
  call.complete = true;
}

function takeMembers(cursor: Cursor, found: Found, known: boolean): void {
  cursor.expect('{');
  found.depth += 1;
  if (found.depth > DEEPEST) cursor.other();
  for (;;) {
    cursor.space();
    if (cursor.take('}')) break;
    const key: unknown = JSON.parse(jsonStringText(cursor));
    cursor.space();
    cursor.expect(':');
    cursor.space();
    takeMember(cursor, String(key), found, known);
    cursor.space();
    if (cursor.take(',')) continue;
    if (cursor.take('}')) break;
    // A brace that is missing at the end loses nothing.
    if (found.call?.complete) return;
    cursor.other();
  }
}

function jsonStringText(cursor: Cursor): string {
  if (cursor.peek() !== '"') cursor.other();
  return jsonText(cursor);
}

function takeMember(cursor: Cursor, key: string, found: Found, known: boolean): void {
  const first = cursor.peek();
  if (key === 'function' && first === '{') takeMembers(cursor, found, known);
  else if (NAMES.includes(key) && first === '"') {
    const name = String(JSON.parse(jsonText(cursor)));
    if (found.call || (known && !cursor.tools.has(name))) cursor.other();
    found.call = cursor.call(name);
    if (found.early !== undefined) complete(found.call, found.early);
  } else if (ARGUMENTS.includes(key) && found.call && first === '{') takeArguments(cursor, found.call);
  else if (ARGUMENTS.includes(key)) {
    cursor.keeps ||= !found.call;
    const text = argumentText(cursor, jsonText(cursor));
    if (found.call) complete(found.call, text);
    else found.early = text;
  } else takeJson(cursor);
  if (found.call?.complete) cursor.mark();
}

function complete(call: Call, text: string): void {
  call.arguments = text;
  call.complete = true;
}

/** Arguments may be an object, the JSON text of one, or nothing. */
function argumentText(cursor: Cursor, text: string): string {
  const value: unknown = JSON.parse(text);
  if (value === null || value === '') return '{}';
  const inner = typeof value === 'string' ? value : text;
  if (!inner.trimStart().startsWith('{')) cursor.other();
  return inner;
}

/** Takes a call, or calls in an array. @internal */
export function takeCalls(cursor: Cursor, known = false): void {
  const isList = cursor.peek() === '[';
  if (isList) cursor.at += 1;
  for (;;) {
    cursor.space();
    takeCall(cursor, known);
    cursor.mark();
    if (!isList) return;
    cursor.space();
    if (cursor.take(']')) return;
    cursor.expect(',');
  }
}
