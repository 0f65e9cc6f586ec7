/**
 * Conversations as text: the model's chat template over messages in which special tokens are text.
 */
import { writeConversation } from '../templates/content.js';
import type { Conversation, TemplateMessage } from '../templates/types.js';
import type { WasmModel } from '../wasm/webgguf.js';

type Vocabulary = Pick<WasmModel, 'chatTemplate' | 'protect'>;

/**
 * The conversation as the template writes it. Unless it says `parseSpecial`, what looks like a control token in a
 * message, a tool or a variable gets a mark (U+FDD1), which `encodePrompt` takes out again: people, tools and
 * documents cannot write a turn of somebody else. Of a conversation that is a text already, that is protected, as what
 * the first of its messages would say.
 * @internal
 */
export function chatText(vocabulary: Vocabulary, conversation: Conversation): string {
  const { messages, tools, variables, text, parseSpecial = false } = conversation;
  if (text !== undefined) return vocabulary.protect(text, messages[0]?.role === 'assistant');
  const template = vocabulary.chatTemplate();
  if (parseSpecial) return writeConversation(template, conversation);
  const protect = (text: string): string => vocabulary.protect(text, false);
  return writeConversation(template, {
    ...conversation,
    messages: messages.map((message) => protectedMessage(vocabulary, message)),
    ...(tools && { tools: mapped(tools, protect) }),
    // Names of variables are the template's own.
    ...(variables && {
      variables: Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, mapped(value, protect)])),
    }),
  });
}

/** What the model wrote itself keeps the marks of thoughts and calls, at which templates cut it. */
function protectedMessage(vocabulary: Vocabulary, message: TemplateMessage): TemplateMessage {
  const { role, ...rest } = message;
  return { role, ...mapped(rest, (text) => vocabulary.protect(text, role === 'assistant')) };
}

/** Plain data with each text changed, names of fields too. */
function mapped<T>(data: T, change: (text: string) => string): T {
  const inner = (value: unknown): unknown => {
    if (typeof value === 'string') return change(value);
    if (Array.isArray(value)) return value.map(inner);
    if (value instanceof Map) return new Map([...value].map(([key, item]) => [change(key as string), inner(item)]));
    if (typeof value !== 'object' || value === null || value instanceof Number) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [change(key), inner(item)]));
  };
  return inner(data) as T;
}
