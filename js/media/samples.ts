/**
 * Everything that a page calls a sound, as samples of one channel at 16 kHz, as encoders want them.
 */
import { WebggufError, invalidArgument } from '../errors.js';
import { show } from '../options.js';
import { download } from './file.js';
import { mediaModule } from './module.js';

/** Samples a second of all encoders. @internal */
export const RATE = 16_000;
/** Bytes of a file of sound, at most: half an hour of four bytes at 48 kHz in two channels. */
const MOST_BYTES = 700 << 20;

/** Samples of one channel. @internal */
export interface Samples {
  readonly samples: Float32Array;
  readonly sampleRate: number;
}

/** Sounds that a page has decoded are not decoded again for the same call. */
const decoded = new WeakMap<object, Promise<Samples>>();

/**
 * The samples of `audio` at 16 kHz; `signal` ends a download.
 *
 * @throws {WebggufError} `invalid_argument` for what is no sound, or has a length that is not taken; `download_failed`
 * @internal
 */
export function samplesOf(audio: unknown, signal?: AbortSignal): Promise<Samples> {
  const isFixed = audio instanceof Blob || audio instanceof Uint8Array || audio instanceof ArrayBuffer;
  if (!isFixed) return read(audio, signal);
  const known = decoded.get(audio) ?? read(audio);
  decoded.set(audio, known);
  return known;
}

async function read(audio: unknown, signal?: AbortSignal): Promise<Samples> {
  if (isSamples(audio)) return resampled(audio);
  if (isBuffer(audio)) return resampled({ samples: mixed(audio), sampleRate: audio.sampleRate });
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
  if (file.size > MOST_BYTES) {
    throw invalidArgument(`audio: a file of ${file.size} bytes, at most ${MOST_BYTES} are taken`);
  }
  const bytes = new Uint8Array(await file.arrayBuffer());
  const { readWave } = await mediaModule();
  const found = named(() => readWave(bytes));
  if (found) return { samples: found, sampleRate: RATE };
  const Context = globalThis.OfflineAudioContext as typeof OfflineAudioContext | undefined;
  const what = `the file of ${file.size} bytes`;
  if (!Context) throw invalidArgument(`audio: ${what} is no WAV file, and there is no decoder of others here`);
  let buffer: AudioBuffer;
  try {
    buffer = await new Context(1, 1, RATE).decodeAudioData(bytes.buffer);
  } catch (cause) {
    throw invalidArgument(`audio: ${what} is no sound that this browser knows: ${String(cause)}`);
  }
  return resampled({ samples: mixed(buffer), sampleRate: buffer.sampleRate });
}

/** The mean of all channels. */
function mixed(buffer: AudioBuffer): Float32Array {
  const channels = Array.from({ length: buffer.numberOfChannels }, (_, number) => buffer.getChannelData(number));
  const [first = new Float32Array()] = channels;
  return first.map((_, at) => channels.reduce((sum, channel) => sum + (channel[at] as number), 0) / channels.length);
}

async function resampled({ samples, sampleRate }: Samples): Promise<Samples> {
  const { resample } = await mediaModule();
  return { samples: named(() => resample(samples, sampleRate)), sampleRate: RATE };
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
