/**
 * The filter `tojson`, as Python's `json.dumps` writes it: models were trained on exactly that.
 */
import { type Budget, checkDepth, Float, isList, isMap, kindOf, TemplateError, textOf, type Value } from './values.js';

/** The arguments of `json.dumps`. */
interface Style {
  /** Spaces for each level; without it everything stays on one line. */
  readonly indent: number | undefined;
  readonly ensureAscii: boolean;
  readonly sortKeys: boolean;
  readonly betweenItems: string;
  readonly afterKey: string;
}

const NAMES = ['indent', 'ensure_ascii', 'sort_keys', 'separators'];

/** `value | tojson(indent=None, ensure_ascii=False, separators=None, sort_keys=False)` @internal */
export function toJson(budget: Budget, value: Value, named: ReadonlyMap<string, Value>): string {
  const unknown = [...named.keys()].find((name) => !NAMES.includes(name));
  if (unknown !== undefined) throw new TemplateError(`tojson has no argument '${unknown}'`);
  return written(budget, value, 0, styleOf(named));
}

function styleOf(named: ReadonlyMap<string, Value>): Style {
  const indent = named.get('indent') ?? undefined;
  if (
    indent !== undefined &&
    !(typeof indent === 'number' && Number.isInteger(indent) && indent >= 0 && indent < 256)
  ) {
    throw new TemplateError('tojson: indent must be a number from 0 to 255');
  }
  const separators = named.get('separators') ?? [indent === undefined ? ', ' : ',', ': '];
  if (!isList(separators) || separators.length !== 2 || separators.some((text) => typeof text !== 'string')) {
    throw new TemplateError('tojson: separators must be 2 texts');
  }
  const [betweenItems, afterKey] = separators as [string, string];
  const ensureAscii = named.get('ensure_ascii') === true;
  return { indent, ensureAscii, sortKeys: named.get('sort_keys') === true, betweenItems, afterKey };
}

function written(budget: Budget, value: Value, depth: number, style: Style): string {
  budget.step();
  checkDepth(depth);
  if (value === null) return 'null';
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number' || value instanceof Float) return numberText(budget, value);
  if (typeof value === 'string') return text(budget, value, style);
  const inner = (item: Value): string => written(budget, item, depth + 1, style);
  if (isList(value)) return list(budget, '[]', value.map(inner), depth, style);
  if (!isMap(value)) throw new TemplateError(`${kindOf(value)} cannot be written as JSON`);
  const entries = [...value].map(([key, item]): [string, Value] => [textOf(budget, key), item]);
  if (style.sortKeys) entries.sort(([a], [b]) => (a < b ? -1 : 1));
  const items = entries.map(([key, item]) => text(budget, key, style) + style.afterKey + inner(item));
  return list(budget, '{}', items, depth, style);
}

function numberText(budget: Budget, value: number | Float): string {
  const found = textOf(budget, value);
  return { nan: 'NaN', inf: 'Infinity', '-inf': '-Infinity' }[found] ?? found;
}

function list(budget: Budget, [open, close]: string, items: string[], depth: number, style: Style): string {
  const lineOf = (level: number): string => (style.indent === undefined ? '' : `\n${' '.repeat(style.indent * level)}`);
  const between = style.betweenItems + lineOf(depth + 1);
  budget.text(items.reduce((sum, item) => sum + item.length + between.length, 2 + between.length));
  if (items.length === 0) return `${open}${close}`;
  return open + lineOf(depth + 1) + items.join(between) + lineOf(depth) + close;
}

function text(budget: Budget, value: string, { ensureAscii }: Style): string {
  budget.text(6 * value.length);
  const json = JSON.stringify(value);
  if (!ensureAscii) return json;
  return json.replace(/[\x7f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
