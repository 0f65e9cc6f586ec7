/**
 * Speech that a model makes of a text. No code here.
 */
import type { GenerateOptions } from './generate.js';

/** Options of {@link WasmModel.speak}. */
export interface SpeakOptions extends Pick<GenerateOptions, 'temperature' | 'topK' | 'topP' | 'repetitionPenalty'> {
  /** The same seed gives the same sound for the same text. Default: another one each time. */
  seed?: number | undefined;
  /**
   * A voice to speak with, for models that take it from a sound: Pocket TTS, which needs one. A few seconds of one
   * person who speaks, up to 30, or the name of one of {@link WasmModel.voices}; the first of those by default. Ask the
   * person before: the voice will say what you write.
   */
  voice?: string | VoiceSound | undefined;
  /** How fast it speaks, 0.25 to 4, at the same pitch. Default 1. */
  speed?: number | undefined;
  /** Ends the speech; the iteration then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** The sound that a voice is taken from. */
export interface VoiceSound {
  /** One channel, -1 to 1. */
  readonly samples: Float32Array;
  /** Samples per second. */
  readonly sampleRate: number;
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
