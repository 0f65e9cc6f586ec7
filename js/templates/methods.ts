/**
 * Methods of Python's text, dicts and lists.
 */
import type { State } from './state.js';
import {
  type Budget,
  type Callable,
  charactersOf,
  equals,
  isList,
  isMap,
  kindOf,
  TemplateError,
  textOf,
  type Value,
} from './values.js';

type Args = readonly Value[];
type Named = ReadonlyMap<string, Value>;
type Method<T> = (budget: Budget, value: T, args: Args, named: Named) => Value;

/** The method `name` of a value; `undefined` where there is none. @internal */
export function methodOf({ budget }: State, value: Value, name: string): Callable | undefined {
  const bound = <T>(methods: Record<string, Method<T>>, of: T): Callable | undefined => {
    if (!Object.hasOwn(methods, name)) return undefined;
    const method = methods[name] as Method<T>;
    return (args, named) => {
      budget.step();
      return method(budget, of, args, named);
    };
  };
  if (typeof value === 'string') return bound(TEXT, value);
  if (isMap(value)) return bound(MAP, value);
  return isList(value) ? bound(LIST, value) : undefined;
}

/** An argument that must be text. */
function text(args: Args, index = 0): string {
  const value = args[index];
  if (typeof value === 'string') return value;
  throw new TemplateError(`expected text, found ${kindOf(value)}`);
}

const MAP: Record<string, Method<ReadonlyMap<Value, Value>>> = {
  get: (_, map, [key, usual = null]) => (map.has(key) ? map.get(key) : usual),
  items: (budget, map) => listed(budget, map, [...map]),
  keys: (budget, map) => listed(budget, map, [...map.keys()]),
  values: (budget, map) => listed(budget, map, [...map.values()]),
  copy: (_, map) => map,
};

function listed(budget: Budget, map: ReadonlyMap<Value, Value>, items: Value[]): Value[] {
  budget.list(map.size);
  return items;
}

const LIST: Record<string, Method<readonly Value[]>> = {
  count: (budget, list, [item]) => list.filter((other) => equals(budget, other, item)).length,
  index: (budget, list, [item]) => {
    const found = list.findIndex((other) => equals(budget, other, item));
    if (found < 0) throw new TemplateError('the list does not have the item');
    return found;
  },
  copy: (_, list) => list,
};

/** A method that makes a text that is hardly longer than the text itself. */
const mapped =
  (change: (value: string, args: Args) => Value): Method<string> =>
  (budget, value, args) => {
    budget.text(2 * value.length);
    return change(value, args);
  };

/** A method that says whether the text is not empty and has such characters only. */
const only = (pattern: RegExp): Method<string> => mapped((value) => pattern.test(value));

const TEXT: Record<string, Method<string>> = {
  upper: mapped((value) => value.toUpperCase()),
  lower: mapped((value) => value.toLowerCase()),
  capitalize: mapped(capitalized),
  title: mapped(titled),
  strip: mapped((value, args) => stripped(value, args, true, true)),
  lstrip: mapped((value, args) => stripped(value, args, true, false)),
  rstrip: mapped((value, args) => stripped(value, args, false, true)),
  startswith: mapped((value, args) => prefixes(args).some((prefix) => value.startsWith(prefix))),
  endswith: mapped((value, args) => prefixes(args).some((suffix) => value.endsWith(suffix))),
  removeprefix: mapped((value, args) => (value.startsWith(text(args)) ? value.slice(text(args).length) : value)),
  removesuffix: mapped((value, args) => {
    return value.endsWith(text(args)) ? value.slice(0, value.length - text(args).length) : value;
  }),
  find: mapped((value, args) => value.indexOf(text(args))),
  rfind: mapped((value, args) => value.lastIndexOf(text(args))),
  index: mapped((value, args) => {
    const found = value.indexOf(text(args));
    if (found < 0) throw new TemplateError('the text does not have the part');
    return found;
  }),
  count: mapped((value, args) => (text(args) === '' ? value.length + 1 : value.split(text(args)).length - 1)),
  isalnum: only(/^[\p{L}\p{N}]+$/u),
  isalpha: only(/^\p{L}+$/u),
  isascii: mapped((value) => !/\P{ASCII}/u.test(value)),
  isdigit: only(/^\p{Nd}+$/u),
  isnumeric: only(/^\p{N}+$/u),
  isspace: only(/^\s+$/),
  islower: mapped((value) => /\p{Ll}/u.test(value) && value === value.toLowerCase()),
  isupper: mapped((value) => /\p{Lu}/u.test(value) && value === value.toUpperCase()),
  split: (budget, value, args, named) => split(budget, value, args, named, false),
  rsplit: (budget, value, args, named) => split(budget, value, args, named, true),
  splitlines: (budget, value) =>
    pieces(
      budget,
      value.replace(/\r\n?|\n$/g, (end) => (end === '\n' ? '' : '\n')),
      '\n',
    ),
  replace: (budget, value, args, named) => replaced(budget, value, args, named),
  join: (budget, value, [items]) => joined(budget, items, value),
};

