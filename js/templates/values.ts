/**
 * The values of chat templates, as Python has them. Text and booleans are JavaScript's own; `null` is None and
 * `undefined` is Jinja's undefined. A whole number is a `number`, beyond 2^53 a `bigint`; a number with a fraction is a
 * float, and floats without one are of the class {@link Float}, since Python writes them differently. A list is an
 * array, a tuple a {@link Tuple}, a dict a `Map`.
 */

/** A float that is a whole number, such as 2.0. @internal */
export class Float {
  constructor(readonly value: number) {}
}

/** A list that cannot be changed, written in round brackets. Filters such as `map` make an array of it. @internal */
export class Tuple extends Array<Value> {
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }
}

/** What `groupby` makes. @internal */
export class Group extends Tuple {}

/** Text from the filters `safe` and `escape`: what is added to it is escaped. @internal */
export class Safe {
  constructor(readonly text: string) {}
}

/** The text of what is {@link Safe}. @internal */
export const unwrapped = (value: Value): Value => (value instanceof Safe ? value.text : value);

/** What can be gone over but is no list: `generator` goes once, and is always true. @internal */
export class Series {
  constructor(
    readonly kind: 'generator' | 'range' | 'dict_keys' | 'dict_values' | 'dict_items',
    public items: readonly Value[],
    /** As it is written out. */
    readonly text?: string,
  ) {}
}

/** What `namespace()` makes: the only value that a template can change. @internal */
export class Namespace {
  constructor(readonly entries: Map<Value, Value>) {}
}

/** A function, macro or method: its positional arguments, then those by name. @internal */
export type Callable = (args: readonly Value[], named: ReadonlyMap<string, Value>) => Value;

/** @internal */
export type Value =
  | undefined
  | null
  | boolean
  | number
  | bigint
  | string
  | Float
  | Safe
  | readonly Value[]
  | ReadonlyMap<Value, Value>
  | Series
  | Namespace
  | Callable;

/** What a template does wrong. @internal */
export class TemplateError extends Error {}

/** How deep values may nest. */
const DEEPEST = 64;
/** Items that a list may have, as in Jinja's sandbox. */
const LONGEST = 100_000;

/**
 * What a rendering may still do. A template is part of a hostile file: each node that is evaluated is a step, and each
 * character or item that an operation makes or looks at is paid for before. What is not provably left is refused: no
 * comparison with NaN is true.
 * @internal
 */
export class Budget {
  constructor(
    private steps: number,
    private chars: number,
  ) {}

  /** Pays for `count` steps. */
  step(count = 1): void {
    if (!(count >= 0 && count <= this.steps)) throw new TemplateError('it takes too many steps');
    this.steps -= count;
  }

  /** Pays for a text of this length, before it is made or searched. */
  text(length: number): void {
    if (!(length >= 0 && length <= this.chars)) throw new TemplateError('its text is too long');
    this.chars -= length;
  }

  /** Pays for a list of this length, before it is made. */
  list(length: number): void {
    if (!(length <= LONGEST)) {
      throw new TemplateError(`a list of ${length} items is too long, at most ${LONGEST} are allowed`);
    }
    this.step(length);
  }
}

/** @internal */
export const isMap = (value: Value): value is ReadonlyMap<Value, Value> => value instanceof Map;
/** A list or a tuple. @internal */
export const isList = (value: Value): value is readonly Value[] => Array.isArray(value);
/** @internal */
export const tupleOf = (items: readonly Value[]): Tuple => Tuple.from(items) as Tuple;

/** A whole number that is no float; booleans are 0 and 1. @internal */
export function isInteger(value: Value): value is number | bigint | boolean {
  return typeof value === 'boolean' || typeof value === 'bigint' || Number.isInteger(value);
}

/** A number of any kind, but no boolean. @internal */
export const isNumber = (value: Value): value is number | bigint | Float =>
  typeof value === 'number' || typeof value === 'bigint' || value instanceof Float;

