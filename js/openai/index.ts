/**
 * webgguf/openai: a model behind OpenAI's API, for code that was written for it.
 *
 * {@link webggufFetch} is a `fetch` for the `openai` package; {@link openai} has the same calls without that package.
 * Both answer from the model, or from a server where the device cannot hold it.
 *
 * @module webgguf/openai
 */
import { WebggufError, invalidArgument } from '../errors.js';
import type { WasmModel } from '../model/model.js';
import { show } from '../check.js';
import { type Completions, LocalCompletions, nameOf } from './completions.js';
import { type Embeddings, LocalEmbeddings } from './embeddings.js';
import type { ChatModel } from './chat-model.js';
import { countOf } from './count.js';
import type { Decisions } from './decision-types.js';
import { fetchOf } from './fetch.js';
import { openaiFiles } from './files.js';
import type { Responses } from './responses/responses.js';
import type { ResponseInputItem } from './responses/types.js';
import { type Fallback, Server } from './server.js';
import type { Speech } from './speech-types.js';
import type { TextCompletions } from './text-completions.js';
import { LocalTranscriptions, type Transcriptions } from './transcriptions.js';
import type { ChatRequest, Origin } from './types.js';
import type { ChatMessage as ShownMessage } from '../ui/chat-message.js';

export { AnswerStream, ChatStream } from './stream.js';
export type { Completions } from './completions.js';
export type * from './decision-types.js';
export type { Embeddings } from './embeddings.js';
export type { Fallback } from './server.js';
export type * from './transcription-types.js';
export type { ResponseEvents, Responses } from './responses/responses.js';
export type * from './responses/event-types.js';
export type * from './responses/types.js';
export type * from './speech-types.js';
export type { TextCompletions } from './text-completions.js';
export type * from './text-types.js';
export type * from './types.js';

/** Who answers. */
export interface OpenAIOptions {
  /** The model; while it is being loaded, requests wait. */
  model: WasmModel | Promise<WasmModel>;
  /**
   * The server that answers where the device cannot hold the model: where `model` rejects with `webgpu_unavailable`,
   * `feature_missing`, `limit_exceeded`, `out_of_memory` or `device_lost`; a file that webgguf does not run is an
   * error: its author must not decide that prompts leave the device. Results then have `webgguf.backend` `server`,
   * and `webgguf.reason`.
   */
  fallback?: Fallback | undefined;
}

/** A model as OpenAI's client has it. */
export interface OpenAIClient {
  /** As of {@link WasmModel.chat}. */
  readonly chat: { readonly completions: Completions };
  /** As of {@link WasmModel.embeddings}. */
  readonly embeddings: Embeddings;
  /** As of {@link WasmModel.audio}; and texts that are spoken. */
  readonly audio: { readonly transcriptions: Transcriptions; readonly speech: Speech };
  /** Answers as OpenAI's Responses API has them. */
  readonly responses: Responses;
  /** Texts that go on, and gaps in texts that are filled. */
  readonly completions: TextCompletions;
  /** Questions with a closed set of answers, as OpenAI's API has them. */
  readonly decisions: Decisions;
  /** Lists the model. */
  readonly models: { list(): Promise<ModelList> };
  /** For the `openai` package: `new OpenAI({ baseURL: 'http://webgguf', apiKey: '-', fetch })`. */
  readonly fetch: typeof fetch;
}

/** What `models.list` gives. */
export interface ModelList {
  /** Always `list`. */
  object: 'list';
  /** The one model. */
  data: { id: string; object: 'model'; created: number; owned_by: 'webgguf' }[];
}

const CANNOT_HOLD = ['webgpu_unavailable', 'feature_missing', 'limit_exceeded', 'out_of_memory', 'device_lost'];

/** Who answers: the model, or the server. */
interface Answerer {
  readonly completions: Completions;
  readonly texts: () => Promise<TextCompletions>;
  readonly embeddings: Embeddings;
  readonly transcriptions: Transcriptions;
  readonly speech: () => Promise<Speech>;
  readonly decisions: () => Promise<Decisions>;
  readonly name: string;
  readonly origin: Origin;
  /** The model, where it is here. */
  readonly model?: ChatModel | undefined;
  /** The tokens of a prompt, where the model is here. */
  readonly count?: ((request: ChatRequest) => Promise<number>) | undefined;
}

/**
 * The calls of OpenAI's client, answered by a model here.
 *
 * @example
 * const ai = openai({ model: WasmModel.load(url), fallback: { baseURL: 'https://example.com/v1', model: 'qwen3' } });
 * const { choices, webgguf } = await ai.chat.completions.create({ messages });
 */
