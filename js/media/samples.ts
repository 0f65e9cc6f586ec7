/**
 * Everything that a page calls a sound, as samples of one channel at 16 kHz, as encoders want them.
 */
import { WebggufError, invalidArgument } from '../errors.js';
import { show } from '../check.js';
import { checkBytes, decodedOnce, download } from './kept.js';
import { mediaModule } from './module.js';
import { inParts } from './steps.js';
import type { Samples as Reader } from './webgguf_media.js';

/** Samples a second of all encoders. @internal */
export const RATE = 16_000;
/** Moments that are looked at without a pause ... */
const PIECE = 1 << 14;
/** ... and bytes of a file, which may have many channels. */
const PIECE_BYTES = 1 << 17;

/** Samples of one channel. @internal */
export interface Samples {
  readonly samples: Float32Array;
  readonly sampleRate: number;
}

/**
 * The samples of `audio` at 16 kHz; `signal` ends a download.
 *
 * @throws {WebggufError} `invalid_argument` for what is no sound, or has a length that is not taken; `download_failed`
 * @internal
 */
export async function samplesOf(audio: unknown, signal?: AbortSignal): Promise<Samples> {
  if (isSamples(audio)) return resampled([audio.samples], audio.sampleRate, signal);
  if (isBuffer(audio)) return resampled(channelsOf(audio), audio.sampleRate, signal);
  if (typeof audio === 'string' || audio instanceof URL) return ofFile(await download('audio', audio, signal));
  if (audio instanceof Blob) return ofFile(audio);
  if (audio instanceof Uint8Array || audio instanceof ArrayBuffer) return ofFile(new Blob([audio as BlobPart]));
  throw invalidArgument(
    `audio: expected a File, Blob, Uint8Array, URL, AudioBuffer or { samples, sampleRate }, found ${show(audio)}`,
  );
}

function isSamples(audio: unknown): audio is Samples {
  const { samples, sampleRate } = (audio ?? {}) as Partial<Samples>;
  return samples instanceof Float32Array && typeof sampleRate === 'number';
}

function isBuffer(audio: unknown): audio is AudioBuffer {
  const { getChannelData, sampleRate } = (audio ?? {}) as Partial<AudioBuffer>;
  return typeof getChannelData === 'function' && typeof sampleRate === 'number';
}

async function ofFile(file: Blob): Promise<Samples> {
  checkBytes('audio', file.size);
  return decodedOnce('audio', file, decoded, ({ samples }) => samples.byteLength);
}

async function decoded(bytes: Uint8Array<ArrayBuffer>): Promise<Samples> {
  const wave = await ofWave(bytes);
  if (wave) return wave;
  const Context = globalThis.OfflineAudioContext as typeof OfflineAudioContext | undefined;
  const what = `the file of ${bytes.length} bytes`;
  if (!Context) throw invalidArgument(`audio: ${what} is no WAV file, and there is no decoder of others here`);
  let buffer: AudioBuffer;
  try {
    buffer = await new Context(1, 1, RATE).decodeAudioData(bytes.buffer);
  } catch (cause) {
    throw invalidArgument(`audio: ${what} is no sound that this browser knows: ${String(cause)}`);
  }
  return resampled(channelsOf(buffer), buffer.sampleRate);
}

/** The samples of a RIFF WAVE file without compression. */
async function ofWave(bytes: Uint8Array): Promise<Samples | undefined> {
  const { Samples: Kind } = await mediaModule();
  const parts = partsOfWave(bytes);
  const reader = parts && named(() => Kind.ofWave(parts.header, parts.data.length));
  if (!reader) return undefined;
  const { header, data } = parts;
  const view = new DataView(header.buffer, header.byteOffset);
  const [channels, bits] = [view.getUint16(2, true), view.getUint16(14, true)];
  const moment = (channels * bits) / 8;
  const push = (from: number, to: number): Float32Array => reader.pushBytes(data.subarray(from * moment, to * moment));
  const size = Math.min(PIECE, Math.ceil(PIECE_BYTES / moment));
  return filled(reader, [Math.floor(data.length / moment), size], push);
}

