/**
 * Requests of `audio.speech`, as OpenAI's client types them. No code here.
 */
import type { RequestOptions } from './types.js';

/** A text that is to be spoken. */
export interface SpeechRequest {
  /** The text; `spokenText` of `webgguf/voice` makes words of figures and Markdown before. */
  input: string;
  /** Taken and without effect here: there is one model. */
  model?: string | undefined;
  /** The name of one of `model.voices`; without effect where the model has none, as Soprano has one voice. */
  voice?: string | { id: string } | null | undefined;
  /** `wav` (default): a file; `pcm`: samples of 16 bits at 24 kHz. Both come as they are made. */
  response_format?: 'wav' | 'pcm' | null | undefined;
  /** `audio` (default): bytes; `sse`: events with parts of them in base64. */
  stream_format?: 'audio' | 'sse' | null | undefined;
  /** How fast it speaks, 0.25 to 4, at the same pitch. Default 1. */
  speed?: number | null | undefined;
}

/** Texts that are spoken. */
export interface Speech {
  /**
   * The sound of a text, by a model that was loaded with a vocoder: a `Response` whose body comes sentence by sentence.
   *
   * @throws {WebggufError} `invalid_argument` names the field that is wrong; the errors of `speak`
   */
  create(request: SpeechRequest, options?: RequestOptions): Promise<Response>;
}
