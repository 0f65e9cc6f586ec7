/**
 * Conversations in the form that a model's template takes.
 */
import { textOfPart } from '../model/conversation.js';
import type { Message, TextPart, Tool } from '../types/chat.js';
import type { Family } from './families.js';
import type { Format } from './formats/format.js';
import { FORMATS } from './formats/table.js';

/** The messages; where the template knows no tools, they say what the tools are, and calls and results are text. */
export function messagesFor(family: Family, messages: readonly Message[], tools: readonly Tool[]): Message[] {
  let adapted = messages.map((message) => adaptOne(family, message));
  if (!family.takesCalls && !family.takesTools) adapted = joined(adapted.map(resultAsText));
  if (tools.length > 0 && !family.takesTools) adapted = withSystem(adapted, toolsPrompt(tools, family.format));
  return adapted;
}

function adaptOne(family: Family, message: Message): Message {
  if (typeof message !== 'object' || message === null) return message;
  const { format, takesCalls, idLength } = family;
  const { role, content, tool_calls: calls, tool_call_id: id, ...further } = message;
  const thoughts = thoughtsFor(family, message);
  const said = { ...further, ...thoughts, role: role === 'developer' ? 'system' : role, content };
  const callId = (text: string): string => (idLength && typeof text === 'string' ? shortId(text, idLength) : text);
  if (!Array.isArray(calls) || calls.length === 0)
    return id === undefined ? said : { ...said, tool_call_id: callId(id) };
  if (takesCalls) return { ...said, tool_calls: calls.map((call) => ({ ...call, id: callId(call?.id) })) };
  const written = (format.write ?? FORMATS.hermes.write)?.(calls.map((call) => call.function)) ?? '';
  return { ...said, content: [textOf(content), written].filter(Boolean).join('\n') };
}

/** Names of the thoughts of a message in requests. */
const THOUGHTS = ['reasoning_content', 'reasoning', 'thinking'];

/** The thoughts of a message under the names by which the template reads them. */
function thoughtsFor({ thoughtFields }: Family, message: Message): Record<string, string> {
  const fields: Readonly<Record<string, unknown>> = { ...message };
  const thought = THOUGHTS.map((name) => fields[name]).find((text) => typeof text === 'string' && text !== '');
  if (message.role !== 'assistant' || thought === undefined) return {};
  const missing = thoughtFields.filter((name) => fields[name] === undefined || fields[name] === null);
  return Object.fromEntries(missing.map((name) => [name, thought as string]));
}

/** What a model is told about its tools where its template does not say it. */
function toolsPrompt(tools: readonly unknown[], { write }: Format): string {
  const lines = tools.map((tool) => JSON.stringify(tool)).join('\n');
  const example = { name: 'name-of-the-function', arguments: '{"name-of-an-argument": "value"}' };
  return `# Tools

You may call these functions:
<tools>
${lines}
</tools>

To call a function, write its name and its arguments as JSON in this form, and then stop:
${(write ?? FORMATS.hermes.write)?.([example]) ?? ''}
Its result comes back in the next message. Call a function only where it helps to answer.`;
}

/** Mistral's templates refuse ids of other lengths. */
function shortId(id: string, length: number): string {
  return id
    .replaceAll(/[^a-zA-Z0-9]/g, '')
    .slice(-length)
    .padStart(length, '0');
}

function textOf(content: Message['content']): string {
  if (!Array.isArray(content)) return (content as string | null | undefined) ?? '';
  return content.map((part) => textOfPart(part) ?? (part as Partial<TextPart> | null)?.text ?? '').join('\n');
}

function resultAsText(message: Message): Message {
  if (message?.role !== 'tool') return message;
  return { role: 'user', content: `<tool_response>\n${textOf(message.content)}\n</tool_response>` };
}

/** Results of several calls are one message of the user. */
function joined(messages: readonly Message[]): Message[] {
  const out: Message[] = [];
  for (const message of messages) {
    const last = out.at(-1);
    const isResult = (each?: Message): boolean =>
      each?.role === 'user' && typeof each.content === 'string' && each.content.startsWith('<tool_response>');
    if (last && isResult(last) && isResult(message)) last.content = `${last.content}\n${message.content}`;
    else out.push({ ...message });
  }
  return out;
}

function withSystem(messages: readonly Message[], text: string): Message[] {
  const [first, ...rest] = messages;
  if (first?.role !== 'system') return [{ role: 'system', content: text }, ...messages];
  return [{ ...first, content: `${textOf(first.content)}\n\n${text}` }, ...rest];
}

/**
 * The messages, and what says the same to templates that refuse them: the system message at the beginning of the first
 * message of the user; neighbours of one role as one message; both. @internal
 */
export function* formsOf(messages: readonly Message[]): Generator<readonly Message[]> {
  const merged = withoutSystem(messages);
  yield messages;
  if (messages.some(thinksAndSpeaks)) yield* formsOf(messages.map(thinkingAll));
  if (merged) yield merged;
  if (hasNeighbours(messages)) yield neighboursJoined(messages);
  if (merged && hasNeighbours(merged)) yield neighboursJoined(merged);
}

/** Whether a message has thoughts, text and calls: some templates take one of the first two. */
function thinksAndSpeaks({ role, content, tool_calls: calls, ...further }: Message): boolean {
  const isText = typeof content === 'string' && content !== '';
  return role === 'assistant' && isText && Boolean(calls) && THOUGHTS.some((name) => Object.hasOwn(further, name));
}

/** What is said beside calls and thoughts is one of the thoughts. */
function thinkingAll(message: Message): Message {
  if (!thinksAndSpeaks(message)) return message;
  const fields = Object.entries(message).map(([name, value]) => {
    const isThought = THOUGHTS.includes(name) && typeof value === 'string';
    return [name, isThought ? `${value}\n\n${textOf(message.content)}` : value];
  });
  return { ...(Object.fromEntries(fields) as Message), content: '' };
}

function withoutSystem(messages: readonly Message[]): Message[] | undefined {
  const [first, second, ...rest] = messages;
  if (first?.role !== 'system' || second?.role !== 'user') return undefined;
  return [{ ...second, content: together(first.content, second.content) }, ...rest];
}

/** Two contents as one, with their images. */
function together(first: Message['content'], second: Message['content']): Message['content'] {
  const isText = (content: Message['content']): boolean =>
    !Array.isArray(content) || content.every((part) => textOfPart(part) !== undefined);
  if (isText(first) && isText(second)) return `${textOf(first)}\n\n${textOf(second)}`;
  const parts = [first, second].map((content) => (Array.isArray(content) ? content : [textPart(content)]));
  return [...(parts[0] ?? []), textPart('\n'), ...(parts[1] ?? [])];
}

function textPart(text: Message['content']): TextPart {
  return { type: 'text', text: textOf(text) };
}

/** Whether one of user or assistant speaks twice in a row. */
function goesOn(message: Message | undefined, next: Message | undefined): boolean {
  const isPlain = (each: Message | undefined): boolean => !each?.tool_calls && /user|assistant/.test(each?.role ?? '');
  return isPlain(message) && isPlain(next) && message?.role === next?.role;
}

function hasNeighbours(messages: readonly Message[]): boolean {
  return messages.some((message, index) => goesOn(message, messages[index + 1]));
}

function neighboursJoined(messages: readonly Message[]): Message[] {
  const out: Message[] = [];
  for (const message of messages) {
    const last = out.at(-1);
    if (last && goesOn(last, message)) last.content = together(last.content, message.content);
    else out.push({ ...message });
  }
  return out;
}
