/**
 * Operators, fields, calls and slices.
 */
import { methodOf } from './methods.js';
import type { State } from './state.js';
import {
  type Callable,
  charactersOf,
  float,
  isInteger,
  isList,
  isMap,
  kindOf,
  lengthOf,
  Namespace,
  numberOf,
  TemplateError,
  textOf,
  type Value,
} from './values.js';

/** `a sign b` @internal */
export function operate(state: State, sign: string, a: Value, b: Value): Value {
  const { budget } = state;
  if (sign === '~') {
    const [left, right] = [textOf(budget, a), textOf(budget, b)];
    budget.text(left.length + right.length);
    return left + right;
  }
  const [x, y] = [numberOf(a), numberOf(b)];
  if (x !== undefined && y !== undefined) return arithmetic(sign, x, y, isInteger(a) && isInteger(b));
  if (sign === '+' && typeof a === 'string' && typeof b === 'string') {
    budget.text(a.length + b.length);
    return a + b;
  }
  if (sign === '+' && isList(a) && isList(b)) {
    budget.list(a.length + b.length);
    return [...a, ...b];
  }
  if (sign === '*') return repeated(state, a, b);
  if (sign === '%' && typeof a === 'string') return formatted(state, a, isList(b) ? b : [b]);
  throw new TemplateError(`'${sign}' is not for ${kindOf(a)} and ${kindOf(b)}`);
}

function arithmetic(sign: string, x: number, y: number, areIntegers: boolean): Value {
  const typed = (value: number): Value => (areIntegers ? value : float(value));
  if ('//%'.includes(sign) && y === 0) throw new TemplateError('division by zero');
  switch (sign) {
    case '+':
      return typed(x + y);
    case '-':
      return typed(x - y);
    case '*':
      return typed(x * y);
    case '/':
      return float(x / y);
    case '//':
      return typed(Math.floor(x / y));
    case '%':
      return typed(x - Math.floor(x / y) * y);
    default:
      return areIntegers && y >= 0 ? x ** y : float(x ** y);
  }
}

function repeated({ budget }: State, a: Value, b: Value): Value {
  const [value, count] = typeof a === 'number' ? [b, a] : [a, b];
  if (typeof count !== 'number' || !(typeof value === 'string' || isList(value))) {
    throw new TemplateError(`'*' is not for ${kindOf(a)} and ${kindOf(b)}`);
  }
  const times = Math.max(0, count);
  if (typeof value === 'string') {
    budget.text(value.length * times);
    return value.repeat(times);
  }
  budget.list(value.length * times);
  return Array.from({ length: times }, () => value).flat();
}

/** `text % values` with `%s`, `%d`, `%r` and `%%`. @internal */
export function formatted({ budget }: State, text: string, values: readonly Value[]): string {
  const rest = [...values];
  const parts: string[] = [];
  let at = 0;
  for (const match of text.matchAll(/%([sdr%])/g)) {
    if (match[1] !== '%' && rest.length === 0) throw new TemplateError('too few values for a format');
    parts.push(text.slice(at, match.index), match[1] === '%' ? '%' : textOf(budget, rest.shift()));
    at = match.index + 2;
  }
  parts.push(text.slice(at));
  budget.text(parts.reduce((sum, part) => sum + part.length, 0));
  return parts.join('');
}

/** `value.key` (`isField`: methods come before entries) or `value[key]`. @internal */
export function member(state: State, value: Value, key: Value, isField: boolean): Value {
  state.budget.step();
  if (value === undefined) throw new TemplateError(`undefined has no ${nameOf(key)}`);
  if (value instanceof Namespace) return value.entries.get(key);
  if (isMap(value)) {
    const method = isField && typeof key === 'string' ? methodOf(state, value, key) : undefined;
    return method ?? (value.has(key) ? value.get(key) : undefined);
  }
  if (typeof value === 'function' && 'fields' in value) return (value.fields as Map<Value, Value>).get(key);
  const index = typeof key === 'number' || typeof key === 'boolean' ? Number(key) : undefined;
  if (index !== undefined && (isList(value) || typeof value === 'string')) {
    const at = index < 0 ? lengthOf(value) + index : index;
    return isList(value) ? value[at] : characterAt(state, value, at);
  }
  return typeof key === 'string' ? methodOf(state, value, key) : undefined;
}

const nameOf = (key: Value): string => (typeof key === 'string' ? `'${key}'` : `item ${String(key)}`);

function characterAt({ budget }: State, text: string, at: number): Value {
  budget.text(text.length);
  return charactersOf(text)[at];
}

/** @internal */
export function called({ budget }: State, value: Value, args: Value[], named: ReadonlyMap<string, Value>): Value {
  budget.step();
  if (typeof value === 'function') return (value as Callable)(args, named);
  throw new TemplateError(`${kindOf(value)} cannot be called`);
}

/** `value[start:stop:step]` @internal */
export function sliced(state: State, value: Value, start: Value, stop: Value, step: Value): Value {
  if (value === undefined) return undefined;
  if (typeof value !== 'string' && !isList(value)) throw new TemplateError(`${kindOf(value)} cannot be sliced`);
  if (typeof value === 'string') state.budget.text(value.length);
  else state.budget.list(value.length);
  const items = typeof value === 'string' ? charactersOf(value) : value;
  const places = placesOf(items.length, integer(start), integer(stop), integer(step) ?? 1);
  const found = places.map((at) => items[at]);
  return typeof value === 'string' ? found.join('') : (found as Value[]);
}

function integer(value: Value): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (isInteger(value)) return Number(value);
  throw new TemplateError(`an index must be a whole number, found ${kindOf(value)}`);
}

/** The places that Python's slice of a list of `length` has. */
function placesOf(length: number, start: number | undefined, stop: number | undefined, step: number): number[] {
  if (step === 0) throw new TemplateError('the step of a slice is 0');
  const [least, most] = step > 0 ? [0, length] : [-1, length - 1];
  const bound = (value: number | undefined, usual: number): number => {
    if (value === undefined) return usual;
    return Math.min(Math.max(value < 0 ? value + length : value, least), most);
  };
  const [from, to] = [bound(start, step > 0 ? least : most), bound(stop, step > 0 ? most : least)];
  const places: number[] = [];
  for (let at = from; step > 0 ? at < to : at > to; at += step) places.push(at);
  return places;
}
