/**
 * Calls whose parameters are written one by one, each between signs, and bare:
 * `<function=name><parameter=key>value</parameter></function>`. Models forget a sign, write one twice, or write a value
 * that holds such signs itself.
 */
import type { Sink } from './format.js';
import { pythonValue } from './literal.js';
import { takeArgumentObject } from './objects.js';
import { OVER, type Scanner, type Wait, Words } from './scanner.js';
import { bareValue, hasProperty } from './values.js';

/** Signs of such a format. @internal */
export interface TagStyle {
  /** Before the name, and behind it; without what is behind, the name ends at its line or at the next sign. */
  readonly open: string;
  readonly afterName: string;
  readonly close: string;
  /** Before the key, behind it (attributes may stand between), and behind the value. */
  readonly parameter: string;
  readonly afterKey: string;
  /** Where key and value have signs of their own. */
  readonly beforeValue?: string;
  readonly endValue: string;
  /** Around the call. */
  readonly outer?: readonly [open: string, close: string];
  /** Values stand on lines of their own. */
  readonly isPadded?: boolean;
  /** Keys and names are in quotes, and further attributes may say what a value is. */
  readonly hasAttributes?: boolean;
  /** What the attributes say of values that are text, and of others; several may be said. */
  readonly kinds?: { readonly text: string; readonly others: readonly string[] };
  /** Calls are numbered, in an attribute behind the name. */
  readonly isNumbered?: boolean;
  /** Around a call within what is around all calls, which then follows without a line break. */
  readonly inner?: readonly [open: string, close: string];
}

/** So often a value without its end may send the reader back. */
const MOST_SECOND_READINGS = 16;
const LONGEST_HEAD = 400;

/** A format with what is looked for in it. @internal */
export class Tags {
  readonly events: Words;
  readonly nameEnds: Words;
  readonly keyEnds: Words;
  /** Texts that may follow the end of a value, and the end of a call. */
  readonly followers: readonly string[];
  readonly callFollowers: readonly string[];

  constructor(readonly style: TagStyle) {
    const { open, afterName, close, parameter, afterKey, endValue, outer = [] } = style;
    this.events = new Words([endValue, parameter, close, open, ...outer]);
    this.nameEnds = new Words(afterName ? [afterName] : ['\n', '<tool_sep>', parameter, close]);
    this.keyEnds = new Words([afterKey]);
    this.followers = [parameter, close, endValue, ...outer];
    this.callFollowers = [open, ...outer];
  }
}

/** Takes a call; its opening sign is taken already. @internal */
export function* takeTagged(scanner: Scanner, sink: Sink, tags: Tags): Wait {
  const { style } = tags;
  const head = yield* scanner.until(tags.nameEnds, LONGEST_HEAD);
  if (!style.afterName && head.word !== '\n' && head.word !== '<tool_sep>') scanner.rewind(head.word.length);
  const name = attribute(head.text, style);
  sink.begin(name);
  yield* scanner.space();
  if ((yield* scanner.peekOrEnd()) === '{') {
    yield* takeArgumentObject(scanner, sink);
    yield* scanner.space();
    yield* scanner.take(style.close);
    return;
  }
  yield* takeParameters(scanner, sink, tags, name);
}

