/**
 * Messages that say the same in other words, for templates that refuse them.
 */
import { textOfPart } from '../model/conversation.js';
import type { Message, ToolCall } from '../types/chat.js';

/**
 * The messages; with each call in a message of its own, which its result follows; with the system messages as one,
 * where they are neighbours, else all at the beginning. @internal
 */
export function* otherForms(messages: readonly Message[]): Generator<readonly Message[]> {
  const systems = [messages, systemsJoined(messages, false), systemsJoined(messages, true)];
  for (const each of systems) {
    if (!each) continue;
    yield each;
    const single = callsApart(each);
    if (single) yield single;
  }
}

const callsOf = (message: Message | undefined): readonly ToolCall[] =>
  message?.role === 'assistant' && Array.isArray(message.tool_calls) ? message.tool_calls : [];

/** Nothing where no message has several calls. */
function callsApart(messages: readonly Message[]): Message[] | undefined {
  if (!messages.some((message) => callsOf(message).length > 1)) return undefined;
  const out: Message[] = [];
  for (let at = 0; at < messages.length; at += 1) {
    const message = messages[at] as Message;
    const calls = callsOf(message);
    out.push(calls.length > 1 ? { ...message, tool_calls: calls.slice(0, 1) } : message);
    if (calls.length < 2) continue;
    const results: Message[] = [];
    while (messages[at + 1]?.role === 'tool') results.push(messages[(at += 1)] as Message);
    out.push(...alternating(calls, results));
  }
  return out;
}

/** Results and calls in turn, behind the first call; a result belongs to the call of its id, else of its place. */
function alternating(calls: readonly ToolCall[], results: readonly Message[]): Message[] {
  const left = [...results];
  const resultsOf = (call: ToolCall): Message[] => {
    const own = left.filter(({ tool_call_id: id }) => id !== undefined && id === call?.id);
    const taken = own.length > 0 ? own : left.filter(({ tool_call_id: id }) => id === undefined).slice(0, 1);
    for (const result of taken) left.splice(left.indexOf(result), 1);
    return taken;
  };
  const out = calls.flatMap((call, at): Message[] => [
    ...(at > 0 ? [{ role: 'assistant', content: '', tool_calls: [call] } as Message] : []),
    ...resultsOf(call),
  ]);
  return [...out, ...left];
}

/** Nothing where that is no other form. `all`: those that stand further behind come to the beginning. */
function systemsJoined(messages: readonly Message[], all: boolean): Message[] | undefined {
  const isSystem = (message: Message | undefined): boolean => message?.role === 'system' && isText(message.content);
  const first = messages.findIndex((message) => !isSystem(message));
  const begin = messages.slice(0, first < 0 ? undefined : first);
  const others = messages.slice(begin.length);
  const later = all ? others.filter(isSystem) : [];
  const joined = [...begin, ...later];
  if (all ? later.length === 0 : joined.length < 2) return undefined;
  const content = joined.map((message) => textOf(message.content)).join('\n\n');
  return [{ ...joined[0], role: 'system', content }, ...(all ? others.filter((each) => !isSystem(each)) : others)];
}

const isText = (content: Message['content']): boolean =>
  !Array.isArray(content) || content.every((part) => textOfPart(part) !== undefined);

const textOf = (content: Message['content']): string =>
  Array.isArray(content) ? content.map((part) => textOfPart(part) ?? '').join('\n') : ((content as string) ?? '');
