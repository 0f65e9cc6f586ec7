/**
 * Saved sessions: what a handle has read, as a file and back, a part at a time.
 */
import { WebggufError } from '../errors.js';
import type { WasmModel as Handle } from '../wasm/webgguf.js';

/** Bytes at the start of a saved session that say how long its head is. */
const SHORTEST_HEAD = 64;

/** What a handle has read, with notes in its head. `ids`: see `saveHead`. @internal */
export async function savedSession(handle: Handle, notes: string, ids?: Uint32Array): Promise<Blob> {
  const type = 'application/octet-stream';
  let saved = new Blob([await handle.saveHead(notes, ids)], { type });
  for (let number = 0; ; number++) {
    const part = await handle.readPart(number);
    if (!part) return saved;
    // A part is in memory until the browser has taken it.
    saved = new Blob([saved, part], { type });
  }
}

/** Where the head of a saved session ends, and how many tokens its caches hold. @internal */
export async function headOf(handle: Handle, saved: Blob): Promise<{ end: number; tokens: number }> {
  const [end = 0, tokens = 0] = handle.checkSaved(await bytesOf(saved, 0, SHORTEST_HEAD), saved.size);
  return { end, tokens };
}

/** Fills the cache of `handle` with what was saved; its head ends at `end`. Resolves to the notes. @internal */
export async function restoreIn(handle: Handle, saved: Blob, end: number): Promise<string> {
  const { size } = saved;
  const [notes, part] = await handle.restoreHead(await bytesOf(saved, 0, end), size);
  for (let number = 0, from = end; part > 0 && from < size; number++, from += part) {
    await handle.writePart(number, await bytesOf(saved, from, from + part));
  }
  return notes;
}

async function bytesOf(blob: Blob, from: number, to: number): Promise<Uint8Array> {
  try {
    return new Uint8Array(await blob.slice(from, to).arrayBuffer());
  } catch (cause) {
    throw new WebggufError('download_failed', (cause as Error).message, { cause });
  }
}
