/**
 * Conversations of Anthropic's shape in OpenAI's.
 */
import { invalidArgument } from '../errors.js';
import { show } from '../check.js';
import type { ChatMessage, ContentPart } from '../openai/types.js';
import type { ToolCall } from '../types/chat.js';
import type { BlockParam, ImageBlockParam, MessageParam, ToolResultBlockParam } from './types.js';

interface Block {
  readonly type?: unknown;
  readonly [field: string]: unknown;
}

/** The messages, with the system prompt as the first. @internal */
export function chatMessages(system: unknown, messages: readonly MessageParam[]): ChatMessage[] {
  const first: ChatMessage[] = system === undefined ? [] : [{ role: 'system', content: textOf('system', system) }];
  const others = messages.flatMap((message, index) => chatMessage(`messages[${index}]`, message));
  const last = others.at(-1);
  if (last?.role !== 'assistant') return [...first, ...others];
  if (last.tool_calls) throw wrong('messages', 'the last has a call of a tool, whose result must follow');
  return [...first, ...others.slice(0, -1), { ...last, content: last.content ?? '', prefix: true }];
}

function chatMessage(where: string, message: MessageParam): ChatMessage[] {
  const { role, content } = message ?? {};
  if (role === 'system') return [{ role, content: textOf(where, content) }];
  if (role !== 'user' && role !== 'assistant') {
    throw wrong(where, `'role' must be 'user', 'assistant' or 'system', found ${show(role)}`);
  }
  if (typeof content === 'string') return [{ role, content }];
  const blocks = blocksOf(where, content);
  return role === 'user' ? spokenByUser(where, blocks) : [spokenByAssistant(where, blocks)];
}

/** Results are messages of their own; their images follow with what the user says. */
function spokenByUser(where: string, blocks: readonly Block[]): ChatMessage[] {
  const out: ChatMessage[] = [];
  let parts: ContentPart[] = [];
  const flush = (): void => {
    if (parts.length > 0) out.push({ role: 'user', content: parts });
    parts = [];
  };
  for (const [index, block] of blocks.entries()) {
    const place = `${where}.content[${index}]`;
    if (block.type !== 'tool_result') {
      parts.push(partOf(place, block));
      continue;
    }
    if (parts.some(({ type }) => type === 'text')) flush();
    const { tool_use_id: id, content, is_error: isError } = block as unknown as ToolResultBlockParam;
    if (typeof id !== 'string') throw wrong(place, `'tool_use_id' must be a string, found ${show(id)}`);
    const given = typeof content === 'string' ? [textPart(content)] : partsOf(place, content ?? []);
    const text = given.flatMap((part) => (part.type === 'text' ? [(part as { text: string }).text] : [])).join('\n');
    out.push({ role: 'tool', tool_call_id: id, content: isError && !/^error\b/i.test(text) ? `error: ${text}` : text });
    parts.push(...given.filter(({ type }) => type !== 'text'));
  }
  flush();
  return out;
}

function spokenByAssistant(where: string, blocks: readonly Block[]): ChatMessage {
  const texts: string[] = [];
  const thoughts: string[] = [];
  const calls: ToolCall[] = [];
  for (const [index, block] of blocks.entries()) {
    const place = `${where}.content[${index}]`;
    if (block.type === 'thinking') thoughts.push(stringOf(place, 'thinking', block));
    else if (block.type === 'tool_use') calls.push(callOf(place, block));
    else if (block.type !== 'redacted_thinking') texts.push(textOf(place, [block]));
  }
  return {
    role: 'assistant',
    content: texts.length > 0 ? texts.join('\n') : null,
    ...(thoughts.length > 0 && { reasoning_content: thoughts.join('\n') }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

function callOf(place: string, block: Block): ToolCall {
  const name = stringOf(place, 'name', block);
  return {
    id: stringOf(place, 'id', block),
    type: 'function',
    function: { name, arguments: JSON.stringify(block.input ?? {}) },
  };
}

const partsOf = (place: string, content: unknown): ContentPart[] =>
  blocksOf(place, content).map((block, index) => partOf(`${place}.content[${index}]`, block));

/** A text or an image; what Anthropic has beside them is text where it can be. */
function partOf(place: string, block: Block): ContentPart {
  if (block.type === 'text') return textPart(stringOf(place, 'text', block));
  if (block.type === 'image') return { type: 'image_url', image_url: { url: addressOf(place, block) } };
  if (block.type === 'search_result') {
    const [title, source] = [stringOf(place, 'title', block), stringOf(place, 'source', block)];
    return textPart(`${title} (${source})\n${textOf(place, block.content)}`);
  }
  if (block.type === 'document') return textPart(documentText(place, block));
  throw wrong(place, `blocks of type ${show(block.type)} are not supported`);
}

function documentText(place: string, { source, title, context }: Block): string {
  const { type, data, content } = (source ?? {}) as Block;
  const said = [title, context].filter((text) => typeof text === 'string' && text !== '');
  if (type === 'text' && typeof data === 'string') return [...said, data].join('\n');
  if (type === 'content') return [...said, textOf(place, content)].join('\n');
  throw wrong(place, `documents must be text, found a source of type ${show(type)}`);
}

function addressOf(place: string, block: Block): string {
  const source = (block.source ?? {}) as Partial<Record<string, unknown>> as Partial<ImageBlockParam['source']>;
  if (source.type === 'url' && typeof source.url === 'string') return source.url;
  if (source.type === 'base64' && typeof source.data === 'string') {
    return `data:${source.media_type ?? 'image/png'};base64,${source.data}`;
  }
  throw wrong(place, `the source of an image must be of type 'base64' or 'url', found ${show(source.type)}`);
}

/** A text that is one string or blocks of text. */
function textOf(where: string, content: unknown): string {
  if (typeof content === 'string') return content;
  const texts = partsOf(where, content).map((part, index) => {
    if (part.type === 'text') return (part as { text: string }).text;
    throw wrong(where, `content[${index}] must be text`);
  });
  return texts.join('\n');
}

function blocksOf(where: string, content: unknown): readonly Block[] {
  if (Array.isArray(content) && content.every((block) => typeof block === 'object' && block !== null)) {
    return content as readonly BlockParam[] as readonly Block[];
  }
  throw wrong(where, `'content' must be a string or an array of blocks, found ${show(content)}`);
}

function stringOf(place: string, field: string, block: Block): string {
  const value = block[field];
  if (typeof value === 'string') return value;
  throw wrong(place, `'${field}' must be a string, found ${show(value)}`);
}

const textPart = (text: string): ContentPart => ({ type: 'text', text });
const wrong = (where: string, message: string): Error => invalidArgument(`messages.create: '${where}': ${message}`);
