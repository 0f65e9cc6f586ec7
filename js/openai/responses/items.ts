/**
 * Items of a conversation, checked, and as the messages of a chat.
 */
import { show } from '../../check.js';
import { invalidArgument, WebggufError } from '../../errors.js';
import type { ChatMessage, ContentPart } from '../types.js';
import type { ToolCall } from '../../types/chat.js';
import type { ResponseInputItem } from './types.js';

/** Most items of one input. */
const MOST_ITEMS = 1 << 20;
const TYPES = ['message', 'function_call', 'function_call_output', 'reasoning', 'item_reference'];
const ROLES = ['user', 'assistant', 'system', 'developer'];
/** Kinds of parts of messages and of results, and the field that each has. */
const PARTS: Readonly<Record<string, string>> = {
  input_text: 'text',
  output_text: 'text',
  refusal: 'refusal',
  input_image: 'image_url',
  input_audio: 'input_audio',
};
/** Kinds of parts of thoughts. */
const THOUGHTS: Readonly<Record<string, string>> = { summary_text: 'text', reasoning_text: 'text' };

type Part = Readonly<Record<string, unknown>>;

/** An item that is checked: plain data, and the page's no more. @internal */
export type Item = ResponseInputItem & { readonly type: string };

/** The items of an input, copied. @internal */
export function itemsOf(call: string, input: unknown): Item[] {
  if (input === undefined) return [];
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  if (!Array.isArray(input)) {
    throw invalidArgument(`${call}: field 'input' must be a string or an array of items, found ${show(input)}`);
  }
  if (input.length > MOST_ITEMS) {
    throw invalidArgument(`${call}: field 'input' may have ${MOST_ITEMS} items, found ${input.length}`);
  }
  return plain(call, 'input', () => input as unknown[]).map((item, index) =>
    itemOf(`${call}: 'input[${index}]'`, item),
  );
}

/** A copy of what a field is made, as plain data. @internal */
export function plain<T extends object>(call: string, field: string, value: () => T): T {
  try {
    return JSON.parse(JSON.stringify(value())) as T;
  } catch (cause) {
    if (cause instanceof WebggufError) throw cause;
    throw invalidArgument(`${call}: field '${field}' cannot be written as JSON: ${(cause as Error)?.message ?? cause}`);
  }
}

function itemOf(where: string, given: unknown): Item {
  if (typeof given !== 'object' || given === null) {
    throw invalidArgument(`${where} must be an item, found ${show(given)}`);
  }
  const fields = given as ResponseInputItem;
  const type = fields.type ?? ('role' in given ? 'message' : undefined);
  if (typeof type !== 'string' || !TYPES.includes(type)) {
    throw invalidArgument(`${where} is of type ${show(type)}, which is not supported; taken are ${TYPES.join(', ')}`);
  }
  const item: Item = { ...fields, type };
  if (item.id !== undefined && item.id !== null) must(where, item, 'id');
  if (type === 'message') checkMessage(where, item);
  else if (type === 'function_call') for (const name of ['call_id', 'name', 'arguments']) must(where, item, name);
  else if (type === 'function_call_output') checkResult(where, item);
  else if (type === 'reasoning') checkThoughts(where, item);
  else must(where, item, 'id');
  return item;
}

function must(where: string, item: object, name: string): void {
  const value = (item as Readonly<Record<string, unknown>>)[name];
  if (typeof value !== 'string') throw invalidArgument(`${where}.${name} must be a string, found ${show(value)}`);
}

function checkMessage(where: string, { role, content }: Item): void {
  if (!ROLES.includes(role as string)) {
    throw invalidArgument(
      `${where}.role must be ${ROLES.map((name) => `'${name}'`).join(' or ')}, found ${show(role)}`,
    );
  }
  if (typeof content !== 'string') checkParts(`${where}.content`, content, PARTS);
}

function checkResult(where: string, item: Item): void {
  must(where, item, 'call_id');
  if (typeof item.output !== 'string') checkParts(`${where}.output`, item.output, PARTS);
}

