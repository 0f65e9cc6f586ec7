/**
 * The same requests, answered by a server that speaks OpenAI's API.
 */
import { invalidArgument, WebggufError } from '../errors.js';
import { pageFiles } from '../load/page-files.js';
import { show, signalOption } from '../check.js';
import type { Completions } from './completions.js';
import type { DecisionResult, Decisions } from './decision-types.js';
import { openaiFiles } from './files.js';
import type { Embeddings } from './embeddings.js';
import { checkChat, checkEmbedding } from './request.js';
import type { Speech } from './speech-types.js';
import { AnswerStream, ChatStream } from './stream.js';
import type { TextCompletions } from './text-completions.js';
import type { TextCompletion, TextRequest } from './text-types.js';
import { checkTranscription, isTimed } from './transcriptions.js';
import type { Transcription, TranscriptionEvent, TranscriptionRequest, Transcriptions } from './transcription-types.js';
import type {
  ChatChunk,
  ChatCompletion,
  ChatRequest,
  EmbeddingRequest,
  EmbeddingResponse,
  Origin,
  RequestOptions,
} from './types.js';

/** A server that answers where the model cannot. */
export interface Fallback {
  /** Where its API is, `/v1` included: `https://example.com/v1`. */
  baseURL: string;
  /** What it calls its model. */
  model: string;
  /** Sent as `Authorization: Bearer`. Every visitor of the page can read it. */
  apiKey?: string | undefined;
  /** In place of the global one. */
  fetch?: typeof fetch | undefined;
}

/** A part of an answer. */
interface Chunk {
  choices: readonly { finish_reason: string | null }[];
}

/** Longest event that a server may send. */
const LONGEST_EVENT = 1 << 24;

/** @internal */
export class Server {
  readonly #fallback: Fallback;
  readonly #origin: Origin;

  /** `reason`: why the model cannot answer. */
  constructor(fallback: Fallback, reason: WebggufError) {
    this.#fallback = fallback;
    this.#origin = { backend: 'server', reason: { code: reason.code, message: reason.message } };
  }

  readonly completions: Completions = {
    create: (async (body: ChatRequest, options: RequestOptions = {}) => {
      const controller = new AbortController();
      const signal = signalOption('chat.completions.create', { signal: options?.signal ?? undefined });
      const scope = signal ? AbortSignal.any([signal, controller.signal]) : controller.signal;
      const { tools, response_format: format } = checkChat(body);
      const { repetition_penalty: penalty } = body;
      const request = {
        ...body,
        ...(tools && { tools }), // with schemas as JSON
        ...(format && { response_format: format }),
        // llama.cpp's servers have another name for it, and some a default of 1.1.
        ...(penalty != null && { repeat_penalty: penalty }),
      };
      const response = await this.#post('/chat/completions', request, scope);
      if (!body.stream) return this.#marked(await jsonOf<ChatCompletion>(response, scope));
      return new ChatStream(this.#chunks(response, controller.signal, signal), controller);
    }) as Completions['create'],
  };

  readonly embeddings: Embeddings = {
    create: (async (body: EmbeddingRequest, options: RequestOptions = {}) => {
      checkEmbedding(body);
      const response = await this.#post('/embeddings', body, options?.signal ?? undefined);
      return this.#marked(await jsonOf<EmbeddingResponse>(response, options?.signal ?? undefined));
    }) as Embeddings['create'],
  };

  readonly transcriptions: Transcriptions = {
    create: (async (body: TranscriptionRequest, options: RequestOptions = {}) => {
      const { file, response_format: format, include, ...others } = checkTranscription(body);
      const form = new FormData();
      const { samplesOf, waveOf } = await pageFiles.samples();
      const name = file instanceof File ? file.name : 'sound.wav';
      form.set('file', file instanceof Blob ? file : waveOf(await samplesOf(file)), name);
      for (const [name, value] of Object.entries(others)) if (value != null) form.set(name, String(value));
      if (body.timestamp_granularities) form.set('timestamp_granularities[]', 'segment');
      form.delete('timestamp_granularities');
      if (include?.length) form.set('include[]', 'logprobs');
      if (isTimed(format)) form.set('response_format', String(format));
      const caller = options?.signal ?? undefined;
      const controller = new AbortController();
      const signal = caller ? AbortSignal.any([caller, controller.signal]) : controller.signal;
      const likely = <T extends Pick<Transcription, 'logprobs'>>(answer: T): T => {
        if (!include?.length || answer.logprobs) return answer;
        throw new WebggufError('download_failed', "fallback: the server gives no log-probabilities: 'include'");
      };
      const response = await this.#post('/audio/transcriptions', form, signal);
      if (body.stream) {
        const isLast = (event: TranscriptionEvent): boolean =>
          event.type === 'transcript.text.done' && likely(event) !== undefined;
        return new AnswerStream(this.#chunks(response, controller.signal, caller, isLast), controller);
      }
      if (format === 'srt' || format === 'vtt') return response.text();
      const answer = likely(await jsonOf<Transcription>(response, signal));
      if (format === 'text') return answer.text;
      return this.#marked(
        format === 'verbose_json'
          ? answer
          : { text: answer.text, ...(include?.length && { logprobs: answer.logprobs }) },
      );
    }) as Transcriptions['create'],
  };

  readonly speech: Speech = {
    create: async (body, options = {}) => this.#post('/audio/speech', body, options?.signal ?? undefined),
  };

  readonly decisions: Decisions = {
    create: async (body, options = {}) => {
      const scope = options?.signal ?? undefined;
      return jsonOf<DecisionResult>(await this.#post('/decisions', body, scope), scope);
    },
  };

  readonly texts: TextCompletions = {
    create: (async (body: TextRequest, options: RequestOptions = {}) => {
      const controller = new AbortController();
      const signal = signalOption('completions.create', { signal: options?.signal ?? undefined });
      const scope = signal ? AbortSignal.any([signal, controller.signal]) : controller.signal;
      (await openaiFiles.textCompletions()).checkText(body);
      const response = await this.#post('/completions', body, scope);
      if (!body.stream) return this.#marked(await jsonOf<TextCompletion>(response, scope));
      return new AnswerStream(this.#chunks<TextCompletion>(response, controller.signal, signal), controller);
    }) as TextCompletions['create'],
  };

  /** Why a server answers. */
  get origin(): Origin {
    return this.#origin;
  }

  /** The server's model. */
  get model(): string {
    return this.#fallback.model;
  }

  #marked<T extends object>(answer: T): T {
    return { ...answer, webgguf: this.#origin };
  }

  async #post(path: string, body: object, signal: AbortSignal | undefined): Promise<Response> {
    const { baseURL, model, apiKey, fetch: send = fetch } = this.#fallback;
    const url = baseURL.replace(/\/+$/, '') + path;
    if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey)) {
      throw invalidArgument('fallback: apiKey must be ASCII without white space');
    }
    const isForm = body instanceof FormData;
    if (isForm) body.set('model', model);
    const content = isForm ? body : JSON.stringify({ ...body, model });
    const headers = {
      // The type of a form has a boundary, which `fetch` knows.
      ...(!isForm && { 'content-type': 'application/json' }),
      ...(apiKey && { authorization: `Bearer ${apiKey}` }),
    };
    // A redirect would carry the conversation to another server.
    const init: RequestInit = { method: 'POST', headers, body: content, redirect: 'error', ...(signal && { signal }) };
    const response = await send(url, init).catch((cause: unknown) => {
      signal?.throwIfAborted();
      throw new WebggufError('download_failed', `fallback ${placeOf(url)}: ${messageOf(cause)}`, { cause });
    });
    if (response.ok) return response;
    const text = await response.text().catch(() => '');
    const code = response.status === 400 || response.status === 422 ? 'invalid_argument' : 'download_failed';
    throw new WebggufError(code, `fallback ${placeOf(url)}: HTTP ${response.status}, ${serverMessage(text)}`);
  }

