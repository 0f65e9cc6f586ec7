/**
 * How long the GPU works: by its own timestamps where the device has them, else by the time until it has finished,
 * which adds the same few milliseconds to every run.
 */
import type { Clock } from './race.js';

/** What of WebGPU is used here: TypeScript's own declarations lack it. */
interface RawDevice {
  readonly features: ReadonlySet<string>;
  readonly queue: { submit(commands: readonly unknown[]): void; onSubmittedWorkDone(): Promise<unknown> };
  createQuerySet(descriptor: { type: 'timestamp'; count: number }): { destroy(): void };
  createBuffer(descriptor: { size: number; usage: number }): RawBuffer;
  createCommandEncoder(): RawEncoder;
}

interface RawBuffer {
  mapAsync(mode: number): Promise<void>;
  getMappedRange(): ArrayBuffer;
  unmap(): void;
  destroy(): void;
}

interface RawEncoder {
  beginComputePass(descriptor: object): { end(): void };
  resolveQuerySet(set: unknown, first: number, count: number, target: RawBuffer, offset: number): void;
  copyBufferToBuffer(source: RawBuffer, from: number, target: RawBuffer, to: number, size: number): void;
  finish(): unknown;
}

/** GPUBufferUsage and GPUMapMode, which some environments have as names only. */
const [MAP_READ, COPY_SRC, COPY_DST, QUERY_RESOLVE, READ] = [0x1, 0x4, 0x8, 0x200, 0x1];
/** Four numbers of 64 bits: begin and end of a pass before the work and of one after it. */
const BYTES = 32;

/**
 * A clock for a `GPUDevice`.
 *
 * @internal
 */
export function clockOf(device: unknown): Clock & { free(): void } {
  const raw = device as RawDevice;
  const wall: Clock['time'] = async (submit) => {
    const start = performance.now();
    submit();
    await raw.queue.onSubmittedWorkDone();
    return performance.now() - start;
  };
  if (!raw.features.has('timestamp-query')) return { time: wall, free: () => {} };
  return new StampClock(raw, wall);
}

/** Empty passes around the work write timestamps. */
class StampClock implements Clock {
  readonly #device: RawDevice;
  readonly #wall: Clock['time'];
  readonly #stamps: { destroy(): void };
  readonly #resolved: RawBuffer;
  readonly #read: RawBuffer;
  /** What the driver writes is no time. */
  #broken = false;

  constructor(device: RawDevice, wall: Clock['time']) {
    this.#device = device;
    this.#wall = wall;
    this.#stamps = device.createQuerySet({ type: 'timestamp', count: 4 });
    this.#resolved = device.createBuffer({ size: BYTES, usage: QUERY_RESOLVE | COPY_SRC });
    this.#read = device.createBuffer({ size: BYTES, usage: MAP_READ | COPY_DST });
  }

  async time(submit: () => void): Promise<number> {
    if (this.#broken) return this.#wall(submit);
    const wall = await this.#wall(() => {
      this.#submit(0);
      submit();
      this.#submit(2);
    });
    await this.#read.mapAsync(READ);
    const [, start = 0n, end = 0n] = new BigUint64Array(this.#read.getMappedRange().slice(0));
    this.#read.unmap();
    const ms = Number(end - start) / 1e6;
    if (ms > 0 && ms <= wall) return ms;
    this.#broken = true;
    return this.#wall(submit);
  }

  /** An empty pass with two timestamps; the second one has them copied. */
  #submit(first: number): void {
    const encoder = this.#device.createCommandEncoder();
    const timestampWrites = {
      querySet: this.#stamps,
      beginningOfPassWriteIndex: first,
      endOfPassWriteIndex: first + 1,
    };
    encoder.beginComputePass({ timestampWrites }).end();
    if (first > 0) {
      encoder.resolveQuerySet(this.#stamps, 0, 4, this.#resolved, 0);
      encoder.copyBufferToBuffer(this.#resolved, 0, this.#read, 0, BYTES);
    }
    this.#device.queue.submit([encoder.finish()]);
  }

  free(): void {
    this.#stamps.destroy();
    this.#resolved.destroy();
    this.#read.destroy();
  }
}
