/**
 * Trainings that are kept in the origin's private file system: one file each, replaced as a whole.
 *
 * A file is a magic text, a version and the length of a JSON, both u32, that JSON (a {@link Kept}), zeros to a multiple
 * of 4 bytes, and f32 numbers: the matrices, the moments of the optimizer, the best matrices. All is little-endian.
 */
import { WebggufError, invalidArgument } from '../../errors.js';
import { NoStorage, hasStorage, openWritable } from '../../load/cache/folder.js';
import { folderOf } from '../../load/cache/key.js';
import { type Held, tryLock, waitForLock } from '../../load/cache/lock.js';
import { show } from '../../check.js';
import type { Recipe, RunRecipe } from './options.js';
import { type Copy, shapesOf } from './parameters.js';
import type { AdapterTarget } from './trainable.js';
import type { SavedTraining } from './types.js';

/** Which model a training is of. */
export interface Base {
  readonly architecture: string;
  readonly name?: string | undefined;
  readonly quantization: string;
  readonly parameters: number;
  readonly vocabularySize: number;
  /** The digest of the file, in hexadecimal. */
  readonly digest: string;
}

/** Where a run stands: plain data. */
export interface RunState {
  readonly recipe: RunRecipe;
  /** Digest of what it reads. */
  readonly data: string;
  /** Steps that are done, and all. */
  readonly step: number;
  readonly steps: number;
  /** Tokens that were read. */
  readonly tokens: number;
  /** The loss of the last step. */
  readonly loss?: number | undefined;
  /** The least held-out loss, and how many came after it. */
  readonly bestLoss?: number | undefined;
  readonly sinceBest: number;
  readonly isOver: boolean;
}

/** What is kept beside the numbers. */
export interface Kept {
  readonly name: string;
  readonly base: Base;
  readonly recipe: Recipe;
  readonly targets: readonly AdapterTarget[];
  readonly run?: RunState | undefined;
  readonly optimizerSteps: number;
  readonly hasMoments: boolean;
  readonly hasBest: boolean;
  /** Milliseconds since 1970. */
  readonly saved: number;
}

const MAGIC = 'wggftrng';
const VERSION = 1;
/** Bytes before the JSON. */
const START = 16;
const FOLDER = 'webgguf-training';
const ENDING = '.training';
/** Bytes of one write: small ones cost a message to the browser's process each. */
const WRITE_BYTES = 4 << 20;

/** How long a tab that was closed may take to give its lock back, in milliseconds. */
const GRACE = 1000;

const fileName = (name: string): string => folderOf(name) + ENDING;

async function openFolder(): Promise<FileSystemDirectoryHandle> {
  if (!hasStorage()) throw new NoStorage('no private file system here: it needs a recent browser and https:');
  const origin = await navigator.storage.getDirectory();
  return origin.getDirectoryHandle(FOLDER, { create: true });
}

/** The place of a training. No other one writes to it while this one is open. */
export class TrainingStore {
  readonly name: string;
  readonly #folder: FileSystemDirectoryHandle;
  readonly #lock: Held;

  private constructor(name: string, folder: FileSystemDirectoryHandle, lock: Held) {
    this.name = name;
    this.#folder = folder;
    this.#lock = lock;
  }

  /**
   * @throws {WebggufError} `invalid_argument` where another trainer has it
   * @throws what the browser throws where nothing can be stored
   */
  static async open(name: string): Promise<TrainingStore> {
    const folder = await openFolder();
    const own = `${FOLDER}:${name}`;
    const lock = (await tryLock(own)) ?? (await lateLock(own));
    if (lock) return new TrainingStore(name, folder, lock);
    throw invalidArgument(`trainer: another trainer, here or in another tab, has the training ${show(name)}: free it`);
  }

