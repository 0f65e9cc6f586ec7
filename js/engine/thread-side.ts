/**
 * A thread's side of `threads.ts`: it is given rows of matrices by calls; then it waits for products in memory that all
 * threads see, and hears no call any more.
 */
import { giveNeeded } from '../wasm/give-needed.js';
import { init, wasmClasses } from '../wasm/instance.js';
import type { CpuThread } from '../wasm/webgguf.js';
import { running, trusted } from '../worker-running.js';
import type { Handler } from './channel.js';
import { files } from './files.js';

/** Most values of x and of a product: 4 MiB each. @internal */
export const MOST_VALUES = 1 << 20;

/** Indices in {@link SharedMemory.job}. @internal */
export const Job = {
  /** Number of the product that is wanted. */
  Number: 0,
  Matrix: 1,
  Group: 2,
  /** Values of x. */
  Values: 3,
  /** 1 once a thread has failed. */
  Failed: 4,
  /** For each thread: number of the product that it is done with. */
  Done: 5,
} as const;

/** What all threads see. @internal */
export interface SharedMemory {
  readonly job: Int32Array<SharedArrayBuffer>;
  /** [tokens, cols] */
  readonly x: Float32Array<SharedArrayBuffer>;
  /** [tokens, rows of a group] */
  readonly y: Float32Array<SharedArrayBuffer>;
}

/** How long a thread looks for the next product before it sleeps, in milliseconds: as long as a token has others. */
const AWAKE_MS = 1;

/** Rows of a group of a matrix, values of a row, and which row is the first of this thread. */
interface Place {
  readonly rows: number;
  readonly cols: number;
  readonly first: number;
}

/** The calls of `threads.ts`. @internal */
export function threadHandlers(): Record<'beginThread' | 'keepRows' | 'listen', Handler> {
  const places: Place[] = [];
  let thread: Promise<CpuThread>;
  let [shared, own]: [SharedMemory?, number?] = [];
  return {
    beginThread: async ([module, memory, index, withRare]) => {
      [shared, own] = [memory as SharedMemory, index as number];
      thread = begin(module as WebAssembly.Module, withRare as boolean);
      await thread;
    },
    keepRows: async ([shape, bytes]) => {
      const [, , , rows, first, cols] = shape as number[];
      places.push({ rows, first, cols } as Place);
      (await thread).put(shape, bytes);
    },
    listen: async () => {
      const made = await thread;
      // The reply goes first.
      setTimeout(() => multiplyForever(made, shared as SharedMemory, own as number, places));
    },
  };
}

/** A worker of the script that runs in this one. @internal */
export function startOwnScript(signal: AbortSignal): Promise<Worker> {
  return running(new Worker(trusted(location.href), { type: 'module' }), location.href, signal);
}

async function begin(module: WebAssembly.Module, withRare: boolean): Promise<CpuThread> {
  await init({ wasm: module });
  if (withRare) await giveNeeded('rare', files);
  const { CpuThread } = await wasmClasses();
  return new CpuThread();
}

/** Multiplies whenever it is asked to; ends with the worker. */
function multiplyForever(thread: CpuThread, { job, x, y }: SharedMemory, own: number, places: readonly Place[]): void {
  for (let number = 0; ; ) {
    number = nextAfter(job, number);
    const [matrix, group, values] = [Job.Matrix, Job.Group, Job.Values].map((at) => job[at]) as [
      number,
      number,
      number,
    ];
    try {
      const { rows, cols, first } = places[matrix] as Place;
      const found = thread.multiply(matrix, group, x.subarray(0, values));
      const [tokens, count] = [values / cols, (found.length * cols) / values];
      for (let token = 0; token < tokens; token += 1) {
        y.set(found.subarray(token * count, (token + 1) * count), token * rows + first);
      }
    } catch {
      job[Job.Failed] = 1;
    }
    Atomics.store(job, Job.Done + own, number);
  }
}

/** The number of the product that is wanted after this one, once there is one. */
function nextAfter(job: Int32Array<SharedArrayBuffer>, number: number): number {
  const awakeUntil = performance.now() + AWAKE_MS;
  for (let looks = 1; ; looks += 1) {
    const wanted = Atomics.load(job, Job.Number);
    if (wanted !== number) return wanted;
    if (looks % 256 === 0 && performance.now() > awakeUntil) Atomics.wait(job, Job.Number, number);
  }
}
