/**
 * `audio.transcriptions.create` over a model that hears.
 */
import { invalidArgument } from '../errors.js';
import { MEDIA_MARK } from '../model/conversation.js';
import type { ChatModel } from './chat-model.js';
import type { TextWithMedia } from '../model/prompt.js';
import { show, signalOption } from '../check.js';
import type { GenerateOptions } from '../types/generate.js';
import type { AudioSource } from '../types/media.js';
import type { RequestOptions } from './types.js';

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
   * @throws {WebggufError} the errors of `generate`
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

/** Between the language and the words in answers of Qwen3-ASR. */
const WORDS = '<asr_text>';
/** Keeps what only looks like a control token from being one: see `chatText`. */
const TEXT_MARK = '\ufdd1';

/**
 * The prompt that Qwen3-ASR was trained on: terms as the system's message, the sound alone as the user's. An answer in
 * a language that is known begins with its name.
 */
function recognitionPrompt({ file, prompt, language }: TranscriptionRequest): TextWithMedia {
  const terms = (prompt ?? '').replaceAll(MEDIA_MARK, '').replaceAll('<', `<${TEXT_MARK}`);
  const asked = `<|im_start|>system\n${terms}<|im_end|>\n<|im_start|>user\n${MEDIA_MARK}<|im_end|>\n`;
  const answer = language ? `language ${languageName(language)}${WORDS}` : '';
  return { text: `${asked}<|im_start|>assistant\n${answer}`, media: [{ audio: file }] };
}

/** `English` of `en` or `en-GB`; a name stays what it is. */
function languageName(language: string): string {
  const [code = ''] = language.split('-');
  if (!/^[a-z]{2,3}$/i.test(code)) return language.replace(/[^\p{L} ]/gu, '');
  return new Intl.DisplayNames(['en'], { type: 'language' }).of(code) ?? language;
}

/** @internal */
export class LocalTranscriptions implements Transcriptions {
  readonly #model: ChatModel;

  constructor(model: ChatModel) {
    this.#model = model;
  }

  create = (async (body: TranscriptionRequest, options: RequestOptions = {}) => {
    const { response_format: format, temperature } = checkTranscription(body);
    const signal = signalOption('audio.transcriptions.create', { signal: options?.signal ?? undefined });
    const sampling = { temperature: temperature ?? 0, signal, onProgress: options?.onProgress };
    const [token, ...others] = await this.#model.tokenize(WORDS, { parseSpecial: true });
    // One token: the model is Qwen3-ASR.
    const ask = others.length === 0 && token !== undefined ? this.#recognise(body, token, sampling) : undefined;
    const text = (await (ask ?? this.#request(body, sampling))).trim();
    return format === 'text' ? text : { text };
  }) as Transcriptions['create'];

  async #request({ file, language, prompt }: TranscriptionRequest, sampling: GenerateOptions): Promise<string> {
    const asked = prompt || `Write down the words of this sound${language ? `, in the language ${language}` : ''}.`;
    const content = [
      { type: 'audio' as const, audio: file },
      { type: 'text' as const, text: asked },
    ];
    return (await this.#model.generate([{ role: 'user', content }], sampling).result).text;
  }

  /** `token`: what stands before the words of an answer that begins with its language. */
  async #recognise(body: TranscriptionRequest, token: number, sampling: GenerateOptions): Promise<string> {
    const prompt: string | TextWithMedia = recognitionPrompt(body);
    const { ids, text } = await this.#model.generate(prompt as unknown as string, sampling).result;
    const at = ids.indexOf(token);
    return at < 0 ? text : this.#model.detokenize(ids.slice(at + 1));
  }
}