export function openai({ model, fallback }: OpenAIOptions): OpenAIClient {
  if (typeof model !== 'object' || model === null) {
    throw invalidArgument(`openai: option 'model' must be a WasmModel or a promise of one, found ${show(model)}`);
  }
  const answerer = Promise.resolve(model).then(localAnswerer, (error: unknown) => serverAnswerer(fallback, error));
  answerer.catch(() => {}); // each request gets it
  // For `listen`, which gives a model that writes while it hears each sample as it arrives: js/voice/written.ts.
  const behind = { [Symbol.for('webgguf.model')]: async () => (await answerer).model };
  const client = {
    chat: {
      completions: {
        create: (async (request, options) =>
          (await answerer).completions.create(request, options)) as Completions['create'],
      },
    },
    embeddings: {
      create: (async (request, options) =>
        (await answerer).embeddings.create(request, options)) as Embeddings['create'],
    },
    audio: {
      transcriptions: {
        create: (async (request, options) =>
          (await answerer).transcriptions.create(request, options)) as Transcriptions['create'],
      },
      speech: {
        create: (async (request, options) =>
          (await (await answerer).speech()).create(request, options)) as Speech['create'],
      },
    },
    responses: responsesOf(() => answerer),
    completions: {
      create: (async (request, options) =>
        (await (await answerer).texts()).create(request, options)) as TextCompletions['create'],
    },
    decisions: {
      create: (async (request, options) =>
        (await (await answerer).decisions()).create(request, options)) as Decisions['create'],
    },
    models: {
      async list(): Promise<ModelList> {
        const { name } = await answerer;
        return { object: 'list', data: [{ id: name, object: 'model', created: 0, owned_by: 'webgguf' }] };
      },
    },
  };
  return { ...client, fetch: fetchOf(client), ...behind };
}

/**
 * A `fetch` that answers what the official `openai` package asks: responses, chat completions, completions, embeddings,
 * transcriptions, speech, decisions and the list of models.
 *
 * @example
 * import OpenAI from 'openai';
 * const fetch = webggufFetch({ model: await WasmModel.load(url) });
 * const client = new OpenAI({ baseURL: 'http://webgguf', apiKey: '-', fetch, dangerouslyAllowBrowser: true });
 */
export function webggufFetch(options: OpenAIOptions): typeof fetch {
  return openai(options).fetch;
}

/**
 * The messages of `useChat` as items of OpenAI's Responses API: what a page shows can be kept, sent to a server, or be
 * the `input` of `responses.create`. Sounds and pixels become part of the items.
 *
 * @throws {WebggufError} `invalid_argument` for a sound whose type is not known; `download_failed` for an address
 * @example
 * const { output_text } = await ai.responses.create({ input: await responseItems(messages) });
 */
export async function responseItems(
  messages: readonly (Omit<ShownMessage, 'id'> & { id?: number })[],
): Promise<ResponseInputItem[]> {
  return (await openaiFiles.chatItems()).itemsOfChat(messages);
}

/**
 * Items of OpenAI's Responses API as messages for the option `messages` of `useChat`.
 *
 * @throws {WebggufError} `invalid_argument` for system prompts, which are an option of the chat, and for references
 * @example
 * const messages = await chatMessages([...input, ...response.output]);
 */
export async function chatMessages(items: readonly ResponseInputItem[]): Promise<Omit<ShownMessage, 'id'>[]> {
  return (await openaiFiles.chatItems()).chatOfItems(items);
}

/** Their code is fetched with the first call. */
function responsesOf(answering: () => Promise<Answerer>): Responses {
  let made: Promise<Responses> | undefined;
  const here = (): Promise<Responses> => {
    made ??= openaiFiles.responses().then(({ ModelResponses }) => new ModelResponses(answering));
    made.catch(() => (made = undefined));
    return made;
  };
  return {
    create: (async (request, options) => (await here()).create(request, options)) as Responses['create'],
    retrieve: (async (id: string, query?: { stream?: false }) =>
      (await here()).retrieve(id, query)) as Responses['retrieve'],
    delete: async (id) => (await here()).delete(id),
    cancel: async (id) => (await here()).cancel(id),
    inputItems: { list: async (id, query) => (await here()).inputItems.list(id, query) },
    inputTokens: { count: async (request) => (await here()).inputTokens.count(request) },
  };
}

function localAnswerer(model: WasmModel): Answerer {
  return {
    completions: new LocalCompletions(model),
    texts: async () => new (await openaiFiles.textCompletions()).LocalTextCompletions(model),
    embeddings: new LocalEmbeddings(model),
    transcriptions: new LocalTranscriptions(model),
    speech: async () => new (await openaiFiles.speech()).LocalSpeech(model),
    decisions: async () => new (await openaiFiles.decisions()).LocalDecisions(model),
    name: nameOf(model.info),
    origin: { backend: model.info.backend },
    model,
    count: (request) => countOf(model, request),
  };
}

function serverAnswerer(fallback: Fallback | undefined, error: unknown): Answerer {
  if (!fallback || !(error instanceof WebggufError) || !CANNOT_HOLD.includes(error.code)) throw error;
  const server = new Server(fallback, error);
  const { completions, embeddings, transcriptions, texts, speech, decisions, model, origin } = server;
  const later = { texts: async () => texts, speech: async () => speech, decisions: async () => decisions };
  return { completions, embeddings, transcriptions, ...later, name: model, origin };
}
