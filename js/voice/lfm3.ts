/**
 * Speech of an LFM3: the text model reads a prompt and the frames so far. Of its state become the codes of the next
 * frame, a third of them in each of three passes (MaskGIT, Chang et al. 2022, <https://arxiv.org/abs/2202.04200>); a
 * codec makes spectra of frames, and the inverse of a short-time Fourier transform samples.
 */
import { WebggufError, invalidArgument } from '../errors.js';
import { Encoder, type EncoderOptions, type EncoderScope } from '../media/encoder.js';
import type { SourceOptions, Source } from '../types/source.js';
import type { EncoderInfo } from '../wasm/webgguf.js';
import { InverseStft } from './inverse-stft.js';
import type { Begun, ToFrames } from './asked.js';
import { Speech } from './lfm3-speech.js';
import { type Rows, type Said, type Text, readerOf } from './reader.js';
import { Speeches } from './reading.js';
import { joined } from './resample.js';

/** The projector of what LFM3 speaks with. @internal */
export const LFM3 = 'lfm3a_gen';
/** Samples per second, and from one spectrum to the next. */
const [RATE, HOP] = [24_000, 320];
/** Spectra of a frame. */
const STACK = 6;
/** The largest transform has twice as many samples. */
const MOST_BINS = 5 << 10;
/** Frames of a pass of the codec. */
const PASS = 128;

/** The programs of a file. */
type Parts = Readonly<Record<'flow' | 'next' | 'wave', Encoder>>;

/** @internal */
export class Lfm3 {
  readonly sampleRate = RATE;
  readonly #parts: Parts;
  readonly #speeches = new Speeches<Speech>();

  private constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Loads the other programs of the file of `flow`. */
  static async load(
    flow: Encoder,
    source: Source,
    options: EncoderOptions,
    [from, scope]: [SourceOptions, EncoderScope],
  ): Promise<Lfm3> {
    const parts: Partial<Record<keyof Parts, Encoder>> = { flow };
    try {
      for (const part of ['next', 'wave'] as const) {
        parts[part] = await Encoder.load(source, { ...options, part }, from, scope);
      }
      const bins = (parts.wave as Encoder).info.width / 2 - 1;
      const isFitting = bins >= HOP && bins <= MOST_BINS && Number.isInteger(Math.log2(bins / 5));
      if (isFitting) return new Lfm3(parts as Parts);
      throw invalidArgument(`option 'vocoder': spectra of ${2 * bins} samples, expected five times a power of two`);
    } catch (error) {
      for (const encoder of Object.values(parts)) encoder.free();
      throw error;
    }
  }

