/**
 * Filters: `value | name(arguments)`.
 */
import { toJson } from './json.js';
import { capitalized, joined, replaced, split, stripped, titled } from './methods.js';
import { formatted, member } from './operations.js';
import type { State } from './state.js';
import { tested } from './tests.js';
import {
  compare,
  equals,
  float,
  isMap,
  isNumber,
  isTrue,
  itemsOf,
  kindOf,
  lengthOf,
  numberOf,
  TemplateError,
  textOf,
  type Value,
} from './values.js';

type Args = readonly Value[];
type Named = ReadonlyMap<string, Value>;
type Filter = (state: State, value: Value, args: Args, named: Named) => Value;

/** An argument by its place or its name. */
const given = (args: Args, named: Named, index: number, name: string, usual: Value): Value =>
  index < args.length ? args[index] : named.has(name) ? named.get(name) : usual;

/** A filter of text; what is none is written as text first. */
const ofText =
  (change: (text: string, args: Args) => string): Filter =>
  ({ budget }, value, args) => {
    const text = textOf(budget, value);
    budget.text(2 * text.length);
    return change(text, args);
  };

const FILTERS: Record<string, Filter> = {
  abs: (_, value) =>
    isNumber(value) ? (typeof value === 'number' ? Math.abs(value) : float(Math.abs(value.value))) : 0,
  attr: (state, value, [name]) => member(state, value, name, true),
  bool: (_, value) => isTrue(value),
  capitalize: ofText(capitalized),
  count: (_, value) => lengthOf(value),
  d: byDefault,
  default: byDefault,
  dictsort: dictsort,
  e: ofText(escaped),
  escape: ofText(escaped),
  first: (state, value) => itemsOf(state.budget, value)[0],
  float: (_, value, [usual = 0]) => asNumber(value, usual, true),
  format: (state, value, args) => formatted(state, textOf(state.budget, value), args),
  groupby: groupby,
  indent: indented,
  int: (_, value, [usual = 0]) => asNumber(value, usual, false),
  items: (state, value) => (value === undefined ? [] : entriesOf(state, value)),
  join: joinFilter,
  last: (state, value) => itemsOf(state.budget, value).at(-1),
  length: (_, value) => lengthOf(value),
  list: (state, value) => itemsOf(state.budget, value),
  lower: ofText((text) => text.toLowerCase()),
  map: mapFilter,
  max: (state, value) => sorted(state, value).at(-1),
  min: (state, value) => sorted(state, value)[0],
  reject: (state, value, args) => selected(state, value, args, false),
  rejectattr: (state, value, args) => selectedBy(state, value, args, false),
  replace: ({ budget }, value, args, named) => replaced(budget, textOf(budget, value), args, named),
  reverse: reversed,
  round: rounded,
  safe: (_, value) => value,
  select: (state, value, args) => selected(state, value, args, true),
  selectattr: (state, value, args) => selectedBy(state, value, args, true),
  sort: sortFilter,
  split: ({ budget }, value, args, named) => split(budget, textOf(budget, value), args, named, false),
  string: ({ budget }, value) => textOf(budget, value),
  sum: summed,
  title: ofText(titled),
  tojson: ({ budget }, value, _, named) => toJson(budget, value, named),
  trim: ofText((text, args) => stripped(text, args, true, true)),
  unique: unique,
  upper: ofText((text) => text.toUpperCase()),
  urlencode: ofText(encodeURIComponent),
  wordcount: ({ budget }, value) => split(budget, textOf(budget, value), [], new Map(), false).length,
};

/** @internal */
export const isFilter = (name: string): boolean => Object.hasOwn(FILTERS, name);

/** @internal */
export function filtered(state: State, name: string, value: Value, args: Args = [], named: Named = new Map()): Value {
  state.budget.step();
  if (!isFilter(name)) throw new TemplateError(`there is no filter '${name}'`);
  return (FILTERS[name] as Filter)(state, value, args, named);
}

function byDefault(_: State, value: Value, args: Args, named: Named): Value {
  const usual = given(args, named, 0, 'default_value', '');
  const alsoFalse = isTrue(given(args, named, 1, 'boolean', false));
  return value === undefined || (alsoFalse && !isTrue(value)) ? usual : value;
}

