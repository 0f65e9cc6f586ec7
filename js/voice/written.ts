/**
 * Live transcription by a model that writes while it hears: it gets each speech as it arrives, and no sample twice.
 */
import { Ear, type EarModel } from './ear.js';
import { RATE, joined } from './resample.js';
import type { LiveOptions } from './live.js';
import type { Ring } from './ring.js';
import type { ChosenToken } from '../types/generate.js';
import type { Ears } from './types.js';

/** By this a client of `openai` gives its model, once that is loaded. */
const BEHIND: unique symbol = Symbol.for('webgguf.model');
/** Samples that may wait for the model: two minutes. */
const WAITING = 120 * RATE;

/** A speech: numbers of samples, and its words. */
interface Speech {
  readonly start: number;
  /** Where the samples end that are taken of the ring, and where it ends. */
  until: number;
  end?: number | undefined;
  /** Samples that wait. */
  waiting: Float32Array[];
  text: string;
  readonly tokens: ChosenToken[];
  readonly ear: Ear;
}

type Model = Partial<EarModel> & { info?: { encoders?: readonly { projector: string }[] } };

/** The model, where it, or what a client of `openai` asks, writes while it hears. @internal */
export async function writesWhile(ears: Ears): Promise<EarModel | undefined> {
  const { [BEHIND]: behind } = ears as { [BEHIND]?: () => Promise<Model | undefined> };
  const model = behind ? await behind().catch(() => undefined) : (ears as Model);
  const hears = model?.info?.encoders?.some(({ projector }) => projector === 'voxtral_rt');
  return hears && typeof model?.withEngine === 'function' ? (model as EarModel) : undefined;
}

/** The words of speeches in a ring. @internal */
export class WrittenWords {
  readonly #ring: Ring;
  readonly #options: LiveOptions;
  readonly #model: EarModel;
  /** Speeches that are not written down, of which the last may go on. */
  readonly #speeches: Speech[] = [];
  #working: Promise<void> | undefined;

  constructor(ring: Ring, options: LiveOptions, model: EarModel) {
    [this.#ring, this.#options, this.#model] = [ring, options, model];
    options.signal.addEventListener('abort', () => void this.#speeches[0]?.ear.drop());
  }

  /** A speech begins. */
  begin(start: number): void {
    const ear = new Ear(this.#model, 'listen', this.#options.logprobs);
    this.#speeches.push({ start, until: start, waiting: [], text: '', tokens: [], ear });
  }

  /** The ring has more of it. */
  grow(): void {
    const speech = this.#speeches.at(-1);
    if (!speech || speech.end !== undefined) return;
    speech.waiting.push(this.#ring.slice(speech.until, this.#ring.end));
    speech.until = this.#ring.end;
    // A model that is too slow does not fill the memory.
    while (this.waiting > WAITING) this.#speeches.find(({ waiting }) => waiting.length > 0)?.waiting.shift();
    this.#begin();
  }

  /** It is over. */
  over(end: number): void {
    const speech = this.#speeches.at(-1);
    if (!speech) return;
    this.grow();
    speech.end = end;
    this.#begin();
  }

  /** Resolves once no speech waits. */
  async settled(): Promise<void> {
    while (this.#working) await this.#working;
  }

  /** Samples that wait. */
  get waiting(): number {
    const waiting = this.#speeches.flatMap((speech) => speech.waiting);
    return waiting.reduce((sum, { length }) => sum + length, 0);
  }

  #begin(): void {
    this.#working ??= this.#work()
      .catch(this.#options.fail)
      .finally(() => {
        this.#working = undefined;
      });
  }

  async #work(): Promise<void> {
    for (let speech = this.#speeches[0]; speech; speech = this.#speeches[0]) {
      const { end, waiting } = speech;
      if (end === undefined && waiting.length === 0) return;
      speech.waiting = [];
      await this.#write(speech, joined(waiting));
      if (end === undefined) continue;
      this.#speeches.shift();
      const { text, tokens, start } = speech;
      const likely = this.#options.logprobs !== undefined && { tokens };
      this.#options.emit({ type: 'final', text: text.trim(), ...likely, start: start / RATE, end: end / RATE });
    }
  }

  async #write(speech: Speech, samples: Float32Array): Promise<void> {
    const { emit, signal } = this.#options;
    const { ear, start, end } = speech;
    try {
      for await (const said of ear.hear(samples, end !== undefined, signal)) {
        speech.text += said.text ?? '';
        if (said.token) speech.tokens.push(said.token);
        const text = speech.text.trim();
        // What is written stays.
        if (said.text && text) emit({ type: 'partial', text, stable: text, start: start / RATE });
      }
    } catch (error) {
      await ear.drop();
      throw error;
    }
  }
}
