/**
 * The vocoder of a model that speaks: hidden states become the spectra of a sound, and those its samples.
 */
import { WebggufError, invalidArgument } from '../errors.js';
import type { SourceOptions, Source } from '../types/source.js';
import { Encoder, type EncoderOptions, type EncoderScope } from '../media/encoder.js';
import { wasmClasses } from '../wasm/instance.js';
import { linkPart } from '../wasm/link-part.js';
import { speech } from '../wasm/speech.js';
import { InverseStft } from './inverse-stft.js';
import { pause } from '../media/steps.js';
import { LFM3, Lfm3 } from './lfm3.js';
import { Mimi } from './mimi.js';
import { Pocket } from './pocket.js';

/** Samples per second of Soprano's sounds, and from one spectrum to the next. */
const [RATE, HOP] = [32_000, 512];
/** Spectra of a hidden state. */
const STRETCH = 4;
/** The largest transform. */
const MOST_SIZE = 1 << 13;

/** The projector of a flow head. @internal */
export const POCKET = 'pockettts_gen';

/** What says a text in several programs. */
async function speakerOf(
  flow: Encoder,
  source: Source,
  options: EncoderOptions,
  more: [SourceOptions, EncoderScope],
  expected: number,
): Promise<Pocket | Lfm3> {
  const [width = 0] = flow.info.numbers;
  if (width !== expected) {
    flow.free();
    throw invalidArgument(`option 'vocoder': ${ofAnother(width, expected)}`);
  }
  if (flow.about.projector === LFM3) return Lfm3.load(flow, source, options, more);
  const mimi = await Mimi.load(flow, source, options, more);
  return new Pocket(mimi, flow.info.variant);
}

const ofAnother = (width: number, expected: number): string =>
  `it reads states of ${width} values, the model has ${expected}: it is of another model`;

/** Which samples of a sound are wanted. @internal */
export interface SoundPart {
  /** Samples that are there already. */
  readonly after: number;
  /** Whether no more states follow. */
  readonly isLast: boolean;
}

const WHOLE: SoundPart = { after: 0, isLast: true };

/** @internal */
export class Vocoder {
  readonly sampleRate: number = RATE;
  readonly #encoder: Encoder;
  /** Values of a hidden state. */
  readonly #width: number;
  /** Rows that the first product reads. */
  readonly #kernel: number;
  /** Rows before and after a row on which its spectrum depends. */
  readonly #reach: number;

  private constructor(encoder: Encoder) {
    this.#encoder = encoder;
    [this.#width, this.#reach, this.#kernel] = encoder.info.numbers as unknown as [number, number, number];
  }

  /**
   * Loads the file of a vocoder. The model's hidden states have `width` values; a vocoder that reads another number of
   * them is refused with `invalid_argument`.
   */
  static async load(
    source: Source,
    options: EncoderOptions,
    from: SourceOptions,
    { width: expected = 0, ...scope }: EncoderScope,
  ): Promise<Vocoder | Pocket | Lfm3> {
    const { exports } = await wasmClasses();
    await linkPart(exports, 'wasm/speech.js', speech);
    // A file of one program has no parts.
    const encoder = await Encoder.load(source, { ...options, part: 'flow' }, from, scope);
    if ([POCKET, LFM3].includes(encoder.about.projector)) {
      return speakerOf(encoder, source, options, [from, scope], expected);
    }
    const vocoder = new Vocoder(encoder);
    const why = vocoder.#unfit(expected);
    if (!why) return vocoder;
    encoder.free();
    throw invalidArgument(`option 'vocoder': ${why}`);
  }

  #unfit(expected: number): string | undefined {
    const { projector } = this.#encoder.about;
    if (projector !== 'soprano') return `expected a vocoder, found an encoder of kind ${projector}`;
    if (this.#width !== expected) return ofAnother(this.#width, expected);
    const size = this.#encoder.info.width - 2;
    const isPower = size >= HOP && size <= MOST_SIZE && (size & (size - 1)) === 0;
    return isPower ? undefined : `spectra of ${size} samples, expected a power of two from ${HOP} to ${MOST_SIZE}`;
  }

  /** What `info` says of it. */
  get about(): Encoder['about'] {
    return this.#encoder.about;
  }

  /**
   * The samples of the hidden states `[states, width]` of a sound from its sample `after` on. While more states follow,
   * these are the samples that they do not change.
   */
  async samples(
    states: Float32Array,
    { after, isLast }: SoundPart = WHOLE,
    signal?: AbortSignal,
  ): Promise<Float32Array> {
    const rows = STRETCH * (states.length / this.#width - 1) + 1;
    const frames = isLast ? rows : rows - this.#reach;
    const half = this.#encoder.info.width / 2 - 1;
    const found = new Float32Array(Math.max(0, (isLast ? (rows - 1) * HOP : frames * HOP - half) - after));
    if (rows < 2 || found.length === 0) return found.subarray(0, 0);
    // The frames whose windows have none of these samples are not needed.
    const first = Math.max(0, Math.floor((after - half) / HOP) + 1);
    const stft = new InverseStft(half + 1, HOP, { before: after + half - first * HOP });
    let filled = 0;
    const take = (samples: Float32Array): void => {
      const fitting = samples.subarray(0, found.length - filled);
      found.set(fitting, filled);
      filled += fitting.length;
    };
    for await (const spectrum of this.#spectra(states, [first, frames], rows, signal)) take(stft.frame(spectrum));
    if (isLast) take(stft.rest(found.length - filled));
    this.#encoder.rest();
    return found;
  }

  /** The spectra of frames, in passes that overlap. */
  async *#spectra(
    states: Float32Array,
    [first, frames]: [number, number],
    rows: number,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Float32Array> {
    const width = this.#encoder.info.width;
    const most = this.#encoder.info.mostRows - 2 * this.#reach;
    if (most < 1) throw new WebggufError('limit_exceeded', `vocoder: a row depends on ${2 * this.#reach + 1} rows`);
    const unlessAborted = (error: unknown): never => {
      signal?.throwIfAborted();
      throw error;
    };
    for (let from = first; from < frames; from += most) {
      signal?.throwIfAborted();
      const to = Math.min(from + most, frames);
      const start = Math.max(0, from - this.#reach);
      const end = Math.min(rows, to + this.#reach);
      const values = this.#rows(states, [start, end], rows);
      const spectra = await this.#encoder.spectra(end - start, values, signal).catch(unlessAborted);
      for (let frame = from; frame < to; frame++) {
        yield spectra.subarray((frame - start) * width, (frame - start + 1) * width);
      }
      await pause();
    }
  }

  /** Rows `first` to `end` of what the vocoder reads: states with others between them, each with its neighbours. */
  #rows(states: Float32Array, [first, end]: [number, number], frames: number): Float32Array {
    const [width, kernel] = [this.#width, this.#kernel];
    const rows = new Float32Array((end - first) * width * kernel);
    for (let row = first; row < end; row++) {
      for (let tap = 0; tap < kernel; tap++) {
        const at = row + tap - (kernel - 1) / 2;
        if (at < 0 || at >= frames) continue;
        const state = Math.floor(at / STRETCH) * width;
        const share = (at % STRETCH) / STRETCH;
        for (let value = 0; value < width; value++) {
          const here = states[state + value] as number;
          const next = share > 0 ? (states[state + width + value] as number) : here;
          rows[((row - first) * width + value) * kernel + tap] = here + share * (next - here);
        }
      }
    }
    return rows;
  }

  rest(all = false): void {
    this.#encoder.rest(all);
  }

  free(): void {
    this.#encoder.free();
  }
}
