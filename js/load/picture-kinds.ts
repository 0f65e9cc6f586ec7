/**
 * The size of image files of rarer kinds, from their first bytes.
 */
import { larger, type PixelSize } from '../media/header.js';

/** The size; `undefined` for a file of another kind, or a header that is cut off. @internal */
export function sizeOfRareKind(bytes: Uint8Array): PixelSize | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    const start = view.getUint32(0);
    if (start >>> 16 === 0x424d) return sizeOfBitmap(view, 14); // BM
    if (start === 0x100 || start === 0x200) return sizeOfIcon(view);
    if (start === 0x49492a00 || start === 0x4d4d002a) return sizeOfTiff(view, start === 0x49492a00);
  } catch {
    // Cut off.
  }
  return undefined;
}

/** Windows' own kind: sizes of 16 bits in its oldest form, later of 32 with a sign for the direction of lines. */
function sizeOfBitmap(view: DataView, at: number): PixelSize {
  if (view.getUint32(at, true) === 12) return [view.getUint16(at + 4, true), view.getUint16(at + 6, true)];
  return [Math.abs(view.getInt32(at + 4, true)), Math.abs(view.getInt32(at + 8, true))];
}

/** The largest size among the pictures of an icon: bitmaps, whose height counts twice, or PNG files. */
function sizeOfIcon(view: DataView): PixelSize | undefined {
  let size: PixelSize | undefined;
  for (let left = view.getUint16(4, true), at = 18; left > 0; left -= 1, at += 16) {
    const start = view.getUint32(at, true);
    const isPng = view.getUint32(start) === 0x89504e47;
    size = larger(size, isPng ? [view.getUint32(start + 16), view.getUint32(start + 20)] : sizeOfBitmap(view, start));
  }
  return size;
}

function sizeOfTiff(view: DataView, isLittle: boolean): PixelSize | undefined {
  const first = view.getUint32(4, isLittle);
  const found = [0, 0];
  for (let left = view.getUint16(first, isLittle), at = first + 2; left > 0; left -= 1, at += 12) {
    const tag = view.getUint16(at, isLittle) - 256;
    const isShort = view.getUint16(at + 2, isLittle) === 3;
    if (tag === 0 || tag === 1)
      found[tag] = isShort ? view.getUint16(at + 8, isLittle) : view.getUint32(at + 8, isLittle);
  }
  return found as unknown as PixelSize;
}
