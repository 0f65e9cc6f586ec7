/**
 * Calls written as JSON objects: `{"name": …, "arguments": {…}}`, alone, one after the other, or in an array.
 */
import type { Sink } from './format.js';
import { DEEPEST, jsonText, takeJson } from './json.js';
import { OTHER, OVER, type Scanner, type Wait } from './scanner.js';

const NAMES = ['name', 'tool_name', 'function'];
const ARGUMENTS = ['arguments', 'parameters', 'args'];

/** How calls stand in objects. @internal */
export interface ObjectStyle {
  /** The name must be the name of a tool. */
  readonly isKnown?: boolean;
  /** The name is the key of the arguments: `{"name": {…}}`. */
  readonly isByName?: boolean;
}

/** What was found of a call. */
interface Found {
  name?: string;
  early?: string;
  isDone: boolean;
  depth: number;
}

/** Takes a call, or several, in an array or one after the other, with `,` or `;` between them. @internal */
export function* takeObjects(scanner: Scanner, sink: Sink, style: ObjectStyle = {}): Wait {
  const isList = yield* scanner.take('[');
  for (let isFirst = true; ; isFirst = false) {
    yield* scanner.space();
    const next = yield* scanner.peekOrEnd();
    if (isList && next === ']') {
      scanner.at += 1;
      return;
    }
    if (!isFirst && next !== '{') return;
    yield* takeObject(scanner, sink, style);
    yield* scanner.space();
    yield* scanner.takeAny([',', ';']);
  }
}

function* takeObject(scanner: Scanner, sink: Sink, style: ObjectStyle): Wait {
  const found: Found = { isDone: false, depth: 0 };
  yield* takeMembers(scanner, sink, style, found);
  if (found.name === undefined) throw OTHER;
  if (!found.isDone) finish(sink, found, '{}');
  sink.taken();
}

function finish(sink: Sink, found: Found, text: string): void {
  sink.add(text);
  sink.done();
  found.isDone = true;
}

function* takeMembers(scanner: Scanner, sink: Sink, style: ObjectStyle, found: Found): Wait {
  yield* scanner.expect('{');
  found.depth += 1;
  if (found.depth > DEEPEST) throw OTHER;
  for (;;) {
    yield* scanner.space();
    if (yield* scanner.take('}')) return;
    const key = yield* takeKey(scanner);
    yield* takeMember(scanner, sink, style, { key, found });
    yield* scanner.space();
    if (yield* scanner.take(',')) continue;
    if (yield* scanner.take('}')) return;
    // A brace that is missing at the end loses nothing.
    if (found.isDone) return;
    throw (yield* scanner.peekOrEnd()) === '' ? OVER : OTHER;
  }
}

function* takeKey(scanner: Scanner): Wait<string> {
  if ((yield* scanner.peek()) !== '"') throw OTHER;
  const key = String(JSON.parse(yield* jsonText(scanner)));
  yield* scanner.space();
  yield* scanner.expect(':');
  yield* scanner.space();
  return key;
}

interface Member {
  readonly key: string;
  readonly found: Found;
}

function* takeMember(scanner: Scanner, sink: Sink, style: ObjectStyle, { key, found }: Member): Wait {
  const first = yield* scanner.peek();
  if (style.isByName && found.name === undefined && first === '{' && !(key === 'function' && !sink.tools.has(key))) {
    begin(sink, style, found, key);
    yield* takeArguments(scanner, sink, found);
  } else if (key === 'function' && first === '{') yield* takeMembers(scanner, sink, style, found);
  else if (NAMES.includes(key) && first === '"') {
    if (found.name !== undefined) throw OTHER;
    begin(sink, style, found, String(JSON.parse(yield* jsonText(scanner))));
    if (found.early !== undefined) finish(sink, found, found.early);
  } else if (ARGUMENTS.includes(key) && found.name !== undefined && !found.isDone && first === '{') {
    yield* takeArguments(scanner, sink, found);
  } else if (ARGUMENTS.includes(key)) {
    if (found.name === undefined) sink.keep();
    const text = yield* argumentText(scanner, yield* jsonText(scanner));
    if (found.name !== undefined && !found.isDone) finish(sink, found, text);
    else found.early = text;
  } else yield* takeJson(scanner, () => {});
}

function begin(sink: Sink, { isKnown = false }: ObjectStyle, found: Found, name: string): void {
  sink.begin(name, isKnown);
  found.name = name;
}

function* takeArguments(scanner: Scanner, sink: Sink, found: Found): Wait {
  yield* takeJson(scanner, (text) => sink.add(text));
  sink.done();
  found.isDone = true;
}

/** Takes the JSON object of the arguments of a call whose name is known. @internal */
export function* takeArgumentObject(scanner: Scanner, sink: Sink): Wait {
  if ((yield* scanner.peek()) !== '{') throw OTHER;
  yield* takeJson(scanner, (text) => sink.add(text));
  sink.done();
}

/** Arguments may be an object, the JSON text of one, or nothing. */
function* argumentText(scanner: Scanner, text: string): Wait<string> {
  const value: unknown = JSON.parse(text);
  if (value === null || value === '') return '{}';
  const inner = typeof value === 'string' ? value : text;
  if (isObject(inner)) return inner;
  yield* scanner.peekOrEnd();
  throw OTHER;
}

/** Whether a text is a JSON object. @internal */
export function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
