/**
 * The codec and the flow head of Pocket TTS: programs of one file, and which rows each of their convolutions reads.
 * Everything is causal: a pass begins with rows that were there before, as many as those that are wanted depend on.
 */
import { WebggufError } from '../errors.js';
import { Encoder, type EncoderOptions, type EncoderScope } from '../media/encoder.js';
import { pause } from '../media/steps.js';
import type { SourceOptions, Source } from '../types/source.js';
import type { EncoderPart } from '../wasm/webgguf.js';
import { joined } from './resample.js';

/** Samples per second. @internal */
export const RATE = 24_000;
/** Rows that become of a row, from frames to samples. */
const STRIDES = [6, 5, 4] as const;
/** Samples of a frame, and frames of a latent. */
const [HOP, UP] = [120, 16];
/** Rows that the first convolution reads, and the residual ones and the last. */
const [FIRST, OTHERS] = [7, 3];
/** Frames of a pass of convolutions; each but the first begins with 16 of the pass before, of which it needs eight. */
const PASS = 256;
/** Frames of a pass of layers. */
const MOST_FRAMES = 6000;
/** Frames before a frame that a layer reads. */
const REACH = 249;
/** The base of rotations. */
const THETA = 10_000;
/** Stands for a row of zeros. */
const NOTHING = 0xffff_ffff;
/** Seconds of a voice that are read. */
const MOST_SECONDS = 30;

/** What a step of the flow gives. @internal */
export interface Step {
  readonly latent: Float32Array;
  /** The score of the end of speech. */
  readonly end: number;
  /** The latent as a row of the text model. */
  readonly row: Float32Array;
}

type Part = Exclude<EncoderPart, 'sounds'>;

/** @internal */
export class Mimi {
  readonly #parts: Readonly<Record<Part, Encoder>>;
  /** Values of a row of the text model, of a latent, of a frame, of a head; layers. */
  readonly #sizes: readonly [number, number, number, number, number];
  readonly #folds = new Map<number, Folds>();

  private constructor(parts: Readonly<Record<Part, Encoder>>) {
    this.#parts = parts;
    this.#sizes = parts.flow.info.numbers as unknown as [number, number, number, number, number];
  }

  /** Loads the programs beside the flow head, from the same file. */
  static async load(
    flow: Encoder,
    source: Source,
    options: EncoderOptions,
    [from, scope]: [SourceOptions, EncoderScope],
  ): Promise<Mimi> {
    const parts: Partial<Record<Part, Encoder>> = { flow };
    try {
      for (const part of ['frames', 'wave', 'listen', 'voice'] as const) {
        parts[part] = await Encoder.load(source, { ...options, part }, from, scope);
      }
    } catch (error) {
      for (const encoder of Object.values(parts)) encoder.free();
      throw error;
    }
    return new Mimi(parts as Record<Part, Encoder>);
  }

  /** Values of a row of the text model. */
  get width(): number {
    return this.#sizes[0];
  }

  /** Values of a latent. */
  get latent(): number {
    return this.#sizes[1];
  }

  get about(): Encoder['about'] {
    return this.#parts.flow.about;
  }

  /** From a state of the text model and noise to a latent. */
  async step(state: Float32Array, noise: Float32Array, signal?: AbortSignal): Promise<Step> {
    const input = { counts: Uint32Array.of(1, 1), patches: state, turns: noise, breaks: Float32Array.of(1, 1) };
    const found = await this.#parts.flow.run(input, signal);
    const { latent } = this;
    return { latent: found.slice(0, latent), end: found[latent] as number, row: found.slice(latent + 1) };
  }

  /** A sound in the making. */
  sound(): SoundOfLatents {
    return new SoundOfLatents(this);
  }

