/**
 * A model that writes while it hears, as Voxtral Realtime: each of its tokens goes with 80 milliseconds of the sound,
 * whose row is added to the embedding of the token before. Silence goes before the sound and behind it. The encoder
 * keeps what further rows depend on, of one sound at a time: the others wait.
 */
import { WebggufError, invalidArgument } from '../errors.js';
import type { Encoder } from '../media/encoder.js';
import type { Encoders } from '../media/encoders.js';
import { mediaModule } from '../media/module.js';
import { RATE } from '../media/samples.js';
import { inSteps } from '../media/steps.js';
import type { ArrivingSound } from '../media/webgguf_media.js';
import type { ToHear } from './asked.js';
import { type Said, type Text, randomDigest } from './reader.js';
import { joined } from './resample.js';

/** The token of silence. */
const PAD = '[STREAMING_PAD]';
/** Rows of silence in front, and behind the sound besides the delay. */
const [BEFORE, BEHIND] = [32, 11];
/** Samples of two frames, of which one row of the encoder's layers is made. */
const FRAMES = 2 * (RATE / 100);
/** Samples that are made frames of without a pause. */
const PIECE = 20_480;
/** Rows that go into a blob together once they are read, and are read together. */
const CHUNK = 64;
/** Ids of rows that are asked for at once. */
const IDS = 512;
/** Sounds that are begun and not over, at most; then the oldest is dropped. */
const MOST = 16;

const known = new WeakMap<Encoders, Hearing>();

/** What hears with these encoders. @internal */
export function hearingOf(encoders: Encoders | undefined): Hearing {
  if (!encoders)
    throw invalidArgument("the model was loaded without an encoder of sounds: load it with option 'mmproj'");
  const found = known.get(encoders) ?? new Hearing(encoders);
  known.set(encoders, found);
  return found;
}

/** The text model, and which log-probabilities are wanted. */
interface Wanted extends Text {
  readonly logprobs: number | undefined;
}

/** What is being heard. */
interface Heard {
  /** Samples that the encoder has not taken, and how many of the sound there were. */
  readonly queue: Float32Array[];
  count: number;
  /** All samples are there. */
  isWhole: boolean;
  /** What makes frames of samples, until all are taken, and rows that it has ready. */
  sound: ArrivingSound | undefined;
  ready: number;
  isEncoded: boolean;
  /** Ids of rows, as far as they are known, and how many rows there are. */
  readonly ids: number[];
  made: number;
  /**
   * The rows: only where something else was read meanwhile, those that were read are needed again. So the browser has
   * them, chunk by chunk, outside of the memory of scripts.
   */
  readonly read: Blob[];
  readonly rows: Float32Array[];
  /** The tokens that go with the rows, as far as they are known, and how many were given. */
  readonly tokens: number[];
  readonly given: number;
  readonly delay: number;
  shown: number;
}

class Hearing {
  readonly #encoders: Encoders;
  readonly #encoder: Encoder;
  readonly #merge: number;
  readonly #all = new Map<string, Heard>();
  /** Whose state the encoder keeps. */
  #owner: Heard | undefined;

  constructor(encoders: Encoders) {
    this.#encoders = encoders;
    this.#encoder = encoders.ears as Encoder;
    this.#merge = this.#encoder.info.numbers[1] as number;
  }

  /** The next token of what is heard by this name, if there is one, and the text that it ends. */
  async say({ name, heard, state, logprobs }: ToHear, text: Text, signal?: AbortSignal): Promise<Said> {
    try {
      if (state === 'dropped') return said({ isLast: true });
      const of = this.#all.get(name) ?? (heard && this.#begun(name, text));
      if (!of) throw invalidArgument(`speak: more than ${MOST} speeches were begun after this one`);
      if (heard) this.#take(of, heard, state !== 'open', text);
      const found = await this.#next(of, { ...text, logprobs }, signal);
      if (found.isLast) this.#drop(name);
      return found;
    } catch (error) {
      this.#drop(name);
      throw error;
    } finally {
      if (state === 'dropped') this.#drop(name);
    }
  }

  #begun(name: string, { handle }: Text): Heard {
    const delay = handle.delay();
    const [pad, ...others] = handle.tokenize(PAD, false, true);
    const [begin] = handle.encodePrompt('');
    if (delay === undefined || pad === undefined || others.length > 0 || begin === undefined) {
      throw invalidArgument(`the encoder's model is told of a delay and has a token ${PAD}, this one does not`);
    }
    const tokens = [begin, ...new Array<number>(BEFORE + delay).fill(pad)];
    const queue = [this.#silence(BEFORE)];
    const text = { ids: [], made: 0, read: [], rows: [], tokens, given: tokens.length, delay, shown: 0 };
    const of: Heard = { queue, count: 0, isWhole: false, sound: undefined, ready: 0, isEncoded: false, ...text };
    this.#all.set(name, of);
    const [oldest] = this.#all.keys();
    if (this.#all.size > MOST) this.#drop(oldest as string);
    return of;
  }

  #silence(rows: number, more = 0): Float32Array {
    return new Float32Array(rows * this.#samples + more);
  }

  /** Samples of a row. */
  get #samples(): number {
    return FRAMES * this.#merge;
  }