/** The number, where the value is one; booleans are 0 and 1. @internal */
export function numeric(value: Value): number | bigint | undefined {
  if (typeof value === 'boolean') return Number(value);
  if (value instanceof Float) return value.value;
  return typeof value === 'number' || typeof value === 'bigint' ? value : undefined;
}

/** The same as a number, which may be less exact. @internal */
export function numberOf(value: Value): number | undefined {
  const found = numeric(value);
  return found === undefined ? undefined : Number(found);
}

/** A whole number, such as a count or an index; infinite where it is beyond what counts. @internal */
export function integerOf(value: Value, what: string): number {
  if (!isInteger(value)) throw new TemplateError(`${what} must be a whole number, found ${kindOf(value)}`);
  return typeof value === 'bigint' ? (value < 0 ? -Infinity : Infinity) : Number(value);
}

/** The result of arithmetic as a float. @internal */
export const float = (value: number): Value => (Number.isInteger(value) ? new Float(value) : value);

/** What plain data (JSON) is in a template. @internal */
export function fromData(data: unknown): Value {
  if (Array.isArray(data)) return data.map(fromData);
  // Whole numbers that JSON.stringify would write with an exponent are floats to Python.
  if (typeof data === 'number') return Math.abs(data) < 1e21 ? data || 0 : float(data);
  if (typeof data !== 'object' || data === null) return data as Value;
  // What `exact-json.ts` has read.
  if (data instanceof Map) return new Map([...data].map(([key, value]) => [key, fromData(value)]));
  if (data instanceof Number) return float(Number(data));
  return new Map(Object.entries(data).map(([key, value]) => [key, fromData(value)]));
}

/** Name of the kind of a value, for messages. @internal */
export function kindOf(value: Value): string {
  if (value === undefined) return 'undefined';
  if (value === null) return 'none';
  if (value instanceof Safe) return 'text';
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'string') return 'text';
  if (typeof value === 'boolean') return 'a boolean';
  if (isNumber(value)) return 'a number';
  if (value instanceof Namespace) return 'a namespace';
  if (value instanceof Series) return `a ${value.kind}`;
  if (value instanceof Tuple) return 'a tuple';
  return isList(value) ? 'a list' : 'a map';
}

/** Whether Python takes the value for true. @internal */
export function isTrue(value: Value): boolean {
  if (value instanceof Float) return value.value !== 0;
  if (value instanceof Safe) return value.text !== '';
  if (value instanceof Series) return value.kind === 'generator' || value.items.length > 0;
  if (isList(value)) return value.length > 0;
  // NaN is true.
  return isMap(value) ? value.size > 0 : Boolean(value) || Number.isNaN(value);
}

/** What `for` goes over, a copy. @internal */
export function itemsOf(budget: Budget, given: Value): Value[] {
  if (given === undefined) return [];
  const value = unwrapped(given);
  const items = iterable(value);
  if (items === undefined) throw new TemplateError(`${kindOf(value)} is not iterable`);
  budget.list(lengthOf(value));
  if (value instanceof Series && value.kind === 'generator') value.items = [];
  return [...items];
}

function iterable(value: Value): Iterable<Value> | undefined {
  if (value instanceof Series) return value.items;
  return isList(value) || typeof value === 'string' ? value : isMap(value) ? value.keys() : undefined;
}

/** `len(value)` @internal */
export function lengthOf(given: Value): number {
  const value = unwrapped(given);
  if (value === undefined) return 0;
  if (typeof value === 'string') return isAscii(value) ? value.length : [...value].length;
  if (value instanceof Series) return value.items.length;
  if (isList(value)) return value.length;
  if (isMap(value)) return value.size;
  throw new TemplateError(`${kindOf(value)} has no length`);
}

/** @internal */
export const isAscii = (text: string): boolean => !/\P{ASCII}/u.test(text);

/** The characters of a text, whole. @internal */
export const charactersOf = (text: string): string[] => (isAscii(text) ? text.split('') : [...text]);

/** @internal */
export function checkDepth(depth: number): void {
  if (depth > DEEPEST) throw new TemplateError(`a value is nested deeper than ${DEEPEST} levels`);
}
