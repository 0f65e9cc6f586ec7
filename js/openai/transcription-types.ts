/**
 * Requests and answers of `audio.transcriptions`, as OpenAI's client types them. No code here.
 */
import type { AudioSource } from '../types/media.js';
import type { AnswerStream } from './stream.js';
import type { RequestOptions, TokenLogprob } from './types.js';

/** A sound whose words are wanted. */
export interface TranscriptionRequest {
  /** The sound: what a part `{ type: 'audio' }` of a message takes. */
  file: AudioSource;
  /** Taken and without effect here: there is one model. */
  model?: string | undefined;
  /** The language that is spoken, such as `en`. Qwen3-ASR finds it out by itself where it is not said. */
  language?: string | null | undefined;
  /**
   * What the model is asked beside the sound, in place of a plain request for its words. For Qwen3-ASR, which needs no
   * request: names and terms that may be heard.
   */
  prompt?: string | null | undefined;
  /**
   * `json` (default): an object with the text; `text`: the text itself; with times of segments, which are the parts of
   * the sound in which somebody speaks: `verbose_json`, and as subtitles `srt` and `vtt`.
   */
  response_format?: 'json' | 'text' | 'verbose_json' | 'srt' | 'vtt' | null | undefined;
  /** With `verbose_json` alone: `['segment']`, which is the default. Models say no times of words. */
  timestamp_granularities?: readonly 'segment'[] | null | undefined;
  /** 0 to 2. Default 0: the likeliest words. */
  temperature?: number | null | undefined;
  /** Whether the words come as they are written, as {@link TranscriptionEvent}; with the formats `json` and `text`. */
  stream?: boolean | null | undefined;
  /** `['logprobs']`: also how likely each token of the words was, with the format `json`, streamed or not. */
  include?: readonly 'logprobs'[] | null | undefined;
}

/** What `transcriptions.create` gives. */
export interface Transcription {
  /** The words. */
  text: string;
  /** The tokens of the words, with `include: ['logprobs']`. */
  logprobs?: TokenLogprob[];
}

/** The words of a part of a sound. */
export interface TranscriptionSegment {
  /** From 0 on. */
  id: number;
  /** Always 0: each segment is heard by itself. */
  seek: number;
  /** Where it begins, in seconds. */
  start: number;
  /** Where it ends, in seconds. */
  end: number;
  /** The words. */
  text: string;
  /** The ids of their tokens. */
  tokens: number[];
  /** As the request says. */
  temperature: number;
  /** Mean of the natural log-probabilities of the tokens. */
  avg_logprob: number;
  /** Bytes of the text by bytes of the same after deflate: text that repeats itself has more than 2.4. */
  compression_ratio: number;
  /** Share of its frames that do not sound like speech. */
  no_speech_prob: number;
}

/** What `transcriptions.create` gives with `response_format: 'verbose_json'`. */
export interface TranscriptionVerbose {
  /** What was done. */
  task: 'transcribe';
  /** The language: of the request, or the name that the model says; empty where neither does. */
  language: string;
  /** Seconds of sound. */
  duration: number;
  /** All words. */
  text: string;
  /** The parts of the sound in which somebody speaks, with their words. */
  segments: TranscriptionSegment[];
  /** What was heard. */
  usage: { type: 'duration'; seconds: number };
}

/** More of the text. */
export interface TranscriptionDelta {
  /** What it is. */
  type: 'transcript.text.delta';
  /** The text that follows. */
  delta: string;
  /** The tokens that were written since the last one, with `include: ['logprobs']`. */
  logprobs?: TokenLogprob[];
}

/** All of the text. */
export interface TranscriptionDone {
  /** What it is. */
  type: 'transcript.text.done';
  /** All words. */
  text: string;
  /** The tokens of the words, with `include: ['logprobs']`. */
  logprobs?: TokenLogprob[];
  /** Counts of tokens. */
  usage: {
    type: 'tokens';
    input_tokens: number;
    output_tokens: number;
    total_tokens: number;
    input_token_details: { audio_tokens: number; text_tokens: number };
  };
}

/** What a stream of a transcription has. */
export type TranscriptionEvent = TranscriptionDelta | TranscriptionDone;

/** Words of sounds. */
export interface Transcriptions {
  /**
   * The words of a sound as they are written, by a model that was loaded with an encoder of sounds.
   *
   * @throws {WebggufError} the errors of `generate`
   */
  create(
    request: TranscriptionRequest & { stream: true },
    options?: RequestOptions,
  ): Promise<AnswerStream<TranscriptionEvent>>;
  /** The words as a text, or as subtitles. */
  create(
    request: TranscriptionRequest & { response_format: 'text' | 'srt' | 'vtt'; stream?: false | null | undefined },
    options?: RequestOptions,
  ): Promise<string>;
  /** The words with the times of segments. */
  create(
    request: TranscriptionRequest & { response_format: 'verbose_json'; stream?: false | null | undefined },
    options?: RequestOptions,
  ): Promise<TranscriptionVerbose>;
  /** The words in an object. */
  create(
    request: TranscriptionRequest & { response_format?: 'json' | null | undefined; stream?: false | null | undefined },
    options?: RequestOptions,
  ): Promise<Transcription>;
  /** Any of these, as `response_format` and `stream` say. */
  create(request: TranscriptionRequest, options?: RequestOptions): Promise<TranscriptionAnswer>;
}

/** All that `transcriptions.create` may give. */
export type TranscriptionAnswer = Transcription | TranscriptionVerbose | string | AnswerStream<TranscriptionEvent>;
