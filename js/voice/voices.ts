/**
 * Who says an answer: a model and a player, or the browser's own voice.
 */
import { type Check, show } from '../check.js';
import { invalidArgument, WebggufError } from '../errors.js';
import type { Player } from './player.js';
import { sentences, spokenText } from './spoken/spoken-text.js';
import type { SoundPiece } from './types.js';
import { untilAborted } from './until.js';

/** A model that speaks, as far as it is needed here: a `WasmModel` that was loaded with a vocoder. */
export interface SpeakingModel {
  /** Speaks a text. */
  speak(
    text: string,
    options: { signal?: AbortSignal | undefined; speed?: number | undefined },
  ): AsyncIterable<SoundPiece>;
}

/** What says the answers of a conversation. */
export interface Voice {
  /** Makes the sound. */
  readonly model: SpeakingModel;
  /** Plays it. */
  readonly player: Pick<Player, 'push' | 'stop' | 'room' | 'ended'>;
}

/** Sentences, each with the share of it that was heard. @internal */
export type Said = readonly { readonly text: string; readonly share: number }[];

/** One answer that is said. @internal */
export interface Utterance {
  /** Says a sentence after those before; resolves once the next may come. */
  say(sentence: string): Promise<void>;
  /** Resolves once all was heard. */
  ended(): Promise<void>;
  /** Ends it at once: what was heard. */
  stop(): Promise<Said>;
}

/** @internal */
export interface Mouth {
  begin(signal: AbortSignal): Utterance;
}

/** @internal */
export const isVoice: Check = (value) => {
  const { model, player } = (value ?? {}) as Partial<Voice>;
  const isWhole = typeof model?.speak === 'function' && typeof player?.push === 'function';
  return isWhole ? undefined : '{ model, player }, a model that speaks and a player';
};

/** Seconds of sound that may wait in the player. @internal */
export const AHEAD = 5;

/** @internal */
export function asVoice(voice: Voice | undefined, language: string, saying: (text: string) => void): Mouth {
  if (voice) return ofModel(voice, language, saying);
  if (typeof speechSynthesis !== 'undefined') return ofBrowser(language, saying);
  throw new WebggufError('feature_missing', "there is no voice: option 'voice' is missing, and so is speechSynthesis");
}

function ofModel({ model, player }: Voice, language: string, saying: (text: string) => void): Mouth {
  const begin = (signal: AbortSignal): Utterance => {
    /** Sentences as they were written; the player knows them by their number. */
    const written: string[] = [];
    const say = async (sentence: string): Promise<void> => {
      const words = spokenText(sentence, language);
      if (!/[\p{L}\p{N}]/u.test(words)) return;
      const number = written.push(sentence) - 1;
      let isFirst = true;
      for (const part of sentences(words, language)) {
        for await (const { samples, sampleRate } of model.speak(part, { signal })) {
          signal.throwIfAborted();
          if (isFirst) saying(sentence.trim());
          player.push(samples, sampleRate, isFirst ? String(number) : undefined);
          isFirst = false;
          await untilAborted(player.room(AHEAD), signal, undefined);
        }
      }
    };
    const stop = async (): Promise<Said> =>
      (await player.stop()).texts.map(({ text, share }) => ({ text: written[Number(text)] ?? '', share }));
    const ended = async (): Promise<void> => {
      await untilAborted(player.ended, signal, undefined);
      // The next answer counts from its own beginning.
      if (!signal.aborted) await player.stop();
    };
    return { say, ended, stop };
  };
  return { begin };
}

/** The browser's own voice says one sentence after the other, and where it is in the last. */
function ofBrowser(language: string, saying: (text: string) => void): Mouth {
  const begin = (signal: AbortSignal): Utterance => {
    const said: { text: string; share: number }[] = [];
    let last: Promise<void> = Promise.resolve();
    const speak = (sentence: string): Promise<void> =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return resolve();
        const words = spokenText(sentence, language);
        if (words === '') return resolve();
        const utterance = new SpeechSynthesisUtterance(words);
        utterance.lang = language;
        const entry = { text: sentence, share: 0 };
        utterance.onstart = () => {
          said.push(entry);
          saying(sentence.trim());
        };
        utterance.onboundary = ({ charIndex }) => (entry.share = charIndex / words.length);
        utterance.onend = () => {
          if (!signal.aborted) entry.share = 1;
          resolve();
        };
        utterance.onerror = ({ error }) => {
          if (error === 'canceled' || error === 'interrupted') resolve();
          else reject(invalidArgument(`the browser's voice: ${show(error)}`));
        };
        speechSynthesis.speak(utterance);
      });
    const say = async (sentence: string): Promise<void> => {
      last = last.then(() => speak(sentence));
      last.catch(() => {});
    };
    const stop = async (): Promise<Said> => {
      speechSynthesis.cancel();
      return said;
    };
    return { say, ended: () => untilAborted(last, signal, undefined), stop };
  };
  return { begin };
}
