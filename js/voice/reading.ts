/**
 * What a speech has read so far, and the loop that makes it longer: of a state becomes a row, which is read next.
 */
import { invalidArgument } from '../errors.js';
import type { Choice } from './asked.js';
import { type Reader, type Rows, type Said, randomDigest } from './reader.js';

/** Frames of the first piece of a sound, and of the largest: 0.3 and 2 seconds. */
const [FIRST, LARGEST] = [4, 25];
/** Speeches that are begun and not over, at most; then the oldest is dropped. */
const MOST = 16;

/**
 * How many frames the next piece of a sound has, behind `given` ones: where they are made 1.2 times as fast as they are
 * heard, it is there before the last one is over. @internal
 */
export const framesOfNext = (given: number): number => Math.min(LARGEST, FIRST + Math.floor(given / 5));

/** The ids of a text and the rows among them. @internal */
export class Reading {
  readonly #ids: number[];
  readonly #rows: Rows[];
  readonly #nonce = randomDigest().slice(0, 10);
  #made = 0;

  constructor(ids: Iterable<number>, rows: readonly Rows[] = []) {
    [this.#ids, this.#rows] = [[...ids], [...rows]];
  }

  /** Whether the context has no room for more. */
  isFull(reader: Reader): boolean {
    return this.#ids.length >= reader.contextLength;
  }

  /** The state of the last id. */
  state(reader: Reader, signal?: AbortSignal): Promise<Float32Array> {
    return reader.state(Uint32Array.from(this.#ids), this.#rows, signal);
  }

  /** Reads all but the last id. */
  async readBefore(reader: Reader, signal?: AbortSignal): Promise<void> {
    if (this.#ids.length > 1) await reader.state(Uint32Array.from(this.#ids.slice(0, -1)), this.#rows, signal);
  }

  /** The token behind the last id, which is read next. */
  async token(reader: Reader, choice: Choice, signal?: AbortSignal): Promise<number | 'end'> {
    const token = await reader.token(Uint32Array.from(this.#ids), this.#rows, choice, signal);
    if (token !== 'end') this.#ids.push(token);
    return token;
  }

  /** A row that is read next. */
  add(reader: Reader, values: Float32Array): void {
    const digest = this.#nonce + this.#made.toString(16).padStart(6, '0');
    this.#rows.push({ at: this.#ids.length, digest, values });
    this.#ids.push(reader.know(digest, 1));
    this.#made += 1;
  }
}

/** What a step makes of a state: its row, and a part of the sound. @internal */
export interface Made<T> {
  readonly row: Float32Array;
  readonly part?: T;
}

/** Makes parts of a sound until `wanted` are there, a step makes none, or the context is full. @internal */
export async function steps<T>(
  reading: Reading,
  { reader, wanted, signal }: { reader: Reader; wanted: number; signal: AbortSignal | undefined },
  step: (state: () => Promise<Float32Array>) => Promise<Made<T> | undefined>,
): Promise<{ readonly parts: T[]; readonly isLast: boolean }> {
  const parts: T[] = [];
  while (parts.length < wanted) {
    signal?.throwIfAborted();
    const made = reading.isFull(reader) ? undefined : await step(() => reading.state(reader, signal));
    if (!made) return { parts, isLast: true };
    reading.add(reader, made.row);
    if (made.part === undefined) break;
    parts.push(made.part);
  }
  return { parts, isLast: false };
}

/** What is being said, by the names that whoever asked has given. @internal */
export class Speeches<T> {
  readonly #all = new Map<string, T>();

  begin(name: string, speech: T): void {
    this.#all.delete(name);
    this.#all.set(name, speech);
    const [oldest] = this.#all.keys();
    if (this.#all.size > MOST) this.#all.delete(oldest as string);
  }

  /** The next piece of what was begun by this name. */
  async next(name: string, work: (speech: T) => Promise<Said>): Promise<Said> {
    const speech = this.#all.get(name);
    if (!speech) throw invalidArgument(`speak: more than ${MOST} speeches were begun after this one`);
    const said = await work(speech);
    if (said.isLast) this.#all.delete(name);
    return said;
  }
}
