/**
 * Filters that few templates use.
 */
import { compare, equals } from './compare.js';
import { ofText, path } from './filters.js';
import { formatted } from './format-percent.js';
import { pairsOf, split } from './methods.js';
import { type Args, type Filter, given, type Named } from './more.js';
import { asFloat } from './numbers.js';
import { member, operate } from './operations.js';
import { capitalized, centered, linesOf } from './rare-methods.js';
import { rounded } from './rounding.js';
import type { State } from './state.js';
import { SPACE, stripped, textOf } from './text.js';
import {
  type Budget,
  charactersOf,
  float,
  Group,
  integerOf,
  isInteger,
  isList,
  isMap,
  isTrue,
  itemsOf,
  kindOf,
  lengthOf,
  numeric,
  Safe,
  Series,
  TemplateError,
  tupleOf,
  type Value,
} from './values.js';

const WORD = new RegExp(`[^-${SPACE}({[<]+`, 'g');

/** @internal */
export const FILTERS: Record<string, Filter> = {
  abs: (_, value) => {
    const number = numeric(value);
    if (number === undefined) throw new TemplateError(`abs: expected a number, found ${kindOf(value)}`);
    const found = number < 0 ? -number : number;
    return isInteger(value) ? found : float(Math.abs(Number(found)));
  },
  attr: (state, value, [name]) => (isMap(value) ? undefined : member(state, value, name, true)),
  batch,
  bool: (_, value) => isTrue(value),
  capitalize: ofText(capitalized),
  center: ({ budget }, value, args, named) => {
    return centered(budget, textOf(budget, value), integerOf(given(args, named, 0, 'width', 80), 'width'));
  },
  dictsort,
  e: escapedOnce,
  escape: escapedOnce,
  float: (_, value, args, named) => asNumber(value, given(args, named, 0, 'default', float(0)), true),
  forceescape: ({ budget }, value) => safely(budget, textOf(budget, value)),
  format: (state, value, args, named) => {
    return formatted(state, textOf(state.budget, value), named.size > 0 ? new Map<Value, Value>(named) : tupleOf(args));
  },
  groupby,
  indent: indented,
  int: (_, value, args, named) => {
    const base = integerOf(given(args, named, 1, 'base', 10), 'base');
    return asNumber(value, given(args, named, 0, 'default', 0), false, base);
  },
  max: (state, value, args, named) => extreme(state, value, args, named, 1),
  min: (state, value, args, named) => extreme(state, value, args, named, -1),
  reverse: reversed,
  round: (_, value, args, named) => {
    const method = given(args, named, 1, 'method', 'common');
    return rounded(value, integerOf(given(args, named, 0, 'precision', 0), 'precision'), method);
  },
  slice: slices,
  sort: sortFilter,
  split: ({ budget }, value, args, named) => split(budget, textOf(budget, value), args, named),
  striptags: ofText((text) => stripped(withoutTags(text).replace(/\s+/g, ' '), true, true)),
  sum: summed,
  title: ofText((text) => text.replace(WORD, (word) => capitalized(word))),
  truncate: truncated,
  unique,
  urlencode: ({ budget }, value) => {
    const one = (part: Value, isInQuery: boolean): string => {
      const text = textOf(budget, part);
      budget.text(9 * text.length);
      return isInQuery ? encoded(text).replaceAll('/', '%2F').replaceAll('%20', '+') : encoded(text);
    };
    const isPlain = !isMap(value) && !isList(value) && !(value instanceof Series);
    if (isPlain) return one(value, false);
    const pairs = isMap(value) ? pairsOf(budget, value) : itemsOf(budget, value);
    return pairs
      .map((pair) =>
        itemsOf(budget, pair)
          .map((part) => one(part, true))
          .join('='),
      )
      .join('&');
  },
  wordcount: ({ budget }, value) => {
    const text = textOf(budget, value);
    budget.text(2 * text.length);
    return text.match(/[\p{L}\p{N}_]+/gu)?.length ?? 0;
  },
};

function escapedOnce({ budget }: State, value: Value): Safe {
  return value instanceof Safe ? value : safely(budget, textOf(budget, value));
}

