/**
 * Which format a model writes, from the text of its chat template.
 */
import { deepseek, deepseek31 } from './formats/deepseek.js';
import type { Format } from './formats/format.js';
import { functionGemma, gemma4 } from './formats/gemma.js';
import { granite } from './formats/granite.js';
import { functions, hermes } from './formats/hermes.js';
import { lfm2 } from './formats/lfm2.js';
import { llama } from './formats/llama.js';
import { mistral, mistralArgs } from './formats/mistral.js';
import { plain } from './formats/plain.js';
import { HarmonyReader, harmony } from './harmony.js';
import { type Reader, TextReader, type TextReaderOptions, type Thoughts } from './reader.js';

/** What the template says about tools and thoughts. @internal */
export interface Family {
  readonly format: Format;
  readonly thoughts: Thoughts | undefined;
  /** The template writes the list of tools, and calls. */
  readonly takesTools: boolean;
  readonly takesCalls: boolean;
  /** Characters of the id of a call, where the template wants so many. */
  readonly idLength?: number;
}

/** Texts in a template, one after the other. A template is part of a hostile file: each is looked for once. */
type Signs = readonly string[];

/** Texts of templates, and what they say; the first line that fits is taken, with any of its alternatives. */
const FORMATS: readonly (readonly [readonly Signs[], Format])[] = [
  [[['<|channel|>']], harmony],
  [[['```json', '<｜tool▁call▁end｜>']], deepseek],
  [[['<｜tool▁calls▁begin｜>']], deepseek31],
  [[['<|tool_call>']], gemma4],
  [[['<start_function_call>']], functionGemma],
  [[['[TOOL_CALLS]', '[ARGS]']], mistralArgs],
  [[['[TOOL_CALLS]']], mistral],
  [[['<|tool_call_start|>'], ['<|tool_list_start|>'], ['List of tools: [']], lfm2],
  [[['<|tool_call|>'], ['<|tool|>']], granite],
  [[['<function=']], functions],
  [[['<tool_call>']], hermes],
  [[['ipython'], ['<|python_tag|>']], llama],
];

const THOUGHTS: readonly (readonly [readonly string[], Thoughts])[] = [
  [['<|channel>'], { opens: ['<|channel>thought'], close: '<channel|>', special: ['<|channel>'] }],
  [['[THINK]'], { opens: ['[THINK]'], close: '[/THINK]' }],
  [['<response>'], { opens: ['<think>'], close: '</think>', dropped: ['<response>', '</response>'] }],
  [
    ['Here is my thought process:'],
    { opens: ['Here is my thought process:', "Here's my thought process:"], close: 'Here is my response:' },
  ],
  [['<think>', '</think>'], { opens: ['<think>'], close: '</think>' }],
];

/** Whether a text has all signs in this order. */
function hasInOrder(text: string, signs: Signs): boolean {
  let at = 0;
  for (const sign of signs) {
    const found = text.indexOf(sign, at);
    if (found < 0) return false;
    at = found + sign.length;
  }
  return true;
}

/** @internal */
export function familyOf(template = ''): Family {
  const takesTools = /\btools\b/.test(template);
  const format =
    FORMATS.find(([any]) => any.some((signs) => hasInOrder(template, signs)))?.[1] ?? (takesTools ? hermes : plain);
  return {
    format,
    thoughts:
      format === harmony ? undefined : THOUGHTS.find(([any]) => any.some((sign) => template.includes(sign)))?.[1],
    takesTools,
    takesCalls: /tool_calls/.test(template),
    ...(format === mistral || format === mistralArgs ? { idLength: 9 } : {}),
  };
}

/** Reads what such a model writes after `prompt`. @internal */
export function readerOf(
  { format, thoughts }: Family,
  prompt: string,
  tools: NonNullable<TextReaderOptions['tools']> | undefined,
): Reader {
  if (format === harmony) return new HarmonyReader();
  return new TextReader({
    thoughts,
    inThoughts: isInThoughts(thoughts, prompt),
    ...(tools && { format, tools }),
  });
}

/** Whether a grammar can have an answer that follows a schema, or calls: their first characters differ. @internal */
export const canAnswerOrCall = ({ format }: Family): boolean => format.marks !== undefined && !format.isBare;

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
  return format === harmony ? [] : (format.special ?? []);
}

/** Control tokens that the reader wants to see. @internal */
export function specialOf({ format, thoughts }: Family, hasTools: boolean): string[] {
  const { opens = [], close = [], special = opens, dropped = [] } = thoughts ?? {};
  return [special, close, dropped, hasTools || format === harmony ? (format.special ?? []) : []].flat();
}