  get about(): Encoder['about'] & { readonly sampling?: EncoderInfo['sampling'] } {
    const { sampling } = this;
    return { ...this.#parts.flow.about, ...(Object.keys(sampling).length > 0 && { sampling }) };
  }

  /** How the file suggests that codes are chosen. */
  get sampling(): EncoderInfo['sampling'] {
    return this.#parts.flow.info.sampling;
  }

  /** Kinds of each code and codes of a frame. */
  get sizes(): readonly [kinds: number, books: number] {
    const [, kinds = 0, books = 0] = this.#parts.flow.info.numbers;
    return [kinds, books];
  }

  /** See `Speaker`. */
  async say(asked: ToFrames | Begun | undefined, text: Text, signal?: AbortSignal): Promise<Said> {
    const reader = readerOf(text);
    const name = (asked && ('begun' in asked ? asked.begun : asked.name)) ?? '';
    if (asked && 'prompt' in asked) {
      const begun = begunWith(asked.prompt as Uint32Array, asked);
      const ids = begun.prompt;
      if (ids.length + 1 >= reader.contextLength) {
        const found = `the text takes ${ids.length} tokens, the context holds ${reader.contextLength}`;
        throw new WebggufError('context_full', `speak: ${found}`);
      }
      this.#speeches.begin(name, new Speech(this, begun, rowsIn(ids, text)));
    }
    return this.#speeches.next(name, (speech) => speech.next(reader, signal));
  }

  /** The logits of all codes of a frame, of which those below 0 are not known. */
  logits(state: Float32Array, codes: readonly number[], signal?: AbortSignal): Promise<Float32Array> {
    const [kinds, books] = this.sizes;
    const each = Uint32Array.from({ length: books }, (_, book) => book);
    const input = {
      counts: Uint32Array.of(books, 1, 1, books),
      patches: state,
      placeRows: each.map((book) => book * kinds + Math.max(0, codes[book] as number)),
      placeWeights: Float32Array.from(codes, (code) => (code < 0 ? 0 : 1)),
      groupRows: each,
      groupWeights: new Float32Array(books).fill(1),
      breaks: Float32Array.from(codes, (code) => (code < 0 ? 1 : 0)),
      folds: each,
    };
    return this.#parts.flow.run(input, signal);
  }

  /** The row of the text model for the codes of a frame. */
  row(codes: readonly number[], signal?: AbortSignal): Promise<Float32Array> {
    const [kinds] = this.sizes;
    const { width } = this.#parts.next.info;
    const placeRows = Uint32Array.from(codes, (code, book) => book * kinds + code);
    const placeWeights = new Float32Array(codes.length).fill(1);
    const input = { counts: Uint32Array.of(1, 1), patches: new Float32Array(width), placeRows, placeWeights };
    return this.#parts.next.run(input, signal);
  }

  /** The spectra of frames, `[6 · frames, values]`. */
  async spectra(codes: readonly number[], signal?: AbortSignal): Promise<Float32Array> {
    const [, books] = this.sizes;
    const [levels = 0] = this.#parts.wave.info.numbers;
    const rows = (codes.length / books) * STACK;
    const input = {
      counts: Uint32Array.of(rows, rows, codes.length, rows * books),
      patches: new Float32Array(codes.length * levels),
      placeRows: Uint32Array.from(codes),
      placeWeights: new Float32Array(codes.length).fill(1),
      folds: Uint32Array.from(
        { length: rows * books },
        (_, at) => Math.floor(at / books / STACK) * books + (at % books),
      ),
    };
    return this.#parts.wave.run(input, signal);
  }

  /** Frames on which a frame depends, before its own. */
  get before(): number {
    return Math.ceil((this.#parts.wave.info.numbers[1] as number) / STACK);
  }

  /** A sound in the making. */
  sound(): SoundOfCodes {
    return new SoundOfCodes(this, this.#parts.wave.info.width);
  }

  rest(all = false): void {
    for (const encoder of Object.values(this.#parts)) encoder.rest(all);
  }

  free(): void {
    for (const encoder of Object.values(this.#parts)) encoder.free();
  }
}

/** A prompt and the tokens behind it; the template may have begun the answer, too. */
function begunWith(prompt: Uint32Array, { answer, behind, ...asked }: ToFrames): ToFrames & { prompt: Uint32Array } {
  if (!answer) return { ...asked, prompt };
  const begins = (id: number | undefined): 'mixed' | 'sound' | undefined => {
    const found = answer.switches[id ?? -1];
    return found === 'over' ? undefined : found;
  };
  const own = begins(prompt.at(-1));
  const { mode } = answer;
  if (!behind || behind.length === 0) return { ...asked, prompt, answer: { ...answer, mode: own ?? mode } };
  const before = own ? prompt.subarray(0, -1) : prompt;
  return { ...asked, prompt: Uint32Array.of(...before, ...behind), answer };
}

/** Where the images and sounds of a prompt are. */
function rowsIn(ids: Uint32Array, { handle, media = [] }: Text): Rows[] {
  const width = handle.rowWidth();
  return media.map((rows) => {
    const { digest, columns = 0, values, canvas } = rows;
    // What the prompt has twice is needed where it is last.
    return { ...rows, at: ids.lastIndexOf(handle.knowRows(digest, columns, values.length / width, canvas)) };
  });
}

/** Makes samples of frames as they come. @internal */
export class SoundOfCodes {
  readonly #model: Lfm3;
  readonly #stft: InverseStft;
  readonly #width: number;
  /** The last frames, on which the next ones depend. */
  #codes: number[] = [];

  constructor(model: Lfm3, width: number) {
    this.#model = model;
    this.#width = width;
    const bins = width / 2;
    this.#stft = new InverseStft(bins, HOP, { before: bins - 1 - HOP / 2, loudest: Number.POSITIVE_INFINITY });
  }

  /** The samples that no later frame changes; all that are left where the frames are the last ones. */
  async push(codes: readonly number[], isLast: boolean, signal?: AbortSignal): Promise<Float32Array> {
    const [, books] = this.#model.sizes;
    const { before } = this.#model;
    const most = (PASS - before) * books;
    if (most < 1) throw new WebggufError('limit_exceeded', `vocoder: a frame depends on ${before + 1} frames`);
    const found: Float32Array[] = [];
    for (let at = 0; at < codes.length; at += most) {
      signal?.throwIfAborted();
      const all = [...this.#codes, ...codes.slice(at, at + most)];
      const spectra = await this.#model.spectra(all, signal);
      for (let row = (this.#codes.length / books) * STACK * this.#width; row < spectra.length; row += this.#width) {
        found.push(this.#stft.frame(spectra.subarray(row, row + this.#width)));
      }
      this.#codes = all.slice(Math.max(0, all.length - before * books));
    }
    if (isLast && this.#codes.length > 0) found.push(this.#stft.rest(this.#width / 2 - 1 - HOP / 2));
    return joined(found);
  }
}
