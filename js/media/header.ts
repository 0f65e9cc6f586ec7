/**
 * The size of an image file, from its first bytes: what is too large is refused before it is decoded.
 */

/** Width and height in pixels. @internal */
export type PixelSize = readonly [width: number, height: number];

/** Bytes of a file that say its size, unless a JPEG has much before it. @internal */
export const HEADER_BYTES = 256 << 10;

/** The size; `undefined` for a file of another kind, or a header that is cut off. @internal */
export function sizeInHeader(bytes: Uint8Array): PixelSize | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = (at: number, length: number): string => String.fromCharCode(...bytes.subarray(at, at + length));
  try {
    if (text(1, 3) === 'PNG') return [view.getUint32(16), view.getUint32(20)];
    if (text(0, 3) === 'GIF') return [view.getUint16(6, true), view.getUint16(8, true)];
    if (text(0, 4) === 'RIFF' && text(8, 4) === 'WEBP') return sizeOfWebp(view, text(12, 4));
    if (view.getUint16(0) === 0xffd8) return sizeOfJpeg(view);
  } catch {
    // Cut off.
  }
  return undefined;
}

function sizeOfWebp(view: DataView, kind: string): PixelSize | undefined {
  const three = (at: number): number => view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
  if (kind === 'VP8X') return [1 + three(24), 1 + three(27)];
  if (kind === 'VP8 ') return [view.getUint16(26, true) & 0x3fff, view.getUint16(28, true) & 0x3fff];
  if (kind !== 'VP8L') return undefined;
  const bits = view.getUint32(21, true);
  return [1 + (bits & 0x3fff), 1 + ((bits >> 14) & 0x3fff)];
}

/** Of the segment that starts a frame. */
function sizeOfJpeg(view: DataView): PixelSize | undefined {
  for (let at = 2; view.getUint8(at) === 0xff; ) {
    const kind = view.getUint8(at + 1);
    const isFrame = kind >= 0xc0 && kind <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(kind);
    if (isFrame) return [view.getUint16(at + 7), view.getUint16(at + 5)];
    at += 2 + view.getUint16(at + 2);
  }
  return undefined;
}
