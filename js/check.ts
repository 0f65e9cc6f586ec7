/**
 * Checks of what a page gives: unknown names, wrong types, NaN and numbers out of range are refused by name, before
 * anything starts.
 */
import { invalidArgument } from './errors.js';
import type { TokenIds } from './types/read.js';

/** Says what was expected, or `undefined` where the value is fine. @internal */
export type Check = (value: unknown) => string | undefined;

/** @internal */
export const number =
  (least: number, most: number, words: string): Check =>
  (value) =>
    typeof value === 'number' && value >= least && value <= most ? undefined : words;

/** @internal */
export const integer =
  (least: number, most: number, words: string): Check =>
  (value) =>
    Number.isInteger(value) && (value as number) >= least && (value as number) <= most ? undefined : words;

/** @internal */
export const oneOf =
  (...names: string[]): Check =>
  (value) =>
    names.some((name) => name === value) ? undefined : names.map((name) => `'${name}'`).join(' or ');

/** @internal */
export const ofType =
  (type: string, words: string): Check =>
  (value) =>
    typeof value === type ? undefined : words;

/** A target of events, by shape, since it may come from another realm or a polyfill. @internal */
export const targetWith =
  (name: string, words: string): Check =>
  (value) =>
    typeof value === 'object' && value !== null && name in value && 'addEventListener' in value ? undefined : words;

/** @internal */
export const abortSignal = targetWith('aborted', 'an AbortSignal');

/** Largest token id. @internal */
export const MOST_TOKENS = 2 ** 32 - 1;

/** @internal */
export const FLAG = ofType('boolean', 'true or false');

/** @internal */
export const NAME: Check = (value) => (typeof value === 'string' && value !== '' ? undefined : 'a non-empty string');

/** The options of a call, which must be an object. @internal */
export function objectOf(call: string, options: unknown): object {
  if (typeof options === 'object' && options !== null && !Array.isArray(options)) return options;
  throw invalidArgument(`${call}: the options must be an object, found ${show(options)}`);
}

/** Copies the options that are given, or throws `invalid_argument` with the name of the first wrong one. @internal */
export function checked<T extends object>(call: string, options: T, checks: Record<string, Check>): T {
  const copy: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(objectOf(call, options))) {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (!check) throw invalidArgument(`${call}: unknown option '${name}'${suggestion(name, Object.keys(checks))}`);
    if (value === undefined) continue;
    const expected = check(value);
    const found = name === 'token' ? '' : `, found ${show(value)}`; // a token must not be in a message
    if (expected) throw invalidArgument(`${call}: option '${name}' must be ${expected}${found}`);
    copy[name] = value;
  }
  return copy as T;
}

/** Helps those who come from an API that writes `max_tokens`. */
function suggestion(name: string, known: string[]): string {
  const plain = (text: string): string => text.replaceAll(/[_-]/g, '').toLowerCase();
  const meant = known.find((candidate) => plain(candidate) === plain(name));
  return meant ? `, did you mean '${meant}'?` : `; known are ${known.join(', ')}`;
}

/** The signal, where it is the only option. @internal */
export function signalOption(call: string, options: { signal?: AbortSignal | undefined }): AbortSignal | undefined {
  return checked(call, options, { signal: abortSignal }).signal;
}

/** A value, short enough for a message. @internal */
export function show(value: unknown): string {
  if (typeof value === 'string') return `'${value.length > 40 ? `${value.slice(0, 40)}…` : value}'`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return `an object (${value.constructor?.name ?? 'no class'})`;
  if (typeof value === 'function') return 'a function';
  return String(value);
}

/** Refuses anything but text. @internal */
export function checkText(call: string, text: string): void {
  if (typeof text !== 'string') throw invalidArgument(`${call}: expected a string, found ${show(text)}`);
}

/** A checked copy of token ids; each must be an integer from 0 to `vocabularySize - 1`. @internal */
export function checkIds(call: string, ids: TokenIds, vocabularySize = MOST_TOKENS + 1): Uint32Array {
  if (!(ids instanceof Uint32Array) && !Array.isArray(ids)) {
    throw invalidArgument(`${call}: expected token ids in a Uint32Array or an array, found ${show(ids)}`);
  }
  const wrong = (ids as ArrayLike<number> & { findIndex: number[]['findIndex'] }).findIndex(
    (id) => !Number.isInteger(id) || id < 0 || id >= vocabularySize,
  );
  if (wrong >= 0) {
    const most = vocabularySize - 1;
    throw invalidArgument(`${call}: ids[${wrong}] must be an integer from 0 to ${most}, found ${show(ids[wrong])}`);
  }
  return Uint32Array.from(ids);
}