  #take(of: Heard, heard: Float32Array, isWhole: boolean, { contextLength }: Text): void {
    of.queue.push(heard);
    of.count += heard.length;
    const own = Math.ceil(of.count / this.#samples);
    const behind = of.delay + BEHIND;
    const count = BEFORE + own + behind;
    if (count > contextLength) {
      const found = `${Math.ceil(of.count / RATE)} seconds take ${count} tokens`;
      throw new WebggufError('context_full', `audio: ${found}, the context holds ${contextLength}`);
    }
    if (!isWhole) return;
    of.isWhole = true;
    // The last window reads half of itself behind the last row.
    of.queue.push(this.#silence(own + behind, FRAMES).subarray(of.count));
  }

  async #next(of: Heard, text: Wanted, signal: AbortSignal | undefined): Promise<Said> {
    const needed = of.tokens.length;
    if (of.made < needed) await this.#encode(of, needed, signal);
    const rows = text.contextLength - BEFORE - of.delay - BEHIND;
    const left = Math.max(0, rows * this.#samples - of.count);
    if (of.made < needed) return said({ waits: true, left });
    return { ...(await nextOf(of, text, signal)), left };
  }

  /** Encodes what has arrived, until `needed` rows are there. */
  async #encode(of: Heard, needed: number, signal: AbortSignal | undefined): Promise<void> {
    if (of.isEncoded || (this.#owner && this.#owner !== of)) return;
    this.#owner = of;
    const most = Math.floor(this.#encoder.info.mostRows / this.#merge);
    const { ArrivingSound: Kind } = await mediaModule();
    of.sound ??= new Kind(Float64Array.from(this.#encoder.info.numbers));
    const { sound } = of;
    while (of.made < needed) {
      await inSteps(() => of.ready >= most || !pushed(of, sound), signal);
      if (of.ready === 0) break;
      const counts = sound.take(Math.min(of.ready, most));
      const count = counts[1] as number;
      const rows = await this.#encoder.arrived(sound, counts, of.made > 0, signal);
      of.ready -= count;
      of.made += count;
      const width = rows.length / count;
      for (let at = 0; at < count; at += 1) of.rows.push(rows.subarray(at * width, (at + 1) * width));
    }
    if (!of.isWhole || of.queue.length > 0 || of.ready > 0) return;
    of.isEncoded = true;
    this.#rest(of);
  }

  /** The encoder need not keep its state any more. */
  #rest(of: Heard): void {
    if (!of.sound) return;
    of.sound.free();
    of.sound = undefined;
    this.#encoders.rest();
  }

  #drop(name: string): void {
    const of = this.#all.get(name);
    this.#all.delete(name);
    if (of) this.#rest(of);
    // Only then, since two sounds that are read in turns would be read again from their beginning each time.
    if (this.#owner === of) this.#owner = undefined;
  }
}

/** Makes frames of some samples; false where there are none. */
function pushed(of: Heard, sound: ArrivingSound): boolean {
  const [first] = of.queue;
  if (!first) return false;
  of.ready = sound.push(first.subarray(0, PIECE));
  if (first.length > PIECE) of.queue[0] = first.subarray(PIECE);
  else of.queue.shift();
  return true;
}

function said(about: Partial<Said>): Said {
  return { samples: new Float32Array(), latents: [], isLast: false, text: '', ...about };
}

/** Rows of one chunk: all, where it was read before. */
async function rowsOf({ read, rows }: Heard, from: number, end: number): Promise<Float32Array> {
  const chunk = read[Math.floor(from / CHUNK)];
  const before = read.length * CHUNK;
  return chunk ? new Float32Array(await chunk.arrayBuffer()) : joined(rows.slice(from - before, end - before));
}

async function nextOf(of: Heard, { handle, run, logprobs }: Wanted, signal: AbortSignal | undefined): Promise<Said> {
  const { ids, tokens, given } = of;
  while (ids.length < tokens.length) {
    const first = handle.knowRows(randomDigest(), 0, IDS);
    for (let at = 0; at < IDS; at += 1) ids.push(first + at);
  }
  const found = await run(async () => {
    const all = Uint32Array.from(ids.slice(0, tokens.length));
    // Where something else was read meanwhile, all of it has to be read again.
    let from = Math.min(handle.commonPrefix(all), all.length - 1);
    if (from < of.read.length * CHUNK) from = 0;
    for (;;) {
      signal?.throwIfAborted();
      const end = Math.min(all.length, from - (from % CHUNK) + CHUNK);
      const own = Uint32Array.from(tokens.slice(from, end));
      const found = await handle.hear(all.subarray(0, end), own, await rowsOf(of, from, end), logprobs);
      if (end === all.length || found === undefined) return found;
      from = end;
    }
  }, signal);
  if (tokens.length >= (of.read.length + 1) * CHUNK) {
    of.read.push(new Blob(of.rows.splice(0, CHUNK) as Float32Array<ArrayBuffer>[]));
  }
  const chosen = typeof found === 'object' ? found?.[0] : undefined;
  const token = chosen?.id ?? (found as number | null);
  if (token !== null) tokens.push(token);
  const isLast = token === null || (of.isEncoded && tokens.length > of.made);
  const all = handle.detokenize(Uint32Array.from(tokens.slice(given)), false);
  const whole = isLast ? all : all.replace(/\ufffd+$/u, '');
  const text = whole.slice(of.shown);
  of.shown = Math.max(of.shown, whole.length);
  const isText = chosen && handle.detokenize(Uint32Array.of(chosen.id), false) !== '';
  return said({ isLast, text, ...(token !== null && { id: token }), ...(isText && { token: chosen }) });
}
