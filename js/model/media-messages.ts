/**
 * Images and sounds in messages that are kept: as they were when they were said, and as text that can be saved.
 */
import { invalidArgument } from '../errors.js';
import { asItIs, isCopy, mediumOf } from './conversation.js';
import type { Message, TextPart } from '../types/chat.js';
import type { AudioPart, ImagePart } from '../types/media.js';
import { download } from '../load/media-file.js';
import type { Pixels } from '../media/header.js';
import { checkBytes } from '../media/kept.js';
import { isPixels, pixelsOf } from '../media/pixels.js';
import { samplesOf, waveOf } from '../media/samples.js';

type Part = TextPart | ImagePart | AudioPart;

/**
 * The same messages with pixels, samples and files in place of what may be something else later: a video, an address.
 * `signal` ends downloads. @internal
 */
export async function fixedMedia(messages: readonly Message[], signal?: AbortSignal): Promise<readonly Message[]> {
  if (!messages.some(({ content }) => Array.isArray(content) && content.some(isLoose))) return messages;
  return mapped(messages, async (part) => {
    const medium = isLoose(part) && mediumOf(part);
    if (!medium) return part;
    if ('image' in medium) {
      const { image } = medium;
      const fixed = isAddress(image)
        ? await download('image', image, checkBytes, signal)
        : await pixelsOf(image, signal);
      return { type: 'image', image: asItIs(fixed) as ImagePart['image'] };
    }
    const { audio } = medium;
    const fixed = isAddress(audio)
      ? await download('audio', audio, checkBytes, signal)
      : await samplesOf(audio, signal);
    return { type: 'audio', audio: asItIs(fixed) };
  });
}

const isAddress = (held: unknown): held is string | URL => typeof held === 'string' || held instanceof URL;

/** Whether a part holds what may be something else later. Files do not, nor what was fixed before. */
function isLoose(part: unknown): boolean {
  const medium = mediumOf(part);
  if (!medium) return false;
  const held = 'image' in medium ? medium.image : medium.audio;
  return isAddress(held) ? !/^data:/i.test(String(held)) : !(held instanceof Blob || isCopy(held));
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
    // The page that made such an address may be gone.
    if (/^blob:/i.test(String(held))) return dataUrl(await download('image', held as string, checkBytes));
    if (typeof held === 'string') return held;
    if (held instanceof URL) return held.href;
    if (held instanceof Blob) return dataUrl(held);
    if (held instanceof Uint8Array || held instanceof ArrayBuffer) return dataUrl(new Blob([held as BlobPart]));
    return dataUrl(await otherwise());
  };
  return mapped(messages, async (part) => {
    if (part.type === 'image') {
      return { ...part, image: await urlOf(part.image, async () => pngOf(await pixelsOf(part.image))) };
    }
    if (part.type !== 'audio') return part; // a link of OpenAI's
    return { ...part, audio: await urlOf(part.audio, async () => waveOf(await samplesOf(part.audio))) };
  });
}

async function mapped(
  messages: readonly Message[],
  change: (part: ImagePart | AudioPart) => Promise<Part>,
): Promise<Message[]> {
  return Promise.all(
    messages.map(async (message) => {
      if (!Array.isArray(message.content)) return message;
      const part = async (each: Part): Promise<Part> => (mediumOf(each) ? change(each as ImagePart | AudioPart) : each);
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

/** Refuses to keep pixels as PNG where nothing writes that.*/
function checkSavable(messages: readonly Message[]): void {
  if (typeof OffscreenCanvas === 'function') return;
  const isDrawing = (part: { readonly type: string }): boolean =>
    part.type === 'image' && 'image' in part && isPixels(part.image);
  if (!messages.some(({ content }) => Array.isArray(content) && content.some(isDrawing))) return;
  throw invalidArgument('save: the conversation holds pixels, and there is nothing here that writes images of them');
}
