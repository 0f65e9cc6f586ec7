/**
 * The words of a sound by a model that writes while it hears, in the shape of a generation.
 */
import { samplesOf } from '../media/samples.js';
import type { AudioSource } from '../types/media.js';
import type { ChosenToken, GenerateOptions, Piece, Usage } from '../types/generate.js';
import { Ear, type EarModel } from './ear.js';
import { RATE } from './resample.js';

/** A piece of what is written. */
type Written = Pick<Piece, 'text' | 'tokens'>;

/** What is written of a sound. @internal */
export interface Words {
  readonly ids: readonly number[];
  readonly text: string;
  /** The tokens that are text, with the option `logprobs`. */
  readonly tokens?: readonly ChosenToken[];
  readonly usage: Usage;
}

/** Words that are being written: pieces of them, and all of them once they are there. @internal */
export class HeardWords {
  readonly result: Promise<Words>;
  readonly #controller = new AbortController();
  readonly #pieces: Written[] = [];
  #isOver = false;
  #wake = (): void => {};

  constructor(model: EarModel, file: AudioSource, { signal, logprobs }: GenerateOptions) {
    const own = this.#controller.signal;
    const ear = new Ear(model, 'transcriptions', logprobs);
    this.result = this.#all(ear, file, signal ? AbortSignal.any([signal, own]) : own);
    this.result.catch(() => {}); // whoever reads the pieces gets the error, too
  }

  stop(): void {
    this.#controller.abort();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Written, void> {
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

  async #all(ear: Ear, file: AudioSource, signal: AbortSignal): Promise<Words> {
    const [ids, tokens]: [number[], ChosenToken[]] = [[], []];
    let [text, audioTokens] = ['', 0];
    try {
      const { samples } = await samplesOf(file, signal);
      audioTokens = Math.ceil((samples.length / RATE) * 12.5);
      for await (const { text: more = '', id, token } of ear.hear(samples, true, signal)) {
        if (id !== undefined) ids.push(id);
        const own = token ? [token] : [];
        tokens.push(...own);
        text += more;
        this.#give({ text: more, tokens: own });
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
    return { ids, text, tokens, usage: { ...usage, ...details } };
  }

  #give(piece: Required<Written>): void {
    if (piece.text !== '' || piece.tokens.length > 0) this.#pieces.push(piece);
    this.#wake();
  }
}
