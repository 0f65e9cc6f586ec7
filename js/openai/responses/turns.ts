/**
 * Conversations without their oldest turns, where a request says `truncation: 'auto'`.
 */
import { nextTurn, roomForAnswer } from '../../model/conversation.js';
import type { ChatMessage, ChatRequest } from '../types.js';

/** How many tokens the prompt of a conversation has, and how many the context holds. */
interface Counter {
  readonly contextLength: number;
  count(messages: ChatMessage[]): Promise<number>;
}

const isSystem = ({ role }: ChatMessage): boolean => role === 'system' || role === 'developer';

/** The messages without the oldest turn; nothing where one is left. The system prompt stays. @internal */
export function fewerTurns(messages: readonly ChatMessage[]): ChatMessage[] | undefined {
  const first = messages.findIndex((message) => !isSystem(message));
  const next = nextTurn(messages, first);
  return first < 0 || next < 0 ? undefined : [...messages.slice(0, first), ...messages.slice(next)];
}

/**
 * The messages without as many of the oldest turns as leaves room for an answer; at least the last turn stays.
 *
 * @internal
 */
export async function fittingTurns(
  messages: readonly ChatMessage[],
  { max_completion_tokens: most }: Omit<ChatRequest, 'messages'>,
  { contextLength, count }: Counter,
): Promise<readonly ChatMessage[]> {
  const first = messages.findIndex((message) => !isSystem(message));
  if (first < 0) return messages;
  const starts = [first];
  for (let at = nextTurn(messages, first); at >= 0; at = nextTurn(messages, at)) starts.push(at);
  const formOf = (turn: number): ChatMessage[] => [...messages.slice(0, first), ...messages.slice(starts[turn])];
  const room = contextLength - roomForAnswer(contextLength, most ?? undefined);
  let [from, to] = [0, starts.length - 1];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    if ((await count(formOf(middle))) <= room) to = middle;
    else from = middle + 1;
  }
  return formOf(to);
}
