/**
 * Images and sounds in messages that are kept: as they were when they were said, and as text that can be saved.
 */
import type { AudioPart, ImagePart, Message, TextPart } from '../types.js';
import { checkSavable, type Pixels, pixelsOf } from './pixels.js';
import { samplesOf, waveOf } from './samples.js';

type Part = TextPart | ImagePart | AudioPart;

/** The same messages with pixels or samples in place of what may be something else later, such as a video. @internal */
export async function fixedMedia(messages: readonly Message[]): Promise<Message[]> {
  const isFixed = (held: unknown): boolean =>
    typeof held === 'string' || held instanceof URL || held instanceof Blob || held instanceof Uint8Array;
  return mapped(messages, async (part) => {
    if (part.type === 'image') {
      return isFixed(part.image) ? part : { ...part, image: (await pixelsOf(part.image)) as ImagePart['image'] };
    }
    return isFixed(part.audio) ? part : { ...part, audio: await samplesOf(part.audio) };
  });
}

/**
 * The same messages with `data:` URLs in place of images and sounds.
 *
 * @throws {WebggufError} `invalid_argument` for pixels where nothing writes them as PNG
 * @internal
 */
export async function savedMedia(messages: readonly Message[]): Promise<Message[]> {
  checkSavable(messages);
  const urlOf = async (held: unknown, otherwise: () => Promise<Blob>): Promise<string> => {
    if (typeof held === 'string') return held;
    if (held instanceof URL) return held.href;
    if (held instanceof Blob) return dataUrl(held);
    if (held instanceof Uint8Array || held instanceof ArrayBuffer) return dataUrl(new Blob([held as BlobPart]));
    return dataUrl(await otherwise());
  };
  return mapped(messages, async (part) =>
    part.type === 'image'
      ? { ...part, image: await urlOf(part.image, async () => pngOf(await pixelsOf(part.image))) }
      : { ...part, audio: await urlOf(part.audio, async () => waveOf(await samplesOf(part.audio))) },
  );
}

async function mapped(
  messages: readonly Message[],
  change: (part: ImagePart | AudioPart) => Promise<Part>,
): Promise<Message[]> {
  return Promise.all(
    messages.map(async (message) => {
      if (!Array.isArray(message.content)) return message;
      const part = async (each: Part): Promise<Part> =>
        each.type === 'image' || each.type === 'audio' ? change(each) : each;
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
