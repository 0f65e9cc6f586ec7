/**
 * The items of a realtime conversation, and what of them a model reads.
 */
import type { ChatRequest } from '../../openai/types.js';
import { spokenPart } from '../said.js';
import { Refusal, wrongValue } from './refusal.js';
import { objectOf, PCM_RATE } from './session.js';
import type { AssistantContent, RealtimeItem, UserContent } from './types.js';

type Message = ChatRequest['messages'][number];
type Fields = Record<string, unknown>;

/** A sentence of an answer, and how many samples it took. @internal */
export interface SaidSentence {
  readonly text: string;
  samples: number;
}

/** @internal */
export interface Entry {
  readonly item: RealtimeItem;
  /** What was said, for answers with sound. */
  readonly said?: readonly SaidSentence[] | undefined;
  /** Resolves once the words of its sounds are there. */
  heard?: Promise<void>;
  /** The sounds at 16 kHz by the place of their part, for a model that hears them itself. */
  sounds?: Map<number, Float32Array> | undefined;
}

/** @internal */
export class Items {
  readonly #entries: Entry[] = [];
  /** Entries for which the model's context has no room. */
  readonly #forgotten = new WeakSet<Entry>();

  get last(): string | null {
    return this.#entries.at(-1)?.item.id ?? null;
  }

  get all(): readonly Entry[] {
    return this.#entries;
  }

  /** What a model reads. */
  get read(): readonly Entry[] {
    return this.#entries.filter((entry) => !this.#forgotten.has(entry));
  }

  /** Leaves the oldest turn, up to the user's next one, out of what is read; false where no other is left. */
  forget(): boolean {
    const isOf = ({ item }: Entry, role: string): boolean => item.type === 'message' && item.role === role;
    const turns = this.read.filter((entry) => !isOf(entry, 'system'));
    const next = turns.findIndex((entry, at) => at > 0 && isOf(entry, 'user'));
    for (const entry of turns.slice(0, Math.max(0, next))) {
      this.#forgotten.add(entry);
      // Sounds that are not read again would fill the memory.
      entry.sounds = undefined;
    }
    return next > 0;
  }

  /** Adds an item behind another one, at the end where none is named; the one before it. */
  add(entry: Entry, behind?: string): string | null {
    if (this.#entries.some(({ item }) => item.id === entry.item.id)) {
      throw new Refusal('item_exists', `there is an item '${entry.item.id}' already`, 'item.id');
    }
    const at = behind === undefined ? this.#entries.length : behind === 'root' ? 0 : this.#place(behind) + 1;
    this.#entries.splice(at, 0, entry);
    return this.#entries[at - 1]?.item.id ?? null;
  }

  get(id: unknown): Entry {
    return this.#entries[this.#place(id)] as Entry;
  }

  delete(id: string): void {
    this.#entries.splice(this.#place(id), 1);
  }

  /** Leaves of an answer what was heard of it until then. */
  truncate(id: unknown, milliseconds: unknown): Entry {
    const entry = this.get(id);
    const { item, said } = entry;
    const part = item.type === 'message' && item.role === 'assistant' ? item.content[0] : undefined;
    if (part?.type !== 'output_audio' || !said) {
      throw new Refusal('invalid_value', `the item '${item.id}' is no answer with sound`, 'item_id');
    }
    const whole = said.reduce((sum, { samples }) => sum + samples, 0);
    const most = Math.ceil((1000 * whole) / PCM_RATE);
    if (!(typeof milliseconds === 'number' && milliseconds >= 0 && milliseconds <= most)) {
      throw wrongValue('audio_end_ms', `from 0 to ${most}, the length of the sound`, milliseconds);
    }
    let left = (milliseconds / 1000) * PCM_RATE;
    const heard = said.map(({ text, samples }) => {
      const share = samples > 0 ? Math.min(1, Math.max(0, left / samples)) : 0;
      left -= samples;
      return { text, share };
    });
    part.transcript = spokenPart(heard);
    return entry;
  }

  #place(id: unknown): number {
    const at = this.#entries.findIndex(({ item }) => item.id === id);
    if (at < 0) throw new Refusal('item_not_found', `there is no item '${String(id)}'`, 'item_id');
    return at;
  }
}

/** What a page sends as an item, checked, and the sounds in it, which are not kept. @internal */
export function itemOf(given: unknown, newId: string): { item: RealtimeItem; sounds: string[] } {
  const fields = objectOf('item', given);
  const { type = 'message', id = newId } = fields;
  if (typeof id !== 'string' || id === '') throw wrongValue('item.id', 'a name', id);
  const parts = { id, object: 'realtime.item', status: 'completed' } as const;
  const text = (name: string, fallback?: string): string => {
    const value = fields[name] ?? fallback;
    if (typeof value !== 'string') throw wrongValue(`item.${name}`, 'a string', value);
    return value;
  };
  if (type === 'function_call') {
    const call = { call_id: text('call_id', id), name: text('name'), arguments: text('arguments') };
    return { item: { ...parts, type, ...call }, sounds: [] };
  }
  if (type === 'function_call_output') {
    return { item: { ...parts, type, call_id: text('call_id'), output: text('output') }, sounds: [] };
  }
  if (type !== 'message') throw wrongValue('item.type', "'message', 'function_call' or 'function_call_output'", type);
  return messageOf(parts, fields);
}

