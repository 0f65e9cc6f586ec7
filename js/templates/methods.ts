/**
 * Methods of Python's text, dicts and lists.
 */
import { equals, find, keyIn } from './compare.js';
import { type Args, given, type Method, more, type Named, own } from './more.js';
import type { State } from './state.js';
import { SPACE, stripped, textOf } from './text.js';
import {
  type Budget,
  type Callable,
  charactersOf,
  integerOf,
  isList,
  isMap,
  itemsOf,
  kindOf,
  Series,
  TemplateError,
  tupleOf,
  type Value,
} from './values.js';

/** Names of methods that `rare.ts` has. */
const RARE = new Set(
  (
    'capitalize casefold center count expandtabs find format format_map index isalnum isalpha isascii isdecimal ' +
    'isdigit isidentifier islower isnumeric isprintable isspace istitle isupper ljust partition removeprefix ' +
    'removesuffix rfind rindex rjust rpartition rsplit splitlines swapcase title zfill'
  ).split(' '),
);

/** The method `name` of a value; `undefined` where there is none. @internal */
export function methodOf({ budget }: State, value: Value, name: string): Callable | undefined {
  const bound = <T>(method: Method<T> | undefined, of: T): Callable | undefined => {
    return (
      method &&
      ((args, named) => {
        budget.step();
        return method(budget, of, args, named);
      })
    );
  };
  if (typeof value === 'string') {
    return bound(own(TEXT, name) ?? (RARE.has(name) ? own(more().methods, name) : undefined), value);
  }
  if (isMap(value)) return bound(own(MAP, name), value);
  if (value instanceof Series) return value.kind === 'range' ? bound(own(LIST, name), value.items) : undefined;
  return isList(value) ? bound(own(LIST, name), value) : undefined;
}

/** An argument that must be text. @internal */
export function textAt(args: Args, index = 0): string {
  const value = args[index];
  if (typeof value === 'string') return value;
  throw new TemplateError(`expected text, found ${kindOf(value)}`);
}

const MAP: Record<string, Method<ReadonlyMap<Value, Value>>> = {
  get: (budget, map, args) => {
    const found = keyIn(budget, map, args[0]);
    return found ? map.get(found.key) : args.length > 1 ? args[1] : null;
  },
  items: (budget, map) => new Series('dict_items', pairsOf(budget, map)),
  keys: (budget, map) => new Series('dict_keys', itemsOf(budget, map)),
  values: (budget, map) => {
    budget.list(map.size);
    return new Series('dict_values', [...map.values()]);
  },
  copy: (_, map) => map,
};

/** Keys and values. @internal */
export function pairsOf(budget: Budget, map: ReadonlyMap<Value, Value>): Value[] {
  budget.list(3 * map.size);
  return [...map].map(tupleOf);
}

const LIST: Record<string, Method<readonly Value[]>> = {
  count: (budget, list, [item]) => list.filter((other) => equals(budget, other, item)).length,
  index: (budget, list, [item, start = 0, stop = Infinity]) => {
    const [from, to] = [start, stop].map((at) => {
      const place = at === Infinity ? at : integerOf(at, 'a place');
      return place < 0 ? place + list.length : place;
    }) as [number, number];
    const found = list.findIndex((other, at) => at >= from && at < to && equals(budget, other, item));
    if (found < 0) throw new TemplateError('the list does not have the item');
    return found;
  },
  copy: (_, list) => list,
};

/** A method that makes a text that is hardly longer than the text itself. @internal */
export const mapped =
  (change: (value: string, args: Args) => Value): Method<string> =>
  (budget, value, args) => {
    budget.text(2 * value.length);
    return change(value, args);
  };

const strip = (left: boolean, right: boolean): Method<string> =>
  mapped((value, args) => stripped(value, left, right, charsOf(args)));

/** What is to be taken away; nothing where it is white space. */
const charsOf = (args: Args): string | undefined => ((args[0] ?? null) === null ? undefined : textAt(args));

