/**
 * Conversations of hooks as items of OpenAI's Responses API, and back.
 */
import { show } from '../../check.js';
import { invalidArgument } from '../../errors.js';
import { mediumOf, textOfPart } from '../../model/conversation.js';
import { fixedMedia, savedMedia } from '../../model/media-messages.js';
import type { Message } from '../../types/chat.js';
import type { ChatMessage as Shown } from '../../ui/chat-message.js';
import type { ChatMessage } from '../types.js';
import { itemsOf, messagesOf } from './items.js';
import type { ResponseInputItem } from './types.js';

type Told = Omit<Shown, 'id'>;
type Held = Extract<Message['content'], readonly unknown[]>[number];

/** See {@link responseItems}. @internal */
export async function itemsOfChat(
  messages: readonly (Told & { readonly id?: number })[],
): Promise<ResponseInputItem[]> {
  const items = await Promise.all(messages.map((message, at) => itemsOfMessage(message, message.id ?? at)));
  return items.flat();
}

async function itemsOfMessage(message: Told, id: number): Promise<ResponseInputItem[]> {
  const { role, content, reasoning_content: thought, tool_calls: calls = [] } = message;
  if (role === 'tool') {
    return [{ type: 'function_call_output', call_id: message.tool_call_id, output: content }];
  }
  if (role === 'user') return [{ type: 'message', role, content: await partsOf(message) }];
  const items: ResponseInputItem[] = [];
  if (thought) {
    const text = [{ type: 'reasoning_text', text: thought }];
    items.push({ type: 'reasoning', id: `rs_${id}`, summary: [], content: text });
  }
  if (content) {
    const text = [{ type: 'output_text', text: content, annotations: [] }];
    items.push({ type: 'message', id: `msg_${id}`, role, content: text });
  }
  for (const { id: call_id, function: called } of calls) items.push({ type: 'function_call', call_id, ...called });
  return items;
}

async function partsOf({ content, images = [], sounds = [] }: Told): Promise<string | object[]> {
  if (images.length + sounds.length === 0) return content;
  const heard = sounds.map((audio): Held => ({ type: 'audio', audio }));
  // An image may stay an address; a sound has its bytes in the item.
  const [fixed] = await fixedMedia([{ role: 'user', content: heard }], undefined);
  const seen = images.map((image): Held => ({ type: 'image', image }));
  const all = [...seen, ...((fixed?.content ?? []) as Held[])];
  const [saved] = await savedMedia([{ role: 'user', content: all }]);
  const text = content === '' ? [] : [{ type: 'input_text', text: content }];
  return [...((saved?.content ?? []) as Held[]).map(partOf), ...text];
}

function partOf(part: Held): object {
  if (part.type === 'image') return { type: 'input_image', image_url: part.image };
  const [, kind = '', data] =
    /^data:audio\/([^;,]+)[^,]*;base64,(.*)$/s.exec(String((part as { audio: unknown }).audio)) ?? [];
  if (data === undefined) {
    throw invalidArgument("responseItems: a sound must be a file whose type begins with 'audio/', or samples");
  }
  const format = /wav/.test(kind) ? 'wav' : /mpeg|mp3/.test(kind) ? 'mp3' : kind;
  return { type: 'input_audio', input_audio: { data, format } };
}

/** See {@link chatMessages}. @internal */
export function chatOfItems(items: readonly ResponseInputItem[]): Told[] {
  const checked = itemsOf('chatMessages', items);
  for (const [at, { type, role }] of checked.entries()) {
    const where = `chatMessages: 'input[${at}]'`;
    if (type === 'item_reference') throw invalidArgument(`${where} is a reference, whose item is not here`);
    if (role === 'system' || role === 'developer') {
      throw invalidArgument(`${where}.role is '${role}': the system prompt is an option of the chat, no message of it`);
    }
  }
  const names = new Map(checked.map(({ call_id: id, name }) => [id, name] as const).filter(([, name]) => name));
  return messagesOf(checked, undefined).map((message) => shown(message, names.get(message.tool_call_id) ?? undefined));
}

function held(part: unknown): NonNullable<ReturnType<typeof mediumOf>> {
  const medium = mediumOf(part);
  if (medium) return medium;
  throw invalidArgument(`chatMessages: a sound must have data, and an image an address, found ${show(part)}`);
}

function shown({ role, content, ...others }: ChatMessage, name: string | undefined): Told {
  const parts: readonly unknown[] = Array.isArray(content) ? content : [];
  const text = typeof content === 'string' ? content : parts.flatMap((part) => textOfPart(part) ?? []).join('\n');
  const media = parts.filter((part) => textOfPart(part) === undefined).map(held);
  const images = media.flatMap((medium) => ('image' in medium ? [medium.image as string] : []));
  const sounds = media.flatMap((medium) => ('audio' in medium ? [medium.audio as string] : []));
  const { reasoning_content: thought, tool_calls: calls, tool_call_id: id } = others;
  return {
    role: role as Told['role'],
    content: text,
    ...(images.length > 0 && { images }),
    ...(sounds.length > 0 && { sounds }),
    ...(thought && { reasoning_content: thought }),
    ...(calls && { tool_calls: calls as NonNullable<Told['tool_calls']>, finish_reason: 'tool_calls' as const }),
    ...(id !== undefined && id !== null && { tool_call_id: id, ...(name !== undefined && { name }) }),
  };
}
