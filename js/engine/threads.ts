/**
 * Threads that share the products of a model on the CPU: workers with a WebAssembly module each, which has some rows of
 * every large matrix. They find x, and leave what they found, in memory that all of them see, which only pages have
 * that are cross-origin isolated.
 */
import { WebggufError } from '../errors.js';
import { hasRare } from '../wasm/give-needed.js';
import { compiledModule } from '../wasm/instance.js';
import type { CpuThreads } from '../wasm/webgguf.js';
import { whenGone } from './alive.js';
import { Channel } from './channel.js';
import { files } from './files.js';
import { Job, MOST_VALUES, type SharedMemory } from './thread-side.js';

/** Most threads of a model by default: more are rarely faster, since all read the same memory. */
const MOST = 8;

/** How often a thread that is not done is looked at before the page's other work gets a turn. */
const LOOKS = 2000;

/** All cores where there are few; of many half, since these are often two to a core that computes. @internal */
export function defaultThreads(): number {
  const cores = navigator.hardwareConcurrency;
  return Math.min(MOST, cores, Math.max(4, Math.floor(cores / 2)));
}

/** @internal */
export class Threads implements CpuThreads {
  readonly #workers: readonly Promise<Worker>[];
  readonly #channels: readonly Promise<Channel>[];
  readonly #memory: SharedMemory;
  /** What the workers have not answered yet. */
  #calls: Promise<unknown>[] = [];
  #isLost = false;
  readonly #free = new AbortController();

  private constructor(workers: readonly Promise<Worker>[]) {
    const shared = (words: number): SharedArrayBuffer => new SharedArrayBuffer(4 * words);
    this.#memory = {
      job: new Int32Array(shared(Job.Done + workers.length)),
      x: new Float32Array(shared(MOST_VALUES)),
      y: new Float32Array(shared(MOST_VALUES)),
    };
    this.#workers = workers;
    this.#channels = workers.map(async (worker) => this.#channelOf(await worker));
    const module = compiledModule();
    for (const index of workers.keys()) this.#call(index, 'beginThread', [module, this.#memory, index, hasRare()]);
  }

  /**
   * Starts `count` threads besides this one, and waits for the first of them. The others start then, when the browser
   * has their script, while the model is loaded.
   *
   * @throws what starting a worker throws
   */
  static async open(count: number, signal: AbortSignal): Promise<Threads> {
    const first = await files.startWorker(signal);
    const others = Array.from({ length: count - 1 }, () => files.startWorker(signal));
    return new Threads([Promise.resolve(first), ...others]);
  }

  count(): number {
    return this.#workers.length;
  }

  room(): number {
    return MOST_VALUES;
  }

  put(thread: number, shape: Uint32Array, bytes: Uint8Array): void {
    const own = bytes.slice();
    this.#call(thread - 1, 'keepRows', [shape.slice(), own], [own.buffer]);
  }

  /** Resolves once the threads have all that they were given; from then on they wait for products alone. */
  async ready(): Promise<void> {
    for (const index of this.#workers.keys()) this.#call(index, 'listen', []);
    await Promise.all(this.#calls.splice(0));
  }

  begin(number: number, group: number, x: Float32Array): void {
    const { job } = this.#memory;
    this.#memory.x.set(x);
    job[Job.Matrix] = number;
    job[Job.Group] = group;
    job[Job.Values] = x.length;
    Atomics.add(job, Job.Number, 1);
    Atomics.notify(job, Job.Number);
  }

  /** 0: not all are done; 1: all are; 2: a thread has failed. */
  state(): number {
    const { job } = this.#memory;
    const number = job[Job.Number] as number;
    for (let thread = 0, looks = 0; thread < this.#workers.length; looks += 1) {
      if (Atomics.load(job, Job.Done + thread) === number) thread += 1;
      else if (looks > LOOKS) return this.#isLost ? 2 : 0;
    }
    return job[Job.Failed] === 0 ? 1 : 2;
  }

  take(own: number, rows: number, out: Float32Array): void {
    const { y } = this.#memory;
    for (let row = 0; row < out.length; row += rows) out.set(y.subarray(row + own, row + rows), row + own);
  }

  free(): void {
    this.#free.abort();
    for (const worker of this.#workers) worker.then((it) => it.terminate()).catch(() => {});
  }

  #channelOf(worker: Worker): Channel {
    const channel = new Channel(worker, {});
    const lost = (why: string): void => {
      this.#isLost = true;
      channel.close(new WebggufError('worker_lost', `a thread of the model ended: ${why}`));
    };
    worker.addEventListener('error', ({ message }) => lost(message));
    const gone = (): void => lost('the browser said no reason');
    whenGone(channel, this.#free.signal, gone).catch(() => {}); // the error is in `lost` already
    return channel;
  }

  #call(index: number, method: string, args: unknown[], transfer: Transferable[] = []): void {
    const channel = this.#channels[index] as Promise<Channel>;
    const call = channel.then((it) => it.call(method, args, { transfer }));
    call.catch(() => {}); // `ready` tells
    this.#calls.push(call);
  }
}
