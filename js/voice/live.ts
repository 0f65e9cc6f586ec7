/**
 * Live transcription: windows of a speech that grow and overlap, and the words on which two of them agree.
 */
import { quietest } from './cut.js';
import { RATE } from './resample.js';
import type { Ring } from './ring.js';
import type { Ears, FinalEvent, PartialEvent, TranscribeOptions } from './types.js';
import { agreed, appended, textOf, wordsOf } from './words.js';

/** Samples of a window after which it is cut, and that two windows share. */
const [LONGEST, SHARED] = [24 * RATE, 0.3 * RATE];
/** Samples of speech that may wait for the model: two minutes. */
const WAITING = 120 * RATE;
/** A shorter window has no word. */
const LEAST = 0.3 * RATE;

/** One who hears, as a function. @internal */
export function asFunction(ears: Ears): (samples: Float32Array, options: TranscribeOptions) => Promise<string> {
  return async (samples, options) => {
    const sound = { samples, sampleRate: RATE };
    if (typeof ears === 'function') return ears(sound, options);
    const { signal, ...asked } = options;
    return ears.audio.transcriptions.create({ file: sound, ...asked, response_format: 'text' }, { signal });
  };
}

/** A speech: numbers of samples, and its words. */
interface Speech {
  readonly start: number;
  /** Where its window begins ... */
  from: number;
  /** ... and ended when it was last transcribed. */
  until: number;
  /** The words before the window. */
  before: readonly string[];
  /** The words of the window, when they were last written. */
  last: readonly string[];
}

/** A part of a speech that waits for the model; `end` is there if it is the last. */
interface Job {
  readonly speech: Speech;
  readonly samples: Float32Array;
  readonly end?: number | undefined;
}

/** @internal */
export interface LiveOptions {
  readonly ears: Ears;
  readonly every: number;
  readonly asked: Omit<TranscribeOptions, 'signal'>;
  readonly logprobs?: number | undefined;
  readonly signal: AbortSignal;
  readonly emit: (event: PartialEvent | FinalEvent) => void;
  readonly fail: (error: unknown) => void;
}

/** The words of speeches in a ring. @internal */
export class LiveWords {
  readonly #ring: Ring;
  readonly #options: LiveOptions;
  readonly #transcribe: (samples: Float32Array, options: TranscribeOptions) => Promise<string>;
  readonly #jobs: Job[] = [];
  #speech: Speech | undefined;
  #working: Promise<void> | undefined;
  /** Ends the transcription of a speech that goes on. */
  #partial: AbortController | undefined;

  constructor(ring: Ring, options: LiveOptions) {
    [this.#ring, this.#options] = [ring, options];
    this.#transcribe = asFunction(options.ears);
  }

  /** A speech begins. */
  begin(start: number): void {
    this.#speech = { start, from: start, until: start, before: [], last: [] };
  }

  /** The ring has more of it. */
  grow(): void {
    const speech = this.#speech;
    if (!speech) return;
    const end = this.#ring.end;
    if (end - speech.from > LONGEST) this.#cut(speech, end);
    else if (!this.#working && end - speech.until >= this.#options.every * RATE) this.#begin(() => this.#look(speech));
  }

  /** It is over. */
  over(end: number): void {
    const speech = this.#speech;
    if (!speech) return;
    this.#speech = undefined;
    this.#add({ speech, samples: this.#ring.slice(speech.from, end), end });
  }

  /** Resolves once no speech waits. */
  async settled(): Promise<void> {
    while (this.#working) await this.#working;
  }

  /** Whether a speech is being written down. */
  get isBusy(): boolean {
    return this.#working !== undefined;
  }

  /** Samples that wait. */
  get waiting(): number {
    return this.#jobs.reduce((sum, { samples }) => sum + samples.length, 0);
  }

  #cut(speech: Speech, end: number): void {
    const samples = this.#ring.slice(speech.from, end);
    const at = quietest(samples);
    this.#add({ speech, samples: samples.slice(0, at + SHARED) });
    speech.from += Math.max(0, at - SHARED);
    [speech.until, speech.last] = [end, []];
  }

  #add(job: Job): void {
    this.#jobs.push(job);
    // A model that is too slow does not fill the memory.
    while (this.waiting > WAITING) this.#write(this.#jobs.shift() as Job, '');
    this.#partial?.abort();
    if (!this.#working) this.#begin(async () => {});
  }

  /** Works, and then on all that waits. */
  #begin(work: () => Promise<void>): void {
    const all = async (): Promise<void> => {
      await work();
      for (let job = this.#jobs.shift(); job; job = this.#jobs.shift()) {
        const isEmpty = job.samples.length < LEAST;
        this.#write(job, isEmpty ? '' : await this.#ask(job.samples, this.#options.signal));
      }
    };
    this.#working = all()
      .catch(this.#options.fail)
      .finally(() => {
        this.#working = undefined;
      });
  }

  #ask(samples: Float32Array, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    return this.#transcribe(samples, { ...this.#options.asked, signal });
  }

  #write({ speech, end }: Job, text: string): void {
    speech.before = appended(speech.before, wordsOf(text));
    if (end === undefined) return;
    const { start, before } = speech;
    this.#options.emit({ type: 'final', text: textOf(before), start: start / RATE, end: end / RATE });
  }

  /** Writes down the window of a speech that goes on. */
  async #look(speech: Speech): Promise<void> {
    const end = this.#ring.end;
    speech.until = end;
    this.#partial = new AbortController();
    const { signal: own } = this.#partial;
    const signal = AbortSignal.any([own, this.#options.signal]);
    try {
      const words = wordsOf(await this.#ask(this.#ring.slice(speech.from, end), signal));
      if (own.aborted) return;
      this.#show(speech, words);
    } catch (error) {
      if (!own.aborted) throw error;
    } finally {
      this.#partial = undefined;
    }
  }

  #show(speech: Speech, words: readonly string[]): void {
    const stable = words.slice(0, agreed(speech.last, words));
    speech.last = words;
    const [text, sure] = [words, stable].map((some) => textOf(appended(speech.before, some))) as [string, string];
    this.#options.emit({ type: 'partial', text, stable: sure, start: speech.start / RATE });
  }
}
