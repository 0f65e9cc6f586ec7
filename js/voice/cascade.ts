/**
 * Answers by a model that writes and a voice that says each sentence once it is whole.
 */
import type { Answerer, Telling } from './answerer.js';
import { complete, spokenPart } from './said.js';
import type { Answers, Turn } from './types.js';
import { asVoice, type Voice } from './voices.js';

/** Who writes, and who says it. @internal */
export interface Cascade {
  readonly model: Answers;
  readonly voice: Voice | undefined;
  readonly language: string;
}

/** @internal */
export function cascade({ model, voice, language }: Cascade, tell: Telling): Answerer {
  const mouth = asVoice(voice, language, (text) => {
    tell.saying(text);
    tell.sounds();
  });
  return {
    begin(turns, signal) {
      const speech = mouth.begin(signal);
      let [written, given] = ['', 0];
      const give = async (): Promise<string> => {
        for await (const piece of piecesOf(model, turns, signal)) {
          written += piece;
          tell.written(written);
          for (const sentence of complete(written.slice(given), language)) {
            given += sentence.length;
            await speech.say(sentence);
          }
        }
        if (!signal.aborted && written.slice(given).trim()) await speech.say(written.slice(given));
        await speech.ended();
        return written.trim();
      };
      return { give, stop: async () => spokenPart(await speech.stop()) };
    },
  };
}

async function* piecesOf(model: Answers, turns: readonly Turn[], signal: AbortSignal): AsyncGenerator<string> {
  if (typeof model === 'function') yield* model(turns, { signal });
  else for await (const piece of model.generate(turns, { signal })) yield piece.text;
}
