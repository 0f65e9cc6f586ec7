/**
 * Who writes the answers of a realtime session: a model that chats, whose text a voice may say, or one that speaks
 * itself.
 */
import { invalidArgument } from '../../errors.js';
import type { ChatChunk, ChatRequest } from '../../openai/types.js';
import type { Message } from '../../types/chat.js';
import { LFM3 } from '../numbers.js';
import { RATE } from '../resample.js';
import { TimeStretch } from '../stretch.js';
import type { SoundPiece, TalkingModel } from '../types.js';
import { type Entry, instructed, messagesOf, wordsOf } from './items.js';
import type { ChattingModel, RealtimeSession } from './types.js';

/** A piece of an answer: what a chat completion writes, text alone, or sound. @internal */
export type Written = ChatChunk | { readonly text: string } | SoundPiece;

/** Answers what stands in the conversation. @internal */
export type Writer = (
  session: RealtimeSession,
  entries: readonly Entry[],
  signal: AbortSignal,
) => Promise<AsyncIterable<Written>> | AsyncIterable<Written>;

/** Whether a model hears and speaks itself. @internal */
export function isTalking(model: ChattingModel | TalkingModel): model is TalkingModel {
  const { converse, chat, info } = model as Partial<ChattingModel & TalkingModel> & {
    info?: { vocoder?: { projector?: string } };
  };
  return typeof converse === 'function' && (!chat || info?.vocoder?.projector === LFM3);
}

/** A model with chat completions. @internal */
export const byChat =
  (model: ChattingModel): Writer =>
  (session, entries, signal) =>
    model.chat.completions.create(requestOf(session, messagesOf(session.instructions, entries)), { signal });

function requestOf(session: RealtimeSession, messages: ChatRequest['messages']): ChatRequest & { stream: true } {
  const { tools, tool_choice: choice, max_output_tokens: most } = session;
  const asTools = tools.map(({ name = '', description, parameters }) => ({
    type: 'function' as const,
    function: { name, ...(description !== undefined && { description }), parameters: parameters as object },
  }));
  const named = typeof choice === 'string' ? choice : { type: choice.type, function: { name: choice.name } };
  return {
    ...{ messages, stream: true, stream_options: { include_usage: true } },
    ...(most !== 'inf' && { max_completion_tokens: most }),
    ...(asTools.length > 0 && { tools: asTools, tool_choice: named }),
  };
}

/** A model that hears and speaks itself. @internal */
export const byTalking = (model: TalkingModel): Writer =>
  async function* (session, entries, signal) {
    const { max_output_tokens: most, output_modalities: kinds, tools, tool_choice: choice } = session;
    if (tools.length > 0 && choice !== 'none') {
      throw invalidArgument("tools: a model that speaks itself calls none; give a 'voice' to one that writes");
    }
    const output = kinds[0] === 'audio' ? 'mixed' : 'text';
    const options = { signal, output, ...(most !== 'inf' && { maxTokens: most }) } as const;
    let stretch: TimeStretch | undefined;
    let rate = 0;
    for await (const piece of model.converse(turnsOf(session.instructions, entries), options)) {
      if (piece.type === 'text') yield piece;
      else {
        rate = piece.sampleRate;
        stretch ??= new TimeStretch(rate, session.audio.output.speed);
        yield { samples: stretch.push(piece.samples), sampleRate: rate };
      }
    }
    if (stretch) yield { samples: stretch.end(), sampleRate: rate };
  };

/** What the model reads: the user as it was heard, where that is known. */
function turnsOf(instructions: string, entries: readonly Entry[]): Message[] {
  const { system, rest } = instructed(instructions, entries);
  const turns: Message[] = system === '' ? [] : [{ role: 'system', content: system }];
  for (const entry of rest) {
    const { item } = entry;
    if (item.type !== 'message') continue;
    const content = item.role === 'user' && entry.sounds ? partsOf(entry) : wordsOf(item);
    if (content.length > 0) turns.push({ role: item.role, content });
  }
  return turns;
}

type Parts = Extract<Message['content'], readonly unknown[]>;

function partsOf({ item, sounds }: Entry): Parts {
  if (item.type !== 'message' || item.role !== 'user') return [];
  return item.content.map((part, at): Parts[number] => {
    if (part.type === 'input_image') return { type: 'image', image: part.image_url };
    const samples = sounds?.get(at);
    if (samples) return { type: 'audio', audio: { samples, sampleRate: RATE } };
    return { type: 'text', text: part.type === 'input_text' ? part.text : (part.transcript ?? '') };
  });
}
