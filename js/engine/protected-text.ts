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
  const { messages, tools, text, parseSpecial = false } = conversation;
  if (text !== undefined) return vocabulary.protect(text, messages[0]?.role === 'assistant');
  const { speech, ...usual } = vocabulary.chatTemplate();
  const template = conversation.isSpeech && speech !== undefined ? { ...usual, source: speech } : usual;
  const variables = withSwitches(template.source, conversation.variables);
  if (parseSpecial) return writeConversation(template, { ...conversation, ...(variables && { variables }) });
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

/** Names under which templates read whether the model thinks, beside `enable_thinking`: with their values for that. */
const SWITCHES: readonly (readonly [name: string, on: unknown, off: unknown])[] = [
  ['thinking', true, false],
  ['reasoning', true, false],
  ['thinking_budget', undefined, 0],
];

/** `enable_thinking` by the name that the template reads in its place, unless a variable of that name is given. */
function withSwitches(source: string | undefined, variables: Conversation['variables']): Conversation['variables'] {
  const thinks = variables?.enable_thinking;
  if (typeof thinks !== 'boolean' || !source || source.includes('enable_thinking')) return variables;
  const isRead = (name: string): boolean => new RegExp(`(?<![\\w.'"-])${name}(?![\\w'"-])`).test(source);
  const values = SWITCHES.map(([name, on, off]) => [name, thinks ? on : off] as const);
  const said = values.filter(([name, value]) => value !== undefined && isRead(name));
  return { ...Object.fromEntries(said), ...variables };
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
