/**
 * Everything that a page calls an image, as pixels. Nothing is resized here: the filter of a canvas is no encoder's.
 */
import { files } from '../engine/files.js';
import { WebggufError, invalidArgument } from '../errors.js';
import { show } from '../check.js';
import { type Pixels, type PixelSize, sizeInHeader } from './header.js';
import { checkBytes, decodedOnce, download } from './kept.js';
import { inParts } from './steps.js';

/** What is taken where there is no decoder of images. */
const GIVE_PIXELS = 'give its pixels, { width, height, data } with four bytes each';

/** Pixels along a side, at most ... */
const MOST_SIDE = 1 << 15;
/** ... and in all. */
const MOST_PIXELS = 1 << 26;
/** Pixels that are looked at without a pause. */
const PIECE = 1 << 20;

/** Pixels that were made here and are not kept for another call. */
const ownDrawings = new WeakSet<object>();

/** Whether only the caller has these. @internal */
export const isDrawn = (pixels: object): boolean => ownDrawings.has(pixels);

/**
 * The pixels of `image`; `signal` ends a download.
 *
 * @throws {WebggufError} `invalid_argument` for what is no image, or has a size that is not taken; `download_failed`
 * @internal
 */
export async function pixelsOf(image: unknown, signal?: AbortSignal): Promise<Pixels> {
  if (isPixels(image)) {
    checkSize([image.width, image.height]);
    // A copy: a page may write the next frame into the same array.
    return { width: image.width, height: image.height, data: image.data.slice() };
  }
  if (typeof image === 'string' || image instanceof URL) return ofFile(await download('image', image, signal));
  if (image instanceof Blob) return ofFile(image);
  if (image instanceof Uint8Array || image instanceof ArrayBuffer) return ofFile(new Blob([image as BlobPart]));
  const size = sizeOfSource(image);
  if (!size) {
    throw invalidArgument(
      'image: expected a File, Blob, Uint8Array, URL, ImageBitmap, ImageData, canvas, img, video or VideoFrame, ' +
        `found ${show(image)}`,
    );
  }
  const pixels = await drawn(image as CanvasImageSource, size);
  ownDrawings.add(pixels);
  return pixels;
}

/** By shape. @internal */
export function isPixels(image: unknown): image is Pixels {
  const { width, height, data } = (image ?? {}) as Partial<Pixels>;
  const isBytes = data instanceof Uint8ClampedArray || data instanceof Uint8Array;
  return typeof width === 'number' && typeof height === 'number' && isBytes;
}

async function ofFile(file: Blob): Promise<Pixels> {
  checkBytes('image', file.size);
  return decodedOnce(
    'image',
    file,
    (bytes) => decoded(file, bytes),
    ({ data }) => data.byteLength,
  );
}

async function decoded(file: Blob, bytes: Uint8Array): Promise<Pixels> {
  const size = sizeInHeader(bytes) ?? (await files.pictureKinds()).sizeOfRareKind(bytes);
  if (size) checkSize(size);
  if (typeof createImageBitmap !== 'function' || typeof OffscreenCanvas !== 'function') {
    throw invalidArgument(`image: there is no decoder of image files here: ${GIVE_PIXELS}`);
  }
  const what = `image: the file of ${file.size} bytes`;
  // What a decoder makes of a file of unknown size may be of any size.
  if (!size) throw invalidArgument(`${what} is no image of a kind that is taken`);
  let bitmap: ImageBitmap;
  try {
    bitmap = await createImageBitmap(file, { premultiplyAlpha: 'none', colorSpaceConversion: 'none' });
  } catch (cause) {
    throw invalidArgument(`${what} is damaged, or none that this browser knows: ${String(cause)}`);
  }
  try {
    const pixels = await drawn(bitmap, [bitmap.width, bitmap.height]);
    if (await isOpaque(pixels)) return pixels;
    return (await files.transparent()).unmultiplied(bitmap) ?? pixels;
  } finally {
    bitmap.close();
  }
}

/** By shape: elements of another document are of other classes. */
function sizeOfSource(image: unknown): PixelSize | undefined {
  if (typeof image !== 'object' || image === null) return undefined;
  const sides = ['naturalWidth naturalHeight', 'videoWidth videoHeight', 'displayWidth displayHeight', 'width height'];
  for (const names of sides) {
    const [width, height] = names.split(' ').map((name) => (image as Record<string, unknown>)[name]);
    if (typeof width === 'number' && typeof height === 'number') return [width, height];
  }
  return undefined;
}

async function drawn(source: CanvasImageSource, size: PixelSize): Promise<Pixels> {
  checkSize(size);
  if (typeof OffscreenCanvas !== 'function') throw invalidArgument(`image: there is no canvas here: ${GIVE_PIXELS}`);
  const [width, height] = size;
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d', { willReadFrequently: true });
  if (!context) throw new WebggufError('out_of_memory', `image: no canvas of ${width} × ${height} pixels`);
  try {
    context.drawImage(source, 0, 0, width, height);
    const data = new Uint8ClampedArray(4 * width * height);
    const lines = Math.ceil(PIECE / width);
    await inParts(height, lines, (from, to) => {
      data.set(context.getImageData(0, from, width, to - from).data, 4 * width * from);
    });
    return { width, height, data };
  } catch (cause) {
    throw invalidArgument(`image: its pixels cannot be read: ${String(cause)}`);
  }
}

async function isOpaque({ data }: Pixels): Promise<boolean> {
  let isAll = true;
  await inParts(data.length / 4, PIECE, (from, to) => {
    for (let pixel = from; isAll && pixel < to; pixel += 1) isAll = data[4 * pixel + 3] === 255;
  });
  return isAll;
}

/** Checks the size as the module does, before memory is taken for the pixels. */
function checkSize([width, height]: PixelSize): void {
  const pixels = width * height;
  const what = `image: an image of ${width} × ${height}`;
  if (!(pixels > 0)) throw invalidArgument(`${what} pixels has none`);
  if (Math.max(width, height) <= MOST_SIDE && pixels <= MOST_PIXELS) return;
  throw invalidArgument(`${what} = ${pixels} pixels, at most ${MOST_PIXELS} are taken`);
}
