/**
 * The filter `pprint`: values over several lines, as Python's `pprint` writes them
 * (<https://docs.python.org/3/library/pprint.html>).
 */
import { compare } from './compare.js';
import { linesOf } from './rare-methods.js';
import { repr, SPACE } from './text.js';
import {
  type Budget,
  checkDepth,
  charactersOf,
  Group,
  isList,
  isMap,
  isNumber,
  lengthOf,
  TemplateError,
  Tuple,
  tupleOf,
  type Value,
} from './values.js';

const WIDTH = 80;
const PARTS = new RegExp(`[^${SPACE}]*[${SPACE}]*`, 'g');

/** Where a value stands: what is before it in its line, and what must fit behind it. */
interface Place {
  readonly indent: number;
  readonly behind: number;
  readonly isTop: boolean;
}

/** @internal */
export function pretty(budget: Budget, value: Value): string {
  return laidOut(budget, inOrder(budget, value), { indent: 0, behind: 0, isTop: true });
}

/** The keys of maps are in order, also of those within. */
function inOrder(budget: Budget, value: Value, depth = 0): Value {
  budget.step();
  checkDepth(depth);
  const inner = (item: Value): Value => inOrder(budget, item, depth + 1);
  if (value instanceof Group) return value;
  if (value instanceof Tuple) return tupleOf(value.map(inner));
  if (isList(value)) return value.map(inner);
  if (!isMap(value)) return value;
  const entries = [...value].map(([key, item]): [Value, Value] => [inner(key), inner(item)]);
  return new Map(entries.sort(([a], [b]) => order(budget, a, b)));
}

/** What cannot be compared is in the order of its types' names. */
function order(budget: Budget, a: Value, b: Value): number {
  try {
    return compare(budget, a, b);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    const [one, other] = [typeName(a), typeName(b)];
    return one < other ? -1 : one > other ? 1 : 0;
  }
}

function typeName(value: Value): string {
  if (value === null) return 'NoneType';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'str';
  if (value instanceof Tuple) return 'tuple';
  if (isNumber(value)) return Number.isInteger(value) || typeof value === 'bigint' ? 'int' : 'float';
  return isList(value) ? 'list' : 'object';
}

const widthOf = (text: string): number => charactersOf(text).length;

function laidOut(budget: Budget, value: Value, place: Place): string {
  const text = repr(budget, value);
  if (widthOf(text) <= WIDTH - place.indent - place.behind || lengthIn(value) === 0) return text;
  if (typeof value === 'string') return ofText(budget, value, place);
  if (value instanceof Group) return text;
  if (value instanceof Tuple) {
    const end = value.length === 1 ? ',)' : ')';
    return `(${ofItems(budget, value, place, end.length)}${end}`;
  }
  if (isList(value)) return `[${ofItems(budget, value, place, 1)}]`;
  return isMap(value) ? `{${ofEntries(budget, value, place)}}` : text;
}

const lengthIn = (value: Value): number =>
  typeof value === 'string' || isList(value) || isMap(value) ? lengthOf(value) : 1;

function ofItems(budget: Budget, items: readonly Value[], { indent, behind }: Place, end: number): string {
  const inner = indent + 1;
  const texts = items.map((item, at) => {
    const after = at === items.length - 1 ? behind + end : 1;
    return laidOut(budget, item, { indent: inner, behind: after, isTop: false });
  });
  return joined(budget, texts, inner);
}

function ofEntries(budget: Budget, map: ReadonlyMap<Value, Value>, { indent, behind }: Place): string {
  const inner = indent + 1;
  const texts = [...map].map(([key, item], at) => {
    const name = repr(budget, key);
    const after = at === map.size - 1 ? behind + 1 : 1;
    const place = { indent: inner + widthOf(name) + 2, behind: after, isTop: false };
    return `${name}: ${laidOut(budget, item, place)}`;
  });
  return joined(budget, texts, inner);
}

function joined(budget: Budget, texts: readonly string[], indent: number): string {
  budget.text(texts.reduce((sum, text) => sum + text.length + indent + 2, 0));
  return texts.join(`,\n${' '.repeat(indent)}`);
}

/** A long text as texts that follow each other, a line each, cut between words. */
function ofText(budget: Budget, text: string, { indent, behind, isTop }: Place): string {
  const [inner, after] = isTop ? [indent + 1, behind + 1] : [indent, behind];
  const lines = linesOf(budget, text, true);
  const chunks = lines.flatMap((line, at) => {
    const isLast = at === lines.length - 1;
    const whole = repr(budget, line);
    if (widthOf(whole) <= WIDTH - inner - (isLast ? after : 0)) return [whole];
    return cutLine(budget, line, WIDTH - inner, isLast ? after : 0);
  });
  if (chunks.length === 1) return chunks[0] as string;
  budget.text(chunks.reduce((sum, chunk) => sum + chunk.length + inner + 1, 2));
  const all = chunks.join(`\n${' '.repeat(inner)}`);
  return isTop ? `(${all})` : all;
}

function cutLine(budget: Budget, line: string, room: number, after: number): string[] {
  budget.text(4 * line.length);
  const words = (line.match(PARTS) ?? []).filter((part) => part !== '');
  const chunks: string[] = [];
  let current = '';
  words.forEach((word, at) => {
    const most = at === words.length - 1 ? room - after : room;
    const longer = current + word;
    if (current !== '' && widthOf(repr(budget, longer)) > most) {
      chunks.push(repr(budget, current));
      current = word;
    } else current = longer;
  });
  if (current !== '') chunks.push(repr(budget, current));
  return chunks;
}
