/**
 * What a vocoder is asked to say. No code here.
 */
import type { Conversation } from '../templates/types.js';
import type { WasmGenerateOptions } from '../wasm/webgguf.js';
import type { Mode, Switch } from './slots.js';

/** A sound. @internal */
export interface Sound {
  readonly samples: Float32Array;
  readonly sampleRate: number;
}

/** What Pocket TTS is to say. @internal */
export interface Utterance {
  /** Before the voice: the token that announces it, where the model has one. */
  readonly before: Uint32Array;
  readonly voice: Sound;
  /** The text, without the token that ends it. */
  readonly text: Uint32Array;
  /** The token from whose state the first latent follows. */
  readonly begin: number;
  /** By this its next pieces are asked for. */
  readonly name?: string | undefined;
  readonly seed?: number | undefined;
  readonly temperature?: number | undefined;
  /** What each step starts from, for comparisons with other engines. */
  readonly noise?: readonly Float32Array[] | undefined;
}

/** What chooses tokens. @internal */
export type Choice = Omit<WasmGenerateOptions, 'maxTokens'>;

/** An answer of text and sound. @internal */
export interface ToAnswer {
  readonly mode: Mode;
  /** What tokens do. */
  readonly switches: Readonly<Record<number, Switch>>;
  readonly choice: Choice;
}

/** What LFM3 is to say. @internal */
export interface ToFrames {
  /** The prompt, from the last id of which the first frame follows; the engine makes ids of it. */
  readonly prompt: Uint32Array | string | Conversation;
  /** Ids behind the prompt. */
  readonly behind?: Uint32Array;
  /** Frames at most; of an answer together with tokens. */
  readonly most: number;
  /** By this its next pieces are asked for. */
  readonly name?: string | undefined;
  readonly seed?: number | undefined;
  readonly temperature?: number | undefined;
  readonly topK?: number | undefined;
  readonly repetitionPenalty?: number | undefined;
  /** Without it the end of the sound is the end of the speech. */
  readonly answer?: ToAnswer;
  /** The order in which the codes of each frame become known, for comparisons with other engines. */
  readonly orders?: readonly (readonly number[])[] | undefined;
}

/** Something that was begun, by its name. @internal */
export interface Begun {
  readonly begun: string;
}

/** What is to be heard by a model that writes meanwhile. @internal */
export interface ToHear {
  /** By this its next tokens are asked for. */
  readonly name: string;
  /** Samples at 16 kHz, at first and as they arrive. */
  readonly heard: Float32Array | undefined;
  /** Others follow these samples, or nothing is wanted any more; else the sound ends with them. */
  readonly state?: 'open' | 'dropped';
  /** As of `generate`. */
  readonly logprobs?: number | undefined;
}

/** What a vocoder is asked to say. @internal */
export type ToSay = Utterance | ToFrames;
