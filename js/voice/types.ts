/**
 * What listening, speaking and conversations take and give. No code here.
 */
import type { Message } from '../types/chat.js';
import type { ChosenToken } from '../types/generate.js';
import type { AnswerPiece, ConverseOptions } from '../types/speech.js';
import type { ActivityOptions } from './activity.js';

/** A piece of a sound of one channel. */
export interface SoundPiece {
  /** Samples from -1 to 1. */
  readonly samples: Float32Array;
  /** Samples each second. */
  readonly sampleRate: number;
}

/** A `MediaStream`; TypeScript's library for workers has no name for it. */
export type SoundStream = typeof globalThis extends { MediaStream: { prototype: infer Stream } } ? Stream : never;

/** The microphone; an object has constraints of `getUserMedia` beside the usual ones. */
export interface Microphone {
  /** `true`, or `MediaTrackConstraints`. */
  readonly microphone: true | object;
}

/** What may be listened to: a stream, the microphone, or pieces of a sound. */
export type Heard = SoundStream | Microphone | AsyncIterable<SoundPiece>;

/** What a transcription may be told. */
export interface TranscribeOptions {
  /** The language that is spoken, such as `en`. */
  readonly language?: string | undefined;
  /** What the model is asked beside the sound, or, for Qwen3-ASR, names and terms that may be heard. */
  readonly prompt?: string | undefined;
  /** Ends it. */
  readonly signal?: AbortSignal | undefined;
}

/** A model that hears, as far as it is needed here: a `WasmModel` that was loaded with an encoder of sounds. */
export interface HearingModel {
  /** OpenAI's transcriptions. */
  readonly audio: {
    readonly transcriptions: {
      create(
        request: {
          file: SoundPiece;
          language?: string | undefined;
          prompt?: string | undefined;
          response_format: 'text';
        },
        options?: { signal?: AbortSignal | undefined },
      ): Promise<string>;
    };
  };
}

/** Who writes down what is heard: a model, or a function. */
export type Ears = HearingModel | ((sound: SoundPiece, options: TranscribeOptions) => Promise<string>);

/** Somebody began to speak. */
export interface SpeechEvent {
  /** What happened. */
  readonly type: 'speech';
  /** When it began, in seconds of the sound. */
  readonly start: number;
}

/** A speech is over. */
export interface SilenceEvent {
  /** What happened. */
  readonly type: 'silence';
  /** When it began, in seconds of the sound. */
  readonly start: number;
  /** When it ended, in seconds of the sound. */
  readonly end: number;
  /** Share of its frames that sound like speech, 0 to 1. */
  readonly speech: number;
  /** The speech at 16 kHz; of a speech of more than 30 seconds the last 30. */
  readonly sound: SoundPiece;
}

/** Words of a speech that goes on: they may still change. */
export interface PartialEvent {
  /** What happened. */
  readonly type: 'partial';
  /** All words so far. */
  readonly text: string;
  /** The words at its beginning on which two transcriptions agreed; a model that writes while it hears changes none. */
  readonly stable: string;
  /** When the speech began, in seconds of the sound. */
  readonly start: number;
}

/** The words of a speech that is over. */
export interface FinalEvent {
  /** What happened. */
  readonly type: 'final';
  /** The words; empty of a speech that waited for the model longer than two minutes of further speech. */
  readonly text: string;
  /** Their tokens, with the option `logprobs`. */
  readonly tokens?: readonly ChosenToken[];
  /** When the speech began, in seconds of the sound. */
  readonly start: number;
  /** When it ended, in seconds of the sound. */
  readonly end: number;
}

/** What {@link Listening} tells. */
export type ListenEvent = SpeechEvent | SilenceEvent | PartialEvent | FinalEvent;

/** How to listen. What callbacks throw ends it. */
export interface ListenOptions extends ActivityOptions {
  /** Who writes down what is heard; without it there are no words. */
  readonly model?: Ears | undefined;
  /** The language that is spoken, such as `en`. */
  readonly language?: string | undefined;
  /** What the model is asked beside the sound, or, for Qwen3-ASR, names and terms that may be heard. */
  readonly prompt?: string | undefined;
  /**
   * Seconds of new sound between two transcriptions of a speech that goes on, 0.2 to 10; default 1. A model that writes
   * while it hears gets each piece as it arrives.
   */
  readonly every?: number | undefined;
  /**
   * Also give the log-probability of each token, and this number of the most likely tokens in its place, 0 to 20: see
   * {@link FinalEvent.tokens}. Only of a model that writes while it hears.
   */
  readonly logprobs?: number | undefined;
  /** Somebody began to speak. */
  readonly onSpeech?: ((event: SpeechEvent) => void) | undefined;
  /** A speech is over. */
  readonly onSilence?: ((event: SilenceEvent) => void) | undefined;
  /** Words of a speech that goes on. */
  readonly onPartial?: ((event: PartialEvent) => void) | undefined;
  /** Words of a speech that is over. */
  readonly onFinal?: ((event: FinalEvent) => void) | undefined;
  /** How loud each piece was, 0 to 1: the root of the mean square. */
  readonly onLevel?: ((level: number) => void) | undefined;
  /** Ends the listening: its iteration and `done` then reject with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** A turn of the conversation. */
export interface Turn {
  /** Who spoke. */
  readonly role: 'system' | 'user' | 'assistant';
  /** What was said; of an answer that was interrupted, what was heard of it. Empty where nobody wrote it down. */
  readonly content: string;
  /** What the user said, for a model that hears it itself. */
  readonly sound?: SoundPiece | undefined;
}

/** A model that answers: a `WasmModel`, or a function of the turns. */
export type Answers =
  | {
      generate(
        messages: readonly Turn[],
        options: { signal?: AbortSignal | undefined; maxTokens?: number | undefined },
      ): AsyncIterable<{ readonly text: string }>;
    }
  | ((turns: readonly Turn[], options: { signal: AbortSignal }) => AsyncIterable<string>);

/** A model that hears and speaks itself: a `WasmModel` of LFM3-Audio that was loaded with `mmproj` and `vocoder`. */
export interface TalkingModel {
  /** Answers in text and sound. */
  converse(
    messages: readonly Message[],
    options: Pick<ConverseOptions, 'signal' | 'output' | 'maxTokens'>,
  ): AsyncIterable<AnswerPiece>;
}
