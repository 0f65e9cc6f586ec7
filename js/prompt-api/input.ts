/**
 * Prompts and options checked, with the exceptions that the draft wants. What is of a wrong type is a `TypeError`, as
 * in all of the web platform.
 */
import { WebggufError } from '../errors.js';
import { parametersOf } from '../model/schema.js';
import { asItIs } from '../model/conversation.js';
import { show } from '../check.js';
import type { Message, Tool } from '../types/chat.js';
import type { AudioPart, ImagePart } from '../types/media.js';
import { notSupported } from './errors.js';
import { type Sampling, samplingOf } from './sampling.js';
import type {
  LanguageModelCreateCoreOptions,
  LanguageModelCreateOptions,
  LanguageModelExpected,
  LanguageModelMessage,
  LanguageModelMessageContent,
  LanguageModelPrompt,
  LanguageModelTool,
} from './types.js';

const ROLES: readonly unknown[] = ['system', 'user', 'assistant'];
const TYPES: readonly unknown[] = ['text', 'image', 'audio', 'tool-call', 'tool-response'];
/** Types that a model here has. */
const INPUTS: readonly string[] = ['text', 'image', 'audio', 'tool-response'];
const MEDIA = ['image', 'audio'] as const;
const OUTPUTS: readonly string[] = ['text', 'tool-call'];

/** What a model needs an encoder for. @internal */
export type MediumKind = 'image' | 'audio';

/** A checked prompt. @internal */
export interface Input {
  readonly messages: readonly Message[];
  /** Where the last message begins the answer: its text, which is not among the messages. */
  readonly prefix: string | undefined;
}

/**
 * A checked copy of a prompt, which may have images and sounds where `media` says so; an empty list is no message at
 * all. Throws. @internal
 */
export function inputOf(prompt: LanguageModelPrompt, media: readonly MediumKind[]): Input {
  const list = sequenceOf(prompt) as LanguageModelMessage[] | undefined;
  if (!list) return { messages: [{ role: 'user', content: String(prompt) }], prefix: undefined };
  const messages = list.map((message, index) => messageOf(message, { index, length: list.length, media }));
  const prefix = list.at(-1)?.prefix ? (messages.pop()?.content as string) : undefined;
  return { messages, prefix };
}

/** Members of what can be iterated; `undefined` where the web platform takes a value as a string. */
function sequenceOf(value: unknown): unknown[] | undefined {
  if (typeof value !== 'object' || value === null || !(Symbol.iterator in value)) return undefined;
  return Array.from(value as Iterable<unknown>);
}

interface Place {
  readonly index: number;
  readonly length: number;
  readonly media: readonly MediumKind[];
}

type Part = { type: 'text'; text: string } | ImagePart | AudioPart;

function messageOf(message: LanguageModelMessage, place: Place): Message {
  const { index, length } = place;
  if (typeof message !== 'object' || message === null) {
    throw new TypeError(`message ${index} must be { role, content }, found ${show(message)}`);
  }
  const { role, content, prefix = false } = message;
  if (!ROLES.includes(role)) {
    throw new TypeError(`message ${index}: role must be 'system', 'user' or 'assistant', found ${show(role)}`);
  }
  if (role === 'system' && index > 0) throw new TypeError(`message ${index}: a system prompt must come first`);
  if (prefix && (role !== 'assistant' || index < length - 1)) {
    const message = `message ${index}: prefix is for the last message, where it is the assistant's`;
    throw new DOMException(message, 'SyntaxError');
  }
  return { role, content: contentOf(content, role, place) };
}

/** Texts are put together without anything between them. */
function contentOf(content: LanguageModelMessage['content'], role: string, place: Place): Message['content'] {
  const { index } = place;
  if (content === undefined) throw new TypeError(`message ${index}: content is missing`);
  const given = sequenceOf(content) as LanguageModelMessageContent[] | undefined;
  if (!given) return String(content);
  const parts: Part[] = [];
  for (const part of given.map((each) => partOf(each, role, place))) {
    const last = parts.at(-1);
    if (part.type === 'text' && last?.type === 'text') last.text += part.text;
    else parts.push(part);
  }
  const [only] = parts;
  if (parts.length > 1 || (only && only.type !== 'text')) return parts;
  return only?.text ?? '';
}

function partOf(part: LanguageModelMessageContent, role: string, { index, media }: Place): Part {
  const { type, value } = part ?? {};
  const refused = (why: string) => notSupported(`message ${index}: content of type '${type}'; ${why}`);
  if (!TYPES.includes(type)) throw new TypeError(`message ${index}: content of type ${show(type)}`);
  if (type === 'image' || type === 'audio') {
    if (role === 'assistant') throw refused('assistants say text');
    if (!media.includes(type)) throw refused(`create the session with expectedInputs: [{ type: '${type}' }]`);
    if (typeof value === 'object' && value !== null) return mediumOf(type, value);
    const wanted = type === 'image' ? 'an image must be an ImageBitmapSource' : 'audio must be an AudioBuffer, a Blob';
    throw new TypeError(`message ${index}: ${wanted} or bytes, found ${show(value)}`);
  }
  if (type !== 'text') throw refused('models here read text, images and sounds');
  if (typeof value === 'string') return { type: 'text', text: value };
  throw new TypeError(`message ${index}: text must be a string, found ${show(value)}`);
}

