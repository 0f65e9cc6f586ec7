/**
 * The architecture that a file names, from its first bytes: writers of GGUF begin with it.
 */
import type { ByteSource } from '../wasm/webgguf.js';

/** Architectures of drafters that become a block of their model. @internal */
export const DRAFTERS: readonly (string | null | undefined)[] = ['eagle3', 'gemma4-assistant', 'dflash'];

/** Bytes in which the key is looked for. */
const MOST = 1 << 12;
/** The key, and the type of a string; its length in eight bytes and the string follow. */
const KEY = 'general.architecture\b\0\0\0';

/**
 * The architecture of the file of `source`, `undefined` where its beginning does not name one. The source gives all of
 * its bytes afterwards, too.
 * @internal
 */
export async function architectureOf(source: ByteSource): Promise<string | undefined> {
  const next = source.next.bind(source);
  const pieces: Uint8Array[] = [];
  let length = 0;
  while (length < MOST) {
    const piece = await next();
    if (!piece) break;
    pieces.push(piece.slice()); // a source may use its memory again
    length += piece.length;
  }
  source.next = async () => pieces.shift() ?? next();
  let text = '';
  for (const piece of pieces) text += String.fromCharCode(...piece.subarray(0, MOST));
  const at = text.indexOf(KEY) + KEY.length;
  return at < KEY.length ? undefined : text.slice(at + 8, at + 8 + text.charCodeAt(at));
}
