// A picture that a person gives: looked at before it is decoded, and a small copy of it for the page. The library gets
// the file as it is.

import { HEADER_BYTES, sizeInHeader } from '../../dist/media/header.js';
import { newId } from './dom.js';
import { oneLine } from './one-line.js';

/** Pixels of a picture that the library takes, at most. */
const MOST_PIXELS = 2 ** 26;
/** Pixels along the longer side of the small copy. */
const THUMBNAIL = 320;

/**
 * @typedef {{id: string, kind: 'picture', name: string, width: number, height: number, file?: Blob,
 *   thumbnail?: Blob}} Picture without its file where the browser no longer has it
 */

const count = (value) => value.toLocaleString('en');

/** Whether a file may be a picture, by its type and name. */
export const looksLikePicture = ({ type, name }) =>
  type.startsWith('image/') || /\.(png|jpe?g|webp|gif|avif|bmp|heic|heif|svg)$/i.test(name ?? '');

/**
 * The picture in a file.
 * @param {Blob & {name?: string}} file
 * @returns {Promise<Picture>}
 * @throws {Error} in words for the person who gave it
 */
export async function readPicture(file) {
  const name = oneLine(file.name) || 'Picture';
  const header = new Uint8Array(await file.slice(0, HEADER_BYTES).arrayBuffer());
  const size = sizeInHeader(header);
  if (size) checkSize(name, size);
  const bitmap = await createImageBitmap(file).catch(() => {
    throw new Error(`${name} is ${size ? 'damaged: it cannot be shown' : 'no picture that this browser can show'}.`);
  });
  try {
    const { width, height } = bitmap;
    checkSize(name, [width, height]);
    return { id: newId(), kind: 'picture', name, width, height, file, thumbnail: await smallCopy(bitmap) };
  } finally {
    bitmap.close();
  }
}

function checkSize(name, [width, height]) {
  const size = `${name} has ${count(width)} × ${count(height)} pixels`;
  if (width * height === 0) throw new Error(`${size}: there is nothing to see.`);
  if (width * height <= MOST_PIXELS) return;
  throw new Error(`${size}, which is ${count(width * height)}; a picture may have ${count(MOST_PIXELS)}.`);
}

async function smallCopy(bitmap) {
  const scale = Math.min(1, THUMBNAIL / Math.max(bitmap.width, bitmap.height));
  const [width, height] = [bitmap.width, bitmap.height].map((side) => Math.max(1, Math.round(side * scale)));
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d');
  context.imageSmoothingQuality = 'high';
  context.drawImage(bitmap, 0, 0, width, height);
  return canvas.convertToBlob({ type: 'image/webp', quality: 0.85 });
}

/** Lets an element show a picture, or a small copy of it. */
export function showBlob(element, blob) {
  const url = URL.createObjectURL(blob);
  for (const event of ['load', 'error'])
    element.addEventListener(event, () => URL.revokeObjectURL(url), { once: true });
  element.src = url;
}

export const describe = ({ name, width, height }) => `${name}, ${count(width)} × ${count(height)} pixels`;
