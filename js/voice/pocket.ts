/**
 * Speech of Pocket TTS (CALM, Rouard et al. 2025, <https://arxiv.org/abs/2509.06926>): the text model reads a voice, a
 * text and the latents so far; a flow head makes the next latent of its state and noise; a codec makes samples of them.
 */
import { WebggufError, invalidArgument } from '../errors.js';
import type { Encoder } from '../media/encoder.js';
import type { Begun, Sound, Utterance } from './asked.js';
import { type Mimi, RATE, type SoundOfLatents, type Step } from './mimi.js';
import { uniformOf } from './random.js';
import { type Reader, type Said, type Text, randomDigest, readerOf } from './reader.js';
import { framesOfNext, Reading, Speeches, steps } from './reading.js';
import { Resampler, joined } from './resample.js';

/** The score above which a latent ends the speech. */
const ENDS = -4;
/** Latents per second. */
const FRAME_RATE = 12.5;
/** The variance of the noise where neither the page nor the published model says. */
const TEMPERATURE = 0.7;

/** What published models want, which their files do not say, by the names of their folders. */
const VARIANTS: Readonly<Record<string, { readonly temperature: number; readonly behind?: number }>> = {
  english: { temperature: 0.3 },
  'english_2026-01': { temperature: 0.7 },
  'english_2026-04': { temperature: 0.3 },
  french_24l: { temperature: 0.7, behind: 8 },
};

/** @internal */
export class Pocket {
  readonly sampleRate = RATE;
  readonly #mimi: Mimi;
  readonly #variant: string | undefined;
  readonly #speeches = new Speeches<Speech>();
  /** The voice that was asked for last. */
  #voice: { readonly key: string; readonly digest: string; readonly rows: Float32Array } | undefined;

  constructor(mimi: Mimi, variant: string | undefined) {
    this.#mimi = mimi;
    this.#variant = variant;
  }

  /** What `info` says of it. */
  get about(): Encoder['about'] & { readonly variant?: string } {
    return { ...this.#mimi.about, ...(this.#variant !== undefined && { variant: this.#variant }) };
  }

  /** Values of a state that it reads. */
  get width(): number {
    return this.#mimi.width;
  }

  /** The rows of a voice, and what names them. */
  async voiceOf(sound: Sound, signal?: AbortSignal): Promise<{ readonly digest: string; readonly rows: Float32Array }> {
    const key = `${sound.sampleRate} ${digestOf(sound.samples)}`;
    if (this.#voice?.key === key) return this.#voice;
    const resampler = new Resampler(sound.sampleRate, RATE);
    const samples = joined([resampler.push(sound.samples), resampler.end()]);
    if (samples.length === 0) throw invalidArgument("option 'voice': the sound has no samples");
    const rows = await this.#mimi.rowsOf(samples, signal);
    this.#voice = { key, digest: randomDigest(), rows };
    return this.#voice;
  }

  /** See `Speaker`. */
  async say(asked: Utterance | Begun | undefined, text: Text, signal?: AbortSignal): Promise<Said> {
    const reader = readerOf(text);
    const name = (asked && ('begun' in asked ? asked.begun : asked.name)) ?? '';
    if (asked && 'voice' in asked) this.#speeches.begin(name, await this.begin(asked, reader, signal));
    return this.#speeches.next(name, (speech) => speech.next(reader, signal));
  }

  /** A sound in the making. */
  sound(): SoundOfLatents {
    return this.#mimi.sound();
  }

  /** Begins to say something. */
  async begin(asked: Utterance, reader: Reader, signal?: AbortSignal): Promise<Speech> {
    const { digest, rows } = await this.voiceOf(asked.voice, signal);
    const count = rows.length / this.#mimi.width;
    const first = reader.know(digest, count);
    const voice = Uint32Array.from({ length: count }, (_, at) => first + at);
    const ids = Uint32Array.of(...asked.before, ...voice, ...asked.text, asked.begin);
    if (ids.length + 1 >= reader.contextLength) {
      const found = `the voice and the text take ${ids.length} tokens, the context holds ${reader.contextLength}`;
      throw new WebggufError('context_full', `speak: ${found}`);
    }
    const { temperature = TEMPERATURE, behind = asked.text.length <= 6 ? 5 : 3 } = VARIANTS[this.#variant ?? ''] ?? {};
    const most = Math.ceil((asked.text.length / 3 + 2) * FRAME_RATE);
    const noise = noiseOf(asked, Math.sqrt(asked.temperature ?? temperature), this.#mimi.latent);
    const reading = new Reading(ids, [{ at: asked.before.length, digest, values: rows }]);
    return new Speech(this.#mimi, { reading, noise, behind, most });
  }

  rest(all = false): void {
    this.#mimi.rest(all);
  }

  free(): void {
    this.#mimi.free();
  }
}

interface Plan {
  readonly reading: Reading;
  readonly noise: (step: number) => Float32Array;
  /** Latents behind the one that ends the speech, and latents at most. */
  readonly behind: number;
  readonly most: number;
}

/** Something that is being said. @internal */
export class Speech {
  readonly #mimi: Mimi;
  readonly #plan: Plan;
  readonly #sound: SoundOfLatents;
  #step = 0;
  /** The step that said that the speech ends. */
  #end: number | undefined;

  constructor(mimi: Mimi, plan: Plan) {
    this.#mimi = mimi;
    this.#plan = plan;
    this.#sound = mimi.sound();
  }

  /** The next piece. */
  async next(reader: Reader, signal?: AbortSignal): Promise<Said> {
    const { reading, noise, behind, most } = this.#plan;
    const wanted = framesOfNext(this.#step);
    const step = async (state: () => Promise<Float32Array>) => {
      const made: Step = await this.#mimi.step(await state(), noise(this.#step), signal);
      if (made.end > ENDS) this.#end ??= this.#step;
      if (this.#step >= Math.min(most, (this.#end ?? most) + behind)) return undefined;
      this.#step++;
      return { row: made.row, part: made.latent };
    };
    const { parts, isLast } = await steps(reading, { reader, wanted, signal }, step);
    return { samples: await this.#sound.push(joined(parts), signal), isLast, latents: parts };
  }
}

/** Normally distributed values for each step. */
function noiseOf({ noise, seed }: Utterance, deviation: number, width: number): (step: number) => Float32Array {
  if (noise) return (step) => noise[step] ?? new Float32Array(width);
  const uniform = uniformOf(seed);
  const normal = (): number => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
  return () => Float32Array.from({ length: width }, () => deviation * normal());
}

/** What tells sounds apart (FNV-1a over the bits of the samples). */
function digestOf(samples: Float32Array): string {
  const words = new Uint32Array(samples.slice().buffer);
  let [low, high] = [0x811c9dc5, 0x01000193];
  for (const word of words) {
    low = Math.imul(low ^ word, 0x01000193);
    high = Math.imul(high ^ (word >>> 7), 0x85ebca6b);
  }
  return `${words.length} ${low} ${high}`;
}
