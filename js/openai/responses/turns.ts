/**
 * Conversations without their oldest turns, where a request says `truncation: 'auto'`.
 */
import { nextTurn, roomForAnswer } from '../../model/conversation.js';
import type { Message } from '../../types/chat.js';
import type { ChatModel } from '../chat-model.js';
import { conversationText } from '../prepare.js';
import { checkChat } from '../request.js';
import type { ChatMessage, ChatRequest } from '../types.js';

/** A mark in the text of a prompt, which is not part of it. */
const TEXT_MARK = '\ufdd1';

const isSystem = ({ role }: ChatMessage): boolean => role === 'system' || role === 'developer';

/** The messages without the oldest turn; nothing where one is left. The system prompt stays. @internal */
export function fewerTurns(messages: readonly ChatMessage[]): ChatMessage[] | undefined {
  const first = messages.findIndex((message) => !isSystem(message));
  const next = nextTurn(messages, first);
  return first < 0 || next < 0 ? undefined : [...messages.slice(0, first), ...messages.slice(next)];
}

/**
 * The messages without as many of the oldest turns as leaves room for an answer; at least the last turn stays. Images
 * and sounds are not counted: what is still too long is found when the model reads it.
 *
 * @internal
 */
export async function fittingTurns(
  model: ChatModel,
  messages: readonly ChatMessage[],
  chat: Omit<ChatRequest, 'messages'>,
): Promise<readonly ChatMessage[]> {
  const first = messages.findIndex((message) => !isSystem(message));
  if (first < 0) return messages;
  const starts = [first];
  for (let at = nextTurn(messages, first); at >= 0; at = nextTurn(messages, at)) starts.push(at);
  const formOf = (turn: number): ChatMessage[] => [...messages.slice(0, first), ...messages.slice(starts[turn])];
  const { contextLength } = model.info;
  const most = contextLength - roomForAnswer(contextLength, chat.max_completion_tokens ?? undefined);
  let [from, to] = [0, starts.length - 1];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    if ((await tokensOf(model, { ...chat, messages: formOf(middle) })) <= most) to = middle;
    else from = middle + 1;
  }
  return formOf(to);
}

async function tokensOf(model: ChatModel, request: ChatRequest): Promise<number> {
  const { messages, tools = [] } = checkChat(request);
  const prompt = await conversationText(model, messages as readonly Message[], tools, {});
  const text = typeof prompt === 'string' ? prompt : prompt.text;
  return (await model.tokenize(text.replaceAll(TEXT_MARK, ''), { parseSpecial: true })).length;
}
