/**
 * The filter `tojson`, as Python's `json.dumps` writes it: models were trained on exactly that.
 */
import { compare } from './compare.js';
import { type Args, given, type Named } from './more.js';
import { textOf } from './text.js';
import {
  type Budget,
  checkDepth,
  Float,
  integerOf,
  isList,
  isMap,
  isTrue,
  kindOf,
  numberOf,
  Series,
  TemplateError,
  unwrapped,
  type Value,
} from './values.js';

/** The arguments of `json.dumps`. */
interface Style {
  /** For each level; without it everything stays on one line. */
  readonly indent: string | undefined;
  readonly ensureAscii: boolean;
  readonly sortKeys: boolean;
  readonly betweenItems: string;
  readonly afterKey: string;
}

const NAMES = ['ensure_ascii', 'indent', 'separators', 'sort_keys'];

/** `value | tojson(ensure_ascii=False, indent=None, separators=None, sort_keys=False)` @internal */
export function toJson(budget: Budget, value: Value, args: Args, named: Named): string {
  const unknown = [...named.keys()].find((name) => !NAMES.includes(name));
  if (unknown !== undefined) throw new TemplateError(`tojson has no argument '${unknown}'`);
  return written(budget, value, 0, styleOf(args, named));
}

function styleOf(args: Args, named: Named): Style {
  const [ascii, space, between, sort] = NAMES.map((name, at) => given(args, named, at, name, null));
  const indent = space === null ? undefined : typeof space === 'string' ? space : spaces(integerOf(space, 'indent'));
  const separators = between === null ? [indent === undefined ? ', ' : ',', ': '] : between;
  if (!isList(separators) || separators.length !== 2 || separators.some((text) => typeof text !== 'string')) {
    throw new TemplateError('tojson: separators must be 2 texts');
  }
  const [betweenItems, afterKey] = separators as readonly [string, string];
  return { indent, ensureAscii: isTrue(ascii), sortKeys: isTrue(sort), betweenItems, afterKey };
}

function spaces(count: number): string {
  if (count < 256) return ' '.repeat(Math.max(0, count));
  throw new TemplateError(`tojson: indent must be at most 255, found ${count}`);
}

function written(budget: Budget, given: Value, depth: number, style: Style): string {
  const value = unwrapped(given);
  budget.step();
  checkDepth(depth);
  if (value === null) return 'null';
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return text(budget, value, style);
  if (numberOf(value) !== undefined) return numberText(budget, value);
  const inner = (item: Value): string => written(budget, item, depth + 1, style);
  const items = isList(value) ? value : value instanceof Series ? value.items : undefined;
  if (items) return list(budget, '[]', items.map(inner), depth, style);
  if (!isMap(value)) throw new TemplateError(`${kindOf(value)} cannot be written as JSON`);
  const entries = [...value];
  if (style.sortKeys) entries.sort(([a], [b]) => compare(budget, a, b));
  const pairs = entries.map(([key, item]) => keyText(budget, key, style) + style.afterKey + inner(item));
  return list(budget, '{}', pairs, depth, style);
}

function keyText(budget: Budget, key: Value, style: Style): string {
  if (typeof key === 'string') return text(budget, key, style);
  const isPlain = key === null || typeof key === 'boolean' || numberOf(key) !== undefined;
  if (!isPlain) throw new TemplateError(`${kindOf(key)} cannot be a key in JSON`);
  return `"${written(budget, key, 0, style)}"`;
}

function numberText(budget: Budget, value: Value): string {
  const found = textOf(budget, value);
  if (value instanceof Float) return found;
  return { nan: 'NaN', inf: 'Infinity', '-inf': '-Infinity' }[found] ?? found;
}

function list(budget: Budget, [open, close]: string, items: string[], depth: number, style: Style): string {
  const { indent, betweenItems } = style;
  if (items.length === 0) return `${open}${close}`;
  budget.text((items.length + 2) * (betweenItems.length + 1 + (indent ?? '').length * (depth + 1)));
  const lineOf = (level: number): string => (indent === undefined ? '' : `\n${indent.repeat(level)}`);
  const between = betweenItems + lineOf(depth + 1);
  budget.text(items.reduce((sum, item) => sum + item.length, 0));
  return open + lineOf(depth + 1) + items.join(between) + lineOf(depth) + close;
}

function text(budget: Budget, value: string, { ensureAscii }: Style): string {
  budget.text(6 * value.length);
  const json = JSON.stringify(value);
  if (ensureAscii) {
    return json.replace(/[\x7f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  }
  // Halves of pairs, which JSON.stringify writes by number.
  return json.includes('\\ud') ? json.replace(/\\\\|\\u(d[89a-f]..)/g, half) : json;
}

const half = (whole: string, code?: string): string =>
  code === undefined ? whole : String.fromCharCode(Number.parseInt(code, 16));
