/**
 * Images, videos and sounds in messages that are kept: as they were when they were said, and as text that can be saved.
 */
import { base64 } from '../base64.js';
import { invalidArgument } from '../errors.js';
import { asItIs, isCopy, mediumOf } from './conversation.js';
import type { Message, TextPart } from '../types/chat.js';
import type { AudioPart, ImagePart, VideoImage, VideoPart } from '../types/media.js';
import { download } from '../load/media-file.js';
import type { Pixels } from '../media/header.js';
import { checkBytes } from '../media/kept.js';
import { isPixels, pixelsOf } from '../media/pixels.js';
import { samplesOf, waveOf } from '../media/samples.js';

type MediumPart = ImagePart | VideoPart | AudioPart;
type Part = TextPart | MediumPart;

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
    if ('video' in medium) {
      const { video, ...limits } = medium;
      const fixed = isAddress(video)
        ? await download('video', video, checkBytes, signal)
        : await pixelsOfFrames(video, signal);
      return { type: 'video', video: fixed, ...limits } as VideoPart;
    }
    const { audio } = medium;
    const fixed = isAddress(audio)
      ? await download('audio', audio, checkBytes, signal)
      : await samplesOf(audio, signal);
    return { type: 'audio', audio: asItIs(fixed) };
  });
}

/** Frames with their pixels, which do not change. What is no list of frames is refused where it is read. */
async function pixelsOfFrames(frames: unknown, signal?: AbortSignal): Promise<unknown> {
  if (!Array.isArray(frames)) return asItIs(frames);
  const fixed = async (frame: object & { image?: unknown }): Promise<object> =>
    isCopy(frame.image) ? frame : { ...frame, image: asItIs(await pixelsOf(frame.image, signal)) };
  return Promise.all(frames.map(async (frame: object) => fixed(Object(frame) as object)));
}

const isAddress = (held: unknown): held is string | URL => typeof held === 'string' || held instanceof URL;

/** Whether a part holds what may be something else later. Files do not, nor what was fixed before. */
function isLoose(part: unknown): boolean {
  const medium = mediumOf(part);
  if (!medium) return false;
  const [held] = Object.values(medium) as [unknown];
  return isAddress(held) ? !/^data:/i.test(String(held)) : !(held instanceof Blob || isCopy(held));
}

/**
 * The same messages with `data:` URLs in place of images, videos and sounds.
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
    if (part.type === 'video') {
      const { video } = part;
      if (!Array.isArray(video)) return { ...part, video: await urlOf(video, async () => new Blob()) };
      const saved = video.map(async ({ image, time }: VideoImage) => ({
        image: await urlOf(image, async () => pngOf(await pixelsOf(image))),
        time,
      }));
      return { ...part, video: await Promise.all(saved) };
    }
    if (part.type !== 'audio') return part; // a link of OpenAI's
    return { ...part, audio: await urlOf(part.audio, async () => waveOf(await samplesOf(part.audio))) };
  });
}

async function mapped(messages: readonly Message[], change: (part: MediumPart) => Promise<Part>): Promise<Message[]> {
  return Promise.all(
    messages.map(async (message) => {
      if (!Array.isArray(message.content)) return message;
      const part = async (each: Part): Promise<Part> => (mediumOf(each) ? change(each as MediumPart) : each);
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
  return `data:${file.type || 'application/octet-stream'};base64,${base64(bytes)}`;
}

/** Refuses to keep pixels as PNG where nothing writes that.*/
function checkSavable(messages: readonly Message[]): void {
  if (typeof OffscreenCanvas === 'function') return;
  const isDrawing = (part: { readonly type: string }): boolean =>
    ('image' in part && isPixels(part.image)) || ('video' in part && Array.isArray(part.video));
  if (!messages.some(({ content }) => Array.isArray(content) && content.some(isDrawing))) return;
  throw invalidArgument('save: the conversation holds pixels, and there is nothing here that writes images of them');
}
