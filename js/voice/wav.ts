/**
 * Samples as WAV files and as bytes.
 */
import { checked, oneOf, show } from '../check.js';
import { invalidArgument } from '../errors.js';
import { joined } from './resample.js';
import type { SoundPiece } from './types.js';

/** How samples are stored. */
export interface WavOptions {
  /** `pcm16` (default): 16 bits; `float`: 32 bits, as they are. */
  readonly format?: 'pcm16' | 'float' | undefined;
}

/** Bytes of a header. */
const HEADER = 44;

/** Samples of 16 bits, little-endian; what is out of range is clipped, and what is no number is 0. @internal */
export function pcm16(samples: Float32Array): Uint8Array<ArrayBuffer> {
  const bytes = new DataView(new ArrayBuffer(2 * samples.length));
  samples.forEach((sample, at) => {
    const value = Math.max(-1, Math.min(1, sample)) || 0;
    bytes.setInt16(2 * at, Math.round(value * (value < 0 ? 32768 : 32767)), true);
  });
  return new Uint8Array(bytes.buffer);
}

/**
 * What stands before the samples of one channel; `bytes` is how many bytes they take, and without it the header is one
 * of a file that is still being written. @internal
 */
export function wavHeader(sampleRate: number, format: 'pcm16' | 'float', bytes?: number): Uint8Array<ArrayBuffer> {
  const head = new DataView(new ArrayBuffer(HEADER));
  const text = (at: number, value: string): void => {
    [...value].forEach((sign, index) => head.setUint8(at + index, sign.charCodeAt(0)));
  };
  const width = format === 'float' ? 4 : 2;
  text(0, 'RIFF');
  head.setUint32(4, bytes === undefined ? 0xffffffff : HEADER - 8 + bytes, true);
  text(8, 'WAVEfmt ');
  head.setUint32(16, 16, true);
  head.setUint16(20, format === 'float' ? 3 : 1, true);
  head.setUint16(22, 1, true);
  head.setUint32(24, sampleRate, true);
  head.setUint32(28, width * sampleRate, true);
  head.setUint16(32, width, true);
  head.setUint16(34, 8 * width, true);
  text(36, 'data');
  head.setUint32(40, bytes ?? 0xffffffff, true);
  return new Uint8Array(head.buffer);
}

/**
 * A WAV file of a sound, or of pieces that follow each other.
 *
 * @example
 * const file = wav({ samples, sampleRate: 24_000 });
 * audio.src = URL.createObjectURL(file);
 */
export function wav(sound: SoundPiece | readonly SoundPiece[], options: WavOptions = {}): Blob {
  const { format = 'pcm16' } = checked('wav', options, { format: oneOf('pcm16', 'float') });
  const pieces = (Array.isArray(sound) ? sound : [sound]) as readonly SoundPiece[];
  const wrong = pieces.find((piece) => !(piece?.samples instanceof Float32Array) || !(piece.sampleRate > 0));
  if (wrong !== undefined || pieces.length === 0) {
    throw invalidArgument(`wav: expected { samples, sampleRate } or several of them, found ${show(wrong)}`);
  }
  const [{ sampleRate }] = pieces as [SoundPiece];
  const other = pieces.find((piece) => piece.sampleRate !== sampleRate);
  if (other) throw invalidArgument(`wav: pieces of one rate are needed, found ${sampleRate} and ${other.sampleRate}`);
  const samples = joined(pieces.map((piece) => piece.samples));
  const data = format === 'float' ? new Uint8Array(samples.buffer as ArrayBuffer) : pcm16(samples);
  return new Blob([wavHeader(sampleRate, format, data.length), data], { type: 'audio/wav' });
}
