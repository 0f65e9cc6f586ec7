/**
 * Something that an LFM3 says: a given text, or an answer of text and sound.
 */
import type { ToAnswer, ToFrames } from './asked.js';
import type { Lfm3, SoundOfCodes } from './lfm3.js';
import { uniformOf } from './random.js';
import type { Reader, Rows, Said } from './reader.js';
import { framesOfNext, Reading, steps } from './reading.js';
import { Slots } from './slots.js';

/** Passes until all codes of a frame are known. */
const PASSES = 3;
/** How codes are chosen where neither a page nor the file says, and the frames in which a code is penalised. */
const USUAL = { temperature: 0.4, topK: 0, repetitionPenalty: 1.2, repetitionWindow: 64 };
/** Seeds of tokens are this far apart. */
const APART = 0x9e3779b1;

/** @internal */
export class Speech {
  readonly #model: Lfm3;
  readonly #asked: ToFrames;
  readonly #reading: Reading;
  readonly #slots: Slots;
  readonly #uniform: () => number;
  readonly #frames: number[][] = [];
  #sound: SoundOfCodes;
  /** Tokens of the answer, and the characters of them that were given. */
  readonly #written: number[] = [];
  #shown = 0;
  /** Tokens and frames. */
  #count = 0;
  #isBegun = false;
  /** Frames that were begun, those that end a sound among them. */
  #frameNumber = 0;

  constructor(model: Lfm3, asked: ToFrames, rows: readonly Rows[]) {
    [this.#model, this.#asked] = [model, asked];
    this.#reading = new Reading(asked.prompt as Uint32Array, rows);
    this.#slots = new Slots(asked.answer?.mode ?? 'sound');
    this.#sound = model.sound();
    this.#uniform = uniformOf(asked.seed);
  }

  /** The next piece. */
  async next(reader: Reader, signal?: AbortSignal): Promise<Said> {
    if (!this.#slots.isText) return this.#spoken(reader, signal);
    // The state of the first frame is needed later: on the CPU the prompt would be read again for it.
    if (!this.#isBegun && this.#asked.answer?.mode === 'mixed') await this.#reading.readBefore(reader, signal);
    this.#isBegun = true;
    return this.#token(reader, this.#asked.answer as ToAnswer, signal);
  }

  async #token(reader: Reader, { switches, choice }: ToAnswer, signal: AbortSignal | undefined): Promise<Said> {
    const rest = (): Said => this.#said({ text: this.#text(reader, true), isLast: true });
    if (this.#count >= this.#asked.most || this.#reading.isFull(reader)) return rest();
    const { seed = 0 } = choice;
    const drawn = (seed + this.#count * APART) % Number.MAX_SAFE_INTEGER;
    const id = await this.#reading.token(reader, { ...choice, seed: drawn }, signal);
    const isEnd = id === 'end' || (this.#slots.isPlain && switches[id] === 'over');
    if (isEnd) return rest();
    this.#count += 1;
    this.#written.push(id);
    this.#slots.wrote(switches[id]);
    return this.#said({ text: this.#text(reader, false), id });
  }

  /** The text that was written since, in whole characters. */
  #text(reader: Reader, isLast: boolean): string {
    const all = reader.text(this.#written);
    const whole = isLast ? all : all.replace(/\ufffd+$/u, '');
    const text = whole.slice(this.#shown);
    this.#shown = Math.max(this.#shown, whole.length);
    return text;
  }

  #said(some: Partial<Said>): Said {
    return { samples: new Float32Array(), latents: [], isLast: false, ...some };
  }

  async #spoken(reader: Reader, signal: AbortSignal | undefined): Promise<Said> {
    const wanted = Math.min(framesOfNext(this.#frames.length), this.#slots.frames);
    let isEnd = false;
    const step = async (state: () => Promise<Float32Array>) => {
      if (this.#count >= this.#asked.most) return undefined;
      const codes = await this.#frame(await state(), signal);
      // The last code of a codebook has no sound; in an answer text follows.
      const last = this.#model.sizes[0] - 1;
      isEnd = codes.includes(last);
      if (isEnd && !this.#asked.answer) return undefined;
      this.#count += 1;
      this.#slots.spoke(isEnd);
      if (isEnd) return { row: await this.#model.row(codes.fill(last), signal) };
      this.#frames.push(codes);
      return { row: await this.#model.row(codes, signal), part: codes };
    };
    const { parts, isLast } = await steps(this.#reading, { reader, wanted, signal }, step);
    const samples = await this.#sound.push(parts.flat(), isLast || isEnd, signal);
    if (isEnd) this.#sound = this.#model.sound();
    return this.#said({ samples, isLast, latents: parts.map((codes) => Float32Array.from(codes)) });
  }

  /** The codes of a frame: each pass chooses some by what is known of the passes before. */
  async #frame(state: Float32Array, signal: AbortSignal | undefined): Promise<number[]> {
    const [kinds, books] = this.#model.sizes;
    const order = this.#asked.orders?.[this.#frameNumber++] ?? this.#shuffled(books);
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

  /** What the page says, else the file, else what is usual. */
  #sampling(): typeof USUAL {
    const { temperature, topK, repetitionPenalty } = this.#asked;
    const asked = Object.entries({ temperature, topK, repetitionPenalty }).filter(([, value]) => value !== undefined);
    return { ...USUAL, ...this.#model.sampling, ...Object.fromEntries(asked) };
  }

  #chosen(logits: Float32Array, book: number): number {
    const { temperature, topK, repetitionPenalty: penalty, repetitionWindow: window } = this.#sampling();
    const recent = window > 0 ? this.#frames.slice(-window) : [];
    for (const code of new Set(recent.map((codes) => codes[book] as number))) {
      const logit = logits[code] as number;
      if (penalty > 0) logits[code] = logit > 0 ? logit / penalty : logit * penalty;
    }
    let most = Number.NEGATIVE_INFINITY;
    for (const logit of logits) most = Math.max(most, logit);
    if (!(temperature > 0)) return Math.max(0, logits.indexOf(most));
    const least = topK > 0 && topK < logits.length ? (logits.slice().sort().at(-topK) as number) : -Infinity;
    // Loops over typed arrays take a third of the time of functions: a frame has some 25,000 logits.
    const weights = new Float64Array(logits.length);
    let sum = 0;
    for (const [code, logit] of logits.entries()) {
      const weight = logit < least ? 0 : Math.exp((logit - most) / temperature);
      weights[code] = weight;
      sum += weight;
    }
    let left = this.#uniform() * sum;
    const found = weights.findIndex((weight) => (left -= weight) <= 0);
    return found < 0 ? logits.length - 1 : found;
  }
}
