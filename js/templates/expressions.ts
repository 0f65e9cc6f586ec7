/**
 * Expressions of templates: read with the precedence of jinja2's parser, evaluated by functions.
 */
import { checkKey, compare, contains, equals, keyIn } from './compare.js';
import { filtered } from './filters.js';
import { numberIn, textIn } from './literals.js';
import { signed } from './numbers.js';
import { called, member, operate, sliced } from './operations.js';
import type { State } from './state.js';
import { tested } from './tests.js';
import type { TokenReader } from './token-reader.js';
import { isMap, kindOf, TemplateError, tupleOf, type Value } from './values.js';

/** @internal */
export type Evaluate = (state: State) => Value;
type Named = Map<string, Value>;
type Arguments = (state: State) => [Value[], Named];

/** @internal */
export const NONE_GIVEN: Arguments = () => [[], new Map()];
const COMPARISONS = ['==', '!=', '<', '<=', '>', '>='];
const CONSTANTS: Record<string, Value> = {
  true: true,
  True: true,
  false: false,
  False: false,
  none: null,
  None: null,
};
/** `a if b else c`, and everything that binds tighter. @internal */
export function expressionOf(reader: TokenReader): Evaluate {
  return reader.nested(() => {
    let value = orOf(reader);
    while (reader.skipName('if')) {
      const [yes, test] = [value, orOf(reader)];
      const no = reader.skipName('else') ? expressionOf(reader) : () => undefined;
      value = (state) => (state.isTrue(test(state)) ? yes(state) : no(state));
    }
    return value;
  });
}

function orOf(reader: TokenReader): Evaluate {
  const all = [andOf(reader)];
  while (reader.skipName('or')) all.push(andOf(reader));
  return all.length === 1 ? (all[0] as Evaluate) : firstWhere(all, (state, value) => state.isTrue(value));
}

function andOf(reader: TokenReader): Evaluate {
  const all = [notOf(reader)];
  while (reader.skipName('and')) all.push(notOf(reader));
  return all.length === 1 ? (all[0] as Evaluate) : firstWhere(all, (state, value) => !state.isTrue(value));
}

/** The first value that fits, else the last. */
function firstWhere(all: readonly Evaluate[], fits: (state: State, value: Value) => boolean): Evaluate {
  return (state) => {
    let value: Value;
    for (const each of all) {
      value = each(state);
      if (fits(state, value)) break;
    }
    return value;
  };
}

function notOf(reader: TokenReader): Evaluate {
  let count = 0;
  while (reader.skipName('not')) count += 1;
  const value = compareOf(reader);
  if (count === 0) return value;
  return (state) => state.isTrue(value(state)) === (count % 2 === 0);
}

function compareOf(reader: TokenReader): Evaluate {
  const first = sumOf(reader);
  const rest: [string, Evaluate][] = [];
  for (;;) {
    const sign = COMPARISONS.find((each) => reader.skip(each)) ?? membershipOf(reader);
    if (sign === undefined) break;
    rest.push([sign, sumOf(reader)]);
  }
  if (rest.length === 0) return first;
  return (state) => {
    let left = first(state);
    for (const [sign, next] of rest) {
      const right = next(state);
      if (!compared(state, sign, left, right)) return false;
      left = right;
    }
    return true;
  };
}

function membershipOf(reader: TokenReader): string | undefined {
  if (reader.skipName('in')) return 'in';
  if (reader.peekName() !== 'not' || reader.peekName(1) !== 'in') return undefined;
  reader.next();
  reader.next();
  return 'not in';
}

function compared({ budget }: State, sign: string, a: Value, b: Value): boolean {
  switch (sign) {
    case '==':
      return equals(budget, a, b);
    case '!=':
      return !equals(budget, a, b);
    case 'in':
      return contains(budget, b, a);
    case 'not in':
      return !contains(budget, b, a);
    case '<':
      return compare(budget, a, b) < 0;
    case '<=':
      return compare(budget, a, b) <= 0;
    case '>':
      return compare(budget, a, b) > 0;
    default:
      return compare(budget, a, b) >= 0;
  }
}

