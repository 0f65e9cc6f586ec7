/**
 * `audio.transcriptions.create` over a model that hears.
 */
import { invalidArgument } from '../errors.js';
import type { WasmModel } from '../model/model.js';
import { show, signalOption } from '../options.js';
import type { AudioSource } from '../types.js';
import type { RequestOptions } from './types.js';

/** A sound whose words are wanted. */
export interface TranscriptionRequest {
  /** The sound: what a part `{ type: 'audio' }` of a message takes. */
  file: AudioSource;
  /** Taken and without effect here: there is one model. */
  model?: string | undefined;
  /** The language that is spoken, such as `en`. */
  language?: string | null | undefined;
  /** What the model is asked beside the sound, in place of a plain request for its words. */
  prompt?: string | null | undefined;
  /** `json` (default): an object with the text; `text`: the text itself. */
  response_format?: 'json' | 'text' | null | undefined;
  /** 0 to 2. Default 0: the likeliest words. */
  temperature?: number | null | undefined;
}

/** What `transcriptions.create` gives. */
export interface Transcription {
  /** The words. */
  text: string;
}

/** Words of sounds. */
export interface Transcriptions {
  /**
   * The words of a sound, by a model that was loaded with an encoder of sounds.
   *
   * @throws {WebggufError} those of `generate`
   */
  create(request: TranscriptionRequest & { response_format: 'text' }, options?: RequestOptions): Promise<string>;
  /** The words in an object. */
  create(
    request: TranscriptionRequest & { response_format?: 'json' | null | undefined },
    options?: RequestOptions,
  ): Promise<Transcription>;
  /** Either, as `response_format` says. */
  create(request: TranscriptionRequest, options?: RequestOptions): Promise<Transcription | string>;
}

const FIELDS = ['file', 'model', 'language', 'prompt', 'response_format', 'temperature'];

/** Throws for a request that is none. @internal */
export function checkTranscription(request: TranscriptionRequest): TranscriptionRequest {
  const refuse = (message: string): never => {
    throw invalidArgument(`audio.transcriptions.create: ${message}`);
  };
  if (typeof request !== 'object' || request === null) refuse(`expected an object, found ${show(request)}`);
  const unknown = Object.keys(request).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) refuse(`unknown field '${unknown}', known are ${FIELDS.join(', ')}`);
  const { file, language, prompt, response_format: format, temperature } = request;
  if (!file) refuse("field 'file' is missing");
  for (const [name, value] of Object.entries({ language, prompt })) {
    if (typeof (value ?? '') !== 'string') refuse(`field '${name}' must be a string, found ${show(value)}`);
  }
  if (!['json', 'text'].includes(format ?? 'json')) {
    refuse(`field 'response_format' must be 'json' or 'text', found ${show(format)}`);
  }
  const heat = temperature ?? 0;
  if (!(typeof heat === 'number' && heat >= 0 && heat <= 2)) {
    refuse(`field 'temperature' must be a number from 0 to 2, found ${show(temperature)}`);
  }
  return request;
}

/** @internal */
export class LocalTranscriptions implements Transcriptions {
  readonly #model: WasmModel;

  constructor(model: WasmModel) {
    this.#model = model;
  }

  create = (async (body: TranscriptionRequest, options: RequestOptions = {}) => {
    const { file, language, prompt, response_format: format, temperature } = checkTranscription(body);
    const signal = signalOption('audio.transcriptions.create', { signal: options?.signal ?? undefined });
    const asked = prompt || `Write down the words of this sound${language ? `, in the language ${language}` : ''}.`;
    const content = [
      { type: 'audio' as const, audio: file },
      { type: 'text' as const, text: asked },
    ];
    const run = this.#model.generate([{ role: 'user', content }], { temperature: temperature ?? 0, signal });
    const text = (await run.result).text.trim();
    return format === 'text' ? text : { text };
  }) as Transcriptions['create'];
}
