/**
 * Which format a model writes, from the text of its chat template.
 */
import type { Format } from './formats/format.js';
import { FORMATS, llama, plain } from './formats/table.js';
import { HarmonyReader, harmony } from './harmony.js';
import { type Reader, TextReader, type TextReaderOptions, type Thoughts } from './reader.js';
import { type FormatName, formatOf, takesTools, thoughtsOf } from './signs.js';

/** What the template says about tools and thoughts. @internal */
export interface Family {
  readonly format: Format;
  readonly thoughts: Thoughts | undefined;
  /** The template writes the list of tools, and calls. */
  readonly takesTools: boolean;
  readonly takesCalls: boolean;
  /** Names under which the template reads the thoughts of earlier messages. */
  readonly thoughtFields: readonly string[];
  /** Number of characters of a call's id, if the template wants a fixed one. */
  readonly idLength?: number;
}

const ALL: Record<FormatName, Format> = { ...FORMATS, llama, plain, harmony };

/** Names of the thoughts of a message in templates. */
const FIELDS = ['reasoning_content', 'thinking', 'reasoning', 'thoughts', 'thought', 'tool_plan'];

/** The names of thoughts that a template reads of a message: `message.thinking`, `message['thinking']`. */
function thoughtFieldsOf(template: string): string[] {
  return FIELDS.filter((field) =>
    new RegExp(
      `\\.${field}\\b(?!\\()|\\[\\s*['"]${field}['"]|get\\(\\s*['"]${field}['"]|['"]${field}['"]\\s+(?:not\\s+)?in\\b`,
    ).test(template),
  );
}

/** @internal */
export function familyOf(template = ''): Family {
  const format = ALL[formatOf(template) ?? 'plain'];
  return {
    format,
    thoughts: format === harmony ? undefined : thoughtsOf(template),
    takesTools: takesTools(template),
    takesCalls: /tool_calls/.test(template),
    thoughtFields: thoughtFieldsOf(template),
    ...(/^mistral/.test(format.name) ? { idLength: 9 } : {}),
  };
}

/** Reads what such a model writes after `prompt`; `isSure`: a grammar keeps its calls to their schemas. @internal */
export function readerOf(
  { format, thoughts }: Family,
  prompt: string,
  tools: NonNullable<TextReaderOptions['tools']> | undefined,
  isSure = false,
): Reader {
  if (format === harmony) return new HarmonyReader(tools, isSure);
  return new TextReader({
    thoughts,
    inThoughts: isInThoughts(thoughts, prompt),
    ...(tools && { format, tools, isSure }),
  });
}

/** Whether a grammar can have an answer that follows a schema, or calls: their first characters differ. @internal */
export const canAnswerOrCall = ({ format }: Family): boolean => isFollowed(format) && !format.isBare;

/** Whether a grammar follows calls that the model begins. @internal */
export const isFollowed = ({ marks, isFree }: Format): boolean => marks !== undefined && !isFree;

/** Whether a prompt ends within a thought. @internal */
export function isInThoughts(thoughts: Thoughts | undefined, prompt: string): boolean {
  const end = prompt.trimEnd();
  return thoughts?.opens.some((open) => end.endsWith(open)) ?? false;
}

/**
 * Control tokens around calls in what a model with such a template writes. None of gpt-oss, whose tokens are around all
 * that it writes and are always part of the text. @internal
 */
export function marksOfCalls(template?: string): readonly string[] {
  const { format } = familyOf(template);
  return format === harmony ? [] : format.special;
}

/** Control tokens that the reader wants to see. @internal */
export function specialOf({ format, thoughts }: Family, hasTools: boolean): string[] {
  const { opens = [], close = [], special = opens, dropped = [] } = thoughts ?? {};
  return [special, close, dropped, hasTools || format === harmony ? format.special : []].flat();
}
