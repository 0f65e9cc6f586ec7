/**
 * What files were decoded to: the last ones, by their content. The same bytes are not decoded again, whichever object
 * holds them, and bytes that a page has written over are.
 */
import { files } from '../engine/files.js';
import { invalidArgument } from '../errors.js';
import { digestOfFile } from './digest.js';

/** @internal */
export type MediumKind = 'image' | 'video' | 'audio';

/** Bytes of a file, at most: of a sound half an hour of four bytes at 48 kHz in two channels. @internal */
export const MOST_BYTES = { image: 256 << 20, video: 2 ** 31, audio: 700 << 20 };

/** Refuses a file with more bytes than are taken. @internal */
export function checkBytes(what: MediumKind, bytes: number): void {
  const most = MOST_BYTES[what];
  if (bytes > most) throw invalidArgument(`${what}: a file of ${bytes} bytes, at most ${most} are taken`);
}

/** Bytes of all that is kept, at most. */
const KEPT_BYTES = 64 << 20;

/** The file at an address; most pages have none. @internal */
export async function download(what: MediumKind, url: string | URL, signal?: AbortSignal): Promise<Blob> {
  return (await files.mediaFile()).download(what, url, checkBytes, signal);
}

interface Held {
  readonly made: Promise<unknown>;
  /** 0 until it is there. */
  bytes: number;
}

/** The last one used is the last one. */
const held = new Map<string, Held>();

/** What `decode` makes of a file, or made of the same bytes before. What failed is tried again. @internal */
export async function decodedOnce<T>(
  kind: MediumKind,
  file: Blob,
  decode: (bytes: Uint8Array<ArrayBuffer>) => Promise<T>,
  bytesOf: (made: T) => number,
): Promise<T> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const key = `${kind} ${file.type} ${await digestOfFile(bytes)}`;
  const known = held.get(key);
  const entry: Held = known ?? { made: decode(bytes), bytes: 0 };
  held.delete(key);
  held.set(key, entry);
  try {
    const made = (await entry.made) as T;
    if (!known) settle(entry, bytesOf(made));
    return made;
  } catch (error) {
    if (held.get(key) === entry) held.delete(key);
    throw error;
  }
}

/** Makes room for what is there now: what was used longest ago goes. */
function settle(entry: Held, bytes: number): void {
  entry.bytes = bytes;
  let sum = [...held.values()].reduce((all, one) => all + one.bytes, 0);
  for (const [key, one] of held) {
    if (sum <= KEPT_BYTES) return;
    held.delete(key);
    sum -= one.bytes;
  }
}
