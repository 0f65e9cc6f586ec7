/**
 * The values of chat templates, as Python has them. Text, booleans and most numbers are JavaScript's own; `null` is
 * None and `undefined` is Jinja's undefined. A list or tuple is an array, a dict a `Map`. Floats without a fraction are
 * of the class {@link Float}, since Python writes them with one.
 */

/** A float that is a whole number, such as 2.0. @internal */
export class Float {
  constructor(readonly value: number) {}
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
  | string
  | Float
  | readonly Value[]
  | ReadonlyMap<Value, Value>
  | Namespace
  | Callable;

/** What a template does wrong. @internal */
export class TemplateError extends Error {}

/** How deep values may nest. */
const DEEPEST = 64;

/**
 * What a rendering may still do. A template is part of a hostile file: each node that is evaluated is a step, and each
 * character or item that an operation makes is paid for before it is made.
 * @internal
 */
export class Budget {
  constructor(
    private steps: number,
    private chars: number,
  ) {}

  /** Pays for `count` steps. */
  step(count = 1): void {
    this.steps -= count;
    if (this.steps < 0) throw new TemplateError('it takes too many steps');
  }

  /** Pays for a text of this length, before it is made. */
  text(length: number): void {
    this.chars -= length;
    if (this.chars < 0) throw new TemplateError('its text is too long');
  }

  /** Pays for a list of this length, before it is made. */
  list(length: number): void {
    if (length > 100_000) throw new TemplateError(`a list of ${length} items is too long, at most 100000 are allowed`);
    this.step(length);
  }
}

/** @internal */
export const isMap = (value: Value): value is ReadonlyMap<Value, Value> => value instanceof Map;
/** @internal */
export const isList = (value: Value): value is readonly Value[] => Array.isArray(value);
/** @internal */
export const isNumber = (value: Value): value is number | Float => typeof value === 'number' || value instanceof Float;

/** A whole number that is no float; booleans are 0 and 1. @internal */
export function isInteger(value: Value): value is number | boolean {
  return typeof value === 'boolean' || (typeof value === 'number' && Number.isInteger(value));
}

/** The number, where the value is one; booleans are 0 and 1. @internal */
export function numberOf(value: Value): number | undefined {
  if (typeof value === 'boolean') return Number(value);
  return value instanceof Float ? value.value : typeof value === 'number' ? value : undefined;
}

/** The result of arithmetic as a value. @internal */
export const float = (value: number): Value => (Number.isInteger(value) ? new Float(value) : value);

/** What plain data (JSON) is in a template. @internal */
export function fromData(data: unknown): Value {
  if (Array.isArray(data)) return data.map(fromData);
  if (typeof data !== 'object' || data === null) return data as Value;
  return new Map(Object.entries(data).map(([key, value]) => [key, fromData(value)]));
}

/** Name of the kind of a value, for messages. @internal */
export function kindOf(value: Value): string {
  if (value === undefined) return 'undefined';
  if (value === null) return 'none';
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'string') return 'text';
  if (typeof value === 'boolean') return 'a boolean';
  if (isNumber(value)) return 'a number';
  if (value instanceof Namespace) return 'a namespace';
  return isList(value) ? 'a list' : 'a map';
}

/** Whether Python takes the value for true. @internal */
export function isTrue(value: Value): boolean {
  if (value instanceof Float) return value.value !== 0;
  if (isList(value)) return value.length > 0;
  return isMap(value) ? value.size > 0 : Boolean(value);
}

/** What `for` goes over, a copy. @internal */
export function itemsOf(budget: Budget, value: Value): Value[] {
  if (value === undefined) return [];
  const items = isList(value) ? value : isMap(value) ? value.keys() : typeof value === 'string' ? value : undefined;
  if (items === undefined) throw new TemplateError(`${kindOf(value)} is not iterable`);
  budget.list(lengthOf(value));
  return [...items];
}

/** `len(value)` @internal */
export function lengthOf(value: Value): number {
  if (value === undefined) return 0;
  if (typeof value === 'string') return isAscii(value) ? value.length : [...value].length;
  if (isList(value)) return value.length;
  if (isMap(value)) return value.size;
  throw new TemplateError(`${kindOf(value)} has no length`);
}

