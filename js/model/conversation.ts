/**
 * A checked copy of a conversation, as chat templates get it.
 */
import { invalidArgument } from '../errors.js';
import { exactJson, isExact } from './exact-json.js';
import { show } from '../check.js';
import { templateOptions } from '../options.js';
import { withParameters } from './schema.js';
import type { ChatTemplateOptions, Message } from '../types/chat.js';
import type { Conversation, Medium, TemplateMessage } from '../templates/types.js';

/** Values nested deeper than this are refused. */
const DEEPEST = 64;
/** Stands for an image, a video or a sound in the text of a message: a noncharacter, for which no text has any use. */
export const MEDIA_MARK = '\ufdd2';
/** Parts that JSON does not hold. */
const MEDIA = ['image', 'video', 'audio'];
/** What a template is always given. */
const GIVEN = ['messages', 'tools', 'add_generation_prompt', 'bos_token', 'eos_token', 'unk_token', 'pad_token'];

/**
 * At least one message; text parts are joined by newlines, as llama.cpp joins them, and the arguments of calls become
 * objects.
 * @internal
 */
export function conversationOf(
  call: string,
  messages: readonly Message[],
  options: ChatTemplateOptions = {},
): Conversation {
  const {
    addGenerationPrompt,
    enableThinking,
    tools,
    chatTemplateKwargs = {},
    parseSpecial,
  } = templateOptions(call, options);
  if (!Array.isArray(messages) || messages.length === 0) {
    throw invalidArgument(`${call}: expected an array of at least one message, found ${show(messages)}`);
  }
  const media: Medium[] = [];
  return {
    messages: messages.map((message, index) => messageOf(`${call}: message ${index}`, message, media)),
    ...(media.length > 0 && { media }),
    ...(addGenerationPrompt !== undefined && { addGenerationPrompt }),
    ...(parseSpecial !== undefined && { parseSpecial }),
    ...(tools !== undefined && tools.length !== 0 && { tools: toolsOf(call, tools) }),
    variables: {
      ...(enableThinking !== undefined && { enable_thinking: enableThinking }),
      ...variablesOf(call, chatTemplateKwargs),
    },
  };
}

/** The same of messages whose text goes to a page: they have no images and sounds. @internal */
export function textConversationOf(messages: readonly Message[], options: ChatTemplateOptions): Conversation {
  const conversation = conversationOf('applyChatTemplate', messages, options);
  if (!conversation.media) return conversation;
  throw invalidArgument(
    'applyChatTemplate: a text cannot hold the images and sounds of messages: give the messages to generate, ' +
      'a session or chat.completions',
  );
}

/** Copies that were made here. */
const copies = new WeakSet<object>();

/** Whether this is a copy of pixels or samples, which does not change. @internal */
export const isCopy = (held: unknown): boolean => copies.has(held as object);

/**
 * What a page may write over before it is read, as it is now: bytes become a file, and pixels and samples are copied.
 * @internal
 */
export function asItIs<T>(held: T): T {
  const { width, height, data, samples, sampleRate } = (held ?? {}) as Record<string, unknown>;
  if (held instanceof ArrayBuffer || held instanceof Uint8Array) {
    return new Blob([new Uint8Array(held as Uint8Array<ArrayBuffer>)]) as T;
  }
  if (copies.has(held as object)) return held;
  if (Array.isArray(held)) return held.map((frame: object) => mapped(Object(frame), asItIs)) as T;
  const isPixels = data instanceof Uint8Array || data instanceof Uint8ClampedArray;
  if (!isPixels && !(samples instanceof Float32Array)) return held;
  const copy = isPixels
    ? { width, height, data: data.slice() }
    : { samples: (samples as Float32Array).slice(), sampleRate };
  copies.add(copy);
  return copy as T;
}

/** All images and sounds as they are now. @internal */
export function mediaAsTheyAre(media: readonly Medium[]): Medium[] {
  return media.map((medium) => mapped(medium, asItIs));
}

const mapped = <T extends object>(object: T, change: (value: unknown) => unknown): T =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)])) as T;

/** A copy of messages, which a change of the caller's own does not reach. @internal */
export function copyOf(call: string, messages: readonly Message[]): Message[] {
  return plain(`${call}: messages`, messages) as Message[];
}

