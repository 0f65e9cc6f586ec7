/**
 * What a model family writes where it calls tools.
 */
import type { Scanner, Wait } from './scanner.js';

/** A call of a tool: its name, and the JSON text of its arguments. @internal */
export interface Called {
  readonly name: string;
  readonly arguments: string;
}

/** The parameters of the tools, JSON Schemas, by the tools' names. @internal */
export type Tools = ReadonlyMap<string, unknown>;

/** Gets the calls that are read. @internal */
export interface Sink {
  readonly tools: Tools;
  /** A call begins. Refuses (as other text) what is no name; `isKnown`: what is no tool's name, too. */
  begin(name: string, isKnown?: boolean): void;
  /** Further JSON text of its arguments, also of what was cut off. */
  add(text: string): void;
  /** The arguments of the call are complete. */
  done(): void;
  /** All before belongs to calls that are complete. */
  taken(): void;
  /** Something is here that no call has, and that must not be lost. */
  keep(): void;
}

/** How calls are written. @internal */
export interface Format {
  readonly name: string;
  /** Strings with which calls begin. */
  readonly opens: readonly string[];
  /** Strings with which calls begin where nothing was said before. */
  readonly atStart?: readonly string[];
  /** Strings that may stand behind a call, once or several times, and are no text. */
  readonly closers: readonly string[];
  /** Takes a call or several; one of `opens` or `atStart` is here. */
  read(scanner: Scanner, sink: Sink): Wait;
  /** What the model is made to begin with, so that it calls a tool, or this one. */
  force(name?: string): string;
  /** Control tokens that `read` wants to see. */
  readonly special: readonly string[];
  /** Calls are read within thoughts, too, which end there: their sign is a control token. */
  readonly endsThoughts?: boolean;
  /** Calls as the model wrote them, for templates that do not write them. */
  write?(calls: readonly Called[]): string;
  /** What follows `force(name)` is the JSON of the arguments. */
  readonly isJson?: boolean;
  /** Signs of calls after which a grammar can follow them, where that is possible. */
  readonly marks?: readonly string[];
  /** A grammar follows calls that are forced; those that the model begins are read as it writes them. */
  readonly isFree?: boolean;
  /** Calls begin with the answer, too, and nothing else that begins with a brace. */
  readonly isBare?: boolean;
  /** Where a call is no JSON object: the Lark of what follows the sign. */
  body?(rule: CallRule): string;
  /** The same of what follows `force()`, where that is more than the sign. */
  rest?(rule: CallRule): string;
  /** Where a call is a JSON object: what stands before it, its keys, and whether calls are an array. */
  readonly object?: ObjectKeys;
  /** How parameters are written one by one, where they are. */
  readonly parameters?: ParameterTags;
  /** How arguments are written as literals, where they are. */
  readonly literal?: LiteralStyle;
}

/** Arguments as literals: `place="Rome", days=2`, or `place:<|"|>Rome<|"|>,days:2`. @internal */
export interface LiteralStyle {
  /** Keyword arguments of Python; else as Gemma writes them. */
  readonly isPython: boolean;
  /** What stands around texts that are no Python. */
  readonly quote?: string;
  /** What stands behind the last of several calls, which follow each other behind one sign. */
  readonly after?: string;
}

/** A call in a grammar: rules of its name and its arguments, and how a sign is written. @internal */
export interface CallRule {
  readonly name: string;
  /** The rule of the arguments as JSON, or as parameters one by one. */
  readonly json: string;
  sign(text: string): string;
}

/** @internal */
export interface ObjectKeys {
  readonly before: string;
  readonly name?: string;
  readonly key: string;
  readonly isList?: boolean;
  /** A key whose text may stand first. */
  readonly id?: string;
  /** The name is the key of the arguments: `{"name": {…}}`. */
  readonly isByName?: boolean;
}

/** Parameters one by one: `<parameter=key>value</parameter>`. @internal */
export interface ParameterTags {
  /** What stands before the key, and between key and value. */
  readonly before: string;
  readonly after: string;
  /** In place of `after` where the value is no text; any of them. */
  readonly afterOthers?: readonly string[];
  /** Where the value has a sign of its own. */
  readonly open?: string;
  readonly close: string;
  /** The value stands on lines of its own. */
  readonly isPadded?: boolean;
}

/** `{"name": …, "arguments": …}` @internal */
export function objectText({ name, arguments: text }: Called): string {
  return `{"name": ${JSON.stringify(name)}, "arguments": ${text || '{}'}}`;
}
