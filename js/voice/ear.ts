/**
 * One sound that a model hears while it writes, piece by piece; where it is longer than the context has room for, in
 * parts that are cut where it is quietest.
 */
import type { Engine } from '../engine/engine.js';
import { quietest } from './cut.js';
import { type Said, randomDigest } from './reader.js';
import { RATE, joined } from './resample.js';

/** Samples at the end of a full context of which the quietest moment is looked for. */
const LAST = 4 * RATE;
/** Room for less is no use to a sound that is longer. */
const LEAST = 2 * LAST;
/** Milliseconds until a sound that waits for another one asks again. */
const WAIT_MS = 40;

/** What it needs of a `WasmModel`. @internal */
export interface EarModel {
  withEngine<T>(call: string, work: (engine: Engine) => Promise<T>): Promise<T>;
}

/** @internal */
export class Ear {
  readonly #model: EarModel;
  readonly #call: string;
  readonly #logprobs: number | undefined;
  #name: string | undefined;
  /** Samples for which the context has room, at first and now, and those that wait for the next part. */
  #room = 0;
  #left = 0;
  #held: Float32Array = new Float32Array();
  /** Whether another part had words, and whether this one has. */
  #follows = false;
  #hasWords = false;

  constructor(model: EarModel, call: string, logprobs?: number) {
    [this.#model, this.#call, this.#logprobs] = [model, call, logprobs];
  }

  /** What is written once these samples are there, and all of it where they are the last. */
  async *hear(samples: Float32Array, isLast: boolean, signal: AbortSignal): AsyncGenerator<Said, void> {
    let rest = joined([this.#held, samples]);
    this.#held = new Float32Array();
    for (;;) {
      if (this.#name === undefined) yield* this.#begin(signal);
      const room = Math.max(0, this.#left - LAST);
      const isFit = this.#room < LEAST || rest.length <= (isLast ? this.#left : room);
      if (isFit) return yield* this.#say(rest, isLast, signal);
      if (room > 0) yield* this.#say(rest.slice(0, room), false, signal);
      // A token may have ended the text.
      rest = rest.slice(room);
      if (this.#name === undefined) continue;
      if (rest.length <= this.#left) {
        this.#held = rest;
        return;
      }
      const at = quietest(rest.subarray(0, this.#left));
      yield* this.#say(rest.slice(0, at), true, signal);
      rest = rest.slice(at);
    }
  }

  /** Nothing more is wanted. */
  async drop(): Promise<void> {
    const name = this.#name;
    this.#name = undefined;
    const asked = { name: name as string, heard: undefined, state: 'dropped' } as const;
    if (name) await this.#model.withEngine(this.#call, (engine) => engine.say(asked)).catch(() => {});
  }

  async *#begin(signal: AbortSignal): AsyncGenerator<Said, void> {
    this.#name = randomDigest();
    [this.#follows, this.#hasWords] = [this.#hasWords, false];
    yield* this.#say(new Float32Array(), false, signal);
    this.#room = this.#left;
  }

  async *#say(samples: Float32Array, isLast: boolean, signal: AbortSignal): AsyncGenerator<Said, void> {
    let heard: Float32Array | undefined = samples;
    for (;;) {
      signal.throwIfAborted();
      const [name, logprobs] = [this.#name as string, this.#logprobs];
      const asked = { name, heard, logprobs, ...(!isLast && { state: 'open' as const }) };
      const said: Said = await this.#model.withEngine(this.#call, (engine) => engine.say(asked, signal));
      heard = undefined;
      this.#left = said.left ?? 0;
      if (said.isLast) this.#name = undefined;
      yield this.#shown(said);
      if (said.isLast || (said.waits && !isLast)) return;
      if (said.waits) await new Promise((wake) => setTimeout(wake, WAIT_MS));
    }
  }

  /** Parts are heard by themselves: a space stands between their words. */
  #shown(said: Said): Said {
    const { text = '' } = said;
    if (text === '') return said;
    const isFirst = this.#follows && !this.#hasWords;
    this.#hasWords = true;
    return isFirst ? { ...said, text: ` ${text.trimStart()}` } : said;
  }
}
