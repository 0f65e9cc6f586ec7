/**
 * Tests: `value is name`.
 */
import { compare, contains, equals } from './compare.js';
import { isFilter } from './filters.js';
import { arithmetic } from './numbers.js';
import type { State } from './state.js';
import { textOf } from './text.js';
import {
  Float,
  isInteger,
  isList,
  isMap,
  isNumber,
  numeric,
  Safe,
  Series,
  TemplateError,
  kindOf,
  unwrapped,
  type Value,
} from './values.js';

type Test = (state: State, value: Value, argument: Value) => boolean;

const ordered =
  (fits: (order: number) => boolean): Test =>
  ({ budget }, value, other) =>
    fits(compare(budget, value, other));

const same: Test = ({ budget }, value, other) => equals(budget, value, other);
const different: Test = ({ budget }, value, other) => !equals(budget, value, other);
const less = ordered((order) => order < 0);
const lessOrEqual = ordered((order) => order <= 0);
const greater = ordered((order) => order > 0);
const greaterOrEqual = ordered((order) => order >= 0);
/** As Python's jinja2 has them: text, maps and what is not defined can be gone over, too. */
const iterable: Test = (_, value) =>
  value === undefined ||
  typeof unwrapped(value) === 'string' ||
  isList(value) ||
  isMap(value) ||
  value instanceof Series;

/** Whether the remainder of a division is `rest`. */
const leaves =
  (rest: number): Test =>
  ({ budget }, value, by) => {
    const found = arithmetic(budget, '%', value, by);
    if (found === undefined) throw new TemplateError(`${kindOf(value)} cannot be divided`);
    return Number(numeric(found)) === rest;
  };

const cased =
  (wanted: RegExp, other: RegExp): Test =>
  ({ budget }, value) => {
    const text = textOf(budget, value);
    budget.text(text.length);
    return wanted.test(text) && !other.test(text);
  };

const atEnd =
  (end: 'startsWith' | 'endsWith'): Test =>
  (_, value, text) =>
    typeof value === 'string' && typeof text === 'string' && value[end](text);

const TESTS: Record<string, Test> = {
  defined: (_, value) => value !== undefined,
  undefined: (_, value) => value === undefined,
  none: (_, value) => value === null,
  boolean: (_, value) => typeof value === 'boolean',
  true: (_, value) => value === true,
  false: (_, value) => value === false,
  number: (_, value) => isNumber(value) || typeof value === 'boolean',
  integer: (_, value) => isInteger(value) && typeof value !== 'boolean',
  float: (_, value) => value instanceof Float || (typeof value === 'number' && !Number.isInteger(value)),
  string: (_, value) => typeof unwrapped(value) === 'string',
  mapping: (_, value) => isMap(value),
  sequence: (state, value, other) =>
    iterable(state, value, other) && !(value instanceof Series && value.kind !== 'range'),
  iterable,
  // What is not defined can be called, and then says so.
  callable: (_, value) => typeof value === 'function' || value === undefined,
  escaped: (_, value) => value instanceof Safe,
  odd: (state, value) => leaves(1)(state, value, 2),
  even: (state, value) => leaves(0)(state, value, 2),
  divisibleby: leaves(0),
  lower: cased(/\p{Lowercase}/u, /[\p{Uppercase}\p{Lt}]/u),
  upper: cased(/\p{Uppercase}/u, /[\p{Lowercase}\p{Lt}]/u),
  sameas: (_, value, other) => value === other,
  in: ({ budget }, value, list) => contains(budget, list, value),
  startingwith: atEnd('startsWith'),
  endingwith: atEnd('endsWith'),
  filter: (_, value) => typeof value === 'string' && isFilter(value),
  test: (_, value) => typeof value === 'string' && Object.hasOwn(TESTS, value),
  eq: same,
  equalto: same,
  '==': same,
  ne: different,
  '!=': different,
  lt: less,
  lessthan: less,
  '<': less,
  le: lessOrEqual,
  '<=': lessOrEqual,
  gt: greater,
  greaterthan: greater,
  '>': greater,
  ge: greaterOrEqual,
  '>=': greaterOrEqual,
};

/** @internal */
export function tested(state: State, name: string, value: Value, [argument]: readonly Value[]): boolean {
  state.budget.step();
  if (Object.hasOwn(TESTS, name)) return (TESTS[name] as Test)(state, value, argument);
  throw new TemplateError(`there is no test '${name}'`);
}
