/**
 * Calls written as a name, a sign, and the JSON of the arguments: `name[ARGS]{…}`.
 */
import type { Sink } from './format.js';
import { takeArgumentObject, takeObjects } from './objects.js';
import { OTHER, OVER, type Scanner, type Wait, Words } from './scanner.js';

const FENCE = '```';
const LANGUAGE = /\w*/y;
/** Characters before the arguments. */
const LONGEST = 400;

/** How name and arguments stand beside each other. @internal */
export interface NamedStyle {
  /** The name, in all that stands before the arguments. */
  readonly nameOf: (head: string) => string;
  /** Signs that end a call; one without arguments has none before them. */
  readonly ends: readonly string[];
  /** The name must be the name of a tool. */
  readonly isKnown?: boolean;
}

/** Takes one call behind its sign; JSON objects are read, too. @internal */
export function* takeNamed(scanner: Scanner, sink: Sink, style: NamedStyle): Wait {
  yield* scanner.space();
  if ('[{'.includes(yield* scanner.peek())) return yield* takeObjects(scanner, sink, style);
  const { text, word } = yield* takeHead(scanner, new Words(['{', FENCE, ...style.ends]));
  sink.begin(style.nameOf(text).trim(), style.isKnown);
  if (style.ends.includes(word)) {
    sink.add('{}');
    return sink.done();
  }
  yield* takeFenced(scanner, sink);
}

/** Takes what stands before the arguments. Words with blanks between them are none of it. */
function* takeHead(scanner: Scanner, ends: Words): Wait<{ text: string; word: string }> {
  let text = '';
  const word = yield* scanner.before(ends, (part) => {
    text += part;
    if (text.length > LONGEST || /\S[^\S\n]+\S/.test(text)) throw OTHER;
  });
  if (word === undefined) throw OVER;
  return { text, word };
}

/** Takes arguments that may stand in a fence. */
function* takeFenced(scanner: Scanner, sink: Sink): Wait {
  const isFenced = yield* scanner.take(FENCE);
  if (isFenced) yield* scanner.run(LANGUAGE);
  yield* scanner.space();
  if ((yield* scanner.peek()) !== '{') throw OTHER;
  yield* takeArgumentObject(scanner, sink);
  if (!isFenced) return;
  yield* scanner.space();
  yield* scanner.take(FENCE);
}