const TEXT: Record<string, Method<string>> = {
  upper: mapped((value) => value.toUpperCase()),
  lower: mapped((value) => value.toLowerCase()),
  strip: strip(true, true),
  lstrip: strip(true, false),
  rstrip: strip(false, true),
  startswith: (budget, value, args) => isAtEnd(budget, value, args, 'startsWith'),
  endswith: (budget, value, args) => isAtEnd(budget, value, args, 'endsWith'),
  split,
  replace: (budget, value, args, named) => {
    const count = given(args, named, 2, 'count', -1);
    return replaced(budget, value, [textAt(args, 0), textAt(args, 1)], integerOf(count, 'count'));
  },
  join: (budget, value, [items]) => {
    const list = itemsOf(budget, items);
    return joined(
      budget,
      list.map((_, index) => textAt(list, index)),
      value,
    );
  },
};

function isAtEnd(budget: Budget, value: string, args: Args, end: 'startsWith' | 'endsWith'): boolean {
  if (args.length > 1) return more().methods[end.toLowerCase()]?.(budget, value, args, new Map()) as boolean;
  const [found] = args;
  const texts = isList(found) ? found.map((_, index) => textAt(found, index)) : [textAt(args)];
  return texts.some((text) => {
    budget.text(text.length);
    return value[end](text);
  });
}

/** `value.split(separator)`, at most `most` times, paid for. @internal */
export function pieces(budget: Budget, value: string, separator: string, most = Infinity): string[] {
  budget.text(2 * value.length + separator.length);
  const found: string[] = [];
  let from = 0;
  while (found.length < most) {
    const at = find(value, separator, from);
    if (at < 0) break;
    budget.list(1);
    found.push(value.slice(from, at));
    from = at + separator.length;
  }
  found.push(value.slice(from));
  budget.list(found.length);
  return found;
}

/** `str.split(sep, maxsplit)` @internal */
export function split(budget: Budget, value: string, args: Args, named: Named): Value {
  const [separator, most] = separatorOf(args, named);
  return separator === null ? words(budget, value, most) : pieces(budget, value, separator, most);
}

/** The arguments of `split`: what is between the parts, none for white space, and how often it is cut. @internal */
export function separatorOf(args: Args, named: Named): [string | null, number] {
  const separator = given(args, named, 0, 'sep', null);
  const most = integerOf(given(args, named, 1, 'maxsplit', -1), 'maxsplit');
  if (separator !== null && (typeof separator !== 'string' || separator === '')) {
    throw new TemplateError('the separator must be a text that is not empty');
  }
  return [separator, most < 0 ? Infinity : most];
}

function words(budget: Budget, value: string, most: number): Value[] {
  budget.text(2 * value.length);
  const word = new RegExp(`[^${SPACE}]+`, 'g');
  const found: string[] = [];
  for (const { 0: text, index } of value.matchAll(word)) {
    budget.list(1);
    if (found.length === most) return [...found, value.slice(index)];
    found.push(text);
  }
  budget.list(found.length);
  return found;
}

/** `str.replace(old, new, count)` @internal */
export function replaced(budget: Budget, value: string, [old, by]: readonly [string, string], count = -1): string {
  const most = count < 0 ? Infinity : count;
  if (old !== '') {
    const parts = pieces(budget, value, old, most);
    budget.text((parts.length - 1) * by.length);
    return parts.join(by);
  }
  budget.text(value.length);
  const chars = charactersOf(value);
  const times = Math.min(most, chars.length + 1);
  budget.text(times * by.length);
  return chars.map((char, at) => (at < times ? by + char : char)).join('') + (times > chars.length ? by : '');
}

/** `separator.join(items)`: `items` of any kind, as the filter takes them. @internal */
export function joined(budget: Budget, items: readonly Value[], separator: string): string {
  let length = 0;
  const texts = items.map((item) => {
    const found = textOf(budget, item);
    length += found.length + separator.length;
    return found;
  });
  budget.text(length);
  return texts.join(separator);
}
