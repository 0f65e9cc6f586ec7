/**
 * `audio.transcriptions.create` over a model that hears.
 */
import { invalidArgument } from '../errors.js';
import { MEDIA_MARK } from '../model/conversation.js';
import type { Generation } from '../model/generation.js';
import type { EarModel } from '../voice/ear.js';
import type { HeardWords } from '../voice/heard.js';
import type { ChatModel } from './chat-model.js';
import type { TextWithMedia } from '../model/prompt.js';
import { show, signalOption } from '../check.js';
import type { ChosenToken, GenerateOptions, Usage } from '../types/generate.js';
import type { AudioSource } from '../types/media.js';
import { openaiFiles } from './files.js';
import { AnswerStream } from './stream.js';
import type { Heard } from './timed.js';
import type {
  Transcription,
  TranscriptionAnswer,
  TranscriptionDelta,
  TranscriptionDone,
  TranscriptionEvent,
  TranscriptionRequest,
  Transcriptions,
} from './transcription-types.js';
import type { RequestOptions } from './types.js';

export type { Transcription, TranscriptionRequest, Transcriptions } from './transcription-types.js';

const FIELDS = [
  ...['file', 'model', 'language', 'prompt', 'response_format', 'temperature', 'stream', 'timestamp_granularities'],
  'include',
];
const FORMATS = ['json', 'text', 'verbose_json', 'srt', 'vtt'];
/** Whether a format has the times of segments. @internal */
export const isTimed = (format: unknown): boolean => FORMATS.indexOf(String(format)) >= 2;

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
  if (!FORMATS.includes(format ?? 'json')) {
    refuse(`field 'response_format' must be one of ${FORMATS.join(', ')}, found ${show(format)}`);
  }
  checkTimes(request, refuse);
  checkIncluded(request, refuse);
  const heat = temperature ?? 0;
  if (!(typeof heat === 'number' && heat >= 0 && heat <= 2)) {
    refuse(`field 'temperature' must be a number from 0 to 2, found ${show(temperature)}`);
  }
  return request;
}

function checkTimes(request: TranscriptionRequest, refuse: (message: string) => never): void {
  const { response_format: format, stream, timestamp_granularities: times } = request;
  if (typeof (stream ?? false) !== 'boolean') refuse(`field 'stream' must be true or false, found ${show(stream)}`);
  if (stream && isTimed(format)) {
    refuse(`field 'stream' goes with 'json' and 'text' as 'response_format', found ${show(format)}`);
  }
  if (times === undefined || times === null) return;
  const isFine = Array.isArray(times) && times.every((time) => time === 'segment');
  const found = Array.isArray(times) ? times.map(show).join() : show(times);
  if (!isFine)
    refuse(`field 'timestamp_granularities' must be ['segment'], found ${found}: models say no times of words`);
  if (format !== 'verbose_json') refuse("field 'timestamp_granularities' needs 'verbose_json' as 'response_format'");
}