function* takeParameters(scanner: Scanner, sink: Sink, tags: Tags, name: string): Wait {
  const { style } = tags;
  const tool = sink.tools.get(name);
  const keys = new Set<string>();
  sink.add('{');
  for (;;) {
    yield* scanner.space();
    if (yield* isOver(scanner, tags, keys)) break;
    if (yield* scanner.take(style.endValue)) continue;
    if (style.open && (yield* scanner.take(style.open + name + style.afterName))) continue;
    yield* scanner.expect(style.parameter);
    const { text } = yield* scanner.until(tags.keyEnds, LONGEST_HEAD);
    const key = attribute(text, style);
    // Twice the same sign is one.
    const again = `${style.parameter}${text}${style.afterKey}`;
    yield* scanner.takeAny([again, `\n${again}`]);
    if (style.beforeValue) yield* takeBetween(scanner, style.beforeValue);
    const isNew = (other: string): boolean => other !== key && !keys.has(other) && hasProperty(tool, other);
    const { value, isWhole } = yield* takeValue(scanner, tags, isNew);
    const bare = unpadded(value, style);
    const json = typedValue(text, style, bare) ?? bareValue(bare, tool, key, pythonValue);
    sink.add(`${keys.size === 0 ? '' : ', '}${JSON.stringify(key)}: ${isWhole ? json : json.replace(/"$/, '')}`);
    if (!isWhole) throw OVER;
    keys.add(key);
  }
  sink.add('}');
  sink.done();
}

/** Takes a sign and the white space before it, where it is here. */
function* takeBetween(scanner: Scanner, sign: string): Wait {
  const gap = yield* scanner.space();
  if (!(yield* scanner.take(sign))) scanner.rewind(gap.length);
}

/** Whether the call ends here: with its sign, with that around it, or with the text. */
function* isOver(scanner: Scanner, { style, followers }: Tags, keys: ReadonlySet<string>): Wait<boolean> {
  if (yield* scanner.take(style.close)) return true;
  for (const sign of style.outer ?? []) if (yield* scanner.is(sign)) return true;
  if ((yield* scanner.peekOrEnd()) === '') return keys.size > 0 && !scanner.isCut;
  if (isPartAtEnd(scanner, followers)) throw OVER;
  return false;
}

/** Whether the text is over within one of these signs. */
function isPartAtEnd(scanner: Scanner, signs: readonly string[]): boolean {
  if (!scanner.isOver || scanner.text.length - scanner.at > LONGEST_HEAD) return false;
  const rest = scanner.text.slice(scanner.at);
  return signs.some((sign) => sign.length > rest.length && sign.startsWith(rest));
}

/** A name or a key, without what stands behind its quote. */
function attribute(text: string, { hasAttributes = false }: TagStyle): string {
  if (!hasAttributes) return text.trim().replace(/^"(.*)"$/s, '$1');
  const [first = ''] = text.split('"');
  return first.replaceAll('&quot;', '"').replaceAll('&amp;', '&');
}

/** The JSON of a value whose sign says what it is. */
function typedValue(head: string, { hasAttributes = false }: TagStyle, value: string): string | undefined {
  if (!hasAttributes) return undefined;
  if (/\bstring="true"|\btype="string"/.test(head)) return JSON.stringify(value);
  return /\bstring="false"|\btype="/.test(head) ? bareValue(value, NOT_TEXT, 'value', pythonValue) : undefined;
}

const NOT_TEXT = { properties: { value: { type: ['object', 'array', 'number', 'boolean', 'null'] } } };

function unpadded(value: string, { isPadded = false }: TagStyle): string {
  return isPadded ? value.replace(/^\r?\n/, '').replace(/\r?\n$/, '') : value;
}

/** A value, and whether its end was there. */
interface Taken {
  readonly value: string;
  readonly isWhole: boolean;
}

/** A value that is read. */
class Value {
  readonly #parts: string[] = [];
  #length = 0;
  /** Signs that opened within it. */
  readonly open = { parameters: 0, calls: 0, outer: 0 };
  /** Where it may end if its own sign does not come: the first such place, and one that is less likely. */
  end = -1;
  weakEnd = -1;

  get length(): number {
    return this.#length;
  }

  get isLineStart(): boolean {
    return this.#length === 0 || (this.#parts.at(-1)?.endsWith('\n') ?? false);
  }

  readonly add = (text: string): void => {
    if (text) this.#parts.push(text);
    this.#length += text.length;
  };

