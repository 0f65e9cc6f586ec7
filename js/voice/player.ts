/**
 * A player: pieces of sound without gaps, that can be interrupted at once.
 */
import { abortSignal, type Check, checked, FLAG, ofType, show } from '../check.js';
import { invalidArgument, WebggufError } from '../errors.js';
import { type FromPlayer, PlayerQueue, playerProcessor, type ToPlayer } from './player-worklet.js';
import { Resampler } from './resample.js';
import type { SoundStream } from './types.js';
import { addWorklet } from './worklet.js';

/** How to play. */
export interface PlayerOptions {
  /** Whether the sound comes out of the speakers. Default true; without it, `stream` alone has it. */
  readonly speakers?: boolean | undefined;
  /** Called once the sound of a text that was pushed with it begins, for captions. */
  readonly onText?: ((text: string) => void) | undefined;
  /** How loud the last moments were, 0 to 1. */
  readonly onLevel?: ((level: number) => void) | undefined;
  /** Closes the player. */
  readonly signal?: AbortSignal | undefined;
}

/** What {@link Player.stop} gives. */
export interface Stopped {
  /** Seconds that were played since the player was made or last stopped. */
  readonly played: number;
  /** The texts that were pushed and whose sound has begun, each with the share of it that was played, 0 to 1. */
  readonly texts: readonly { readonly text: string; readonly share: number }[];
}

/** Where sound comes out. @internal */
export interface Output {
  readonly sampleRate: number;
  readonly stream?: SoundStream | undefined;
  /** Whether time passes there: not before a gesture of the user, nor while the device sleeps. */
  isRunning(): boolean;
  send(message: ToPlayer): void;
  /** `failed` is called where the thread for sound broke. */
  listen(report: (message: FromPlayer) => void, failed: () => void): void;
  close(): Promise<void>;
}

const CHECKS: Record<keyof PlayerOptions, Check> = {
  speakers: FLAG,
  onText: ofType('function', 'a function'),
  onLevel: ofType('function', 'a function'),
  signal: abortSignal,
};

/** Seconds that may wait. */
const MOST = 600;

/**
 * Makes a player. Call it after a click: browsers let sound begin with a gesture, and until then what is pushed waits.
 *
 * @throws {WebggufError} `feature_missing` where there is no `AudioWorklet`
 * @example
 * const player = await createPlayer();
 * for await (const { samples, sampleRate } of model.speak('Hello there.')) player.push(samples, sampleRate);
 * await player.ended;
 */
export async function createPlayer(options: PlayerOptions = {}): Promise<Player> {
  const { speakers = true, signal, ...listeners } = checked('createPlayer', options, CHECKS);
  signal?.throwIfAborted();
  if (typeof AudioContext === 'undefined') {
    throw new WebggufError('feature_missing', 'createPlayer: there is no AudioContext here, which pages have');
  }
  const context = new AudioContext();
  try {
    const output = await outputOf(context, speakers);
    signal?.throwIfAborted();
    const player = new Player(output, listeners);
    signal?.addEventListener('abort', () => void player.close(), { once: true });
    void context.resume().catch(() => {});
    return player;
  } catch (error) {
    await context.close();
    throw error;
  }
}

async function outputOf(context: AudioContext, speakers: boolean): Promise<Output> {
  const url = new URL('./player-worklet.js', import.meta.url);
  await addWorklet(context, { url, code: playerProcessor, parts: [PlayerQueue] });
  const node = new AudioWorkletNode(context, 'webgguf-player', { numberOfInputs: 0, outputChannelCount: [1] });
  const { port } = node;
  const destination = context.createMediaStreamDestination();
  node.connect(destination);
  if (speakers) node.connect(context.destination);
  return {
    sampleRate: context.sampleRate,
    stream: destination.stream,
    isRunning: () => context.state === 'running',
    send: (message) => port.postMessage(message, 'samples' in message ? [message.samples.buffer] : []),
    listen: (report, failed) => {
      node.onprocessorerror = failed;
      port.onmessage = ({ data }: MessageEvent<FromPlayer>) => report(data);
    },
    close: async () => {
      port.onmessage = null;
      await context.close();
    },
  };
}

/** A text, and where its sound is, in samples of the epoch. */
interface Mark {
  readonly text: string;
  readonly start: number;
  end: number;
}

/** Plays pieces of sound, one after the other without gaps. */
export class Player {
  readonly #output: Output;
  readonly #options: Pick<PlayerOptions, 'onText' | 'onLevel'>;
  #resampler: { readonly rate: number; readonly of: Resampler } | undefined;
  /** What was pushed between two stops. */
  #epoch = 0;
  #pushed = 0;
  #played = 0;
  #marks: Mark[] = [];
  #shown = 0;
  #isClosed = false;
  /** Calls of `room`. */
  #waiters: { readonly most: number; readonly resolve: () => void }[] = [];
  readonly #stops = new Map<number, (played: number) => void>();

