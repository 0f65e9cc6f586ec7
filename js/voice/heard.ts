/**
 * The words of a sound by a model that writes while it hears, in the shape of a generation.
 */
import type { Engine } from '../engine/engine.js';
import { samplesOf } from '../media/samples.js';
import type { AudioSource } from '../types/media.js';
import type { Usage } from '../types/generate.js';
import { quietest } from './cut.js';
import { type Said, randomDigest } from './reader.js';
import { RATE } from './resample.js';

/** Samples that are heard at once: 30 seconds. */
const LONGEST = 30 * RATE;

/** What it needs of a `WasmModel`. @internal */
export interface HearingModel {
  withEngine<T>(call: string, work: (engine: Engine) => Promise<T>): Promise<T>;
}

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

  constructor(model: HearingModel, file: AudioSource, signal: AbortSignal | undefined) {
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

  async #all(model: HearingModel, file: AudioSource, signal: AbortSignal): Promise<Words> {
    const [ids, counts]: [number[], number[]] = [[], []];
    let text = '';
    try {
      const { samples } = await samplesOf(file, signal);
      for (const part of partsOf(samples)) {
        let isFirst = true;
        for await (const said of heard(model, part, signal)) {
          const { text: more = '', id } = said;
          // Parts are heard by themselves.
          const piece = isFirst && text !== '' && more !== '' ? ` ${more.trimStart()}` : more;
          if (more !== '') isFirst = false;
          if (id !== undefined) ids.push(id);
          text += piece;
          this.#give(piece);
        }
        counts.push(Math.ceil((part.length / RATE) * 12.5));
      }
    } finally {
      this.#isOver = true;
      this.#wake();
    }
    const audioTokens = counts.reduce((sum, count) => sum + count, 0);
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

async function* heard(model: HearingModel, sound: Float32Array, signal: AbortSignal): AsyncGenerator<Said, void> {
  const name = randomDigest();
  for (let [isFirst, isLast] = [true, false]; !isLast; isFirst = false) {
    signal.throwIfAborted();
    const asked = { name, heard: isFirst ? sound : undefined };
    const said: Said = await model.withEngine('transcriptions', (engine) => engine.say(asked, signal));
    isLast = said.isLast;
    yield said;
  }
}

/** A sound in parts that are short enough, cut where it is quietest. */
function partsOf(samples: Float32Array): Float32Array[] {
  if (samples.length <= LONGEST) return [samples];
  const at = quietest(samples.subarray(0, LONGEST));
  return [samples.slice(0, at), ...partsOf(samples.subarray(at))];
}