/** Operators of one precedence, from left to right. */
function chain(reader: TokenReader, signs: readonly string[], inner: (reader: TokenReader) => Evaluate): Evaluate {
  const first = inner(reader);
  const rest: [string, Evaluate][] = [];
  for (;;) {
    const sign = signs.find((each) => reader.skip(each));
    if (sign === undefined) break;
    rest.push([sign, inner(reader)]);
  }
  if (rest.length === 0) return first;
  return (state) => {
    let value = first(state);
    for (const [sign, next] of rest) {
      state.budget.step();
      value = operate(state, sign, value, next(state));
    }
    return value;
  };
}

const sumOf = (reader: TokenReader): Evaluate => chain(reader, ['+', '-'], joinOf);
const joinOf = (reader: TokenReader): Evaluate => chain(reader, ['~'], productOf);
const productOf = (reader: TokenReader): Evaluate => chain(reader, ['*', '/', '//', '%'], powerOf);
const powerOf = (reader: TokenReader): Evaluate => chain(reader, ['**'], (inner) => unaryOf(inner, true));

function unaryOf(reader: TokenReader, withFilters: boolean): Evaluate {
  return reader.nested(() => {
    const sign = reader.skip('-') ? '-' : reader.skip('+') ? '+' : undefined;
    let value: Evaluate;
    if (sign) {
      const inner = unaryOf(reader, false);
      value = (state) => {
        const found = inner(state);
        const number = signed(sign, found);
        if (number === undefined) throw new TemplateError(`'${sign}' is not for ${kindOf(found)}`);
        return number;
      };
    } else value = postfixOf(reader, primaryOf(reader));
    return withFilters ? filtersOf(reader, value) : value;
  });
}

/** Filters, tests and calls behind a value. */
function filtersOf(reader: TokenReader, first: Evaluate): Evaluate {
  let value = first;
  for (;;) {
    const inner = value;
    if (reader.skip('|')) {
      const name = dotted(reader);
      const args = reader.peek('(') ? argumentsIn(reader) : NONE_GIVEN;
      value = (state) => filtered(state, name, inner(state), ...args(state));
    } else if (reader.skipName('is')) value = testOf(reader, inner);
    else return value;
    reader.longer();
  }
}

function testOf(reader: TokenReader, value: Evaluate): Evaluate {
  const negated = reader.skipName('not');
  const name = dotted(reader);
  let args = NONE_GIVEN;
  if (reader.peek('(')) args = argumentsIn(reader);
  else if (reader.startsArgument()) {
    const one = postfixOf(reader, primaryOf(reader));
    args = (state) => [[one(state)], new Map()];
  }
  return (state) => tested(state, name, value(state), args(state)[0]) !== negated;
}

function dotted(reader: TokenReader): string {
  let name = reader.name();
  while (reader.skip('.')) name += `.${reader.name()}`;
  return name;
}

function postfixOf(reader: TokenReader, first: Evaluate): Evaluate {
  let value = first;
  for (;;) {
    const inner = value;
    if (reader.skip('.')) {
      const { kind, text } = reader.next();
      if (kind !== 'name' && kind !== 'integer') throw reader.before('a name');
      const key = kind === 'integer' ? Number(text) : text;
      value = (state) => member(state, inner(state), key, true);
    } else if (reader.skip('[')) value = subscriptOf(reader, inner);
    else if (reader.peek('(')) {
      const args = argumentsIn(reader);
      value = (state) => called(state, inner(state), ...args(state));
    } else return value;
    reader.longer();
  }
}

function subscriptOf(reader: TokenReader, value: Evaluate): Evaluate {
  const none: Evaluate = () => null;
  const bounds: Evaluate[] = [];
  const read = (): Evaluate | undefined => (/^[:\]]$/.test(reader.peekSign()) ? undefined : expressionOf(reader));
  const first = read();
  const isSlice = reader.peek(':');
  bounds.push(first ?? none);
  while (bounds.length < 3 && reader.skip(':')) bounds.push(read() ?? none);
  if (isSlice) {
    reader.expect(']');
    return (state) =>
      sliced(
        state,
        value(state),
        [0, 1, 2].map((at) => (bounds[at] ?? none)(state)),
      );
  }
  if (!first) throw reader.unexpected('an index');
  const key = reader.peek(',') ? tupleIn(reader, first) : first;
  reader.expect(']');
  return (state) => member(state, value(state), key(state), false);
}