function prefixes(args: Args): string[] {
  const [found] = args;
  return isList(found) ? found.map((_, index) => text(found, index)) : [text(args)];
}

/** @internal */
export function capitalized(value: string): string {
  const [first = '', ...rest] = charactersOf(value);
  return first.toUpperCase() + rest.join('').toLowerCase();
}

/** @internal */
export function titled(value: string): string {
  return value.replace(/\p{L}+/gu, (word) => capitalized(word));
}

/** Without white space, or the characters of the first argument, at its ends. @internal */
export function stripped(value: string, args: Args, left: boolean, right: boolean): string {
  const [given] = args;
  const isWanted = (char: string): boolean => {
    return given === undefined || given === null ? /\s/.test(char) : text(args).includes(char);
  };
  let [start, end] = [0, value.length];
  while (left && start < end && isWanted(value[start] as string)) start += 1;
  while (right && end > start && isWanted(value[end - 1] as string)) end -= 1;
  return value.slice(start, end);
}

/** `value.split(separator)`, paid for. */
function pieces(budget: Budget, value: string, separator: string): string[] {
  budget.text(2 * value.length);
  const found = value.split(separator);
  budget.list(found.length);
  return found;
}

/** `str.split(sep, maxsplit)`, or from the right. @internal */
export function split(budget: Budget, value: string, args: Args, named: Named, fromRight: boolean): Value[] {
  const separator = args[0] ?? named.get('sep') ?? null;
  const most = args[1] ?? named.get('maxsplit') ?? -1;
  if (typeof most !== 'number') throw new TemplateError(`maxsplit must be a number, found ${kindOf(most)}`);
  if (separator === null) return words(budget, value, most, fromRight);
  if (typeof separator !== 'string' || separator === '') throw new TemplateError('the separator must be a text');
  const found = pieces(budget, value, separator);
  if (most < 0 || found.length <= most + 1) return found;
  if (fromRight) {
    const rest = found.splice(found.length - most);
    return [found.join(separator), ...rest];
  }
  const rest = found.splice(most);
  return [...found, rest.join(separator)];
}

function words(budget: Budget, value: string, most: number, fromRight: boolean): Value[] {
  const trimmed = value.trim();
  const places = [...trimmed.matchAll(/\s+/g)];
  budget.text(2 * value.length);
  budget.list(places.length + 1);
  if (trimmed === '') return [];
  const cuts =
    most < 0 ? places : fromRight ? places.slice(places.length - Math.min(most, places.length)) : places.slice(0, most);
  const found: string[] = [];
  let at = 0;
  for (const { index, 0: space } of cuts) {
    found.push(trimmed.slice(at, index));
    at = index + space.length;
  }
  return [...found, trimmed.slice(at)];
}

/** `str.replace(old, new, count)` @internal */
export function replaced(budget: Budget, value: string, args: Args, named: Named): string {
  const [old, by] = [text(args, 0), text(args, 1)];
  const count = args[2] ?? named.get('count') ?? -1;
  if (typeof count !== 'number') throw new TemplateError(`count must be a number, found ${kindOf(count)}`);
  const parts = old === '' ? ['', ...charactersOf(value), ''] : pieces(budget, value, old);
  const most = count < 0 ? parts.length - 1 : Math.min(count, parts.length - 1);
  budget.text(value.length + most * by.length);
  return (
    parts.slice(0, most + 1).join(by) +
    parts
      .slice(most + 1)
      .map((part) => old + part)
      .join('')
  );
}

/** `separator.join(items)`: `items` of any kind, as the filter takes them. @internal */
export function joined(budget: Budget, items: Value, separator: string): string {
  if (items !== undefined && !isList(items) && !isMap(items) && typeof items !== 'string') {
    throw new TemplateError(`${kindOf(items)} cannot be joined`);
  }
  const list =
    items === undefined
      ? []
      : typeof items === 'string'
        ? charactersOf(items)
        : isMap(items)
          ? [...items.keys()]
          : items;
  budget.list(list.length);
  let length = 0;
  const texts = list.map((item) => {
    const found = textOf(budget, item);
    length += found.length + separator.length;
    return found;
  });
  budget.text(length);
  return texts.join(separator);
}
