/**
 * Conversations with images, videos and sounds as ids: text is encoded piece by piece, and their rows stand between
 * the pieces.
 */
import { chatText } from '../engine/chat-text.js';
import { files } from '../engine/files.js';
import type { StartOptions } from '../engine/engine.js';
import { WebggufError, invalidArgument } from '../errors.js';
import { MEDIA_MARK } from '../model/conversation.js';
import type { Conversation, Medium } from '../templates/types.js';
import type { Frames } from '../video/frames.js';
import type { WasmModel } from '../wasm/webgguf.js';
import type { Asked, Content, Encoded, TileRows } from './encoder.js';
import type { Encoders } from './encoders.js';
import type { Pixels } from './header.js';
import { checkBytes, download } from './kept.js';
import { isDrawn, pixelsOf } from './pixels.js';
import { samplesOf } from './samples.js';

/** The same with pixels and samples in place of what a page has, to be sent to another thread. @internal */
export async function withContents(conversation: Conversation, signal?: AbortSignal): Promise<Conversation> {
  const { media = [] } = conversation;
  const contents = read.get(media) ?? Promise.all(media.map((medium) => contentOf(medium, signal)));
  read.set(media, contents);
  contents.catch(() => read.delete(media));
  return { ...conversation, media: await contents };
}

/** The buffers of pixels that have no other owner, once they are sent for the last time. @internal */
export function movable({ media = [], text }: Conversation): Transferable[] {
  // Several answers to one text have the same images.
  if (text !== undefined) return [];
  const images = (media as readonly Content[]).flatMap((content) => ('image' in content ? [content.image] : []));
  return images.filter(isDrawn).map(({ data }) => data.buffer as ArrayBuffer);
}

/** A request is looked at more than once: its images and sounds are read once. */
const read = new WeakMap<readonly unknown[], Promise<Content[]>>();

/** @internal */
export async function contentOf(medium: Medium, signal?: AbortSignal): Promise<Content> {
  if ('image' in medium) return { image: await pixelsOf(medium.image, signal) };
  if ('video' in medium) {
    const pixels = (image: unknown): Promise<Pixels> => pixelsOf(image, signal);
    const fetchOne = (url: string | URL): Promise<Blob> => download('video', url, signal);
    const read = { pixels, download: fetchOne, check: (bytes: number) => checkBytes('video', bytes) };
    return { video: await (await files.video()).framesOf(medium, read, signal) };
  }
  return { audio: await samplesOf(medium.audio, signal) };
}

/** How a conversation is read. @internal */
export interface Wanted extends Pick<StartOptions, 'onProgress'> {
  readonly signal?: AbortSignal | undefined;
  /** Gets the rows of its images and sounds. */
  readonly rows?: Map<string, TileRows> | undefined;
  /** Whether all of it is to fit the context: then nothing is encoded for which text and others leave no room. */
  readonly fits?: boolean | undefined;
}

/** The ids of a conversation with images or sounds. @internal */
export async function idsOfConversation(
  handle: WasmModel,
  encoders: Encoders | undefined,
  conversation: Conversation,
  { signal, onProgress, rows, fits, contextLength: all }: Wanted & { readonly contextLength: number },
): Promise<Uint32Array> {
  for (const medium of conversation.media ?? []) {
    const { info } = given(encoders, medium);
    if (!('audio' in medium) || !info.encoders?.some(({ projector }) => projector === 'voxtral_rt')) continue;
    throw invalidArgument('the model writes while it hears, not behind a sound: call audio.transcriptions.create');
  }
  const contents = (await withContents(conversation, signal)).media as readonly Content[];
  const pieces = (conversation.text ?? chatText(handle, conversation)).split(MEDIA_MARK);
  if (pieces.length !== contents.length + 1) {
    const found = pieces.length - 1;
    throw invalidArgument(`generate: the chat template writes ${found} of ${contents.length} images and sounds`);
  }
  const texts = pieces.map((piece, at) =>
    at === 0 ? handle.encodePrompt(piece) : handle.tokenize(piece, false, true),
  );
  // An answer needs a place, too.
  let room = texts.reduce((room, text) => room - text.length, all - 1);
  const total = contents.length;
  const [first, ...others] = texts as [Uint32Array, ...Uint32Array[]];
  const ids = [...first];
  try {
    for (const [at, content] of contents.entries()) {
      const report = (share: number): void =>
        onProgress?.({ stage: 'encode', loaded: at + share, total, fraction: (at + share) / total });
      const most = fits ? Math.max(0, room) : all;
      const encoder = given(encoders, content);
      const keep = ({ tiles }: Encoded): void => tiles.forEach((tile) => rows?.set(tile.digest, tile));
      const own = await idsOfContent(handle, encoder, content, { most, signal, report, number: at }, keep);
      room -= own.length;
      ids.push(...own, ...(others[at] as Uint32Array));
    }
  } finally {
    encoders?.rest();
  }
  return Uint32Array.from(ids);
}