/** What says how samples are stored, and these; `undefined` for another file. */
function partsOfWave(bytes: Uint8Array): { header: Uint8Array; data: Uint8Array } | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const name = (at: number): string => String.fromCharCode(...bytes.subarray(at, at + 4));
  if (name(0) !== 'RIFF' || name(8) !== 'WAVE') return undefined;
  let header: Uint8Array | undefined;
  for (let at = 12; at + 8 <= bytes.length; ) {
    const [kind, length, start] = [name(at), view.getUint32(at + 4, true), at + 8];
    if (kind === 'fmt ') header = bytes.subarray(start, start + length);
    // A file that was being written says 0 or too much.
    if (kind === 'data') return header && { header, data: bytes.subarray(start, length ? start + length : undefined) };
    at = start + length + (length % 2);
  }
  return undefined;
}

function channelsOf(buffer: AudioBuffer): Float32Array[] {
  return Array.from({ length: buffer.numberOfChannels }, (_, number) => buffer.getChannelData(number));
}

/** The mean of all channels, at 16 kHz. */
async function resampled(channels: readonly Float32Array[], rate: number, signal?: AbortSignal): Promise<Samples> {
  const { Samples: Kind } = await mediaModule();
  const [first = new Float32Array()] = channels;
  const reader = named(() => new Kind(rate, first.length));
  const mixed = (from: number, to: number): Float32Array => {
    if (channels.length === 1) return first.subarray(from, to);
    const sum = (at: number): number => channels.reduce((all, channel) => all + (channel[from + at] as number), 0);
    return Float32Array.from({ length: to - from }, (_, at) => sum(at) / channels.length);
  };
  return filled(reader, [first.length, PIECE], (from, to) => reader.push(mixed(from, to)), signal);
}

/** Collects the results of `push` over all sample frames. */
async function filled(
  reader: Reader,
  [moments, size]: readonly [number, number],
  push: (from: number, to: number) => Float32Array,
  signal?: AbortSignal,
): Promise<Samples> {
  const pieces: Float32Array[] = [];
  try {
    await inParts(moments, size, (from, to) => pieces.push(named(() => push(from, to))), signal);
    pieces.push(reader.push(new Float32Array()));
  } finally {
    reader.free();
  }
  const samples = new Float32Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  await inParts(pieces.length, 1, (number) => {
    const piece = pieces[number] as Float32Array;
    samples.set(piece, at);
    at += piece.length;
  });
  return { samples, sampleRate: RATE };
}

/** The module throws strings. */
function named<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (typeof cause === 'string') throw invalidArgument(`audio: ${cause}`);
    throw new WebggufError('internal', `audio: ${String(cause)}`, { cause });
  }
}

/** A WAV file of samples. @internal */
export function waveOf({ samples, sampleRate }: Samples): Blob {
  const head = new DataView(new ArrayBuffer(44));
  const text = (at: number, value: string): void => {
    [...value].forEach((sign, index) => head.setUint8(at + index, sign.charCodeAt(0)));
  };
  text(0, 'RIFF');
  head.setUint32(4, 36 + samples.byteLength, true);
  text(8, 'WAVEfmt ');
  head.setUint32(16, 16, true);
  head.setUint16(20, 3, true); // floats
  head.setUint16(22, 1, true);
  head.setUint32(24, sampleRate, true);
  head.setUint32(28, 4 * sampleRate, true);
  head.setUint16(32, 4, true);
  head.setUint16(34, 32, true);
  text(36, 'data');
  head.setUint32(40, samples.byteLength, true);
  return new Blob([head, samples as Float32Array<ArrayBuffer>], { type: 'audio/wav' });
}
