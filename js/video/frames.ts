/**
 * The frames of a video, with their times: a page decodes files by an element `<video>`, whichever formats its browser
 * plays.
 */
import { abortable } from '../cancel.js';
import { type Check, integer, number, show } from '../check.js';
import { WebggufError, invalidArgument } from '../errors.js';
import type { Pixels } from '../media/header.js';
import type { Medium } from '../templates/types.js';

/** Frames of a video, at most, unless the page says how many. */
const FRAMES = 32;
/** Frames of a second, at most, unless the page says how many. */
const FPS = 2;
/** The most frames that a page may ask for. */
const MOST_FRAMES = 768;
/** Pixels of a frame that is decoded here, at most ... */
const FRAME_PIXELS = 1 << 19;
/** ... and of all frames of a video. */
const VIDEO_PIXELS = 1 << 25;
/** Seconds of a video, at most. */
const MOST_SECONDS = 24 * 60 * 60;
/** Milliseconds after which a decoder that says nothing counts as stuck. */
const PATIENCE = 30_000;
/** A time behind the end of any video: looking for it makes a browser find the end. */
const BEHIND_ALL = 1e9;

/** Frames in the order of their times. @internal */
export interface Frames {
  readonly frames: readonly Pixels[];
  /** Seconds since the beginning, of each. */
  readonly times: readonly number[];
  /** The length of the video. */
  readonly seconds: number;
}

/** What reads images and addresses. @internal */
export interface Reading {
  readonly pixels: (image: unknown) => Promise<Pixels>;
  readonly download: (url: string | URL) => Promise<Blob>;
  /** Refuses a file with more bytes than are taken. */
  readonly check: (bytes: number) => void;
}

interface Limits {
  readonly fps: number;
  readonly maxFrames: number;
}

/**
 * The frames of a video; `signal` ends a download, and decoding.
 *
 * @throws {WebggufError} `invalid_argument` for what is no video, or has a length or options that are not taken;
 *   `download_failed`
 * @internal
 */
export async function framesOf(
  medium: Extract<Medium, { video: unknown }>,
  read: Reading,
  signal?: AbortSignal,
): Promise<Frames> {
  const { video, fps = FPS, maxFrames = FRAMES } = medium;
  refuse('fps', fps, number(Number.MIN_VALUE, 60, 'a number above 0 and up to 60'));
  refuse('maxFrames', maxFrames, integer(1, MOST_FRAMES, `an integer from 1 to ${MOST_FRAMES}`));
  const limits = { fps, maxFrames } as Limits;
  if (Array.isArray(video)) return given(video, limits.maxFrames, read);
  if (isDecoded(video)) {
    // Another thread has decoded it.
    const all = video.frames.map((image, at) => ({ image, time: video.times[at] }));
    return { ...(await given(all, MOST_FRAMES, read)), seconds: Number(video.seconds) };
  }
  if (typeof video === 'string' || video instanceof URL) {
    return ofFile(await read.download(video), limits, signal);
  }
  const isBytes = video instanceof Uint8Array || video instanceof ArrayBuffer;
  const file = isBytes ? new Blob([video as BlobPart]) : video;
  if (file instanceof Blob) {
    read.check(file.size);
    return ofFile(file, limits, signal);
  }
  const expected = 'a File, Blob, Uint8Array, URL or an array of frames, { image, time }';
  throw invalidArgument(`video: expected ${expected}, found ${show(video)}`);
}

function isDecoded(video: unknown): video is Frames {
  const { frames, times } = Object(video) as Partial<Frames>;
  return Array.isArray(frames) && Array.isArray(times);
}

function refuse(name: string, value: unknown, check: Check): void {
  const expected = check(value);
  if (expected) throw invalidArgument(`video: ${name} must be ${expected}, found ${show(value)}`);
}

/** Frames of a page, which are taken as they are: of too many, some, evenly spaced. */
async function given(all: readonly unknown[], most: number, read: Reading): Promise<Frames> {
  if (all.length === 0) throw invalidArgument('video: an array of 0 frames, expected at least 1');
  const count = Math.min(all.length, most);
  const some = Array.from({ length: count }, (_, at) => all[Math.floor((at * all.length) / count)]);
  const times = all.map((frame, at) => {
    const { time } = Object(frame) as { time?: unknown };
    if (typeof time === 'number' && time >= 0 && time <= MOST_SECONDS) return time;
    const expected = `seconds from 0 to ${MOST_SECONDS}`;
    throw invalidArgument(`video: the time of frame ${at} must be ${expected}, found ${show(time)}`);
  });
  const wrong = times.findIndex((time, at) => time < (times[at - 1] ?? 0));
  if (wrong > 0) {
    const [time, before] = [times[wrong], times[wrong - 1]];
    throw invalidArgument(`video: frame ${wrong} is at ${time} s, frame ${wrong - 1} before it at ${before} s`);
  }
  const frames = await Promise.all(some.map((frame) => read.pixels((frame as { image?: unknown }).image)));
  return { frames, times: some.map((frame) => (frame as { time: number }).time), seconds: times.at(-1) as number };
}

