/**
 * The part of playing that runs in the thread for sound. As a file of its own it is the worklet's module; where that
 * file cannot be found, its text goes there as a blob. So it must not import anything.
 */

/** What the page says: samples to play, or the number of the epoch that begins now. @internal */
export type ToPlayer = { readonly samples: Float32Array } | { readonly epoch: number };

/** How far the epoch is: samples that were played; `isOver` where it was stopped. @internal */
export interface FromPlayer {
  readonly epoch: number;
  readonly played: number;
  readonly level: number;
  readonly isOver: boolean;
}

/** The samples that wait, and how far they are. A class of its own: its text goes into the blob, too. @internal */
export class PlayerQueue {
  /** Samples over which a sound that is stopped fades: 5 ms, which is no click; and samples between two reports. */
  readonly #fade = 240;
  readonly #due = 1024;
  readonly #send: (message: FromPlayer) => void;
  #waiting: Float32Array[] = [];
  /** Where the first of them goes on. */
  #at = 0;
  #epoch = 0;
  #played = 0;
  #reported = 0;
  #loudest = 0;
  /** The epoch that begins once the sound has faded, and what was pushed for it. */
  #next = 0;
  #fading = 0;
  #later: Float32Array[] = [];

  constructor(send: (message: FromPlayer) => void) {
    this.#send = send;
  }

  take(message: ToPlayer): void {
    if ('samples' in message) (this.#fading > 0 ? this.#later : this.#waiting).push(message.samples);
    else this.#stop(message.epoch);
  }

  /** Fills a block of all channels. */
  fill([first, ...others]: readonly Float32Array[]): void {
    if (!first) return;
    for (let number = 0; number < first.length; number += 1) first[number] = this.#sample();
    for (const channel of others) channel.set(first);
    const isDue = this.#waiting.length === 0 || this.#played - this.#reported >= this.#due;
    if (this.#played !== this.#reported && isDue) this.#report(false);
  }

  #stop(epoch: number): void {
    // Another stop while the sound fades.
    if (this.#fading > 0) this.#begin();
    [this.#next, this.#fading] = [epoch, this.#fade];
    if (this.#waiting.length === 0) this.#begin();
  }

  #begin(): void {
    this.#report(true);
    [this.#waiting, this.#later, this.#at, this.#fading] = [this.#later, [], 0, 0];
    [this.#epoch, this.#played, this.#reported] = [this.#next, 0, 0];
  }

  #report(isOver: boolean): void {
    this.#send({ epoch: this.#epoch, played: this.#played, level: this.#loudest, isOver });
    [this.#reported, this.#loudest] = [this.#played, 0];
  }

  #sample(): number {
    const [samples] = this.#waiting;
    if (!samples) return 0;
    const value = (samples[this.#at] ?? 0) * (this.#fading > 0 ? this.#fading / this.#fade : 1);
    this.#at += 1;
    this.#played += 1;
    this.#loudest = Math.max(this.#loudest, Math.abs(value));
    if (this.#at >= samples.length) {
      this.#waiting.shift();
      this.#at = 0;
    }
    if (this.#fading > 0) {
      this.#fading -= 1;
      if (this.#fading === 0 || this.#waiting.length === 0) this.#begin();
    }
    return value;
  }
}

/** Puts the processor there. @internal */
export function playerProcessor(Queue: typeof PlayerQueue): void {
  /** What a worklet's scope has, in which this runs. */
  interface Scope {
    AudioWorkletProcessor: new () => { readonly port: MessagePort };
    registerProcessor(name: string, kind: new () => object): void;
  }
  const scope = globalThis as unknown as Scope;

  class Player extends scope.AudioWorkletProcessor {
    queue = new Queue((message) => this.port.postMessage(message));

    constructor() {
      super();
      this.port.onmessage = ({ data }: MessageEvent<ToPlayer>) => this.queue.take(data);
    }

    process(_: unknown, [channels = []]: readonly (readonly Float32Array[])[]): boolean {
      this.queue.fill(channels);
      return true;
    }
  }
  scope.registerProcessor('webgguf-player', Player);
}

if ('registerProcessor' in globalThis) playerProcessor(PlayerQueue);
