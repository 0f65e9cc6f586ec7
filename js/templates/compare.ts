/**
 * What is equal to what, what comes before what, and what is in what.
 */
import {
  type Budget,
  checkDepth,
  isList,
  isMap,
  itemsOf,
  kindOf,
  numeric,
  TemplateError,
  Tuple,
  unwrapped,
  type Value,
} from './values.js';

/** What is looked for is found in linear time: longer than this, by the borders that it has. */
const SHORT = 32;

/** `a == b` as Python has it. @internal */
export function equals(budget: Budget, first: Value, second: Value, depth = 0): boolean {
  const [a, b] = [unwrapped(first), unwrapped(second)];
  budget.step();
  checkDepth(depth);
  if (typeof a === 'string' && typeof b === 'string') {
    if (a.length !== b.length) return false;
    budget.text(a.length);
    return a === b;
  }
  const [x, y] = [numeric(a), numeric(b)];
  if (x !== undefined && y !== undefined) return ordered(x, y) === 0;
  if (isList(a) && isList(b)) {
    if (a instanceof Tuple !== b instanceof Tuple || a.length !== b.length) return false;
    return a.every((item, index) => equals(budget, item, b[index], depth + 1));
  }
  if (isMap(a) && isMap(b)) {
    if (a.size !== b.size) return false;
    for (const [key, item] of a) {
      const found = keyIn(budget, b, key);
      if (!found || !equals(budget, item, b.get(found.key), depth + 1)) return false;
    }
    return true;
  }
  return a === b;
}

/** Below 0 where x is less; NaN where they have no order. */
function ordered(x: number | bigint, y: number | bigint): number {
  if (x < y) return -1;
  return x > y ? 1 : Number.isNaN(x) || Number.isNaN(y) ? Number.NaN : 0;
}

/** Below 0 where `a` sorts before `b`. @internal */
export function compare(budget: Budget, first: Value, second: Value, depth = 0): number {
  const [a, b] = [unwrapped(first), unwrapped(second)];
  budget.step();
  checkDepth(depth);
  const [x, y] = [numeric(a), numeric(b)];
  if (x !== undefined && y !== undefined) return ordered(x, y);
  if (typeof a === 'string' && typeof b === 'string') return textOrder(budget, a, b);
  if (isList(a) && isList(b) && a instanceof Tuple === b instanceof Tuple) {
    for (let at = 0; at < Math.min(a.length, b.length); at += 1) {
      if (!equals(budget, a[at], b[at], depth + 1)) return compare(budget, a[at], b[at], depth + 1);
    }
    return a.length - b.length;
  }
  throw new TemplateError(`${kindOf(a)} and ${kindOf(b)} cannot be compared`);
}

/** The order of code points, in which the halves of a pair come behind all that is no half. */
function textOrder(budget: Budget, a: string, b: string): number {
  const most = Math.min(a.length, b.length);
  budget.text(most);
  let at = 0;
  while (at < most && a.charCodeAt(at) === b.charCodeAt(at)) at += 1;
  if (at === most) return a.length - b.length;
  const place = (text: string): number => {
    const unit = text.charCodeAt(at);
    return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
  };
  return place(a) - place(b);
}

/** `item in value` @internal */
export function contains(budget: Budget, list: Value, wanted: Value): boolean {
  const [value, item] = [unwrapped(list), unwrapped(wanted)];
  if (typeof value === 'string') {
    if (typeof item !== 'string') throw new TemplateError(`${kindOf(item)} cannot be in text`);
    return placeOf(budget, value, item) >= 0;
  }
  if (isMap(value)) return keyIn(budget, value, item) !== undefined;
  return itemsOf(budget, value).some((other) => equals(budget, other, item));
}

/** The key of a map that is equal to this one: `1`, `1.0` and `True` are the same. @internal */
export function keyIn(budget: Budget, map: ReadonlyMap<Value, Value>, key: Value): { key: Value } | undefined {
  if (typeof key === 'string') budget.text(key.length);
  if (map.has(key)) return { key };
  checkKey(key);
  if (typeof key !== 'object' && typeof key !== 'number' && typeof key !== 'boolean') return undefined;
  if (key === null) return undefined;
  for (const other of map.keys()) if (equals(budget, other, key)) return { key: other };
  return undefined;
}

/** Lists and maps cannot be keys, nor what holds them. @internal */
export function checkKey(key: Value, depth = 0): void {
  checkDepth(depth);
  if (key instanceof Tuple) for (const item of key) checkKey(item, depth + 1);
  else if (isList(key) || isMap(key)) throw new TemplateError(`${kindOf(key)} cannot be a key`);
}

/** Where `part` stands first in `text`, else -1; paid for. @internal */
export function placeOf(budget: Budget, text: string, part: string): number {
  budget.text(text.length + part.length);
  return find(text, part);
}

/** The same from `from` on, for who has paid, in a time that is linear in both. @internal */
export function find(text: string, part: string, from = 0): number {
  if (part.length <= SHORT) return text.indexOf(part, from);
  if (part.length > text.length - from) return -1;
  /** For each beginning of `part`: how much of its end is a beginning of `part`, too. */
  const borders = new Int32Array(part.length);
  for (let at = 1, same = 0; at < part.length; at += 1) {
    while (same > 0 && part[at] !== part[same]) same = borders[same - 1] as number;
    if (part[at] === part[same]) same += 1;
    borders[at] = same;
  }
  for (let at = from, same = 0; at < text.length; at += 1) {
    while (same > 0 && text[at] !== part[same]) same = borders[same - 1] as number;
    if (text[at] === part[same]) same += 1;
    if (same === part.length) return at - same + 1;
  }
  return -1;
}
