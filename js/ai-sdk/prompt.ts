/**
 * Prompts of the AI SDK as conversations.
 */
import { bytesOfBase64 } from '../base64.js';
import type { Message, ToolCall } from '../types/chat.js';
import { unsupported } from './errors.js';
import type { FileData, FilePart, PromptMessage, TextPart, ToolCallPart, ToolOutput, ToolResultPart } from './types.js';

/** Throws where a file is neither text, an image, a video nor a sound. @internal */
export function messagesOf(prompt: readonly PromptMessage[]): Message[] {
  return prompt.flatMap((message) => {
    if (message.role === 'system') return [{ role: 'system', content: message.content }];
    if (message.role === 'user') return [{ role: 'user', content: contentOf(message.content) }];
    if (message.role === 'assistant') return [assistantMessage(message.content)];
    return message.content.filter(isResult).map(({ toolCallId, toolName, output }) => ({
      role: 'tool',
      tool_call_id: toolCallId,
      name: toolName,
      content: outputText(output),
    }));
  });
}

/** One text where there are no images and sounds. */
function contentOf(parts: readonly (TextPart | FilePart)[]): Message['content'] {
  if (!parts.some(kindOf)) return parts.map((part) => textOf(part)).join('\n');
  return parts.map((part) => {
    const kind = kindOf(part);
    if (kind === 'image') return { type: 'image', image: mediumOf(part as FilePart) };
    if (kind === 'video') return { type: 'video', video: mediumOf(part as FilePart) };
    if (kind === 'audio') return { type: 'audio', audio: mediumOf(part as FilePart) };
    return { type: 'text', text: textOf(part) };
  });
}

/** What an encoder reads: `image`, `video` or `audio`. */
function kindOf(part: TextPart | FilePart): string | undefined {
  return part.type === 'file' ? /^(image|video|audio)(\/|$)/.exec(part.mediaType)?.[1] : undefined;
}

/** Bytes, an address, or bytes in Base64. */
function mediumOf({ data, mediaType }: FilePart): Uint8Array | string | URL {
  const held: unknown = isTagged(data)
    ? ((data as { data?: unknown; url?: unknown }).data ?? (data as { url?: unknown }).url)
    : data;
  if (held instanceof Uint8Array || held instanceof URL) return held;
  if (typeof held === 'string') return /^(https?|data|blob):/.test(held) ? held : `data:${mediaType};base64,${held}`;
  throw unsupported(`file part of type ${mediaType}`);
}

/** Throws where a file is no text. @internal */
export function textOf(part: TextPart | FilePart): string {
  if (part.type === 'text') return part.text;
  const { data, mediaType } = part;
  const isText = /^text\/|^application\/json$/.test(mediaType);
  if (isTagged(data) && data.type === 'text') return data.text;
  const held = isTagged(data) && data.type === 'data' ? data.data : data;
  if (isText && held instanceof Uint8Array) return new TextDecoder().decode(held);
  if (isText && typeof held === 'string') return new TextDecoder().decode(bytesOfBase64(held));
  throw unsupported(`file part of type ${mediaType}`);
}

function isTagged(data: FileData): data is Extract<FileData, { type: string }> {
  return typeof data === 'object' && 'type' in data;
}

function assistantMessage(content: readonly { type: string }[]): Message {
  const said = (type: string): string =>
    content
      .filter((part): part is TextPart => part.type === type)
      .map(({ text }) => text)
      .join('');
  const calls = content.filter((part): part is ToolCallPart => part.type === 'tool-call').map(callOf);
  const reasoning = said('reasoning');
  return {
    role: 'assistant',
    content: said('text'),
    ...(reasoning && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

function callOf({ toolCallId, toolName, input }: ToolCallPart): ToolCall {
  // A text is what a model wrote, with all digits of its numbers.
  const text = typeof input === 'string' && input.trimStart().startsWith('{') ? input : JSON.stringify(input ?? {});
  return { id: toolCallId, type: 'function', function: { name: toolName, arguments: text } };
}

function isResult(part: { type: string }): part is ToolResultPart {
  return part.type === 'tool-result';
}

function outputText(output: ToolOutput): string {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value;
    case 'execution-denied':
      return output.reason ?? 'the user did not allow this call';
    case 'content':
      return output.value.map((part) => contentText(part)).join('\n');
    default:
      return JSON.stringify(output.value ?? null);
  }
}

function contentText({ type, text }: { type: string; text?: string }): string {
  if (type === 'text' && text !== undefined) return text;
  throw unsupported(`result of a tool with content of type ${type}`);
}