/** `value` escaped, unless it is safe. @internal */
export function escapedText(budget: Budget, value: Value): string {
  return value instanceof Safe ? value.text : safely(budget, textOf(budget, value)).text;
}

function safely(budget: Budget, text: string): Safe {
  budget.text(6 * text.length);
  return new Safe(escaped(text));
}

/** `a + b` where one of them is safe. @internal */
export function added(budget: Budget, a: Value, b: Value): Value {
  const [left, right] = [a, b].map((value) => {
    if (value instanceof Safe) return value.text;
    if (typeof value === 'string') return safely(budget, value).text;
    throw new TemplateError(`'+' is not for ${kindOf(a)} and ${kindOf(b)}`);
  }) as [string, string];
  budget.text(left.length + right.length);
  return new Safe(left + right);
}

function escaped(text: string): string {
  const signs: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&#34;', "'": '&#39;' };
  return text.replace(/[&<>"']/g, (sign) => signs[sign] as string);
}

function encoded(text: string): string {
  if (/[\ud800-\udfff]/u.test(text)) throw new TemplateError('urlencode: half a character cannot be encoded');
  const byte = (sign: string): string => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(text)
    .replaceAll('%2F', '/')
    .replace(/[!'()*]/g, byte);
}

/** Without comments and what stands between angle brackets. */
function withoutTags(text: string): string {
  const cut = (from: string, open: string, close: string): string => {
    const [first = '', ...rest] = from.split(open);
    const last = from.lastIndexOf(close);
    if (rest.length === 0 || last < 0) return from;
    let [out, at] = [first, first.length];
    while (at >= 0) {
      const end = from.indexOf(close, at + open.length);
      if (end < 0) return out + from.slice(at);
      const next = from.indexOf(open, end + close.length);
      out += from.slice(end + close.length, next < 0 ? undefined : next);
      at = next;
    }
    return out;
  };
  return cut(cut(text, '<!--', '-->'), '<', '>');
}

/** A number of a value or a text, else `usual`. @internal */
export function asNumber(value: Value, usual: Value, isFloat: boolean, base = 10): Value {
  const text = typeof value === 'string' ? stripped(value, true, true) : undefined;
  const whole =
    text !== undefined && !isFloat ? integerIn(text, base) : isFloat || !isInteger(value) ? undefined : value;
  if (whole !== undefined) return typeof whole === 'boolean' ? Number(whole) : whole;
  const number = text === undefined ? numeric(value) : floatIn(text);
  if (number === undefined) return usual;
  if (isFloat) return float(asFloat(number));
  if (!Number.isFinite(Number(number))) return usual;
  const found = Math.trunc(Number(number));
  return Number.isSafeInteger(found) ? found || 0 : BigInt(found);
}

const PREFIXES: Record<number, RegExp> = { 2: /^([-+]?)0b_?/i, 8: /^([-+]?)0o_?/i, 16: /^([-+]?)0x_?/i };

function integerIn(text: string, base: number): number | bigint | undefined {
  const bare = PREFIXES[base] ? text.replace(PREFIXES[base], '$1') : text;
  if (base < 2 || base > 36 || !/^[-+]?[\da-z]+(?:_[\da-z]+)*$/i.test(bare) || bare.length > 4000) return undefined;
  const digits = [...bare.toLowerCase().replace(/[-+_]/g, '')].map((digit) => Number.parseInt(digit, base));
  if (digits.some((digit) => Number.isNaN(digit))) return undefined;
  const found = digits.reduce((sum, digit) => sum * BigInt(base) + BigInt(digit), 0n) * (bare[0] === '-' ? -1n : 1n);
  return Number.isSafeInteger(Number(found)) ? Number(found) : found;
}

function floatIn(text: string): number | undefined {
  const bare = text.replace(/(\d)_(?=\d)/g, '$1').toLowerCase();
  if (/^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/.test(bare)) return Number(bare);
  const word = /^([-+]?)(inf|infinity|nan)$/.exec(bare);
  if (!word) return undefined;
  return word[2] === 'nan' ? Number.NaN : word[1] === '-' ? -Infinity : Infinity;
}

/** Lists of `size` items, the last one filled up. */
function batch({ budget }: State, value: Value, args: Args, named: Named): Value {
  const items = itemsOf(budget, value);
  const size = integerOf(given(args, named, 0, 'linecount', undefined), 'batch: a size');
  const fill = given(args, named, 1, 'fill_with', null);
  const found: Value[][] = items.length > 0 ? [[]] : [];
  for (const item of items) {
    if (found.at(-1)?.length === size) found.push([]);
    found.at(-1)?.push(item);
  }
  const last = found.at(-1);
  if (last && fill !== null && last.length < size) {
    budget.list(size - last.length);
    while (last.length < size) last.push(fill);
  }
  return new Series('generator', found);
}

/** `count` lists of nearly the same size. */
function slices({ budget }: State, value: Value, args: Args, named: Named): Value {
  const items = itemsOf(budget, value);
  const count = integerOf(given(args, named, 0, 'slices', undefined), 'slice: a number of lists');
  const fill = given(args, named, 1, 'fill_with', null);
  if (count === 0) throw new TemplateError('slice: expected at least 1 list, found 0');
  if (count < 0) return new Series('generator', []);
  budget.list(2 * count);
  const [size, longer] = [Math.floor(items.length / count), items.length % count];
  const found = Array.from({ length: count }, (_, at) => {
    const part = items.slice(at * size + Math.min(at, longer), (at + 1) * size + Math.min(at + 1, longer));
    return fill !== null && at >= longer ? [...part, fill] : part;
  });
  return new Series('generator', found);
}

function indented({ budget }: State, value: Value, args: Args, named: Named): Value {
  const width = given(args, named, 0, 'width', 4);
  const [first, blank] = [given(args, named, 1, 'first', false), given(args, named, 2, 'blank', false)];
  const size = typeof width === 'string' ? width.length : Math.max(0, integerOf(width, 'indent: width'));
  const text = `${textOf(budget, value)}\n`;
  const lines = linesOf(budget, text);
  budget.text(text.length + lines.length * size);
  const before = typeof width === 'string' ? width : ' '.repeat(size);
  return lines
    .map((line, at) => ((at === 0 ? isTrue(first) : line !== '' || isTrue(blank)) ? before + line : line))
    .join('\n');
}

function reversed({ budget }: State, value: Value): Value {
  if (typeof value !== 'string') return new Series('generator', itemsOf(budget, value).reverse());
  budget.text(value.length);
  return charactersOf(value).reverse().join('');
}

/** Text without regard to case, unless asked. */
const folded = (value: Value, caseSensitive: Value): Value =>
  typeof value === 'string' && !isTrue(caseSensitive) ? value.toLowerCase() : value;

/** A key of an item: the whole, or what `attribute` names of it. */
function keyed(state: State, attribute: Value, caseSensitive: Value, usual?: Value): (item: Value) => Value {
  return (item) => folded(attribute === null ? item : path(state, item, attribute, usual), caseSensitive);
}

/** The same for several attributes with commas between them. What is equal need not have an order. */
function severalKeys(state: State, attribute: Value, caseSensitive: Value): (item: Value) => Value {
  const names = typeof attribute === 'string' ? attribute.split(',') : [attribute];
  const keys = names.map((name) => keyed(state, name, caseSensitive));
  return (item) => keys.map((key) => key(item));
}

/** In order; what is equal stays in its order, also backwards. */
function sorted(state: State, items: readonly Value[], key: (item: Value) => Value, backwards: Value): Value[] {
  const pairs = items.map((item): [Value, Value] => [key(item), item]);
  const sign = isTrue(backwards) ? -1 : 1;
  return pairs.sort(([a], [b]) => sign * compare(state.budget, a, b)).map(([, item]) => item);
}

function sortFilter(state: State, value: Value, args: Args, named: Named): Value {
  const caseSensitive = given(args, named, 1, 'case_sensitive', false);
  const key = severalKeys(state, given(args, named, 2, 'attribute', null), caseSensitive);
  return sorted(state, itemsOf(state.budget, value), key, given(args, named, 0, 'reverse', false));
}

function dictsort(state: State, value: Value, args: Args, named: Named): Value {
  if (!isMap(value)) throw new TemplateError(`dictsort: expected a map, found ${kindOf(value)}`);
  const caseSensitive = given(args, named, 0, 'case_sensitive', false);
  const by = given(args, named, 1, 'by', 'key');
  if (by !== 'key' && by !== 'value') throw new TemplateError("dictsort: by must be 'key' or 'value'");
  const key = (item: Value): Value => folded((item as Value[])[by === 'value' ? 1 : 0], caseSensitive);
  return sorted(state, pairsOf(state.budget, value), key, given(args, named, 2, 'reverse', false));
}

/** The first of the greatest or the least. */
function extreme(state: State, value: Value, args: Args, named: Named, sign: number): Value {
  const key = keyed(state, given(args, named, 1, 'attribute', null), given(args, named, 0, 'case_sensitive', false));
  const [first, ...rest] = itemsOf(state.budget, value).map((item): [Value, Value] => [key(item), item]);
  return rest.reduce((best, each) => (sign * compare(state.budget, each[0], best?.[0]) > 0 ? each : best), first)?.[1];
}

function groupby(state: State, value: Value, args: Args, named: Named): Value {
  const attribute = given(args, named, 0, 'attribute', undefined);
  const usual = given(args, named, 1, 'default', null);
  const key = keyed(state, attribute, given(args, named, 2, 'case_sensitive', false), usual);
  const groups: [Value, Value[]][] = [];
  let before: Value;
  for (const item of sorted(state, itemsOf(state.budget, value), key, false)) {
    const last = groups.at(-1);
    const own = key(item);
    if (last && equals(state.budget, before, own)) last[1].push(item);
    else groups.push([path(state, item, attribute, usual), [item]]);
    before = own;
  }
  return groups.map((group) => Group.from(group) as Group);
}

function summed(state: State, value: Value, args: Args, named: Named): Value {
  const attribute = given(args, named, 0, 'attribute', null);
  const start = given(args, named, 1, 'start', 0);
  if (typeof start === 'string') throw new TemplateError('sum: texts are joined, not summed');
  const items = itemsOf(state.budget, value).map((item) => (attribute === null ? item : path(state, item, attribute)));
  return items.reduce((sum, item) => operate(state, '+', sum, item), start);
}

function unique(state: State, value: Value, args: Args, named: Named): Value {
  const key = keyed(state, given(args, named, 1, 'attribute', null), given(args, named, 0, 'case_sensitive', false));
  const [seen, kept, texts]: [Value[], Value[], Set<string>] = [[], [], new Set()];
  for (const item of itemsOf(state.budget, value)) {
    const found = key(item);
    if (typeof found === 'string') state.budget.text(found.length);
    const isKnown =
      typeof found === 'string' ? texts.has(found) : seen.some((other) => equals(state.budget, other, found));
    if (isKnown) continue;
    if (typeof found === 'string') texts.add(found);
    else seen.push(found);
    kept.push(item);
  }
  return new Series('generator', kept);
}

function truncated(state: State, value: Value, args: Args, named: Named): Value {
  const { budget } = state;
  const length = integerOf(given(args, named, 0, 'length', 255), 'truncate: length');
  const killWords = isTrue(given(args, named, 1, 'killwords', false));
  const end = textOf(budget, given(args, named, 2, 'end', '...'));
  const leeway = integerOf(given(args, named, 3, 'leeway', null) ?? 5, 'truncate: leeway');
  const most = length - lengthOf(end);
  if (most < 0) throw new TemplateError(`truncate: expected a length of at least ${lengthOf(end)}, found ${length}`);
  if (lengthOf(value) <= length + leeway) return value;
  const text = textOf(budget, value);
  budget.text(2 * text.length + end.length);
  const cut = charactersOf(text).slice(0, most).join('');
  const last = cut.lastIndexOf(' ');
  return (killWords || last < 0 ? cut : cut.slice(0, last)) + end;
}
