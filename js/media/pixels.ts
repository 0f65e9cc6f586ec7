/**
 * Everything that a page calls an image, as pixels. Nothing is resized here: the filter of a canvas is no encoder's.
 */
import { WebggufError, invalidArgument } from '../errors.js';
import { show } from '../options.js';
import { download } from './file.js';
import { HEADER_BYTES, type PixelSize, sizeInHeader } from './header.js';
import { mediaModule } from './module.js';
import type { Message } from '../types.js';

/** Pixels of four bytes each, red, green, blue and one that is not read. @internal */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array | Uint8ClampedArray;
}

/** What is taken where there is no decoder of images. */
const GIVE_PIXELS = 'give its pixels, { width, height, data } with four bytes each';

/** Pixels that were made here and are not kept for another call. */
const ownDrawings = new WeakSet<object>();

/** Whether nobody but the caller has these. @internal */
export const isDrawn = (pixels: object): boolean => ownDrawings.has(pixels);

/** Images that a page has decoded are not decoded again for the same call. */
const decoded = new WeakMap<object, Promise<Pixels>>();

/**
 * The pixels of `image`; `signal` ends a download.
 *
 * @throws {WebggufError} `invalid_argument` for what is no image, or has a size that is not taken; `download_failed`
 * @internal
 */
export function pixelsOf(image: unknown, signal?: AbortSignal): Promise<Pixels> {
  // What a canvas or a video shows may change.
  const isFixed = image instanceof Blob || image instanceof Uint8Array || image instanceof ArrayBuffer;
  if (!isFixed) {
    return isPixels(image) ? read(image) : read(image, signal).then((pixels) => (ownDrawings.add(pixels), pixels));
  }
  const known = decoded.get(image) ?? read(image);
  decoded.set(image, known);
  return known;
}

async function read(image: unknown, signal?: AbortSignal): Promise<Pixels> {
  if (isPixels(image)) {
    await checkSize([image.width, image.height]);
    return { width: image.width, height: image.height, data: image.data };
  }
  if (typeof image === 'string' || image instanceof URL) return ofFile(await download('image', image, signal));
  if (image instanceof Blob) return ofFile(image);
  if (image instanceof Uint8Array || image instanceof ArrayBuffer) return ofFile(new Blob([image as BlobPart]));
  const size = sizeOfSource(image);
  if (size) return drawn(image as CanvasImageSource, size);
  throw invalidArgument(
    'image: expected a File, Blob, Uint8Array, URL, ImageBitmap, ImageData, canvas, img, video or VideoFrame, ' +
      `found ${show(image)}`,
  );
}

function isPixels(image: unknown): image is Pixels {
  const { width, height, data } = (image ?? {}) as Partial<Pixels>;
  const isBytes = data instanceof Uint8ClampedArray || data instanceof Uint8Array;
  return typeof width === 'number' && typeof height === 'number' && isBytes;
}

async function ofFile(file: Blob): Promise<Pixels> {
  const header = new Uint8Array(await file.slice(0, HEADER_BYTES).arrayBuffer());
  const size = sizeInHeader(header);
  if (size) await checkSize(size);
  if (typeof createImageBitmap !== 'function' || typeof OffscreenCanvas !== 'function') {
    throw invalidArgument(`image: there is no decoder of image files here: ${GIVE_PIXELS}`);
  }
  let bitmap: ImageBitmap;
  try {
    bitmap = await createImageBitmap(file, { premultiplyAlpha: 'none', colorSpaceConversion: 'none' });
  } catch (cause) {
    const what = size ? 'is damaged' : 'is no image that this browser knows';
    throw invalidArgument(`image: the file of ${file.size} bytes ${what}: ${String(cause)}`);
  }
  try {
    const pixels = await drawn(bitmap, [bitmap.width, bitmap.height]);
    return isOpaque(pixels) ? pixels : (unmultiplied(bitmap) ?? pixels);
  } finally {
    bitmap.close();
  }
}

/** Refuses to keep pixels as PNG where nothing writes that. @internal */
export function checkSavable(messages: readonly Message[]): void {
  if (typeof OffscreenCanvas === 'function') return;
  const isDrawing = (part: { readonly type: string }): boolean =>
    part.type === 'image' && 'image' in part && isPixels(part.image);
  if (!messages.some(({ content }) => Array.isArray(content) && content.some(isDrawing))) return;
  throw invalidArgument('save: the conversation holds pixels, and there is nothing here that writes images of them');
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
  await checkSize(size);
  if (typeof OffscreenCanvas !== 'function') throw invalidArgument(`image: there is no canvas here: ${GIVE_PIXELS}`);
  const [width, height] = size;
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d', { willReadFrequently: true });
  if (!context) throw new WebggufError('out_of_memory', `image: no canvas of ${width} × ${height} pixels`);
  try {
    context.drawImage(source, 0, 0, width, height);
    const { data } = context.getImageData(0, 0, width, height);
    return { width, height, data };
  } catch (cause) {
    throw invalidArgument(`image: its pixels cannot be read: ${String(cause)}`);
  }
}

function isOpaque({ data }: Pixels): boolean {
  for (let at = 3; at < data.length; at += 4) if (data[at] !== 255) return false;
  return true;
}

/**
 * The colours of the file where it is transparent: a canvas multiplies them by how much is seen of them, and keeps none
 * of what is not seen. `undefined` where there is no WebGL, or none for this size.
 */
function unmultiplied(bitmap: ImageBitmap): Pixels | undefined {
  const { width, height } = bitmap;
  const gl = new OffscreenCanvas(1, 1).getContext('webgl');
  if (!gl || Math.max(width, height) > gl.getParameter(gl.MAX_TEXTURE_SIZE)) return undefined;
  const texture = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, bitmap);
  gl.bindFramebuffer(gl.FRAMEBUFFER, gl.createFramebuffer());
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
  const data = new Uint8Array(width * height * 4);
  gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, data);
  const isRead = gl.getError() === gl.NO_ERROR;
  // Browsers keep few contexts.
  gl.getExtension('WEBGL_lose_context')?.loseContext();
  return isRead ? { width, height, data } : undefined;
}

async function checkSize([width, height]: PixelSize): Promise<void> {
  const { checkSize: check } = await mediaModule();
  try {
    check(width, height);
  } catch (cause) {
    throw invalidArgument(`image: ${String(cause)}`);
  }
}