/** The images and sounds of messages, in order, as they are now. @internal */
export function mediaOf(messages: readonly Message[]): Medium[] {
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
  return mediaAsTheyAre(parts.flatMap((part) => mediumOf(part) ?? []));
}

/** Whether any of these holds an image or a sound. @internal */
export function hasMedia(messages: readonly Message[]): boolean {
  return messages.some(({ content }) => Array.isArray(content) && content.some(mediumOf));
}

/** Tokens that truncation keeps free for an answer: `maxTokens`, at most half of the context. @internal */
export function roomForAnswer(contextLength: number, maxTokens = Math.floor(contextLength / 4)): number {
  return Math.min(maxTokens, Math.floor(contextLength / 2));
}

/** Where the first turn after message `at` begins, with a message of the user; -1 where there is none. @internal */
export function nextTurn(messages: readonly { readonly role: string }[], at: number): number {
  return messages.findIndex(({ role }, index) => index > at && role === 'user');
}

function messageOf(where: string, message: unknown, media: Medium[]): TemplateMessage {
  const { role, content = null, tool_calls: calls, ...further } = (message ?? {}) as Message;
  const text = Array.isArray(content) ? joinParts(where, content, media) : withoutMarks(content);
  // An answer that was cut in its thoughts, or that is calls alone, has no content.
  const isText = typeof text === 'string' || (text === null && (Array.isArray(calls) || role === 'assistant'));
  if (typeof role !== 'string' || !isText) {
    throw invalidArgument(
      `${where} must be { role, content } with a string for role, and a string or text parts for content`,
    );
  }
  if (!/^[\w-]+$/.test(role)) {
    throw invalidArgument(`${where}: the role must have letters, digits, _ and - only, found ${show(role)}`);
  }
  return {
    role,
    content: text,
    ...(plain(where, further) as object),
    ...(calls && { tool_calls: callsOf(where, calls) }),
  };
}

interface Called {
  name?: unknown;
  arguments?: unknown;
}

/** What templates loop over: each call with its arguments as an object, where they are one. */
function callsOf(where: string, calls: unknown): unknown[] {
  if (!Array.isArray(calls)) throw invalidArgument(`${where}: tool_calls must be an array, found ${show(calls)}`);
  return calls.map((call: unknown, index) => {
    const { function: called, ...further } = (plain(where, call) ?? {}) as { function?: Called };
    if (typeof called?.name !== 'string') {
      const expected = "{ id, type: 'function', function: { name, arguments } }";
      throw invalidArgument(`${where}: tool_calls[${index}] must be ${expected}, found ${show(call)}`);
    }
    return { ...further, function: { ...called, arguments: argumentsOf(called.arguments) } };
  });
}

function argumentsOf(value: unknown): unknown {
  if (value === undefined || value === '') return {};
  if (typeof value !== 'string') return value;
  try {
    const parsed = exactJson(value);
    if (!(parsed instanceof Map || Array.isArray(parsed))) return value;
    return isExact(parsed) ? parsed : JSON.parse(value);
  } catch {
    return value;
  }
}

function toolsOf(call: string, tools: unknown): object[] {
  if (!Array.isArray(tools)) throw invalidArgument(`${call}: tools must be an array, found ${show(tools)}`);
  return tools.map((tool: unknown, index) => {
    const what = `${call}: tools[${index}]`;
    const { function: called } = (tool ?? {}) as { function?: { name?: unknown } };
    if (typeof called?.name === 'string') {
      return plain(what, { ...(tool as object), function: withParameters(what, called) }) as object;
    }
    const expected = "{ type: 'function', function: { name, description, parameters } }";
    throw invalidArgument(`${call}: tools[${index}] must be ${expected}, found ${show(tool)}`);
  });
}

function variablesOf(call: string, variables: unknown): object {
  if (typeof variables !== 'object' || variables === null || Array.isArray(variables)) {
    throw invalidArgument(`${call}: chatTemplateKwargs must be an object, found ${show(variables)}`);
  }
  const given = GIVEN.find((name) => Object.hasOwn(variables, name));
  if (given) throw invalidArgument(`${call}: chatTemplateKwargs.${given} is what the template is always given`);
  return plain(`${call}: chatTemplateKwargs`, variables) as object;
}

