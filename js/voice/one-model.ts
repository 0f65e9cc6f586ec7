/**
 * Answers by one model that hears, writes and speaks.
 */
import type { Message } from '../types/chat.js';
import type { Answer, Answerer, Telling } from './answerer.js';
import type { Player } from './player.js';
import { lastSentence, spokenPart } from './said.js';
import type { TalkingModel, Turn } from './types.js';
import { untilAborted } from './until.js';
import { AHEAD } from './voices.js';

/** Who answers, and what plays it. @internal */
export interface OneModel {
  readonly model: TalkingModel;
  readonly player: Pick<Player, 'push' | 'stop' | 'room' | 'ended'>;
  readonly language: string;
}

/** @internal */
export function oneModel({ model, player, language }: OneModel, tell: Telling): Answerer {
  const begin = (turns: readonly Turn[], signal: AbortSignal): Answer => {
    let [written, shown, isFirst] = ['', '', true];
    const play = async (samples: Float32Array, sampleRate: number): Promise<void> => {
      const caption = lastSentence(written, language);
      if (caption !== shown) tell.saying(caption);
      shown = caption;
      tell.sounds();
      player.push(samples, sampleRate, isFirst ? '' : undefined);
      isFirst = false;
      await untilAborted(player.room(AHEAD), signal, undefined);
    };
    const give = async (): Promise<string> => {
      for await (const piece of model.converse(turns.map(messageOf), { signal })) {
        signal.throwIfAborted();
        if (piece.type === 'text') tell.written((written += piece.text));
        else await play(piece.samples, piece.sampleRate);
      }
      await untilAborted(player.ended, signal, undefined);
      // The next answer counts from its own beginning.
      if (!signal.aborted) await player.stop();
      return written.trim();
    };
    /** The text of an answer is spread over its sound. */
    const stop = async (): Promise<string> =>
      spokenPart((await player.stop()).texts.map(({ share }) => ({ text: written, share })));
    return { give, stop };
  };
  return { begin };
}

/** A turn as the model reads it: the user as it was heard, where that is known. */
function messageOf({ role, content, sound: audio }: Turn): Message {
  return { role, content: audio ? [{ type: 'audio', audio }] : content };
}