function escaped(text: string): string {
  const signs: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&#34;', "'": '&#39;' };
  return text.replace(/[&<>"']/g, (sign) => signs[sign] as string);
}

function asNumber(value: Value, usual: Value, isFloat: boolean): Value {
  const found = typeof value === 'string' && value.trim() !== '' ? Number(value.trim()) : numberOf(value);
  if (found === undefined || Number.isNaN(found)) return usual;
  return isFloat ? float(found) : Math.trunc(found);
}

function entriesOf({ budget }: State, value: Value): Value[] {
  if (!isMap(value)) throw new TemplateError(`${kindOf(value)} has no items`);
  budget.list(value.size);
  return [...value].map(([key, item]) => [key, item]);
}

function indented({ budget }: State, value: Value, args: Args, named: Named): Value {
  const width = given(args, named, 0, 'width', 4);
  const [first, blank] = [given(args, named, 1, 'first', false), given(args, named, 2, 'blank', false)];
  if (typeof width !== 'number' && typeof width !== 'string') throw new TemplateError('indent: width must be a number');
  const size = typeof width === 'number' ? Math.max(0, width) : width.length;
  const text = textOf(budget, value);
  budget.text(2 * text.length);
  const lines = text.split('\n');
  budget.list(lines.length);
  budget.text(text.length + lines.length * size);
  const before = typeof width === 'number' ? ' '.repeat(size) : width;
  return lines
    .map((line, at) => ((at === 0 ? isTrue(first) : line !== '' || isTrue(blank)) ? before + line : line))
    .join('\n');
}

function joinFilter(state: State, value: Value, args: Args, named: Named): Value {
  const separator = textOf(state.budget, given(args, named, 0, 'd', ''));
  const attribute = given(args, named, 1, 'attribute', undefined);
  const items =
    attribute === undefined ? value : itemsOf(state.budget, value).map((item) => path(state, item, attribute));
  return joined(state.budget, items, separator);
}

/** `item.a.b` for the attribute `a.b`. */
function path(state: State, item: Value, attribute: Value): Value {
  if (typeof attribute !== 'string') return member(state, item, attribute, false);
  return attribute.split('.').reduce<Value>((value, name) => {
    const key = /^\d+$/.test(name) ? Number(name) : name;
    return isMap(value) ? value.get(key) : member(state, value, key, false);
  }, item);
}

function mapFilter(state: State, value: Value, args: Args, named: Named): Value {
  const items = itemsOf(state.budget, value);
  const attribute = named.get('attribute');
  if (attribute !== undefined) {
    return items.map((item) => path(state, item, attribute) ?? named.get('default'));
  }
  const [name, ...rest] = args;
  if (typeof name !== 'string') throw new TemplateError('map: expected the name of a filter, or attribute=');
  return items.map((item) => filtered(state, name, item, rest, named));
}

function selected(state: State, value: Value, [name, ...rest]: Args, wanted: boolean): Value {
  return itemsOf(state.budget, value).filter((item) => fits(state, item, name, rest) === wanted);
}

function selectedBy(state: State, value: Value, [attribute, name, ...rest]: Args, wanted: boolean): Value {
  const items = itemsOf(state.budget, value);
  return items.filter((item) => fits(state, path(state, item, attribute), name, rest) === wanted);
}

function fits(state: State, value: Value, name: Value, args: Args): boolean {
  return name === undefined ? isTrue(value) : tested(state, textOf(state.budget, name), value, args);
}

function reversed({ budget }: State, value: Value): Value {
  const items = itemsOf(budget, value).reverse();
  return typeof value === 'string' ? items.join('') : items;
}

function rounded(_: State, value: Value, args: Args, named: Named): Value {
  const number = numberOf(value);
  const digits = numberOf(given(args, named, 0, 'precision', 0)) ?? 0;
  const method = given(args, named, 1, 'method', 'common');
  if (number === undefined) throw new TemplateError(`round: expected a number, found ${kindOf(value)}`);
  const scale = 10 ** digits;
  const scaled = number * scale;
  const common = Math.abs(scaled % 1) === 0.5 ? 2 * Math.round(scaled / 2) : Math.round(scaled);
  const whole = method === 'ceil' ? Math.ceil(scaled) : method === 'floor' ? Math.floor(scaled) : common;
  return float(whole / scale);
}

/** Text without regard to case, unless asked. */
const folded = (value: Value, caseSensitive: Value): Value =>
  typeof value === 'string' && !isTrue(caseSensitive) ? value.toLowerCase() : value;

function sorted(state: State, value: Value, key: (item: Value) => Value = (item) => folded(item, false)): Value[] {
  const keyed = itemsOf(state.budget, value).map((item): [Value, Value] => [key(item), item]);
  return keyed.sort(([a], [b]) => compare(state.budget, a, b)).map(([, item]) => item);
}

function sortFilter(state: State, value: Value, args: Args, named: Named): Value {
  const [reverse, caseSensitive] = [
    given(args, named, 0, 'reverse', false),
    given(args, named, 1, 'case_sensitive', false),
  ];
  const attribute = given(args, named, 2, 'attribute', undefined);
  const items = sorted(state, value, (item) => {
    return folded(attribute === undefined ? item : path(state, item, attribute), caseSensitive);
  });
  return isTrue(reverse) ? items.reverse() : items;
}

function dictsort(state: State, value: Value, args: Args, named: Named): Value {
  const caseSensitive = given(args, named, 0, 'case_sensitive', false);
  const at = given(args, named, 1, 'by', 'key') === 'value' ? 1 : 0;
  const items = sorted(state, entriesOf(state, value), (item) => folded((item as Value[])[at], caseSensitive));
  return isTrue(given(args, named, 2, 'reverse', false)) ? items.reverse() : items;
}

function groupby(state: State, value: Value, args: Args, named: Named): Value {
  const attribute = given(args, named, 0, 'attribute', undefined);
  const groups: [Value, Value[]][] = [];
  for (const item of sorted(state, value, (each) => folded(path(state, each, attribute), false))) {
    const key = path(state, item, attribute);
    const last = groups.at(-1);
    if (last && equals(state.budget, folded(last[0], false), folded(key, false))) last[1].push(item);
    else groups.push([key, [item]]);
  }
  return groups;
}

function summed(state: State, value: Value, args: Args, named: Named): Value {
  const attribute = given(args, named, 0, 'attribute', undefined);
  const numbers = itemsOf(state.budget, value).map((item) => {
    return numberOf(attribute === undefined ? item : path(state, item, attribute)) ?? Number.NaN;
  });
  return numbers.reduce((sum, number) => sum + number, numberOf(given(args, named, 1, 'start', 0)) ?? 0);
}

function unique(state: State, value: Value, args: Args, named: Named): Value {
  const caseSensitive = given(args, named, 0, 'case_sensitive', false);
  const attribute = given(args, named, 1, 'attribute', undefined);
  const [seen, kept]: [Value[], Value[]] = [[], []];
  for (const item of itemsOf(state.budget, value)) {
    const key = folded(attribute === undefined ? item : path(state, item, attribute), caseSensitive);
    if (seen.some((other) => equals(state.budget, other, key))) continue;
    seen.push(key);
    kept.push(item);
  }
  return kept;
}
