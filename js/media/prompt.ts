/**
 * Conversations with images as ids: text is encoded piece by piece, and the rows of images stand between the pieces.
 */
import { chatText } from '../engine/chat-text.js';
import type { EncodedParts, PromptPart, StartOptions } from '../engine/engine.js';
import { invalidArgument } from '../errors.js';
import { IMAGE_MARK } from '../model/conversation.js';
import type { Conversation } from '../templates/types.js';
import type { WasmModel } from '../wasm/webgguf.js';
import type { Encoded, ImageEncoder, TileRows } from './encoder.js';
import { isDrawn, type Pixels, pixelsOf } from './pixels.js';

/** The same with pixels in place of what a page has, to be sent to another thread. @internal */
export async function withPixels(conversation: Conversation): Promise<Conversation> {
  const { images = [] } = conversation;
  const pixels = read.get(images) ?? Promise.all(images.map(pixelsOf));
  read.set(images, pixels);
  return { ...conversation, images: await pixels };
}

/** The buffers of pixels that nobody else has, once they are sent for the last time. @internal */
export function movable({ images = [], text }: Conversation): Transferable[] {
  // Several answers to one text have the same images.
  if (text !== undefined) return [];
  return (images as readonly Pixels[]).filter(isDrawn).map(({ data }) => data.buffer as ArrayBuffer);
}

/** A request is looked at more than once: its images are read once. */
const read = new WeakMap<readonly unknown[], Promise<Pixels[]>>();

/** The ids of a conversation with images. @internal */
export async function idsOfConversation(
  handle: WasmModel,
  encoder: ImageEncoder | undefined,
  conversation: Conversation,
  { signal, onProgress }: { signal?: AbortSignal | undefined; onProgress?: StartOptions['onProgress'] },
): Promise<Uint32Array> {
  const images = (await withPixels(conversation)).images as readonly Pixels[];
  const encoded: Encoded[] = [];
  const total = images.length;
  try {
    for (const [at, image] of images.entries()) {
      const report = (share: number): void =>
        onProgress?.({ stage: 'encode', loaded: at + share, total, fraction: (at + share) / total });
      encoded.push(await given(encoder).encode(image, signal, report));
    }
  } finally {
    encoder?.rest();
  }
  const pieces = (conversation.text ?? chatText(handle, conversation)).split(IMAGE_MARK);
  if (pieces.length !== images.length + 1) {
    const found = pieces.length - 1;
    throw invalidArgument(`generate: the chat template writes ${found} of ${images.length} images`);
  }
  const ids = pieces.flatMap((piece, at) => {
    const text = at === 0 ? handle.encodePrompt(piece) : handle.tokenize(piece, false, true);
    const image = encoded[at];
    return image ? [...text, ...given(encoder).idsOf(handle, image)] : [...text];
  });
  return Uint32Array.from(ids);
}

function given(encoder: ImageEncoder | undefined): ImageEncoder {
  if (encoder) return encoder;
  throw invalidArgument("generate: the model was loaded without an encoder of images: load it with option 'mmproj'");
}

/** The same parts with pixels in place of what a page has. @internal */
export async function partsWithPixels(parts: readonly PromptPart[]): Promise<PromptPart[]> {
  return Promise.all(parts.map(async (part) => ('image' in part ? { image: await pixelsOf(part.image) } : part)));
}

/** Texts, whose special tokens are parsed, and images as ids, with BOS in front where the model wants it. @internal */
export async function encodeParts(
  handle: WasmModel,
  encoder: ImageEncoder | undefined,
  parts: readonly PromptPart[],
): Promise<EncodedParts> {
  const ids: number[] = [...handle.encodePrompt('')];
  const media = [];
  for (const part of parts) {
    if ('text' in part) {
      ids.push(...handle.tokenize(part.text, false, true));
      continue;
    }
    const encoded = await given(encoder).encode(await pixelsOf(part.image));
    ids.push(...given(encoder).idsOf(handle, encoded));
    const rows = encoded.tiles.reduce((sum, tile) => sum + tile.rows, 0);
    media.push({ rows, embeddings: encoded.tiles.flatMap(rowsOf) });
  }
  return { ids: Uint32Array.from(ids), media, positions: handle.countPositions(Uint32Array.from(ids)) };
}

/** What is for deeper layers behind the main row. */
function rowsOf({ rows: count, values, parts }: TileRows): Float32Array[] {
  const width = values.length / (count * parts);
  return Array.from({ length: count }, (_, at) => {
    const row = new Float32Array(width * parts);
    for (let part = 0; part < parts; part++) {
      const start = (part * count + at) * width;
      row.set(values.subarray(start, start + width), part * width);
    }
    return row;
  });
}