type Parts = Pick<RealtimeItem, 'id' | 'object' | 'status'>;

function messageOf(parts: Parts, { role, content }: Fields): { item: RealtimeItem; sounds: string[] } {
  if (!Array.isArray(content)) throw wrongValue('item.content', 'an array', content);
  const sounds: string[] = [];
  const type = 'message';
  if (role === 'system') {
    return { item: { ...parts, type, role, content: content.map((part: unknown, at) => textPart(part, at)) }, sounds };
  }
  if (role === 'user') {
    return { item: { ...parts, type, role, content: content.map((part, at) => userPart(part, at, sounds)) }, sounds };
  }
  if (role === 'assistant') {
    return { item: { ...parts, type, role, content: content.map((part, at) => assistantPart(part, at)) }, sounds };
  }
  throw wrongValue('item.role', "'system', 'user' or 'assistant'", role);
}

function stringIn(part: Fields, name: string, at: number): string {
  const value = part[name];
  if (typeof value === 'string') return value;
  throw wrongValue(`item.content[${at}].${name}`, 'a string', value);
}

function textPart(given: unknown, at: number): { type: 'input_text'; text: string } {
  const part = objectOf(`item.content[${at}]`, given);
  if (part.type !== 'input_text') throw wrongValue(`item.content[${at}].type`, "'input_text'", part.type);
  return { type: part.type, text: stringIn(part, 'text', at) };
}

function userPart(given: unknown, at: number, sounds: string[]): UserContent {
  const part = objectOf(`item.content[${at}]`, given);
  if (part.type === 'input_image') return { type: part.type, image_url: stringIn(part, 'image_url', at) };
  if (part.type !== 'input_audio') return textPart(part, at);
  if (typeof part.transcript === 'string') return { type: part.type, transcript: part.transcript };
  sounds.push(stringIn(part, 'audio', at));
  return { type: part.type };
}

function assistantPart(given: unknown, at: number): AssistantContent {
  const part = objectOf(`item.content[${at}]`, given);
  if (part.type === 'output_audio') return { type: part.type, transcript: stringIn(part, 'transcript', at) };
  if (part.type === 'output_text') return { type: part.type, text: stringIn(part, 'text', at) };
  throw wrongValue(`item.content[${at}].type`, "'output_text' or 'output_audio'", part.type);
}

/** What the system says, in one message as templates take it, and the entries behind that. @internal */
export function instructed(
  instructions: string,
  entries: readonly Entry[],
): { readonly system: string; readonly rest: readonly Entry[] } {
  const isSystem = ({ item }: Entry): boolean => item.type === 'message' && item.role === 'system';
  const at = entries.findIndex((entry) => !isSystem(entry));
  const count = at < 0 ? entries.length : at;
  const words = entries.slice(0, count).map(({ item }) => wordsOf(item));
  const system = [instructions, ...words].filter((text) => text.trim() !== '').join('\n\n');
  return { system, rest: entries.slice(count) };
}

/** What a model that chats reads: instructions, and the items. @internal */
export function messagesOf(instructions: string, entries: readonly Entry[]): Message[] {
  const { system, rest } = instructed(instructions, entries);
  const messages: Message[] = system === '' ? [] : [{ role: 'system', content: system }];
  for (const { item } of rest) append(messages, item);
  return messages;
}

/** The words of a message. @internal */
export function wordsOf(item: RealtimeItem): string {
  if (item.type !== 'message') return '';
  const parts: readonly (UserContent | AssistantContent)[] = item.content;
  const words = parts.map((part) => {
    if (part.type === 'input_image') return '';
    return 'text' in part ? part.text : (part.transcript ?? '');
  });
  return words.filter((text) => text !== '').join('\n');
}

function append(messages: Message[], item: RealtimeItem): void {
  if (item.type === 'function_call_output') {
    messages.push({ role: 'tool', tool_call_id: item.call_id, content: item.output });
    return;
  }
  if (item.type === 'function_call') {
    const { call_id: id, name, arguments: text } = item;
    const call = { id, type: 'function' as const, function: { name, arguments: text } };
    const last = messages.at(-1);
    if (last?.role !== 'assistant') messages.push({ role: 'assistant', content: null, tool_calls: [call] });
    else messages[messages.length - 1] = { ...last, tool_calls: [...(last.tool_calls ?? []), call] };
    return;
  }
  const text = wordsOf(item);
  const images = item.role === 'user' ? item.content.filter((part) => part.type === 'input_image') : [];
  if (images.length > 0) {
    const shown = images.map(({ image_url: url }) => ({ type: 'image_url' as const, image_url: { url } }));
    messages.push({ role: 'user', content: [...shown, { type: 'text', text }] });
  } else if (text !== '') messages.push({ role: item.role, content: text });
}