  before(at: number): Taken {
    return { value: this.#parts.join('').slice(0, at), isWhole: true };
  }

  get text(): string {
    return this.#parts.join('');
  }

  /** Whether it begins with a line break, and none stands before the sign that was added last. */
  isPaddedBefore(at: number): boolean {
    return at > 0 && this.#parts[0]?.[0] === '\n' && !this.#parts.at(-2)?.endsWith('\n');
  }
}

/**
 * Takes a value and its sign. The sign ends it where the next parameter or the end of the call follows; signs that
 * open within the value have their own ends there. Where no such end comes, the value ends where it first may have.
 */
function* takeValue(scanner: Scanner, tags: Tags, isNew: (key: string) => boolean): Wait<Taken> {
  const { style } = tags;
  const value = new Value();
  for (;;) {
    const word = yield* scanner.before(tags.events, value.add);
    if (word === undefined) return endedEarly(scanner, value);
    const at = value.length;
    const { isLineStart } = value;
    scanner.at += word.length;
    value.add(word);
    const isEnd = yield* ends(scanner, tags, value, word);
    if (isEnd) return value.before(at);
    if (word === style.parameter && isLineStart && value.end < 0 && isNew(yield* keyHere(scanner, tags)))
      value.end = at;
    if (value.end >= 0 && scanner.secondReadings >= MOST_SECOND_READINGS) return endedEarly(scanner, value);
  }
}

/** Whether a sign that was just taken ends the value; notes where it may end otherwise. */
function* ends(scanner: Scanner, { style, followers, callFollowers }: Tags, value: Value, word: string): Wait<boolean> {
  const at = value.length - word.length;
  const { open } = value;
  if (word === style.parameter) open.parameters += 1;
  else if (word === style.open) open.calls += 1;
  else if (word === style.outer?.[0]) open.outer += 1;
  else if (word === style.endValue) {
    const isInLine = style.isPadded && value.isPaddedBefore(at);
    value.add(yield* scanner.space());
    // On lines of their own stand both the value and its sign: this one is part of the value.
    if (isInLine && (yield* scanner.is(word))) return false;
    const isFollowed = yield* isHere(scanner, followers);
    if (isFollowed && open.parameters === 0) return true;
    if (isFollowed && value.end < 0) value.end = at;
    open.parameters = Math.max(0, open.parameters - 1);
  } else {
    const kind = word === style.close ? 'calls' : 'outer';
    value.add(yield* scanner.space());
    const isFollowed = yield* isHere(scanner, callFollowers);
    if (open[kind] === 0 && isFollowed && value.end < 0) value.end = at;
    if (open[kind] === 0 && value.weakEnd < 0) value.weakEnd = at;
    open[kind] = Math.max(0, open[kind] - 1);
  }
  return false;
}

/** Whether one of these signs is here, or the text is over. */
function* isHere(scanner: Scanner, signs: readonly string[]): Wait<boolean> {
  for (const sign of signs) if (yield* scanner.is(sign)) return true;
  return (yield* scanner.peekOrEnd()) === '' || isPartAtEnd(scanner, signs);
}

/** The text is over within the value: it ends where it first may have, and what follows is read again. */
function endedEarly(scanner: Scanner, value: Value): Taken {
  const end = value.end < 0 ? value.weakEnd : value.end;
  if (scanner.isCut) return { value: value.text, isWhole: false };
  if (end < 0) throw OVER;
  scanner.secondReadings += 1;
  scanner.rewind(value.length - end);
  return value.before(end);
}

/** The key behind a parameter's sign, which stays there. */
function* keyHere(scanner: Scanner, { style }: Tags): Wait<string> {
  for (;;) {
    const head = scanner.text.slice(scanner.at, scanner.at + LONGEST_HEAD);
    const end = head.indexOf(style.afterKey);
    if (end >= 0) return attribute(head.slice(0, end), style);
    if (head.length === LONGEST_HEAD || scanner.isOver) return '';
    yield;
  }
}
