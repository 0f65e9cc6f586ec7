/**
 * JSON that is still being written. What comes out is JSON: what models write beside it (line breaks within strings,
 * words of Python, commas before a bracket) is set right on the way.
 */
import { OTHER, OVER, type Scanner, type Wait } from './scanner.js';

/** Gets the text of a value as it comes; none of it changes later. */
type Out = (text: string) => void;

const SCALAR = /[-+.\w]*/y;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;
const PLAIN = /[^"\\\p{Cc}]*/uy;
/** Words of JSON and of Python. */
const WORDS: ReadonlyMap<string, string> = new Map([
  ...['true', 'false', 'null'].map((word) => [word, word] as const),
  ...([
    ['True', 'true'],
    ['False', 'false'],
    ['None', 'null'],
  ] as const),
]);
/** Values nested deeper than this are refused. */
export const DEEPEST = 64;

/** What a word of JSON or Python is in JSON. @internal */
export const wordOf = (text: string): string | undefined => WORDS.get(text);

/** Whether a text is a number of JSON. @internal */
export const isNumber = (text: string): boolean => NUMBER.test(text);

/** Takes a JSON value. @internal */
export function* takeJson(scanner: Scanner, out: Out, depth = 0): Wait {
  const first = yield* scanner.peek();
  if (first === '"') yield* takeString(scanner, out);
  else if (first === '{' || first === '[') yield* takeList(scanner, out, depth);
  else yield* takeScalar(scanner, out);
}

function* takeScalar(scanner: Scanner, out: Out): Wait {
  const word = yield* scanner.run(SCALAR);
  if (scanner.isOver && scanner.at >= scanner.text.length && scanner.isCut) {
    out(word);
    throw OVER;
  }
  if (isNumber(word)) return out(word);
  const known = wordOf(word);
  if (known === undefined) {
    scanner.rewind(word.length);
    throw OTHER;
  }
  out(known);
}

/** Takes a string with its quotes. @internal */
export function* takeString(scanner: Scanner, out: Out): Wait {
  yield* scanner.expect('"');
  out('"');
  for (;;) {
    PLAIN.lastIndex = scanner.at;
    const [plain = ''] = PLAIN.exec(scanner.text) ?? [];
    scanner.at += plain.length;
    if (plain) out(plain);
    const char = yield* scanner.peek();
    if (char === '"') break;
    if (char === '\\') yield* takeEscape(scanner, out);
    else if (/\p{Cc}/u.test(char)) {
      scanner.at += 1;
      out(JSON.stringify(char).slice(1, -1));
    }
  }
  scanner.at += 1;
  out('"');
}

const ESCAPE = /^\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/;
const PART_OF_ESCAPE = /^\\(?:u[\da-fA-F]{0,3})?$/;

/** Takes an escape; a backslash before anything else stands for itself. */
function* takeEscape(scanner: Scanner, out: Out): Wait {
  for (;;) {
    const text = scanner.text.slice(scanner.at, scanner.at + 6);
    const [found] = ESCAPE.exec(text) ?? [];
    if (found !== undefined) {
      scanner.at += found.length;
      return out(found);
    }
    if (!PART_OF_ESCAPE.test(text)) break;
    if (scanner.isOver) {
      scanner.at += text.length;
      if (scanner.isCut) out(text);
      throw OVER;
    }
    yield;
  }
  scanner.at += 1;
  if ((yield* scanner.peek()) === "'") return;
  out('\\\\');
}

/** Takes an object or an array. */
function* takeList(scanner: Scanner, out: Out, depth: number): Wait {
  const isObject = (yield* scanner.peek()) === '{';
  const close = isObject ? '}' : ']';
  if (depth >= DEEPEST) throw OTHER;
  scanner.at += 1;
  out(isObject ? '{' : '[');
  let gap = yield* scanner.space();
  for (let isFirst = true; ; isFirst = false) {
    let sign = yield* scanner.peek();
    let comma = '';
    if (!isFirst && sign === ',') {
      scanner.at += 1;
      comma = `${gap},`;
      gap = yield* scanner.space();
      sign = yield* scanner.peek();
    } else if (!isFirst && sign !== close) throw OTHER;
    if (sign === close) break;
    out(comma + gap);
    if (isObject) yield* takeKey(scanner, out);
    yield* takeJson(scanner, out, depth + 1);
    gap = yield* scanner.space();
  }
  scanner.at += 1;
  out(gap + close);
}

function* takeKey(scanner: Scanner, out: Out): Wait {
  yield* takeString(scanner, out);
  const gap = yield* scanner.space();
  yield* scanner.expect(':');
  out(`${gap}:`);
  out(yield* scanner.space());
}

/** Takes a JSON value and gives its text. @internal */
export function* jsonText(scanner: Scanner): Wait<string> {
  const parts: string[] = [];
  yield* takeJson(scanner, (text) => parts.push(text));
  return parts.join('');
}

/** The value of a whole text that is JSON, without white space between its parts; `undefined` where it is none. */
export function compactJson(text: string): string | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  // Numbers stay as they are written, and keys where they stand.
  return text.replaceAll(/"[^"\\]*(?:\\.[^"\\]*)*"|\s+/g, (part) =>
    part.startsWith('"') ? JSON.stringify(JSON.parse(part)) : '',
  );
}