function checkThoughts(where: string, { summary = [], content }: Item): void {
  checkParts(`${where}.summary`, summary, THOUGHTS);
  checkParts(`${where}.content`, content ?? [], THOUGHTS);
}

function checkParts(where: string, parts: unknown, kinds: Readonly<Record<string, string>>): void {
  if (!Array.isArray(parts)) throw invalidArgument(`${where} must be a string or parts, found ${show(parts)}`);
  for (const [index, part] of (parts as Part[]).entries()) {
    const type = part?.type;
    const field = typeof type === 'string' && Object.hasOwn(kinds, type) ? kinds[type] : undefined;
    if (field === undefined) {
      const taken = Object.keys(kinds).join(', ');
      throw invalidArgument(`${where}[${index}] is of type ${show(type)}, which is not supported; taken are ${taken}`);
    }
    if (type === 'input_audio') continue; // checked where it is read
    must(`${where}[${index}]`, part as object, field);
  }
}

/** The messages of a chat that say what the items say. @internal */
export function messagesOf(items: readonly Item[], instructions: string | undefined): ChatMessage[] {
  const messages: ChatMessage[] = instructions === undefined ? [] : [{ role: 'system', content: instructions }];
  const called = new Set<string>();
  for (const item of items) {
    if (item.type === 'function_call_output') {
      const id = item.call_id as string;
      if (!called.has(id)) throw invalidArgument(`responses.create: no call '${id}' comes before its result`);
      messages.push({ role: 'tool', tool_call_id: id, content: contentOf(item.output) });
    } else if (item.type === 'message' && item.role !== 'assistant') {
      messages.push({ role: item.role as string, content: contentOf(item.content) });
    } else {
      if (item.type === 'function_call') called.add(item.call_id as string);
      addToAnswer(messages, item);
    }
  }
  return messages;
}

/** Thoughts, a text and calls that follow each other are one message of the assistant. */
function addToAnswer(messages: ChatMessage[], item: Item): void {
  const last = messages.at(-1);
  const goesOn = last?.role === 'assistant' && canFollow(last, item);
  const message: ChatMessage = goesOn ? last : { role: 'assistant', content: '' };
  if (!goesOn) messages.push(message);
  if (item.type === 'reasoning') {
    message.reasoning_content = thoughtOf(item);
  } else if (item.type === 'function_call') {
    const { call_id: id, name, arguments: text } = item as Item & { call_id: string; name: string; arguments: string };
    const call: ToolCall = { id, type: 'function', function: { name, arguments: text } };
    message.tool_calls = [...(message.tool_calls ?? []), call];
  } else {
    message.content = contentOf(item.content);
  }
}

function canFollow({ content, reasoning_content: thought, tool_calls: calls }: ChatMessage, item: Item): boolean {
  if (item.type === 'function_call') return true;
  const isSilent = !calls && content === '';
  return item.type === 'reasoning' ? isSilent && !thought : isSilent;
}

function thoughtOf({ content, summary }: Item): string {
  const parts = (content?.length ? content : (summary ?? [])) as readonly Part[];
  return parts.map(({ text }) => text).join('');
}

function contentOf(content: unknown): string | ContentPart[] {
  if (!Array.isArray(content)) return content as string;
  return content.map(partOf);
}

function partOf(part: Part): ContentPart {
  const { type, text, refusal, image_url: url, detail, input_audio: sound } = part;
  if (type === 'refusal') return { type: 'refusal', refusal: refusal as string };
  if (type === 'input_audio') return { type: 'input_audio', input_audio: sound as object };
  if (type !== 'input_image') return { type: 'text', text: text as string };
  return { type: 'image_url', image_url: { url, ...(typeof detail === 'string' && { detail: knownDetail(detail) }) } };
}

/** Chat completions know three. */
const knownDetail = (detail: string): string => (detail === 'original' ? 'high' : detail);