/** Bytes in any view are the bytes of a file. */
function mediumOf(type: MediumKind, value: object): ImagePart | AudioPart {
  const isOtherView = ArrayBuffer.isView(value) && !(value instanceof Uint8Array);
  const source = asItIs(isOtherView ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : value);
  return type === 'image'
    ? { type, image: source as ImagePart['image'] }
    : { type, audio: source as AudioPart['audio'] };
}

/** A tool as the page gave it, and as the model gets it. @internal */
export interface CallableTool {
  readonly tool: Tool;
  readonly execute: LanguageModelTool['execute'];
}

/** @internal */
export interface CoreOptions {
  readonly sampling: Sampling;
  readonly tools: readonly CallableTool[];
  /** What prompts may have beside text. */
  readonly media: readonly MediumKind[];
  /** Why a model here cannot do it; `undefined` where it can. */
  readonly obstacle: string | undefined;
}

/** Checked options of `availability`. Throws what is no matter of what a model can. @internal */
export function coreOptions(options: LanguageModelCreateCoreOptions = {}): CoreOptions {
  const { expectedInputs = [], expectedOutputs = [], tools = [] } = options;
  const inputs = listOf('expectedInputs', expectedInputs) as LanguageModelExpected[];
  const outputs = listOf('expectedOutputs', expectedOutputs) as LanguageModelExpected[];
  const obstacle =
    inputs.map((expected) => obstacleOf('expectedInputs', expected, INPUTS)).find(Boolean) ??
    outputs.map((expected) => obstacleOf('expectedOutputs', expected, OUTPUTS)).find(Boolean);
  const media = MEDIA.filter((kind) => inputs.some(({ type }) => type === kind));
  const checkedTools = toolsOf(listOf('tools', tools) as LanguageModelTool[]);
  return { sampling: samplingOf(options), tools: checkedTools, media, obstacle };
}

/** Checked options of `create`. @internal */
export function createOptions(options: LanguageModelCreateOptions = {}): CoreOptions & {
  readonly initial: readonly Message[];
  readonly monitor: LanguageModelCreateOptions['monitor'];
  readonly signal: AbortSignal | undefined;
} {
  const { initialPrompts = [], monitor, signal } = options;
  if (monitor !== undefined && typeof monitor !== 'function') {
    throw new TypeError(`monitor must be a function, found ${show(monitor)}`);
  }
  const core = coreOptions(options);
  const { messages, prefix } = inputOf(listOf('initialPrompts', initialPrompts) as LanguageModelMessage[], core.media);
  const begun: Message[] = prefix === undefined ? [] : [{ role: 'assistant', content: prefix }];
  return { ...core, initial: [...messages, ...begun], monitor, signal: signalOf(signal) };
}

/** By shape, since a signal may come from another realm. @internal */
export function signalOf(signal: AbortSignal | undefined): AbortSignal | undefined {
  if (signal === undefined || (typeof signal === 'object' && signal !== null && 'aborted' in signal)) return signal;
  throw new TypeError(`signal must be an AbortSignal, found ${show(signal)}`);
}

function listOf(name: string, value: unknown): unknown[] {
  const list = sequenceOf(value);
  if (list) return list;
  throw new TypeError(`${name} must be an array, found ${show(value)}`);
}

function obstacleOf(name: string, expected: LanguageModelExpected, known: readonly string[]): string | undefined {
  const { type, languages = [] } = expected ?? {};
  if (!TYPES.includes(type)) throw new TypeError(`${name}: no type ${show(type)}`);
  const tags = Intl.getCanonicalLocales(listOf('languages', languages) as string[]); // throws a RangeError
  const names = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' });
  const unknown = tags.find((tag) => names.of(tag) === undefined);
  if (unknown !== undefined) return `${name}: there is no language '${unknown}'`;
  return known.includes(type) ? undefined : `${name}: models here have no '${type}'`;
}

function toolsOf(tools: readonly LanguageModelTool[]): CallableTool[] {
  const checked = tools.map(toolOf);
  const names = checked.map(({ tool }) => tool.function.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new TypeError(`tools: '${twice}' is there twice`);
  return checked;
}

/** Under any of the names that libraries have for it. */
function schemaOf(what: string, tool: object): object | undefined {
  try {
    return parametersOf(what, tool);
  } catch (error) {
    throw error instanceof WebggufError ? new TypeError(error.message) : error;
  }
}

function toolOf(given: LanguageModelTool, index: number): CallableTool {
  const { name, description, execute } = given ?? {};
  const wrong = (what: string): never => {
    throw new TypeError(`tools[${index}]: ${what}`);
  };
  if (typeof name !== 'string' || name === '') wrong(`name must be a non-empty string, found ${show(name)}`);
  if (typeof description !== 'string' || description === '') wrong('description must be a non-empty string');
  if (typeof execute !== 'function') wrong(`execute must be a function, found ${show(execute)}`);
  const inputSchema = schemaOf(`tools[${index}]`, given) ?? wrong('inputSchema must be an object');
  const schema = JSON.parse(JSON.stringify(inputSchema)) as Record<string, unknown>; // throws what a getter throws
  const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);
  if (schema.type !== 'object') wrong("inputSchema must have type 'object'");
  if (schema.properties !== undefined && !isObject(schema.properties)) wrong('properties must be an object');
  if (schema.required !== undefined && !Array.isArray(schema.required)) wrong('required must be an array');
  const tool: Tool = { type: 'function', function: { name, description, parameters: schema } };
  return { tool, execute: (...args) => execute.apply(given, args) };
}
