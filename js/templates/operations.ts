/**
 * Operators, fields, calls and slices.
 */
import { keyIn } from './compare.js';
import { methodOf } from './methods.js';
import { more } from './more.js';
import { arithmetic } from './numbers.js';
import type { State } from './state.js';
import { textOf } from './text.js';
import {
  type Callable,
  charactersOf,
  Group,
  integerOf,
  isInteger,
  isList,
  isMap,
  kindOf,
  lengthOf,
  Namespace,
  Safe,
  Series,
  TemplateError,
  Tuple,
  tupleOf,
  unwrapped,
  type Value,
} from './values.js';

/** `a sign b` @internal */
export function operate(state: State, sign: string, first: Value, second: Value): Value {
  const { budget } = state;
  if (sign === '+' && (first instanceof Safe || second instanceof Safe)) return more().added(budget, first, second);
  const [a, b] = [unwrapped(first), unwrapped(second)];
  if (sign === '~') {
    const [left, right] = [textOf(budget, a), textOf(budget, b)];
    budget.text(left.length + right.length);
    return left + right;
  }
  const number = arithmetic(budget, sign, a, b);
  if (number !== undefined) return number;
  if (sign === '+' && typeof a === 'string' && typeof b === 'string') {
    budget.text(a.length + b.length);
    return a + b;
  }
  if (sign === '+' && isList(a) && isList(b) && a instanceof Tuple === b instanceof Tuple) {
    budget.list(a.length + b.length);
    return alike(a, [...a, ...b]);
  }
  if (sign === '*') return repeated(state, a, b);
  if (sign === '%' && typeof a === 'string') return more().formatted(state, a, b);
  throw new TemplateError(`'${sign}' is not for ${kindOf(a)} and ${kindOf(b)}`);
}

/** A tuple of what was made of one. */
const alike = (from: Value, items: readonly Value[]): Value => (from instanceof Tuple ? tupleOf(items) : items);

function repeated({ budget }: State, a: Value, b: Value): Value {
  const [value, count] = isInteger(a) ? [b, a] : [a, b];
  if (!isInteger(count) || !(typeof value === 'string' || isList(value))) {
    throw new TemplateError(`'*' is not for ${kindOf(a)} and ${kindOf(b)}`);
  }
  const times = value.length === 0 ? 0 : Math.max(0, integerOf(count, 'a count'));
  if (typeof value === 'string') {
    budget.text(value.length * times);
    return value.repeat(times);
  }
  budget.list(value.length * times);
  return alike(value, Array.from({ length: times }, () => value).flat());
}

/** `value.key` (`isField`: methods come before entries) or `value[key]`. @internal */
export function member(state: State, of: Value, named: Value, isField: boolean): Value {
  const { budget } = state;
  const [value, key] = [unwrapped(of), unwrapped(named)];
  budget.step();
  if (value instanceof Group && (key === 'grouper' || key === 'list')) return value[key === 'list' ? 1 : 0];
  if (value === undefined) throw new TemplateError(`undefined has no ${nameOf(key)}`);
  if (value instanceof Namespace) return value.entries.get(key);
  const method = (): Value => (typeof key === 'string' ? methodOf(state, value, key) : undefined);
  if (isMap(value)) {
    const own = isField ? method() : undefined;
    if (own !== undefined || isList(key) || isMap(key)) return own;
    const found = keyIn(budget, value, key);
    return found ? value.get(found.key) : isField ? undefined : method();
  }
  if (typeof value === 'function' && 'fields' in value) return (value.fields as Map<Value, Value>).get(key);
  if (!isInteger(key)) return method();
  const isRange = value instanceof Series && value.kind === 'range';
  if (!isRange && !isList(value) && typeof value !== 'string') return undefined;
  const index = integerOf(key, 'an index');
  const at = index < 0 ? lengthOf(value) + index : index;
  return typeof value === 'string' ? characterAt(state, value, at) : (isRange ? value.items : (value as Value[]))[at];
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

/** `value[start:stop:step]`; none where nothing stands. @internal */
export function sliced(state: State, of: Value, [start, stop, step]: readonly Value[]): Value {
  const value = unwrapped(of);
  if (typeof value !== 'string' && !isList(value)) throw new TemplateError(`${kindOf(value)} cannot be sliced`);
  if (typeof value === 'string') state.budget.text(value.length);
  else state.budget.list(value.length);
  const items = typeof value === 'string' ? charactersOf(value) : value;
  const places = placesOf(items.length, index(start), index(stop), index(step) ?? 1);
  const found = places.map((at) => items[at]);
  return typeof value === 'string' ? found.join('') : alike(value, found);
}

const index = (value: Value): number | undefined => (value === null ? undefined : integerOf(value, 'an index'));

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