/** A copy of what JSON can hold, and of parts with images and sounds; absent values are left out. */
function plain(where: string, value: unknown, depth = 0): unknown {
  if (depth > DEEPEST) throw invalidArgument(`${where}: nested deeper than ${DEEPEST} levels`);
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)) return value;
  if (Array.isArray(value)) return value.map((item) => plain(where, item ?? null, depth + 1));
  if (typeof value !== 'object') throw invalidArgument(`${where}: expected what JSON can hold, found ${show(value)}`);
  const { type } = value as { type?: unknown };
  if (MEDIA.includes(type as string)) return { ...value, [type as string]: asItIs(Reflect.get(value, type as string)) };
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries.map(([key, item]) => [key, plain(where, item, depth + 1)]));
}

/** Texts, with line breaks between neighbours, and marks for images and sounds, which are added to `media`. */
function joinParts(where: string, parts: readonly unknown[], media: Medium[]): string {
  let joined = '';
  let isAfterText = false;
  for (const [index, part] of parts.entries()) {
    const { type } = (part ?? {}) as { type?: unknown };
    const text = textOfPart(part);
    const isText = text !== undefined;
    const medium = mediumOf(part);
    if (!isText && !medium) {
      const found = typeof type === 'string' && !['text', ...MEDIA].includes(type) ? `type '${type}'` : show(part);
      const expected = "{ type: 'text', text }, or type 'image', 'video' or 'audio' with a field of that name";
      throw invalidArgument(`${where}: content[${index}] must be ${expected}, found ${found}`);
    }
    const detail = detailOf(part);
    if (!DETAILS.includes(detail)) {
      throw invalidArgument(
        `${where}: content[${index}].image_url.detail must be 'auto', 'low' or 'high', found ${show(detail)}`,
      );
    }
    if (medium) media.push(medium);
    joined += isText ? (isAfterText ? '\n' : '') + withoutMarks(text) : MEDIA_MARK;
    isAfterText = isText;
  }
  return joined;
}

/** What a part says, also one of OpenAI's in which the assistant refused. @internal */
export function textOfPart(part: unknown): string | undefined {
  const { type, text, refusal } = (part ?? {}) as Record<string, unknown>;
  const said = type === 'refusal' ? refusal : type === 'text' ? text : undefined;
  return typeof said === 'string' ? said : undefined;
}

/** How closely OpenAI's models look at an image. Here the encoder and `maxImageTokens` say it. */
const DETAILS: unknown[] = [undefined, null, 'auto', 'low', 'high'];

function detailOf(part: unknown): unknown {
  const { type, image_url: link } = (part ?? {}) as Record<string, unknown>;
  return type === 'image_url' ? (link as { detail?: unknown } | null | undefined)?.detail : undefined;
}

/** The image, the video or the sound of a part, also of one of OpenAI's. @internal */
export function mediumOf(part: unknown): Medium | undefined {
  const { type, image, audio, video, fps, maxFrames, input_audio: sound } = (part ?? {}) as Record<string, unknown>;
  if (type === 'image' && image) return { image };
  if (type === 'audio' && audio) return { audio };
  if (type === 'video' && video) return { video, fps, maxFrames };
  if (type === 'image_url' || type === 'video_url') {
    const link = (part as Record<string, unknown>)[type];
    const url = typeof link === 'string' ? link : (link as { url?: unknown } | null | undefined)?.url;
    if (typeof url === 'string') return { [type.slice(0, 5)]: url } as unknown as Medium;
  }
  if (type === 'file') {
    const { file_data: url } = ((part as { file?: unknown }).file ?? {}) as { file_data?: unknown };
    const [, kind] = /^data:(image|video|audio)\//.exec(url as string) ?? [];
    if (kind) return { [kind]: url } as unknown as Medium;
  }
  if (type !== 'input_audio') return undefined;
  const { data, format } = (sound ?? {}) as { data?: unknown; format?: unknown };
  return typeof data === 'string'
    ? { audio: `data:audio/${encodeURIComponent(String(format))};base64,${data}` }
    : undefined;
}

/** A text without marks: what a page writes must not stand for an image. @internal */
export function withoutMarks<T>(text: T): T {
  return typeof text === 'string' ? (text.replaceAll(MEDIA_MARK, '') as T) : text;
}
