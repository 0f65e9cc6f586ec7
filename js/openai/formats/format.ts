/**
 * What a model family writes where it calls tools.
 */
import type { Call, Cursor } from './cursor.js';

/** How calls are written. @internal */
export interface Format {
  /** Strings with which calls begin. */
  readonly opens: readonly string[];
  /** Strings with which calls begin where nothing was said before. */
  readonly atStart?: readonly string[];
  /** Takes calls; one of the strings above is here. */
  read(cursor: Cursor): void;
  /** What the model is made to begin with, so that it calls a tool, or this one. */
  force(name?: string): string;
  /** Control tokens that `read` wants to see. */
  readonly special?: readonly string[];
  /** Calls as the model wrote them, for templates that do not write them. */
  write?(calls: readonly Pick<Call, 'name' | 'arguments'>[]): string;
  /** What follows `force(name)` is the JSON of the arguments. */
  readonly isJson?: boolean;
  /** Signs of calls after which a grammar can follow them, where that is possible. */
  readonly marks?: readonly string[];
  /** Calls begin with the answer, too, and nothing else that begins with a brace. */
  readonly isBare?: boolean;
  /**
   * Where a call is no JSON object: the Lark of what follows the sign, from that of the name and the arguments. `sign`
   * writes a sign.
   */
  body?(name: string, json: string, sign: (text: string) => string): string;
  /** Where a call is a JSON object: what stands before it, the key of its arguments, and whether calls are an array. */
  readonly object?: { readonly before: string; readonly key: 'arguments' | 'parameters'; readonly isList?: boolean };
}

/** `{"name": …, "arguments": …}` @internal */
export function objectText({ name, arguments: text }: Pick<Call, 'name' | 'arguments'>): string {
  return `{"name": ${JSON.stringify(name)}, "arguments": ${text}}`;
}

/** What `force` begins with in formats of objects. @internal */
export function objectStart(key: string, name?: string): string {
  return name === undefined ? '{"name": "' : `{"name": ${JSON.stringify(name)}, "${key}": `;
}
