/**
 * Speech of an LFM3: the text model reads a prompt and the frames so far. Of its state become the codes of the next
 * frame, a third of them in each of three passes (MaskGIT, Chang et al. 2022, <https://arxiv.org/abs/2202.04200>); a
 * codec makes spectra of frames, and the inverse of a short-time Fourier transform samples.
 */
import { WebggufError, invalidArgument } from '../errors.js';
import { Encoder, type EncoderOptions, type EncoderScope } from '../media/encoder.js';
import type { SourceOptions, Source } from '../types/source.js';
import { InverseStft } from './inverse-stft.js';
import { uniformOf } from './random.js';
import { type Reader, type Rows, type Said, type Text, randomDigest, readerOf } from './reader.js';
import { joined } from './resample.js';

/** The projector of what LFM3 speaks with. @internal */
export const LFM3 = 'lfm3a_gen';
/** Samples per second, and from one spectrum to the next. */
const [RATE, HOP] = [24_000, 320];
/** Spectra of a frame, and passes until all its codes are known. */
const [STACK, PASSES] = [6, 3];
/** Frames before the first piece of a sound, and before further ones: 0.6 and 2 seconds. */
const [FIRST, NEXT] = [8, 25];
/** The largest transform has twice as many samples. */
const MOST_BINS = 5 << 10;
/** Frames of a pass of the codec. */
const PASS = 128;
/** How codes are chosen where a page does not say, and the frames in which a code is penalised. */
const [TEMPERATURE, PENALTY, WINDOW] = [0.4, 1.2, 64];

/** What is to be said. @internal */
export interface ToFrames {
  /** The ids of the prompt, from the last of which the first frame follows. */
  readonly prompt: Uint32Array;
  /** Frames, at most. */
  readonly most: number;
  readonly seed?: number | undefined;
  readonly temperature?: number | undefined;
  readonly topK?: number | undefined;
  readonly repetitionPenalty?: number | undefined;
  /** The order in which the codes of each frame become known, for comparisons with other engines. */
  readonly orders?: readonly (readonly number[])[] | undefined;
}

/** The programs of a file. */
type Parts = Readonly<Record<'flow' | 'next' | 'wave', Encoder>>;

/** @internal */
export class Lfm3 {
  readonly sampleRate = RATE;
  readonly #parts: Parts;
  readonly #speeches = new WeakMap<object, Speech>();

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

  get about(): Encoder['about'] {
    return this.#parts.flow.about;
  }

  /** Kinds of each code and codes of a frame. */
  get sizes(): readonly [kinds: number, books: number] {
    const [, kinds = 0, books = 0] = this.#parts.flow.info.numbers;
    return [kinds, books];
  }

  /** The first piece of what is asked, or the next one. A text model says one thing at a time. */
  async say(asked: ToFrames | undefined, text: Text, signal?: AbortSignal): Promise<Said> {
    const reader = readerOf(text);
    if (asked && asked.prompt.length + 1 >= reader.contextLength) {
      const found = `the text takes ${asked.prompt.length} tokens, the context holds ${reader.contextLength}`;
      throw new WebggufError('context_full', `speak: ${found}`);
    }
    if (asked) this.#speeches.set(text.handle, new Speech(this, asked));
    return (this.#speeches.get(text.handle) as Speech).next(reader, signal);
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

/** Something that is being said. */
class Speech {
  readonly #model: Lfm3;
  readonly #asked: ToFrames;
  readonly #ids: number[];
  readonly #rows: Rows[] = [];
  readonly #frames: number[][] = [];
  readonly #sound: SoundOfCodes;
  readonly #uniform: () => number;
  readonly #nonce = randomDigest().slice(0, 10);

  constructor(model: Lfm3, asked: ToFrames) {
    this.#model = model;
    this.#asked = asked;
    this.#ids = [...asked.prompt];
    this.#sound = model.sound();
    this.#uniform = uniformOf(asked.seed);
  }

  /** The next piece. */
  async next(reader: Reader, signal?: AbortSignal): Promise<Said> {
    const [kinds] = this.#model.sizes;
    const made: number[][] = [];
    const wanted = this.#frames.length === 0 ? FIRST : NEXT;
    let isLast = false;
    while (made.length < wanted && !isLast) {
      signal?.throwIfAborted();
      isLast = this.#frames.length >= this.#asked.most || this.#ids.length >= reader.contextLength;
      if (isLast) break;
      const state = await reader.state(Uint32Array.from(this.#ids), this.#rows, signal);
      const codes = await this.#frame(state, signal);
      // The last code of a codebook has no sound.
      isLast = codes.includes(kinds - 1);
      if (isLast) break;
      made.push(codes);
      const digest = this.#nonce + this.#frames.length.toString(16).padStart(6, '0');
      this.#rows.push({ at: this.#ids.length, digest, values: await this.#model.row(codes, signal) });
      this.#ids.push(reader.know(digest, 1));
      this.#frames.push(codes);
    }
    const samples = await this.#sound.push(made.flat(), isLast, signal);
    return { samples, isLast, latents: made.map((codes) => Float32Array.from(codes)) };
  }

  /** The codes of a frame: each pass chooses some by what is known of the passes before. */
  async #frame(state: Float32Array, signal: AbortSignal | undefined): Promise<number[]> {
    const [kinds, books] = this.#model.sizes;
    const order = this.#asked.orders?.[this.#frames.length] ?? this.#shuffled(books);
    const codes = new Array<number>(books).fill(-1);
    const each = Math.ceil(books / PASSES);
    for (let known = 0; known < books; known += each) {
      const logits = await this.#model.logits(state, codes, signal);
      for (const book of order.slice(known, known + each)) {
        codes[book] = this.#chosen(logits.subarray(book * kinds, (book + 1) * kinds), book);
      }
    }
    return codes;
  }

  #shuffled(count: number): number[] {
    const order = Array.from({ length: count }, (_, at) => at);
    for (let at = count - 1; at > 0; at--) {
      const other = Math.floor(this.#uniform() * (at + 1));
      [order[at], order[other]] = [order[other] as number, order[at] as number];
    }
    return order;
  }

  #chosen(logits: Float32Array, book: number): number {
    const { temperature = TEMPERATURE, topK = 0, repetitionPenalty: penalty = PENALTY } = this.#asked;
    for (const code of new Set(this.#frames.slice(-WINDOW).map((codes) => codes[book] as number))) {
      const logit = logits[code] as number;
      if (penalty > 0) logits[code] = logit > 0 ? logit / penalty : logit * penalty;
    }
    const most = logits.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
    if (!(temperature > 0)) return Math.max(0, logits.indexOf(most));
    const least =
      topK > 0 && topK < logits.length ? ([...logits].sort((a, b) => b - a)[topK - 1] as number) : -Infinity;
    const weights = Array.from(logits, (logit) => (logit < least ? 0 : Math.exp((logit - most) / temperature)));
    let left = this.#uniform() * weights.reduce((sum, weight) => sum + weight, 0);
    const found = weights.findIndex((weight) => (left -= weight) <= 0);
    return found < 0 ? logits.length - 1 : found;
  }
}