  async *#chunks<T extends object = ChatChunk>(
    response: Response,
    own: AbortSignal,
    caller: AbortSignal | undefined,
    isLast = (chunk: T): boolean => (chunk as Chunk).choices?.some(({ finish_reason: reason }) => reason) ?? false,
  ): AsyncGenerator<T> {
    let isWhole = false;
    try {
      for await (const data of eventsOf(response)) {
        if (data === '[DONE]') return;
        const chunk = parsedEvent<T>(data);
        isWhole ||= isLast(chunk);
        yield this.#marked(chunk);
      }
      if (!isWhole) throw new WebggufError('download_failed', 'fallback: the stream ended before the answer did');
    } catch (error) {
      if (own.aborted) return;
      caller?.throwIfAborted();
      if (error instanceof WebggufError) throw error;
      throw new WebggufError('download_failed', `fallback: the stream broke: ${messageOf(error)}`, { cause: error });
    }
  }
}

const messageOf = (cause: unknown): string => String((cause as Error)?.message ?? cause);

/** A URL for messages: without a password and a query. */
function placeOf(url: string): string {
  try {
    const { origin, pathname } = new URL(url, globalThis.location?.href);
    return origin + pathname;
  } catch {
    return 'at a wrong address';
  }
}

async function jsonOf<T>(response: Response, signal: AbortSignal | undefined): Promise<T> {
  try {
    return (await response.json()) as T;
  } catch (cause) {
    signal?.throwIfAborted();
    throw new WebggufError('download_failed', `fallback: the answer is no JSON: ${messageOf(cause)}`, { cause });
  }
}

function parsedEvent<T>(data: string): T {
  let chunk: T & { error?: { message?: string } };
  try {
    chunk = JSON.parse(data);
  } catch (cause) {
    throw new WebggufError('download_failed', `fallback: an event is no JSON: ${show(data)}`, { cause });
  }
  if (chunk.error) throw new WebggufError('download_failed', `fallback: ${chunk.error.message ?? data}`);
  return chunk;
}

function serverMessage(text: string): string {
  try {
    const { error, detail } = JSON.parse(text) as { error?: { message?: unknown }; detail?: unknown };
    return String(error?.message ?? (detail ? JSON.stringify(detail) : text)).slice(0, 500);
  } catch {
    return show(text);
  }
}

/** The data of server-sent events. */
async function* eventsOf(response: Response): AsyncGenerator<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let held = '';
  try {
    for (;;) {
      const { done, value = '' } = (await reader?.read()) ?? { done: true };
      held += value;
      if (held.length > LONGEST_EVENT) {
        throw new WebggufError('download_failed', `fallback: an event of more than ${LONGEST_EVENT} characters`);
      }
      const lines = held.split(/\r?\n/);
      held = done ? '' : (lines.pop() ?? '');
      for (const line of lines) if (line.startsWith('data:')) yield line.slice(5).trim();
      if (done) return;
    }
  } finally {
    await reader?.cancel().catch(() => {});
  }
}
