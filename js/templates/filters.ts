/**
 * Filters: `value | name(arguments)`. Those that few templates use are in `rare-filters.ts`.
 */
import { toJson } from './json.js';
import { joined, pairsOf, replaced } from './methods.js';
import { type Args, type Filter, given, more, type Named, own } from './more.js';
import { member } from './operations.js';
import type { State } from './state.js';
import { tested } from './tests.js';
import { stripped, textOf } from './text.js';
import {
  integerOf,
  isMap,
  isTrue,
  itemsOf,
  kindOf,
  lengthOf,
  Safe,
  Series,
  TemplateError,
  type Value,
} from './values.js';

/** A filter of text; what is none is written as text first. @internal */
export const ofText =
  (change: (text: string, args: Args, named: Named) => string): Filter =>
  ({ budget }, value, args, named) => {
    const text = textOf(budget, value);
    budget.text(2 * text.length);
    return change(text, args, named);
  };

const FILTERS: Record<string, Filter> = {
  count: (_, value) => lengthOf(value),
  d: byDefault,
  default: byDefault,
  first: (state, value) => itemsOf(state.budget, value)[0],
  items: ({ budget }, value) => {
    if (value === undefined) return new Series('generator', []);
    if (!isMap(value)) throw new TemplateError(`${kindOf(value)} has no items`);
    return new Series('generator', pairsOf(budget, value));
  },
  join: joinFilter,
  last: (state, value) => itemsOf(state.budget, value).at(-1),
  length: (_, value) => lengthOf(value),
  list: (state, value) => itemsOf(state.budget, value),
  lower: ofText((text) => text.toLowerCase()),
  map: mapFilter,
  reject: (state, value, args, named) => selected(state, value, args, named, false),
  rejectattr: (state, value, args, named) => selectedBy(state, value, args, named, false),
  replace: ({ budget }, value, args, named) => {
    const texts = [0, 1].map((at) => textOf(budget, given(args, named, at, at === 0 ? 'old' : 'new', undefined)));
    const count = given(args, named, 2, 'count', null);
    return replaced(budget, textOf(budget, value), texts as [string, string], integerOf(count ?? -1, 'count'));
  },
  safe: ({ budget }, value) => new Safe(textOf(budget, value)),
  select: (state, value, args, named) => selected(state, value, args, named, true),
  selectattr: (state, value, args, named) => selectedBy(state, value, args, named, true),
  string: ({ budget }, value) => textOf(budget, value),
  tojson: ({ budget }, value, args, named) => toJson(budget, value, args, named),
  trim: ofText((text, args, named) => {
    const chars = given(args, named, 0, 'chars', null);
    if (chars !== null && typeof chars !== 'string') throw new TemplateError(`expected text, found ${kindOf(chars)}`);
    return stripped(text, true, true, chars ?? undefined);
  }),
  upper: ofText((text) => text.toUpperCase()),
};

/** @internal */
export const isFilter = (name: string): boolean => (own(FILTERS, name) ?? own(more().filters, name)) !== undefined;

/** @internal */
export function filtered(state: State, name: string, value: Value, args: Args = [], named: Named = new Map()): Value {
  state.budget.step();
  const filter = own(FILTERS, name) ?? own(more().filters, name);
  if (!filter) throw new TemplateError(`there is no filter '${name}'`);
  return filter(state, value, args, named);
}

function byDefault(_: State, value: Value, args: Args, named: Named): Value {
  const usual = given(args, named, 0, 'default_value', '');
  const alsoFalse = isTrue(given(args, named, 1, 'boolean', false));
  return value === undefined || (alsoFalse && !isTrue(value)) ? usual : value;
}

function joinFilter(state: State, value: Value, args: Args, named: Named): Value {
  const separator = textOf(state.budget, given(args, named, 0, 'd', ''));
  const attribute = given(args, named, 1, 'attribute', null);
  const items = itemsOf(state.budget, value);
  const all = attribute === null ? items : items.map((item) => path(state, item, attribute));
  return joined(state.budget, all, separator);
}

/** `item.a.b` for the attribute `a.b`, else `usual`. @internal */
export function path(state: State, item: Value, attribute: Value, usual?: Value): Value {
  const names = typeof attribute === 'string' ? namesOf(state, attribute) : [attribute];
  return names.reduce<Value>((value, name) => {
    const found = member(state, value, name, false);
    return found === undefined && usual !== undefined && usual !== null ? usual : found;
  }, item);
}

function namesOf({ budget }: State, attribute: string): Value[] {
  budget.text(attribute.length);
  const names = attribute.split('.');
  budget.list(names.length);
  return names.map((name) => (/^\d+$/.test(name) ? Number(name) : name));
}

/** What is false has nothing to go over. */
const generated = (state: State, value: Value, make: (items: Value[]) => Value[]): Series =>
  new Series('generator', isTrue(value) ? make(itemsOf(state.budget, value)) : []);

function mapFilter(state: State, value: Value, args: Args, named: Named): Value {
  const attribute = named.get('attribute');
  const [name, ...rest] = args;
  return generated(state, value, (items) => {
    if (name === undefined && attribute !== undefined) {
      return items.map((item) => path(state, item, attribute, named.get('default')));
    }
    if (typeof name !== 'string') throw new TemplateError('map: expected the name of a filter, or attribute=');
    return items.map((item) => filtered(state, name, item, rest, named));
  });
}

function selected(state: State, value: Value, [name, ...rest]: Args, _: Named, wanted: boolean): Value {
  return generated(state, value, (items) => items.filter((item) => fits(state, item, name, rest) === wanted));
}

function selectedBy(state: State, value: Value, [attribute, name, ...rest]: Args, _: Named, wanted: boolean): Value {
  return generated(state, value, (items) =>
    items.filter((item) => fits(state, path(state, item, attribute), name, rest) === wanted),
  );
}

function fits(state: State, value: Value, name: Value, args: Args): boolean {
  return name === undefined ? isTrue(value) : tested(state, textOf(state.budget, name), value, args);
}