function primaryOf(reader: TokenReader): Evaluate {
  const { kind, text } = reader.next();
  switch (kind) {
    case 'name':
      return nameOf(text);
    case 'integer':
    case 'float': {
      const value = numberIn(text, kind === 'float');
      return () => value;
    }
    case 'text': {
      let whole = textIn(text);
      while (reader.peekKind() === 'text') whole += textIn(reader.next().text);
      return () => whole;
    }
    default:
  }
  if (text === '(') return reader.skip(')') ? () => tupleOf([]) : reader.closed(')', () => tupleIn(reader));
  if (text === '[') return listOf(reader);
  if (text === '{') return mapOf(reader);
  throw reader.before('an expression');
}

function nameOf(name: string): Evaluate {
  if (Object.hasOwn(CONSTANTS, name)) return () => CONSTANTS[name];
  return (state) => state.lookUp(name);
}

function listOf(reader: TokenReader): Evaluate {
  const items: Evaluate[] = [];
  while (!reader.skip(']')) {
    items.push(expressionOf(reader));
    if (!reader.peek(']')) reader.expect(',');
  }
  return (state) => {
    state.budget.list(items.length);
    return items.map((item) => item(state));
  };
}

function mapOf(reader: TokenReader): Evaluate {
  const entries: [Evaluate, Evaluate][] = [];
  while (!reader.skip('}')) {
    const key = expressionOf(reader);
    reader.expect(':');
    entries.push([key, expressionOf(reader)]);
    if (!reader.peek('}')) reader.expect(',');
  }
  return (state) => {
    state.budget.list(entries.length);
    const map = new Map<Value, Value>();
    for (const [evaluate, value] of entries) {
      const key = evaluate(state);
      checkKey(key);
      map.set(keyIn(state.budget, map, key)?.key ?? key, value(state));
    }
    return map;
  };
}

/** An expression, or several with commas between them: a tuple. @internal */
export function tupleIn(reader: TokenReader, first = expressionOf(reader), read = expressionOf): Evaluate {
  if (!reader.peek(',')) return first;
  const items = [first];
  while (reader.skip(',')) {
    if (reader.atEnd() || reader.peek(')') || reader.peek(']')) break;
    items.push(read(reader));
  }
  return (state) => tupleOf(items.map((item) => item(state)));
}

/** The values that a loop goes over: an `if` behind them belongs to the loop. @internal */
export const iteratedIn = (reader: TokenReader): Evaluate => tupleIn(reader, orOf(reader), orOf);

/** Filters of a block. @internal */
export function filtersIn(reader: TokenReader): (state: State, value: Value) => Value {
  const holder: { value: Value } = { value: undefined };
  const chained = filtersOf(reader, () => holder.value);
  return (state, value) => {
    holder.value = value;
    return chained(state);
  };
}

/** A call that gets further arguments by name. @internal */
export function callIn(reader: TokenReader): (state: State, further: Named) => Value {
  let target: Evaluate = nameOf(reader.name());
  while (reader.skip('.')) {
    const [inner, field] = [target, reader.name()];
    target = (state) => member(state, inner(state), field, true);
  }
  const args = argumentsIn(reader);
  return (state, further) => {
    const [given, named] = args(state);
    return called(state, target(state), given, new Map([...named, ...further]));
  };
}

/** The arguments of a call, in brackets. @internal */
export function argumentsIn(reader: TokenReader): Arguments {
  const given: [kind: string, value: Evaluate][] = [];
  reader.expect('(');
  while (!reader.skip(')')) {
    const spread = reader.skip('**') ? '**' : reader.skip('*') ? '*' : '';
    const name = !spread && reader.isNamed() ? reader.name() : '';
    if (name) reader.expect('=');
    given.push([spread || name, expressionOf(reader)]);
    if (!reader.peek(')')) reader.expect(',');
  }
  return (state) => argumentsOf(state, given);
}

function argumentsOf(state: State, given: readonly (readonly [string, Evaluate])[]): [Value[], Named] {
  const [args, named]: [Value[], Named] = [[], new Map()];
  for (const [kind, evaluate] of given) {
    const value = evaluate(state);
    if (kind === '*') args.push(...state.items(value));
    else if (kind === '**') {
      if (!isMap(value)) throw new TemplateError(`${kindOf(value)} cannot be arguments by name`);
      for (const [key, item] of value) {
        if (typeof key !== 'string') throw new TemplateError(`${kindOf(key)} cannot be the name of an argument`);
        named.set(key, item);
      }
    } else if (kind === '') args.push(value);
    else named.set(kind, value);
  }
  return [args, named];
}
