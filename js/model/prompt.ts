/**
 * What `generate` may be given, checked: its prompt and its options.
 */
import { conversationOf, mediaAsTheyAre } from './conversation.js';
import type { Engine, Prompt, StartOptions } from '../engine/engine.js';
import { invalidArgument } from '../errors.js';
import { grammarText } from '../engine/grammar.js';
import type { Turn } from './generation.js';
import { checkIds } from '../check.js';
import { checkPrompt, generateOptions } from '../options.js';
import type { Medium } from '../templates/types.js';
import type { Message } from '../types/chat.js';
import type { AdapterUse, GenerateOptions, SourcePrompt } from '../types/generate.js';
import type { ModelInfo } from '../types/info.js';
import type { TokenIds } from '../types/read.js';

/** What a template made of messages: a text with a mark for each image and each sound, and these. @internal */
export interface TextWithMedia {
  readonly text: string;
  readonly media: readonly Medium[];
}

/** The text alone where there are no images and sounds. @internal */
export function withMedia(text: string, media: readonly Medium[]): string | TextWithMedia {
  return media.length > 0 ? { text, media } : text;
}

/** As the engine takes it. @internal */
export function textPrompt(prompt: string | TextWithMedia): Prompt {
  return typeof prompt === 'string' ? prompt : { ...prompt, messages: [] };
}

/** The engine, once it writes; `ending` ends the start, too, which may have images and sounds to encode. @internal */
export async function started(
  engine: Engine,
  prompt: Prompt,
  options: StartOptions,
  { begun, ending }: Turn,
): Promise<Engine> {
  const cancel = (): void => engine.cancel();
  ending.addEventListener('abort', cancel);
  try {
    await engine.start(prompt, { ...options, begun });
  } finally {
    ending.removeEventListener('abort', cancel);
  }
  return engine;
}

/** The first id of a row of an image or a sound. @internal */
export const FIRST_ROW = 2 ** 31;

/** A checked copy of a prompt. @internal */
export function promptOf(
  prompt: string | readonly Message[] | TokenIds | TextWithMedia,
  vocabularySize: number,
  {
    reasoningBudget: budget,
    ...options
  }: Pick<GenerateOptions, 'parseSpecial' | 'enableThinking' | 'reasoningBudget'> = {},
): Prompt {
  if (typeof prompt === 'object' && prompt && 'media' in prompt) return textPrompt(prompt);
  checkPrompt(prompt);
  if (isConversation(prompt)) {
    const conversation = conversationOf('generate', prompt, options);
    const { media } = conversation;
    return media ? { ...conversation, media: mediaAsTheyAre(media) } : conversation;
  }
  if (options.enableThinking !== undefined || budget !== undefined) {
    const option = budget === undefined ? 'enableThinking' : 'reasoningBudget';
    const hint = "no template writes it: give messages, [{ role: 'user', content }]";
    throw invalidArgument(`generate: option '${option}' with a prompt that is read as it is; ${hint}`);
  }
  if (typeof prompt === 'string') return prompt;
  return checkedPromptIds(prompt, vocabularySize);
}

/** What `generate` is asked for, checked: a prompt, and a source where the model has an encoder for it. @internal */
export function asked(
  prompt: string | readonly Message[] | TokenIds | SourcePrompt,
  options: GenerateOptions,
  { decoderStartToken: first, vocabularySize }: ModelInfo,
): { readonly signal: AbortSignal | undefined; readonly prompt: Prompt; readonly given: StartOptions } {
  const { signal, start, ...template } = checkedGenerate(options);
  const isSource = isSourcePrompt(prompt);
  if (first === undefined && isSource) {
    throw invalidArgument("generate: 'source', but the model has no encoder that reads one: give the text");
  }
  const text = promptOf(isSource ? prompt.source : prompt, vocabularySize, template);
  if (first === undefined) return { signal, prompt: text, given: start };
  if (typeof text === 'string' || text instanceof Uint32Array) {
    return { signal, prompt: Uint32Array.of(first), given: { ...start, source: text } };
  }
  throw invalidArgument('generate: messages, but the model has no chat: give { source }');
}

/** What a model whose encoder reads a source cannot do. */
const NOT_WITH_SOURCES = new Set(['addAdapter', 'applyChatTemplate', 'evaluate', 'hiddenStates', 'session']);

/** Refuses it. @internal */
export function checkCall(call: string, { decoderStartToken }: ModelInfo): void {
  if (decoderStartToken === undefined || !NOT_WITH_SOURCES.has(call)) return;
  throw invalidArgument(`${call}: the model's encoder reads a source, and such a model writes by generate alone`);
}

function isSourcePrompt(prompt: unknown): prompt is SourcePrompt {
  return typeof prompt === 'object' && prompt !== null && 'source' in prompt;
}

/** Token ids, and ids of rows, which are far above them: the engine knows which there are. */
function checkedPromptIds(ids: TokenIds, vocabularySize: number): Uint32Array {
  if (!(ids instanceof Uint32Array) || !ids.some((id) => id >= FIRST_ROW)) {
    return someIds('generate', ids, vocabularySize);
  }
  someIds(
    'generate',
    ids.filter((id) => id < FIRST_ROW),
    vocabularySize,
  );
  return ids.slice();
}

/** A checked copy of ids, at least one. @internal */
export function someIds(call: string, ids: TokenIds, vocabularySize: number): Uint32Array {
  const checked = checkIds(call, ids, vocabularySize);
  if (checked.length > 0) return checked;
  throw invalidArgument(`${call}: expected at least one token id, found none`);
}

/** Messages are objects; ids are numbers. */
function isConversation(prompt: string | readonly Message[] | TokenIds): prompt is readonly Message[] {
  return Array.isArray(prompt) && typeof prompt[0] === 'object';
}

/** The signal of `generate`, and its other options as the engine takes them. @internal */
export function checkedGenerate(options: GenerateOptions): {
  signal: AbortSignal | undefined;
  start: StartOptions;
  parseSpecial: boolean | undefined;
  enableThinking: boolean | undefined;
  reasoningBudget: number | undefined;
} {
  const { signal, stop = [], seed = randomSeed(), parseSpecial, enableThinking, ...others } = generateOptions(options);
  const { grammar, logitBias, draft, adapters, reasoningBudget, ...rest } = others;
  if (grammar && reasoningBudget !== undefined) {
    throw invalidArgument("generate: option 'reasoningBudget' does not go with 'grammar'");
  }
  if (grammar && rest.ignoreEos) throw invalidArgument("generate: option 'ignoreEos' does not go with 'grammar'");
  const start = {
    ...rest,
    seed,
    stop: [stop].flat(),
    ...(draft !== undefined && { draft: draft || ('off' as const) }),
    ...(logitBias && { biases: Object.entries(logitBias).map(([id, bias]) => [Number(id), bias] as const) }),
    ...(grammar && { grammar: grammarText(grammar) }),
    ...(adapters && { adapters: scalesOf(adapters) }),
  };
  return { signal, start, parseSpecial, enableThinking, reasoningBudget };
}

/** Numbers and scales, as the engine takes them. @internal */
export function scalesOf(adapters: readonly AdapterUse[]): (readonly [number, number])[] {
  return adapters.map(({ id, scale = 1 }) => [id, scale] as const);
}

function randomSeed(): number {
  return Math.floor(Math.random() * 2 ** 32);
}
