/**
 * Speech that a model makes of a text. No code here.
 */
import type { GenerateOptions } from './generate.js';

/** Options of {@link WasmModel.speak}. */
export interface SpeakOptions extends Pick<GenerateOptions, 'temperature' | 'topK' | 'topP' | 'repetitionPenalty'> {
  /** The same seed gives the same sound for the same text. Default: another one each time. */
  seed?: number | undefined;
  /** How fast it speaks, 0.25 to 4, at the same pitch. Default 1. */
  speed?: number | undefined;
  /** Ends the speech; the iteration then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** Options of {@link WasmModel.speech}. */
export interface SpeechOptions extends SpeakOptions {
  /** `wav` (default): a file with a header; `pcm`: the samples alone. Both have one channel of 16 bits. */
  format?: 'wav' | 'pcm' | undefined;
}

/** A piece of speech. Pieces follow each other without a gap. */
export interface SpeechPiece {
  /** One channel, -1 to 1. */
  readonly samples: Float32Array;
  /** Samples per second. */
  readonly sampleRate: number;
  /** The sentence that begins with this piece. */
  readonly text?: string;
}
