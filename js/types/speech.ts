/**
 * Speech that a model makes of a text. No code here.
 */
import type { SamplingOptions } from '../sampling.js';
import type { GenerateOptions } from './generate.js';

/** Options of {@link WasmModel.speak}. */
export interface SpeakOptions extends Pick<GenerateOptions, 'temperature' | 'topK' | 'topP' | 'repetitionPenalty'> {
  /** The same seed gives the same sound for the same text. Default: another one each time. */
  seed?: number | undefined;
  /**
   * A voice to speak with, for models that take it from a sound: Pocket TTS, which needs one. A few seconds of one
   * person who speaks, up to 30, or the name of one of {@link WasmModel.voices}; the first of those by default. Ask the
   * person before: the voice will say what you write. For LFM3 a name that {@link ModelInfo.speechTemplate} reads.
   */
  voice?: string | VoiceSound | undefined;
  /** The language of the text, for files with {@link ModelInfo.speechTemplate}, which reads it as it is. */
  language?: string | undefined;
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

/** Options of {@link WasmModel.converse}: how text is written, as for `generate`, and how it is spoken. */
export interface ConverseOptions
  extends SamplingOptions,
    Pick<GenerateOptions, 'logitBias' | 'drySequenceBreakers' | 'parseSpecial' | 'enableThinking'> {
  /**
   * `mixed` (default): text and its sound in turn; `sound`: sound first; `text`: no sound; `auto`: as the model begins.
   * After a sound the model may go on in text, and in all but `text` it may switch again.
   */
  output?: 'mixed' | 'sound' | 'text' | 'auto' | undefined;
  /** Most tokens of text and frames of sound, of 80 milliseconds, together. Default: until the context is full. */
  maxTokens?: number | undefined;
  /** How codes of the sound are chosen. Default: what the file suggests, else 0.4, 0 and 1.2. */
  sound?: Pick<SamplingOptions, 'temperature' | 'topK' | 'repetitionPenalty'> | undefined;
  /** Ends the answer; the iteration then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** A piece of an answer: text as it is written, or sound as it is spoken. */
export type AnswerPiece =
  | {
      readonly type: 'text';
      /** Whole characters. */
      readonly text: string;
      /** The token that completes it; absent in the last piece, where a character stayed incomplete. */
      readonly id?: number;
    }
  | {
      readonly type: 'sound';
      /** One channel, -1 to 1. */
      readonly samples: Float32Array;
      /** Samples per second. */
      readonly sampleRate: number;
    };

/** A piece of speech. Pieces follow each other without a gap. */
export interface SpeechPiece {
  /** One channel, -1 to 1. */
  readonly samples: Float32Array;
  /** Samples per second. */
  readonly sampleRate: number;
  /** The sentence that begins with this piece. */
  readonly text?: string;
}
