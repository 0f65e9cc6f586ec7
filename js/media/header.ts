/**
 * The size of an image file, from its first bytes: what is too large is refused before it is decoded. A file is
 * hostile: where it says several sizes, the largest counts.
 */

/** Pixels of four bytes each, red, green, blue and one that is not read. @internal */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array | Uint8ClampedArray;
}

/** Width and height in pixels. @internal */
export type PixelSize = readonly [width: number, height: number];

/** Bytes of a file that say its size, unless much comes before it. @internal */
export const HEADER_BYTES = 256 << 10;

/** The size; `undefined` for a file of another kind (see `load/picture-kinds.ts`), or one that is cut off. @internal */
export function sizeInHeader(bytes: Uint8Array): PixelSize | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = (at: number, length: number): string => String.fromCharCode(...bytes.subarray(at, at + length));
  try {
    if (text(1, 3) === 'PNG') return [view.getUint32(16), view.getUint32(20)];
    if (text(0, 3) === 'GIF') return sizeOfGif(view);
    if (text(0, 4) === 'RIFF' && text(8, 4) === 'WEBP') return sizeOfWebp(view, text(12, 4));
    if (text(4, 4) === 'ftyp') return sizeInBoxes(view, 0, view.byteLength);
    if (view.getUint16(0) === 0xffd8) return sizeOfJpeg(view);
  } catch {
    // Cut off.
  }
  return undefined;
}

/** As large as both in each direction. @internal */
export function larger(one: PixelSize | undefined, other: PixelSize | undefined): PixelSize | undefined {
  return one && other ? [Math.max(one[0], other[0]), Math.max(one[1], other[1])] : (one ?? other);
}

/** The size of the screen, or of the first frame, which may reach beyond it. */
function sizeOfGif(view: DataView): PixelSize {
  const colours = (flags: number): number => (flags & 0x80 ? 3 << ((flags & 7) + 1) : 0);
  let at = 13 + colours(view.getUint8(10));
  while (view.getUint8(at) === 0x21) {
    at += 2;
    while (view.getUint8(at)) at += 1 + view.getUint8(at);
    at += 1;
  }
  const short = (offset: number): number => view.getUint16(offset, true);
  const frame: PixelSize = [short(at + 1) + short(at + 5), short(at + 3) + short(at + 7)];
  return larger([short(6), short(8)], frame) as PixelSize;
}

function sizeOfWebp(view: DataView, kind: string): PixelSize | undefined {
  const three = (at: number): number => view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
  if (kind === 'VP8X') return [1 + three(24), 1 + three(27)];
  if (kind === 'VP8 ') return [view.getUint16(26, true) & 0x3fff, view.getUint16(28, true) & 0x3fff];
  if (kind !== 'VP8L') return undefined;
  const bits = view.getUint32(21, true);
  return [1 + (bits & 0x3fff), 1 + ((bits >> 14) & 0x3fff)];
}

/** The largest size among the segments that start a frame. */
function sizeOfJpeg(view: DataView): PixelSize | undefined {
  let size: PixelSize | undefined;
  for (let at = 2; at + 9 <= view.byteLength && view.getUint8(at) === 0xff; ) {
    const kind = view.getUint8(at + 1);
    const isFrame = kind >= 0xc0 && kind <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(kind);
    if (isFrame) size = larger(size, [view.getUint16(at + 7), view.getUint16(at + 5)]);
    if (kind === 0xda) break; // pixels
    const isAlone = kind === 1 || (kind >= 0xd0 && kind <= 0xd8);
    if (kind === 0xff) at += 1;
    else at += isAlone ? 2 : 2 + view.getUint16(at + 2);
  }
  return size;
}

/** Bytes before the boxes that a box holds; `undefined` for one without any. */
function skippedOf(kind: string): number | undefined {
  if (kind === 'meta') return 4;
  if (kind === 'stsd') return 8;
  return /^(iprp|ipco|moov|trak|mdia|minf|stbl)$/.test(kind) ? 0 : undefined;
}

/** AVIF and HEIC: the largest of all sizes of items and of frames. */
function sizeInBoxes(view: DataView, from: number, to: number, depth = 0): PixelSize | undefined {
  let size: PixelSize | undefined;
  for (let at = from; at + 8 <= to; ) {
    const length = view.getUint32(at);
    const kind = [4, 5, 6, 7].map((byte) => String.fromCharCode(view.getUint8(at + byte))).join('');
    // 1: the length follows, in 64 bits; 0: up to the end.
    const head = length === 1 ? 16 : 8;
    const whole = length === 1 ? Number(view.getBigUint64(at + 8)) : length || to - at;
    if (whole < head) break;
    const [body, end] = [at + head, Math.min(at + whole, to)];
    const skipped = skippedOf(kind);
    if (skipped !== undefined && depth < 9) size = larger(size, sizeInBoxes(view, body + skipped, end, depth + 1));
    if (kind === 'ispe') size = larger(size, [view.getUint32(body + 4), view.getUint32(body + 8)]);
    if (/^(av01|hvc1|hev1)$/.test(kind)) size = larger(size, [view.getUint16(body + 24), view.getUint16(body + 26)]);
    at += whole;
  }
  return size;
}
