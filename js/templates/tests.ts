/**
 * Tests: `value is name`.
 */
import { isFilter } from './filters.js';
import type { State } from './state.js';
import {
  compare,
  contains,
  equals,
  Float,
  isInteger,
  isList,
  isMap,
  isNumber,
  numberOf,
  TemplateError,
  type Value,
} from './values.js';

type Test = (state: State, value: Value, argument: Value) => boolean;

const same: Test = ({ budget }, value, other) => equals(budget, value, other);
const different: Test = ({ budget }, value, other) => !equals(budget, value, other);
const less: Test = ({ budget }, value, other) => compare(budget, value, other) < 0;
const lessOrEqual: Test = ({ budget }, value, other) => compare(budget, value, other) <= 0;
const greater: Test = ({ budget }, value, other) => compare(budget, value, other) > 0;
const greaterOrEqual: Test = ({ budget }, value, other) => compare(budget, value, other) >= 0;
/** As Python's jinja2 has them: text and maps are sequences, too. */
const sequence: Test = (_, value) => {
  return value === undefined || typeof value === 'string' || isList(value) || isMap(value);
};

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
  string: (_, value) => typeof value === 'string',
  mapping: (_, value) => isMap(value),
  sequence,
  iterable: sequence,
  callable: (_, value) => typeof value === 'function',
  odd: (_, value) => Math.abs((numberOf(value) ?? 0) % 2) === 1,
  even: (_, value) => (numberOf(value) ?? 1) % 2 === 0,
  divisibleby: (_, value, by) => (numberOf(value) ?? Number.NaN) % (numberOf(by) ?? Number.NaN) === 0,
  lower: (_, value) => typeof value === 'string' && value === value.toLowerCase(),
  upper: (_, value) => typeof value === 'string' && value === value.toUpperCase(),
  sameas: (_, value, other) => value === other,
  in: ({ budget }, value, list) => contains(budget, list, value),
  startingwith: (_, value, start) => typeof value === 'string' && typeof start === 'string' && value.startsWith(start),
  endingwith: (_, value, end) => typeof value === 'string' && typeof end === 'string' && value.endsWith(end),
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
