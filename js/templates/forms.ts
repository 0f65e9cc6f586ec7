/**
 * The forms of messages that templates want.
 */
import type { TemplateMessage } from './types.js';
import { toJson } from './json.js';
import { Budget, fromData } from './values.js';

interface Call {
  readonly function?: { readonly arguments?: unknown };
}

/**
 * The usual form first; then arguments of calls as JSON text, and content that is absent as empty text. Forms that are
 * equal to one before are left out.
 * @internal
 */
export function formsOf(messages: readonly TemplateMessage[]): (readonly TemplateMessage[])[] {
  const isAbsent = messages.some(({ content }) => content === null);
  const areObjects = messages.some(({ tool_calls: calls }) => Array.isArray(calls) && calls.some(hasObject));
  const forms = [messages];
  if (isAbsent) forms.push(messages.map(withContent));
  if (areObjects) forms.push(messages.map(withText));
  if (isAbsent && areObjects) forms.push(messages.map((message) => withText(withContent(message))));
  return forms;
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);
const hasObject = (call: Call): boolean => isObject(call?.function?.arguments);

function withContent(message: TemplateMessage): TemplateMessage {
  return message.content === null ? { ...message, content: '' } : message;
}

function withText(message: TemplateMessage): TemplateMessage {
  const { tool_calls: calls } = message;
  if (!Array.isArray(calls)) return message;
  return { ...message, tool_calls: calls.map((call: Call) => (hasObject(call) ? argumentsAsText(call) : call)) };
}

function argumentsAsText(call: Call): Call {
  const written = toJson(
    new Budget(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY),
    fromData(call.function?.arguments),
    [],
    new Map(),
  );
  return { ...call, function: { ...call.function, arguments: written } };
}
