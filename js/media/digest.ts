/**
 * Names of images and sounds by their content.
 */
import { inParts } from './steps.js';

/** Bytes that are hashed at once: a browser does that in the page's thread. */
const PIECE_BYTES = 1 << 22;
/** Bytes that are hashed here without a pause. */
const PLAIN_BYTES = 1 << 16;

/** What the digests of all tiles or pieces begin with. @internal */
export const commonOf = (digest: string): string => digest.slice(0, 14);

/** The digest of a tile or a piece: the last two digits are its number. @internal */
export function digestOfPart(digest: string, number: number): string {
  return commonOf(digest) + number.toString(16).padStart(2, '0');
}

/** Pixels or samples. */
type Values =
  | {
      readonly image: {
        readonly width: number;
        readonly height: number;
        readonly data: Uint8Array | Uint8ClampedArray;
      };
    }
  | { readonly audio: { readonly samples: Float32Array } };

/** The digest of pixels or samples with the numbers of their encoder: 16 hexadecimal digits. @internal */
export async function digestOf(content: Values, numbers: readonly number[]): Promise<string> {
  const held = 'image' in content ? content.image.data : content.audio.samples;
  const sizes = 'image' in content ? `${content.image.width} ${content.image.height}` : 'sound';
  const { buffer, byteOffset, byteLength } = held;
  // Both were made here: they share no memory with a page.
  const data = new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
  return digestOfBytes(new TextEncoder().encode(`${sizes} ${numbers.join()} ${await digestOfFile(data)}`));
}

/** The digest of a file: 16 hexadecimal digits for each {@link PIECE_BYTES} bytes. @internal */
export async function digestOfFile(data: Uint8Array<ArrayBuffer>): Promise<string> {
  const digests = [];
  for (let at = 0; at < data.length; at += PIECE_BYTES) {
    digests.push(await digestOfBytes(data.subarray(at, at + PIECE_BYTES)));
  }
  return digests.join();
}

async function digestOfBytes(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const subtle = (globalThis.crypto as Partial<Crypto> | undefined)?.subtle;
  if (!subtle) return plainDigest(bytes);
  const digest = new Uint8Array(await subtle.digest('SHA-256', bytes));
  return [...digest.subarray(0, 8)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Where a page is no secure context: two sums of Fowler, Noll and Vo's kind. */
async function plainDigest(bytes: Uint8Array): Promise<string> {
  let [first, second] = [0x811c9dc5, 0x9e3779b9];
  await inParts(bytes.length, PLAIN_BYTES, (from, to) => {
    for (const byte of bytes.subarray(from, to)) {
      first = Math.imul(first ^ byte, 0x01000193);
      second = Math.imul(second ^ byte, 0x85ebca6b);
    }
  });
  return [first, second].map((sum) => (sum >>> 0).toString(16).padStart(8, '0')).join('');
}
