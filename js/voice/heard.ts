/**
 * The words of a sound by a model that writes while it hears, in the shape of a generation.
 */
import { samplesOf } from '../media/samples.js';
import type { AudioSource } from '../types/media.js';
import type { Usage } from '../types/generate.js';
import { Ear, type EarModel } from './ear.js';
import { RATE } from './resample.js';

/** What is written of a sound. @internal */
export interface Words {
  readonly ids: readonly number[];
  readonly text: string;
  readonly tokens?: undefined;
  readonly usage: Usage;
}

/** Words that are being written: pieces of them, and all of them once they are there. @internal */
export class HeardWords {
  readonly result: Promise<Words>;
  readonly #controller = new AbortController();
  readonly #pieces: { text: string }[] = [];
  #isOver = false;
  #wake = (): void => {};

  constructor(model: EarModel, file: AudioSource, signal: AbortSignal | undefined) {
    const own = this.#controller.signal;
    this.result = this.#all(model, file, signal ? AbortSignal.any([signal, own]) : own);
    this.result.catch(() => {}); // whoever reads the pieces gets the error, too
  }

  stop(): void {
    this.#controller.abort();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<{ readonly text: string }, void> {
    for (let at = 0; ; at += 1) {
      while (at >= this.#pieces.length && !this.#isOver) {
        await new Promise<void>((wake) => {
          this.#wake = wake;
        });
      }
      const piece = this.#pieces[at];
      if (!piece) break;
      yield piece;
    }
    await this.result;
  }

  async #all(model: EarModel, file: AudioSource, signal: AbortSignal): Promise<Words> {
    const ids: number[] = [];
    const ear = new Ear(model, 'transcriptions');
    let [text, audioTokens] = ['', 0];
    try {
      const { samples } = await samplesOf(file, signal);
      audioTokens = Math.ceil((samples.length / RATE) * 12.5);
      for await (const { text: more = '', id } of ear.hear(samples, true, signal)) {
        if (id !== undefined) ids.push(id);
        text += more;
        this.#give(more);
      }
    } finally {
      this.#isOver = true;
      this.#wake();
      await ear.drop();
    }
    const usage = { promptTokens: audioTokens, completionTokens: ids.length, totalTokens: audioTokens + ids.length };
    const drafts = { acceptedDraftTokens: 0, rejectedDraftTokens: 0 };
    const details = {
      ...drafts,
      cachedTokens: 0,
      promptTokensDetails: { cachedTokens: 0, imageTokens: 0, audioTokens },
    };
    return { ids, text, usage: { ...usage, ...details } };
  }

  #give(text: string): void {
    if (text !== '') this.#pieces.push({ text });
    this.#wake();
  }
}
