/**
 * Images in messages that are kept: as they were when they were said, and as text that can be saved.
 */
import type { ImagePart, Message } from '../types.js';
import { type Pixels, pixelsOf } from './pixels.js';

/** The same messages with pixels in place of what may show something else later, such as a video. @internal */
export async function fixedImages(messages: readonly Message[]): Promise<Message[]> {
  const isFixed = (image: unknown): boolean =>
    typeof image === 'string' || image instanceof URL || image instanceof Blob || image instanceof Uint8Array;
  return mapped(messages, async (image) => (isFixed(image) ? image : pixelsOf(image)) as Promise<ImagePart['image']>);
}

/** The same messages with `data:` URLs in place of images. @internal */
export async function savedImages(messages: readonly Message[]): Promise<Message[]> {
  return mapped(messages, async (image) => {
    if (typeof image === 'string') return image;
    if (image instanceof URL) return image.href;
    if (image instanceof Blob) return dataUrl(image);
    if (image instanceof Uint8Array || image instanceof ArrayBuffer) return dataUrl(new Blob([image as BlobPart]));
    return dataUrl(await pngOf(await pixelsOf(image)));
  });
}

async function mapped(
  messages: readonly Message[],
  change: (image: ImagePart['image']) => Promise<ImagePart['image']>,
): Promise<Message[]> {
  return Promise.all(
    messages.map(async (message) => {
      if (!Array.isArray(message.content)) return message;
      const part = async (each: ImagePart | { type: 'text'; text: string }) =>
        each.type === 'image' ? { ...each, image: await change(each.image) } : each;
      return { ...message, content: await Promise.all(message.content.map(part)) };
    }),
  );
}

async function pngOf({ width, height, data }: Pixels): Promise<Blob> {
  const canvas = new OffscreenCanvas(width, height);
  const pixels = new Uint8ClampedArray(data);
  canvas.getContext('2d')?.putImageData(new ImageData(pixels, width, height), 0, 0);
  return canvas.convertToBlob();
}

async function dataUrl(file: Blob): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = '';
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return `data:${file.type || 'application/octet-stream'};base64,${btoa(text)}`;
}
