/**
 * What MCP servers answer, as text and messages. A server is not trusted: all fields are looked at.
 */
import type { Message, TextPart } from '../types/chat.js';
import type { AudioPart, ImagePart } from '../types/media.js';

type Fields = Readonly<Record<string, unknown>>;

/** The fields of a value, none where it has no fields. @internal */
export const fieldsOf = (value: unknown): Fields =>
  (typeof value === 'object' && value !== null ? value : {}) as Fields;

/** @internal */
export const textIn = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** The list in a field. @internal */
export function listIn(value: unknown, field: string): readonly Fields[] {
  const { [field]: list } = fieldsOf(value);
  return Array.isArray(list) ? list.map(fieldsOf) : [];
}

/** The result of a call as text for the model. Throws where the tool says that it failed. @internal */
export function resultText(result: unknown): string {
  const { isError, structuredContent, toolResult } = fieldsOf(result);
  const texts = listIn(result, 'content').map(blockText);
  const other = structuredContent ?? toolResult;
  const text = texts.length > 0 || other === undefined ? texts.join('\n') : JSON.stringify(other);
  if (isError === true) throw new Error(text || 'the tool failed');
  return text;
}

/** Contents of resources as text. @internal */
export const resourceText = (result: unknown): string => listIn(result, 'contents').map(contentText).join('\n');

function blockText(block: Fields): string {
  const { type, text, resource, uri, name, mimeType } = block;
  if (type === 'text') return textIn(text) ?? '';
  if (type === 'resource') return contentText(fieldsOf(resource));
  if (type === 'resource_link') return `[${textIn(name) ?? 'resource'}: ${textIn(uri) ?? ''}]`;
  return `[${textIn(type) ?? 'unknown'} ${textIn(mimeType) ?? ''}]`.replace(' ]', ']');
}

function contentText({ text, uri, mimeType }: Fields): string {
  return textIn(text) ?? `[${textIn(mimeType) ?? 'bytes'} of ${textIn(uri) ?? 'a resource'}]`;
}

/** The messages of a prompt, with their images and sounds. @internal */
export function promptMessages(result: unknown): Message[] {
  return listIn(result, 'messages').map(({ role, content }) => ({
    role: role === 'assistant' ? 'assistant' : 'user',
    content: [content].flat().map((block) => partOf(fieldsOf(block))),
  }));
}

function partOf(block: Fields): TextPart | ImagePart | AudioPart {
  const { type, data, mimeType } = block;
  const url = `data:${textIn(mimeType) ?? ''};base64,${textIn(data) ?? ''}`;
  if (type === 'image') return { type, image: url };
  if (type === 'audio') return { type, audio: url };
  return { type: 'text', text: blockText(block) };
}