  /** @internal */
  constructor(output: Output, options: Pick<PlayerOptions, 'onText' | 'onLevel'> = {}) {
    [this.#output, this.#options] = [output, options];
    output.listen(
      (report) => this.#report(report),
      () => void this.close(),
    );
  }

  /** The sound as a `MediaStream`, for calls. */
  get stream(): SoundStream | undefined {
    return this.#output.stream;
  }

  /** Seconds of sound that wait. */
  get waiting(): number {
    return (this.#pushed - this.#played) / this.#output.sampleRate;
  }

  /** Resolves once all that was pushed so far was played, or the player was stopped. */
  get ended(): Promise<void> {
    if (this.#resampler) this.#send(this.#resampler.of.end());
    this.#resampler = undefined;
    return this.room(0);
  }

  /**
   * Plays samples after all that were pushed before. `text` is what is said from here on, for captions and for
   * {@link stop}.
   *
   * @throws {WebggufError} `limit_exceeded` where more than 600 seconds wait: see {@link room}
   */
  push(samples: Float32Array, sampleRate: number, text?: string): void {
    if (this.#isClosed) throw invalidArgument('push: the player was closed');
    if (!(samples instanceof Float32Array)) throw invalidArgument(`push: expected samples, found ${show(samples)}`);
    if (this.waiting + samples.length / sampleRate > MOST) {
      const message = `push: ${Math.round(this.waiting)} seconds wait, at most ${MOST}: await player.room(10) before`;
      throw new WebggufError('limit_exceeded', message);
    }
    if (this.#resampler?.rate !== sampleRate) {
      if (this.#resampler) this.#send(this.#resampler.of.end());
      this.#resampler = { rate: sampleRate, of: new Resampler(sampleRate, this.#output.sampleRate) };
    }
    if (text !== undefined) this.#marks.push({ text, start: this.#pushed, end: this.#pushed });
    this.#send(this.#resampler.of.push(samples));
  }

  /** Resolves once at most `seconds` of sound wait, so that whoever makes it is not far ahead. */
  async room(seconds: number): Promise<void> {
    const most = seconds * this.#output.sampleRate;
    if (this.#isClosed || this.#pushed - this.#played <= most) return;
    await new Promise<void>((resolve) => this.#waiters.push({ most, resolve }));
  }

  /** Ends the sound within 5 ms and drops what waits. What is pushed afterwards is played. */
  async stop(): Promise<Stopped> {
    const [marks, epoch, rate, known] = [this.#marks, this.#epoch, this.#output.sampleRate, this.#played];
    this.#epoch += 1;
    [this.#pushed, this.#played, this.#marks, this.#shown, this.#resampler] = [0, 0, [], 0, undefined];
    this.#wake();
    const over = new Promise<number>((resolve) => this.#stops.set(epoch, resolve));
    if (!this.#isClosed) this.#output.send({ epoch: this.#epoch });
    const played = this.#isClosed || !this.#output.isRunning() ? known : await over;
    const texts = marks.flatMap(({ text, start, end }) => {
      const share = Math.min(1, (played - start) / Math.max(1, end - start));
      return share > 0 ? [{ text, share }] : [];
    });
    return { played: played / rate, texts };
  }

  /** Gives the sound device back. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#pushed = this.#played;
    this.#wake();
    for (const resolve of this.#stops.values()) resolve(0);
    this.#stops.clear();
    await this.#output.close();
  }

  #send(samples: Float32Array): void {
    if (samples.length === 0) return;
    this.#pushed += samples.length;
    const mark = this.#marks.at(-1);
    if (mark) mark.end = this.#pushed;
    // A copy: the samples go to another thread.
    this.#output.send({ samples: samples.slice() });
  }

  #report({ epoch, played, level, isOver }: FromPlayer): void {
    if (isOver) {
      this.#stops.get(epoch)?.(played);
      this.#stops.delete(epoch);
    }
    if (epoch !== this.#epoch) return;
    this.#played = played;
    this.#options.onLevel?.(Math.min(1, level));
    for (let mark = this.#marks[this.#shown]; mark && mark.start < played; mark = this.#marks[this.#shown]) {
      this.#shown += 1;
      this.#options.onText?.(mark.text);
    }
    this.#wake();
  }

  #wake(): void {
    const waiting = this.#pushed - this.#played;
    const ready = this.#waiters.filter(({ most }) => waiting <= most || this.#isClosed);
    this.#waiters = this.#waiters.filter(({ most }) => waiting > most && !this.#isClosed);
    for (const { resolve } of ready) resolve();
  }
}
