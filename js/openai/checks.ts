/**
 * The fields of a request, each with its check: what is wrong is named, with what was found and what is right.
 */
import { show } from '../check.js';
import { invalidArgument } from '../errors.js';

/** What is expected, where that is none. @internal */
export type Check = (value: unknown) => string | undefined;

/** @internal */
export const range =
  (least: number, most: number, words = `a number from ${least} to ${most}`): Check =>
  (value) =>
    typeof value === 'number' && value >= least && value <= most ? undefined : words;
/** @internal */
export const integer =
  (least: number, most: number): Check =>
  (value) =>
    Number.isInteger(value) && !range(least, most)(value) ? undefined : `an integer from ${least} to ${most}`;
/** @internal */
export const words =
  (...names: string[]): Check =>
  (value) =>
    names.includes(value as string) ? undefined : names.map((name) => `'${name}'`).join(' or ');
/** @internal */
export const type =
  (name: string, found: string): Check =>
  (value) =>
    typeof value === name ? undefined : found;
/** @internal */
export const FLAG = type('boolean', 'true or false');
/** @internal */
export const TEXT = type('string', 'a string');
/** @internal */
export const OBJECT: Check = (value) => (typeof value === 'object' && !Array.isArray(value) ? undefined : 'an object');
/** @internal */
export const LIST: Check = (value) => (Array.isArray(value) ? undefined : 'an array');
/** @internal */
export const TOKENS = integer(1, 2 ** 32 - 1);

/** @internal */
export const STOP: Check = (value) => {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.every((item) => typeof item === 'string' && item !== '') ? undefined : 'a non-empty string or some';
};

/** A copy without what is null or undefined. @internal */
export type Checked<T> = { [K in keyof T]?: NonNullable<T[K]> };

/** Checks the fields of a request; `notHere`: what the API has and a model here cannot do. @internal */
export function checkAll<T extends object>(
  call: string,
  request: T,
  checks: Record<string, Check>,
  notHere: readonly string[] = [],
): Checked<T> {
  if (OBJECT(request) || request === null) refuse(call, `expected an object, found ${show(request)}`);
  const copy: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(request)) {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (!check) {
      if (notHere.includes(name) && (value === undefined || value === null)) continue;
      if (notHere.includes(name)) refuse(call, `field '${name}' is not supported`);
      refuse(call, `unknown field '${name}'${suggestion(name, Object.keys(checks))}`);
    }
    if (value === undefined || value === null) continue;
    const expected = check(value);
    if (expected) refuse(call, `field '${name}' must be ${expected}, found ${show(value)}`);
    copy[name] = value;
  }
  return copy as Checked<T>;
}

/** @internal */
export function refuse(call: string, message: string): never {
  throw invalidArgument(`${call}: ${message}`);
}

/** The field whose name is nearest: at most a third of the letters differ. */
function suggestion(name: string, known: string[]): string {
  const plain = (text: string): string => text.replaceAll(/[_-]/g, '').toLowerCase();
  const ranked = known.map((field) => ({ field, distance: distance(plain(name), plain(field)) }));
  ranked.sort((a, b) => a.distance - b.distance);
  const [nearest] = ranked;
  return nearest && nearest.distance <= name.length / 3 ? `, did you mean '${nearest.field}'?` : '';
}

/** Letters to add, to drop or to replace (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= Math.min(a.length, 64); i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}
