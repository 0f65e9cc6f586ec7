/**
 * webgguf/anthropic: a model behind Anthropic's Messages API, for code that was written for it.
 *
 * {@link webggufFetch} is a `fetch` for the package `@anthropic-ai/sdk`; {@link anthropic} has the same calls without
 * that package.
 *
 * @module webgguf/anthropic
 */
import { countOf } from '../openai/count.js';
import { openai, type OpenAIClient, type OpenAIOptions } from '../openai/index.js';
import type { RequestOptions } from '../openai/types.js';
import { eventsOf, messageFrom } from './events.js';
import { fetchOf } from './fetch.js';
import { askedOf, counted } from './request.js';
import type {
  CountTokensRequest,
  MessageEvent,
  MessageRequest,
  MessageResponse,
  ModelEntry,
  ModelPage,
  TokensCount,
} from './types.js';

export type { OpenAIOptions } from '../openai/index.js';
export type * from './types.js';

/** A model as Anthropic's client has it. */
export interface AnthropicClient {
  /** Answers. */
  readonly messages: Messages;
  /** Lists the model. */
  readonly models: { list(): Promise<ModelPage>; retrieve(id: string): Promise<ModelEntry | undefined> };
  /** For `@anthropic-ai/sdk`: `new Anthropic({ baseURL: 'http://webgguf', apiKey: '-', fetch })`. */
  readonly fetch: typeof fetch;
}

/** The answers to requests. */
export interface Messages {
  /**
   * An answer to a conversation, in the shapes of Anthropic's API.
   *
   * @throws {WebggufError} `invalid_argument` names the field that is wrong; the errors of `generate`
   * @throws the reason of `options.signal` when that fires; of a streamed answer, the loop throws it
   */
  create(
    request: MessageRequest & { stream: true },
    options?: RequestOptions,
  ): Promise<AsyncIterableIterator<MessageEvent>>;
  /** The whole answer. */
  create(request: MessageRequest & { stream?: false | undefined }, options?: RequestOptions): Promise<MessageResponse>;
  /** Either, as `stream` says. */
  create(
    request: MessageRequest,
    options?: RequestOptions,
  ): Promise<MessageResponse | AsyncIterableIterator<MessageEvent>>;
  /** Tokens of a prompt, with what the template writes around it. */
  countTokens(request: CountTokensRequest): Promise<TokensCount>;
}

/**
 * The calls of Anthropic's client, answered by a model here.
 *
 * @example
 * const client = anthropic({ model });
 * const { content } = await client.messages.create({ max_tokens: 200, messages });
 */
export function anthropic(options: OpenAIOptions): AnthropicClient {
  const client = openai(options);
  const list = async (): Promise<ModelPage> => pageOf((await client.models.list()).data.map(({ id }) => id));
  const messages: Messages = {
    create: ((request, more) => create(client, request, more)) as Messages['create'],
    countTokens: async (request) => ({ input_tokens: await countOf(await options.model, counted(request).chat) }),
  };
  const models = {
    list,
    retrieve: async (id: string) => (await list()).data.find((entry) => entry.id === id),
  };
  return { messages, models, fetch: fetchOf({ messages, models }) };
}

/**
 * A `fetch` that answers what Anthropic's package asks: messages, counts of tokens and the list of models.
 *
 * @example
 * import Anthropic from '@anthropic-ai/sdk';
 * const fetch = webggufFetch({ model: await WasmModel.load(url) });
 * const client = new Anthropic({ baseURL: 'http://webgguf', apiKey: '-', fetch, dangerouslyAllowBrowser: true });
 */
export function webggufFetch(options: OpenAIOptions): typeof fetch {
  return anthropic(options).fetch;
}

async function create(
  client: OpenAIClient,
  request: MessageRequest,
  options: RequestOptions = {},
): Promise<MessageResponse | AsyncIterableIterator<MessageEvent>> {
  const asked = askedOf(request);
  let promptTokens = 0;
  const onProgress: RequestOptions['onProgress'] = (progress) => {
    if (progress.stage === 'prefill') promptTokens = progress.total;
    options.onProgress?.(progress);
  };
  const chat = { ...asked.chat, stream: true as const, stream_options: { include_usage: true } };
  const chunks = await client.chat.completions.create(chat, { ...options, onProgress });
  const events = eventsOf(chunks, asked, () => promptTokens);
  return request.stream ? events : messageFrom(events);
}

function pageOf(names: readonly string[]): ModelPage {
  const data = names.map((id) => ({
    id,
    type: 'model' as const,
    display_name: id,
    created_at: '1970-01-01T00:00:00Z',
  }));
  return { data, has_more: false, first_id: names[0] ?? '', last_id: names.at(-1) ?? '' };
}
