/**
 * webgguf's folder in the origin's private file system: `webgguf/<model>/<part>/`, in each the state and the segments.
 */
import { folderOf } from './key.js';
import { type FileState, parseState } from './state.js';

const ROOT = 'webgguf';
const STATE = 'state.json';

/** Why nothing can be stored here. @internal */
export class NoStorage extends Error {}

/** Whether this environment has what the cache needs; Node.js has not. @internal */
export function hasStorage(): boolean {
  return typeof globalThis.navigator?.storage?.getDirectory === 'function' && navigator.locks !== undefined;
}

/**
 * The folder of all models.
 *
 * @throws NoStorage and the browser's own exceptions, which private windows throw
 * @internal
 */
export async function openRoot(): Promise<FileSystemDirectoryHandle> {
  if (!hasStorage())
    throw new NoStorage('no private file system here: it needs a recent browser and https: or localhost');
  const origin = await navigator.storage.getDirectory();
  return origin.getDirectoryHandle(ROOT, { create: true });
}

/** One file of one model, whether it is stored or not. @internal */
export interface Place {
  readonly root: FileSystemDirectoryHandle;
  /** The model's key. */
  readonly key: string;
  /** Counted from 1. */
  readonly part: number;
  readonly parts: number;
}

const partName = (part: number): string => String(part).padStart(5, '0');

/** The name of the lock of a file. @internal */
export function lockName({ key, part }: Pick<Place, 'key' | 'part'>): string {
  return `webgguf:${folderOf(key)}/${partName(part)}`;
}

/** The folder of a file; `undefined` where there is none and `create` is not set. @internal */
export async function folderAt(place: Place, create: boolean): Promise<FileSystemDirectoryHandle | undefined> {
  const model = await ifThere(place.root.getDirectoryHandle(folderOf(place.key), { create }));
  return model && ifThere(model.getDirectoryHandle(partName(place.part), { create }));
}

/** Removes what is stored of a file. @internal */
export async function removeFile(place: Place): Promise<void> {
  const model = await ifThere(place.root.getDirectoryHandle(folderOf(place.key)));
  await ifThere(model?.removeEntry(partName(place.part), { recursive: true }) ?? Promise.resolve());
}

/** The states of all stored files, by folder of their model; those that cannot be read are `undefined`. @internal */
export async function allStates(root: FileSystemDirectoryHandle): Promise<Map<string, (FileState | undefined)[]>> {
  const models = new Map<string, (FileState | undefined)[]>();
  for await (const [name, model] of root.entries()) {
    if (model.kind !== 'directory') continue;
    models.set(name, await statesOf(model as FileSystemDirectoryHandle));
  }
  return models;
}

async function statesOf(model: FileSystemDirectoryHandle): Promise<(FileState | undefined)[]> {
  const states: (FileState | undefined)[] = [];
  for await (const [, part] of model.entries()) {
    if (part.kind === 'directory') states.push(await readState(part as FileSystemDirectoryHandle));
  }
  return states;
}

/** The state in a file's folder, where there is a sound one. @internal */
export async function readState(folder: FileSystemDirectoryHandle): Promise<FileState | undefined> {
  const handle = await ifThere(folder.getFileHandle(STATE));
  // Replaced by another tab between the two calls, it cannot be read; so it is looked up once more.
  const read = async (): Promise<string> => (await (handle as FileSystemFileHandle).getFile()).text();
  return (
    handle &&
    parseState(
      await read()
        .catch(read)
        .catch(() => ''),
    )
  );
}

/** Replaces the state: a writable stream changes the file when it is closed, all at once. @internal */
export async function writeState(folder: FileSystemDirectoryHandle, state: FileState): Promise<void> {
  const writable = await openWritable(folder, STATE);
  await writable.write(JSON.stringify(state));
  await writable.close();
}

/** The stored bytes of a segment. @internal */
export async function segmentFile(folder: FileSystemDirectoryHandle, index: number): Promise<File> {
  return (await folder.getFileHandle(segmentName(index))).getFile();
}

/** A stream into a new segment, which is there once it is closed. @internal */
export function openSegment(folder: FileSystemDirectoryHandle, index: number): Promise<FileSystemWritableFileStream> {
  return openWritable(folder, segmentName(index));
}

/**
 * Removes all but the state and the first `segments`: a segment that was not listed yet, and the files beside it in
 * which Chromium keeps what a stream has written (`.crswap`), which outlive a crash of the browser.
 *
 * @internal
 */
export async function removeStrays(folder: FileSystemDirectoryHandle, segments: number): Promise<void> {
  const known = new Set([STATE, ...Array.from({ length: segments }, (_, index) => segmentName(index))]);
  const names: string[] = [];
  for await (const name of folder.keys()) if (!known.has(name)) names.push(name);
  await Promise.all(names.map((name) => folder.removeEntry(name).catch(() => {})));
}

const segmentName = (index: number): string => `${String(index).padStart(5, '0')}.bin`;

/** A stream that replaces a file when it is closed. @internal */
export async function openWritable(
  folder: FileSystemDirectoryHandle,
  name: string,
): Promise<FileSystemWritableFileStream> {
  const handle = await folder.getFileHandle(name, { create: true });
  if (typeof handle.createWritable === 'function') return handle.createWritable();
  throw new NoStorage('this browser cannot write to its private file system from here: Safari can since version 26');
}

/** The result, or `undefined` where the file or folder is not there, or is of the other kind. */
async function ifThere<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch (error) {
    const { name } = error as Partial<DOMException>;
    if (name === 'NotFoundError' || name === 'TypeMismatchError') return undefined;
    throw error;
  }
}