function checkIncluded(request: TranscriptionRequest, refuse: (message: string) => never): void {
  const { include, response_format: format } = request;
  if (include === undefined || include === null) return;
  const isFine = Array.isArray(include) && include.every((name) => name === 'logprobs');
  if (!isFine) refuse(`field 'include' must be ['logprobs'], found ${JSON.stringify(include)}`);
  if (include.length > 0 && (format ?? 'json') !== 'json') {
    refuse(`field 'include' goes with 'json' as 'response_format', found ${show(format)}`);
  }
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

/** Words that are being written. */
interface Asked {
  readonly run: Generation | HeardWords;
  /** What stands before the words of an answer that begins with its language. */
  readonly token?: number | undefined;
}

/** @internal */
export class LocalTranscriptions implements Transcriptions {
  readonly #model: ChatModel;

  constructor(model: ChatModel) {
    this.#model = model;
  }

  create = (async (body: TranscriptionRequest, options: RequestOptions = {}): Promise<TranscriptionAnswer> => {
    const { response_format: format, temperature, stream } = checkTranscription(body);
    const signal = signalOption('audio.transcriptions.create', { signal: options?.signal ?? undefined });
    const likely = body.include?.length ? { logprobs: 0 } : {};
    const sampling = { temperature: temperature ?? 0, signal, onProgress: options?.onProgress, ...likely };
    if (isTimed(format)) return this.#timed(body, sampling);
    if (stream) return this.#stream(body, sampling);
    const { text, tokens } = await this.#heard(await this.#ask(body, sampling));
    return format === 'text' ? text : { text, ...likelihoods(sampling, tokens) };
  }) as Transcriptions['create'];

  async #timed(body: TranscriptionRequest, sampling: GenerateOptions): Promise<TranscriptionAnswer> {
    const { timed, srtOf, vttOf } = await openaiFiles.timed();
    // Subtitles do not say how sure the model was.
    const likely = body.response_format === 'verbose_json' ? { logprobs: 0 } : {};
    const hear = async (file: AudioSource): Promise<Heard> =>
      this.#heard(await this.#ask({ ...body, file }, { ...sampling, ...likely }));
    const { temperature = 0, signal } = sampling;
    const verbose = await timed(body.file, { temperature, language: body.language ?? '', signal }, hear);
    if (body.response_format === 'srt') return srtOf(verbose);
    return body.response_format === 'vtt' ? vttOf(verbose) : verbose;
  }

  async #stream(body: TranscriptionRequest, sampling: GenerateOptions): Promise<AnswerStream<TranscriptionEvent>> {
    const controller = new AbortController();
    const { signal } = sampling;
    const scope = signal ? AbortSignal.any([signal, controller.signal]) : controller.signal;
    const asked = await this.#ask(body, { ...sampling, signal: scope, showSpecial: [WORDS] });
    return new AnswerStream(eventsOf(asked, sampling, controller.signal), controller);
  }

  /** Asks for the words of a sound. */
  async #ask(body: TranscriptionRequest, sampling: GenerateOptions): Promise<Asked> {
    if (this.#model.info.encoders?.some(({ projector }) => projector === 'voxtral_rt')) {
      const { HeardWords } = await openaiFiles.heard();
      return { run: new HeardWords(this.#model as EarModel, body.file, sampling) };
    }
    const [token, ...others] = await this.#model.tokenize(WORDS, { parseSpecial: true });
    if (others.length > 0 || token === undefined) return { run: this.#request(body, sampling) };
    // One token: the model is Qwen3-ASR.
    const prompt: string | TextWithMedia = recognitionPrompt(body);
    return { run: this.#model.generate(prompt as unknown as string, sampling), token };
  }

  #request({ file, language, prompt }: TranscriptionRequest, sampling: GenerateOptions): Generation {
    const asked = prompt || `Write down the words of this sound${language ? `, in the language ${language}` : ''}.`;
    const content = [
      { type: 'audio' as const, audio: file },
      { type: 'text' as const, text: asked },
    ];
    return this.#model.generate([{ role: 'user', content }], sampling);
  }

  /** The words, once all are written. */
  async #heard({ run, token }: Asked): Promise<Heard> {
    const { ids, text, tokens = [] } = await run.result;
    const at = token === undefined ? -1 : ids.indexOf(token);
    const words = at < 0 ? text : await this.#model.detokenize(ids.slice(at + 1));
    const language =
      at < 0 ? undefined : (await this.#model.detokenize(ids.slice(0, at))).replace('language ', '').trim();
    return { text: words.trim(), tokens: tokens.slice(at + 1), language };
  }
}

/** How likely the tokens of words were, where that is wanted. */
function likelihoods({ logprobs }: GenerateOptions, tokens: readonly ChosenToken[]): Pick<Transcription, 'logprobs'> {
  if (logprobs === undefined) return {};
  return { logprobs: tokens.map(({ text, bytes, logprob }) => ({ token: text, bytes: [...bytes], logprob })) };
}

/** Parts of the words as they are written, without white space around all of them; then the words. */
async function* eventsOf(
  { run, token }: Asked,
  sampling: GenerateOptions,
  own: AbortSignal,
): AsyncGenerator<TranscriptionEvent> {
  let [text, given, isHeld] = ['', 0, token !== undefined];
  /** All tokens of the words, and how many of them were given. */
  let [tokens, told]: [ChosenToken[], number] = [[], 0];
  const deltaOf = (delta: string): TranscriptionDelta => {
    const more = likelihoods(sampling, tokens.slice(told));
    told = tokens.length;
    return { type: 'transcript.text.delta', delta, ...more };
  };
  try {
    for await (const piece of run) {
      text += piece.text;
      tokens.push(...(piece.tokens ?? []));
      const at = isHeld ? text.indexOf(WORDS) : -1;
      if (at >= 0) [text, isHeld] = [text.slice(at + WORDS.length), false];
      if (at >= 0) tokens = tokens.slice(tokens.findIndex(({ id }) => id === token) + 1);
      if (isHeld) continue;
      if (given === 0) text = text.trimStart();
      const next = text.trimEnd();
      if (next.length > given) yield deltaOf(next.slice(given));
      given = Math.max(given, next.length);
    }
    const whole = text.trim();
    // The language was known, or the model did not say it.
    if (isHeld && whole) yield deltaOf(whole);
    const { usage } = await run.result;
    yield { type: 'transcript.text.done', text: whole, ...likelihoods(sampling, tokens), usage: usageOf(usage) };
  } catch (error) {
    if (!own.aborted) throw error;
  } finally {
    run.stop();
  }
}

function usageOf({
  promptTokens,
  completionTokens,
  totalTokens,
  promptTokensDetails,
}: Usage): TranscriptionDone['usage'] {
  const { audioTokens } = promptTokensDetails;
  const details = { audio_tokens: audioTokens, text_tokens: promptTokens - audioTokens };
  const counts = { input_tokens: promptTokens, output_tokens: completionTokens, total_tokens: totalTokens };
  return { type: 'tokens', ...counts, input_token_details: details };
}