/** What the last file was decoded to: turns of a conversation have the same one. */
let last: (Limits & { readonly file: Blob; readonly made: Frames }) | undefined;

async function ofFile(file: Blob, limits: Limits, signal?: AbortSignal): Promise<Frames> {
  if (last?.file === file && last.fps === limits.fps && last.maxFrames === limits.maxFrames) return last.made;
  if (typeof document === 'undefined') {
    const instead = 'give frames, [{ image, time }], such as VideoDecoder makes, or let a page decode it';
    throw invalidArgument(`video: there is no decoder of video files here: ${instead}`);
  }
  const made = await decoded(file, limits, signal);
  last = { file, ...limits, made };
  return made;
}

async function decoded(file: Blob, { fps, maxFrames }: Limits, signal?: AbortSignal): Promise<Frames> {
  const video = Object.assign(document.createElement('video'), { muted: true, playsInline: true, preload: 'auto' });
  const url = URL.createObjectURL(file);
  const what = `video: the file of ${file.size} bytes`;
  try {
    await reached(video, 'loadedmetadata', what, signal, () => {
      video.src = url;
    });
    const size = [video.videoWidth, video.videoHeight] as const;
    if (size[0] * size[1] === 0) {
      const why = 'none that this browser shows, though it may have sound: its codec may be another one';
      throw invalidArgument(`${what} has pictures of ${size.join(' × ')} pixels: ${why}`);
    }
    const seconds = await lengthOf(video, what, signal);
    const count = Math.min(maxFrames, Math.max(1, Math.ceil(seconds * fps - 1e-6)));
    const step = Math.max(1 / fps, seconds / count);
    const times = Array.from({ length: count }, (_, at) => at * step);
    const draw = drawing(video, size, count);
    const frames: Pixels[] = [];
    for (const time of times) {
      await seek(video, time, what, signal);
      frames.push(draw());
    }
    return { frames, times, seconds };
  } finally {
    video.removeAttribute('src');
    video.load(); // lets the browser free its decoder now
    URL.revokeObjectURL(url);
  }
}

/** The length in seconds, of which the header of a recording says nothing. */
async function lengthOf(video: HTMLVideoElement, what: string, signal?: AbortSignal): Promise<number> {
  if (video.duration === Number.POSITIVE_INFINITY) await seek(video, BEHIND_ALL, what, signal);
  const seconds = Number.isFinite(video.duration) ? video.duration : video.currentTime;
  if (seconds > 0 && seconds <= MOST_SECONDS) return seconds;
  throw invalidArgument(`${what} is of ${seconds} seconds, expected more than 0 and at most ${MOST_SECONDS}`);
}

async function seek(video: HTMLVideoElement, time: number, what: string, signal?: AbortSignal): Promise<void> {
  await reached(video, 'seeked', `${what} at ${time.toFixed(1)} s`, signal, () => {
    video.currentTime = time;
  });
}

/** Does `begin`, and waits for an event, an error, too long, or until `signal` fires. */
async function reached(
  video: HTMLVideoElement,
  event: string,
  what: string,
  signal: AbortSignal | undefined,
  begin: () => void,
): Promise<void> {
  const over = new AbortController();
  const happened = new Promise<void>((resolve, reject) => {
    const listen = (name: string, then: () => void): void => video.addEventListener(name, then, over);
    listen(event, resolve);
    listen('error', () => {
      const why = video.error?.message || `error ${video.error?.code} of the decoder`;
      reject(invalidArgument(`${what} is no video that this browser decodes: ${why}`));
    });
    const late = (): void =>
      reject(invalidArgument(`${what}: the decoder said nothing for ${PATIENCE / 1000} seconds`));
    const timer = setTimeout(late, PATIENCE);
    over.signal.addEventListener('abort', () => clearTimeout(timer));
    begin();
  });
  try {
    await (signal ? abortable(happened, signal) : happened);
  } finally {
    over.abort();
  }
}

/** What draws the frame that a video shows, smaller where it has more pixels than are taken. */
function drawing(video: HTMLVideoElement, [width, height]: readonly [number, number], count: number): () => Pixels {
  const most = Math.min(FRAME_PIXELS, VIDEO_PIXELS / count);
  const scale = Math.min(1, Math.sqrt(most / (width * height)));
  const [columns, rows] = [Math.max(1, Math.floor(width * scale)), Math.max(1, Math.floor(height * scale))];
  const canvas = Object.assign(document.createElement('canvas'), { width: columns, height: rows });
  const context = canvas.getContext('2d', { willReadFrequently: true });
  if (!context) throw new WebggufError('out_of_memory', `video: no canvas of ${columns} × ${rows} pixels`);
  context.imageSmoothingQuality = 'high';
  return () => {
    context.drawImage(video, 0, 0, columns, rows);
    return { width: columns, height: rows, data: context.getImageData(0, 0, columns, rows).data };
  };
}