const isAscii = (text: string): boolean => !/\P{ASCII}/u.test(text);

/** The characters of a text, whole. @internal */
export const charactersOf = (text: string): string[] => (isAscii(text) ? text.split('') : [...text]);

/** `a == b` as Python has it. @internal */
export function equals(budget: Budget, a: Value, b: Value, depth = 0): boolean {
  budget.step();
  checkDepth(depth);
  const [x, y] = [numberOf(a), numberOf(b)];
  if (x !== undefined && y !== undefined) return x === y;
  if (isList(a) && isList(b)) {
    return a.length === b.length && a.every((item, index) => equals(budget, item, b[index], depth + 1));
  }
  if (isMap(a) && isMap(b)) {
    if (a.size !== b.size) return false;
    for (const [key, item] of a) if (!b.has(key) || !equals(budget, item, b.get(key), depth + 1)) return false;
    return true;
  }
  return a === b;
}

/** Below 0 where `a` sorts before `b`. @internal */
export function compare(budget: Budget, a: Value, b: Value): number {
  budget.step();
  const [x, y] = [numberOf(a), numberOf(b)];
  if (x !== undefined && y !== undefined) return x - y;
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : Number(a > b);
  if (isList(a) && isList(b)) {
    for (let at = 0; at < Math.min(a.length, b.length); at += 1) {
      const order = compare(budget, a[at], b[at]);
      if (order !== 0) return order;
    }
    return a.length - b.length;
  }
  throw new TemplateError(`${kindOf(a)} and ${kindOf(b)} cannot be compared`);
}

/** `item in value` @internal */
export function contains(budget: Budget, value: Value, item: Value): boolean {
  if (typeof value === 'string') {
    if (typeof item !== 'string') throw new TemplateError(`${kindOf(item)} cannot be in text`);
    budget.text(value.length);
    return value.includes(item);
  }
  if (isMap(value)) return value.has(item);
  return itemsOf(budget, value).some((other) => equals(budget, other, item));
}

/** A number as Python's `repr` writes it. */
function numberText(value: number, isFloat: boolean): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (!isFloat && Number.isInteger(value)) return String(BigInt(value));
  const size = Math.abs(value);
  const isPlain = size === 0 || (size >= 1e-4 && size < 1e16);
  if (isPlain) return Number.isInteger(value) ? value.toFixed(1) : value.toString();
  const [digits = '', exponent = ''] = value.toExponential().split('e');
  return `${digits}e${exponent[0]}${exponent.slice(1).padStart(2, '0')}`;
}

/** `str(value)` @internal */
export function textOf(budget: Budget, value: Value): string {
  if (typeof value === 'string') return value;
  if (value === undefined) return '';
  return repr(budget, value, 0);
}

/** `repr(value)`: as values stand in lists that are written out. */
function repr(budget: Budget, value: Value, depth: number): string {
  budget.step();
  checkDepth(depth);
  if (value === undefined) return 'Undefined';
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'number' || value instanceof Float) {
    return numberText(numberOf(value) as number, value instanceof Float);
  }
  if (typeof value === 'string') {
    budget.text(2 * value.length);
    return quoted(value);
  }
  const inner = (item: Value): string => repr(budget, item, depth + 1);
  let text: string;
  if (isList(value)) text = `[${value.map(inner).join(', ')}]`;
  else if (isMap(value)) text = `{${[...value].map(([key, item]) => `${inner(key)}: ${inner(item)}`).join(', ')}}`;
  else throw new TemplateError(`${kindOf(value)} cannot be written as text`);
  budget.text(text.length);
  return text;
}

function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escapes: Record<string, string> = {
    '\\': '\\\\',
    '\n': '\\n',
    '\r': '\\r',
    '\t': '\\t',
    [quote]: `\\${quote}`,
  };
  const escaped = text.replace(/[\\'"\p{Cc}]/gu, (char) => {
    if (char === "'" || char === '"') return escapes[char] ?? char;
    return escapes[char] ?? `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
  return quote + escaped + quote;
}

/** @internal */
export function checkDepth(depth: number): void {
  if (depth > DEEPEST) throw new TemplateError(`a value is nested deeper than ${DEEPEST} levels`);
}