  /** Latents on whose frames a frame depends, before its own. */
  get before(): number {
    return Math.ceil((this.#sizes[4] * REACH) / UP) + 1;
  }

  /** The frames of latents, the first of which is number `first` of the sound. @internal */
  async framesOf(latents: Float32Array, first: number, signal?: AbortSignal): Promise<Float32Array> {
    const { latent } = this;
    const rows = (latents.length / latent) * UP;
    const patches = new Float32Array(rows * latent);
    const placeRows = new Uint32Array(rows * 2 * UP);
    const placeWeights = new Float32Array(rows * 2 * UP);
    for (let row = 0; row < rows; row++) {
      const of = Math.floor(row / UP) * latent;
      patches.set(latents.subarray(of, of + latent), row * latent);
      const at = row * 2 * UP + (row % UP);
      [placeRows[at], placeWeights[at]] = [row, 1];
      if (row >= UP) [placeRows[at + UP], placeWeights[at + UP]] = [row - UP, 1];
    }
    const turns = this.#turns(first * UP, rows);
    const input = { counts: Uint32Array.of(rows, rows), patches, placeRows, placeWeights, turns };
    return this.#parts.frames.run(input, signal);
  }

  /** The samples of up to {@link PASS} frames. @internal */
  async samplesOf(frames: Float32Array, signal?: AbortSignal): Promise<Float32Array> {
    const rows = frames.length / this.#sizes[2];
    let found = this.#folds.get(rows);
    if (!found) this.#folds.set(rows, (found = foldsOfWave(rows)));
    const counts = Uint32Array.of(rows * HOP, rows * HOP, ...found.counts);
    return this.#parts.wave.run({ counts, patches: frames, folds: found.rows }, signal);
  }

  /** The rows of a voice, `[rows, width]`. */
  async rowsOf(sound: Float32Array, signal?: AbortSignal): Promise<Float32Array> {
    const count = Math.min(sound.length, MOST_SECONDS * RATE);
    const samples = new Float32Array(Math.ceil(count / (UP * HOP)) * UP * HOP);
    samples.set(sound.subarray(0, count));
    const frames = await this.#listen(samples, signal);
    const rows = samples.length / HOP;
    const outputs = rows / UP;
    const groupRows = Uint32Array.from({ length: outputs * 2 * UP }, (_, at) => {
      return Math.max(0, Math.floor(at / (2 * UP)) * UP - UP + (at % (2 * UP)));
    });
    const groupWeights = new Float32Array(groupRows.length).fill(1);
    const turns = this.#turns(0, rows);
    const counts = Uint32Array.of(rows, outputs);
    return this.#parts.voice.run({ counts, patches: frames, groupRows, groupWeights, turns }, signal);
  }

  /** The frames of samples. */
  async #listen(samples: Float32Array, signal: AbortSignal | undefined): Promise<Float32Array> {
    const frames = samples.length / HOP;
    const found: Float32Array[] = [];
    for (let from = 0; from < frames; from += PASS - UP) {
      signal?.throwIfAborted();
      const [start, end] = [Math.max(0, from - UP), Math.min(frames, from + PASS - UP)];
      const rows = (end - start) * HOP;
      const patches = new Float32Array(rows * FIRST);
      for (let row = 0; row < rows; row++) {
        for (let tap = 0; tap < FIRST; tap++) {
          const at = start * HOP + row + tap - FIRST + 1;
          // What lies before a pass is not there for it, which changes none of the rows that are wanted.
          patches[row * FIRST + tap] = at < start * HOP ? 0 : (samples[at] as number);
        }
      }
      const { counts, rows: folds } = foldsOfListener(rows);
      const input = { counts: Uint32Array.of(end - start, end - start, ...counts), patches, folds };
      const made = await this.#parts.listen.run(input, signal);
      found.push(made.subarray((from - start) * this.#sizes[2]));
      await pause();
    }
    return joined(found);
  }

  /** Cosines and sines of rotations. */
  #turns(first: number, rows: number): Float32Array {
    const pairs = this.#sizes[3] / 2;
    const turns = new Float32Array(rows * pairs * 2);
    for (let row = 0; row < rows; row++) {
      for (let pair = 0; pair < pairs; pair++) {
        const angle = (first + row) * THETA ** (-pair / pairs);
        turns.set([Math.cos(angle), Math.sin(angle)], (row * pairs + pair) * 2);
      }
    }
    return turns;
  }

  rest(all = false): void {
    for (const encoder of Object.values(this.#parts)) encoder.rest(all);
  }

  free(): void {
    for (const encoder of Object.values(this.#parts)) encoder.free();
  }
}

/** Makes samples of latents as they come. @internal */
export class SoundOfLatents {
  readonly #mimi: Mimi;
  /** The last latents, on whose frames the next ones depend, and how many there were. */
  #latents = new Float32Array();
  #count = 0;
  /** The last frames, on which the next samples depend. */
  #frames = new Float32Array();

  constructor(mimi: Mimi) {
    this.#mimi = mimi;
  }

  /** The samples of the next latents. */
  async push(latents: Float32Array, signal?: AbortSignal): Promise<Float32Array> {
    const found: Float32Array[] = [];
    const { latent, before } = this.#mimi;
    const most = (MOST_FRAMES / UP - before) * latent;
    for (let at = 0; at < latents.length; at += most)
      found.push(await this.#some(latents.subarray(at, at + most), signal));
    return joined(found);
  }

  async #some(latents: Float32Array, signal: AbortSignal | undefined): Promise<Float32Array> {
    const mimi = this.#mimi;
    const all = joined([this.#latents, latents]);
    const known = this.#latents.length / mimi.latent;
    const frames = await mimi.framesOf(all, this.#count - known, signal);
    const width = frames.length / ((all.length / mimi.latent) * UP);
    this.#count += latents.length / mimi.latent;
    this.#latents = all.slice(Math.max(0, all.length - mimi.before * mimi.latent));
    const found: Float32Array[] = [];
    const fresh = frames.subarray(known * UP * width);
    for (let at = 0; at < fresh.length; at += (PASS - UP) * width) {
      signal?.throwIfAborted();
      const part = joined([this.#frames, fresh.subarray(at, at + (PASS - UP) * width)]);
      const samples = await mimi.samplesOf(part, signal);
      found.push(samples.subarray((this.#frames.length / width) * HOP));
      this.#frames = part.slice(Math.max(0, part.length - UP * width));
      await pause();
    }
    return joined(found);
  }
}

/** For each fold the rows before it and how many of `rows` are its own; which rows each row behind it reads. */
interface Folds {
  readonly counts: readonly number[];
  readonly rows: Uint32Array;
}

class FoldsInTheMaking {
  readonly #counts: number[] = [];
  readonly #rows: Uint32Array[] = [];

  /** A fold of `before` rows to `behind`, with `taps` taps: `row` says which row a tap is, below 0 for none. */
  add(before: number, behind: number, taps: number, row: (row: number, tap: number) => number): void {
    const rows = new Uint32Array(behind * taps);
    for (let at = 0; at < behind; at++) {
      for (let tap = 0; tap < taps; tap++) {
        const found = row(at, tap);
        rows[at * taps + tap] = found < 0 ? NOTHING : found;
      }
    }
    this.#counts.push(before, rows.length);
    this.#rows.push(rows);
  }

  /** A causal convolution of every row. */
  kernel(rows: number, taps: number): void {
    this.add(rows, rows, taps, (row, tap) => row - taps + 1 + tap);
  }

  finish(): Folds {
    const rows = new Uint32Array(this.#rows.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of this.#rows) {
      rows.set(part, at);
      at += part.length;
    }
    return { counts: this.#counts, rows };
  }
}

function foldsOfWave(frames: number): Folds {
  if (frames > PASS) throw new WebggufError('limit_exceeded', `${frames} frames of a pass, expected up to ${PASS}`);
  const folds = new FoldsInTheMaking();
  let rows = frames;
  folds.kernel(rows, FIRST);
  for (const stride of STRIDES) {
    folds.add(rows, rows, 2, (row, tap) => row - tap);
    folds.add(rows, rows * stride, 1, (row) => row);
    rows *= stride;
    folds.kernel(rows, OTHERS);
  }
  folds.kernel(rows, OTHERS);
  return folds.finish();
}

function foldsOfListener(samples: number): Folds {
  const folds = new FoldsInTheMaking();
  let rows = samples;
  for (const stride of [...STRIDES].reverse()) {
    folds.kernel(rows, OTHERS);
    folds.add(rows, rows / stride, 2 * stride, (row, tap) => row * stride - stride + tap);
    rows /= stride;
  }
  folds.kernel(rows, OTHERS);
  return folds.finish();
}