  /** What is kept, or `undefined`. */
  async read(): Promise<{ kept: Kept; copy: Copy } | undefined> {
    const file = await fileIn(this.#folder, fileName(this.name));
    if (!file) return undefined;
    const { kept, start } = await headOf(file, this.name);
    return { kept, copy: copyOf(kept, await bytesFrom(file, start), this.name) };
  }

  /** Replaces what is kept; if that fails, the file before stays. */
  async write(kept: Kept, copy: Copy): Promise<void> {
    const writable = await openWritable(this.#folder, fileName(this.name));
    try {
      for (const piece of piecesOf(kept, copy)) await writable.write(piece);
    } catch (error) {
      await writable.abort().catch(() => {});
      throw error;
    }
    await writable.close();
  }

  release(): void {
    this.#lock.release();
  }
}

/**
 * The trainings that are kept in the origin's private file system, the last one saved first.
 *
 * @returns none where there is no such file system
 *
 * @example
 * for (const { name, step, steps } of await savedTrainings()) console.log(`${name}: ${step} of ${steps}`);
 */
export async function savedTrainings(): Promise<SavedTraining[]> {
  if (!hasStorage()) return [];
  const found: SavedTraining[] = [];
  for await (const [name, handle] of (await openFolder()).entries()) {
    if (handle.kind !== 'file' || !name.endsWith(ENDING)) continue;
    const file = await (handle as FileSystemFileHandle).getFile();
    const head = await headOf(file, name).catch(() => undefined); // of another version, or cut
    if (head) found.push(described(head.kept, file.size));
  }
  return found.sort((a, b) => Number(b.saved) - Number(a.saved));
}

/**
 * Deletes a training that is kept; the adapters that were made of it stay.
 *
 * @returns whether there was one
 * @throws {WebggufError} `invalid_argument` while a trainer has it, here or in another tab
 */
export async function deleteTraining(name: string): Promise<boolean> {
  if (!hasStorage()) return false;
  const folder = await openFolder();
  const store = await TrainingStore.open(name);
  try {
    const isThere = (await fileIn(folder, fileName(name))) !== undefined;
    if (isThere) await folder.removeEntry(fileName(name));
    return isThere;
  } finally {
    store.release();
  }
}

function described({ name, base, run, saved }: Kept, bytes: number): SavedTraining {
  const { step = 0, steps = 0, loss } = run ?? {};
  return {
    name,
    step,
    steps,
    ...(loss !== undefined && { loss }),
    architecture: base.architecture,
    ...(base.name !== undefined && { model: base.name }),
    saved: new Date(saved),
    bytes,
  };
}

async function fileIn(folder: FileSystemDirectoryHandle, name: string): Promise<File | undefined> {
  try {
    return await (await folder.getFileHandle(name)).getFile();
  } catch (error) {
    if ((error as Error).name === 'NotFoundError') return undefined;
    throw error;
  }
}

const bytesFrom = async (file: Blob, from: number, to = file.size): Promise<Uint8Array> =>
  new Uint8Array(await file.slice(from, to).arrayBuffer());

const broken = (name: string, why: string): WebggufError =>
  new WebggufError('bad_file', `the training ${show(name)} cannot be read: ${why}`);

/** The lock of a tab that was closed just now; `undefined` if another one keeps it. */
async function lateLock(name: string): Promise<Held | undefined> {
  const end = new AbortController();
  const timer = setTimeout(() => end.abort(), GRACE);
  try {
    return await waitForLock(name, end.signal);
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

/** What is kept beside the numbers, and where these begin. */
async function headOf(file: Blob, name: string): Promise<{ kept: Kept; start: number }> {
  const first = await bytesFrom(file, 0, START);
  const view = new DataView(first.buffer);
  if (first.length < START || new TextDecoder().decode(first.subarray(0, 8)) !== MAGIC) {
    throw broken(name, 'it begins with other bytes');
  }
  const [version, length] = [view.getUint32(8, true), view.getUint32(12, true)];
  if (version !== VERSION) throw broken(name, `it has version ${version}, expected ${VERSION}`);
  try {
    const kept: Kept = JSON.parse(new TextDecoder().decode(await bytesFrom(file, START, START + length)));
    return { kept, start: aligned(START + length) };
  } catch (cause) {
    throw broken(name, (cause as Error).message);
  }
}

const aligned = (bytes: number): number => Math.ceil(bytes / 4) * 4;

function copyOf(kept: Kept, bytes: Uint8Array, name: string): Copy {
  const sizes = shapesOf(kept.targets, kept.recipe.rank).map(([rows, cols]) => rows * cols);
  const states = kept.hasMoments ? sizes.flatMap((size) => [size, size]) : [];
  const best = kept.hasBest ? sizes : [];
  const count = [...sizes, ...states, ...best].reduce((sum, size) => sum + size, 0);
  if (bytes.length !== 4 * count) throw broken(name, `it has ${bytes.length} bytes of numbers, expected ${4 * count}`);
  let at = 0;
  const take = (size: number): Float32Array => {
    const values = new Float32Array(bytes.buffer, bytes.byteOffset + 4 * at, size);
    at += size;
    return values;
  };
  const [matrices = [], moments = [], found] = [sizes, states, best].map((list) => list.map(take));
  return { matrices, moments, optimizerSteps: kept.optimizerSteps, ...(kept.hasBest && { best: found }) };
}

/** The bytes of a file. */
function* piecesOf(kept: Kept, copy: Copy): Generator<Uint8Array<ArrayBuffer>> {
  const json = new TextEncoder().encode(JSON.stringify(kept));
  const head = new Uint8Array(aligned(START + json.length));
  head.set(new TextEncoder().encode(MAGIC));
  new DataView(head.buffer).setUint32(8, VERSION, true);
  new DataView(head.buffer).setUint32(12, json.length, true);
  head.set(json, START);
  yield head;
  let waiting: Float32Array[] = [];
  let bytes = 0;
  for (const values of [...copy.matrices, ...copy.moments, ...(copy.best ?? [])]) {
    waiting.push(values);
    bytes += values.byteLength;
    if (bytes < WRITE_BYTES) continue;
    yield joined(waiting, bytes);
    [waiting, bytes] = [[], 0];
  }
  if (bytes > 0) yield joined(waiting, bytes);
}

function joined(list: readonly Float32Array[], bytes: number): Uint8Array<ArrayBuffer> {
  const all = new Float32Array(bytes / 4);
  let at = 0;
  for (const values of list) {
    all.set(values, at);
    at += values.length;
  }
  return new Uint8Array(all.buffer);
}