/** The ids of an image, a video or a sound; `keep` gets what each of its images became. @internal */
export async function idsOfContent(
  handle: WasmModel,
  encoders: Encoders,
  content: Content,
  asked: Asked,
  keep: (encoded: Encoded) => void,
): Promise<number[]> {
  if ('video' in content) return idsOfVideo(handle, encoders, content.video, asked, keep);
  const encoded = await encoders.encode(content, asked);
  keep(encoded);
  return encoders.idsOf(handle, encoded, asked.number);
}

/** Each frame is an image of its own. */
async function idsOfVideo(
  handle: WasmModel,
  encoders: Encoders,
  video: Frames,
  { most, signal, report }: Asked,
  keep: (encoded: Encoded) => void,
): Promise<number[]> {
  const { isBare, layoutOfVideo } = await files.video();
  const projector = encoders.info.encoders?.[0]?.projector ?? '';
  const count = video.frames.length;
  const ids: number[] = [];
  for (const item of layoutOfVideo(projector, video)) {
    if (typeof item === 'string') {
      ids.push(...handle.tokenize(item, false, true));
      continue;
    }
    const image = video.frames[item] as Pixels;
    const tell = (share: number): void => report?.((item + share) / count);
    const encoded = await encoders.encode({ image }, { most, signal, report: tell, isFrame: true });
    const layout = encoded.layout.filter((piece) => typeof piece === 'number' || !isBare(projector));
    keep(encoded);
    ids.push(...encoders.idsOf(handle, { ...encoded, layout }));
    // The frames of a file are of one size: the first one tells how much room all of them take.
    const all = item === 0 ? ids.length * count : ids.length;
    if (all > most) throw noRoom(count, all, most);
  }
  return ids;
}

function noRoom(frames: number, ids: number, most: number): WebggufError {
  const instead = "give fewer ('maxFrames'), or load with a larger 'contextLength'";
  const what = `video: ${frames} frames take ${ids} tokens, the context has room for ${most}: ${instead}`;
  return new WebggufError('context_full', what);
}

/** The ids of an input of an embedder, which ends as texts do. @internal */
export async function idsOfInput(
  handle: WasmModel,
  encoders: Encoders | undefined,
  input: Conversation,
  wanted: Wanted & { readonly contextLength: number },
): Promise<Uint32Array> {
  const end = handle.encodeInput('', false).subarray(handle.encodePrompt('').length);
  // Nothing is answered, so that the last place is free.
  const contextLength = wanted.contextLength - end.length + 1;
  const ids = await idsOfConversation(handle, encoders, input, { ...wanted, fits: true, contextLength });
  return Uint32Array.of(...ids, ...end);
}

/** The encoders, if they take such a medium. @internal */
export function given(encoders: Encoders | undefined, medium: Medium): Encoders {
  const kind = 'audio' in medium ? 'audio' : 'image';
  if (encoders?.info.media?.[kind]) return encoders;
  const what = kind === 'image' ? 'images' : 'sounds';
  throw invalidArgument(`the model was loaded without an encoder of ${what}: load it with option 'mmproj'`);
}
