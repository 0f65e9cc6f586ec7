/**
 * Anthropic's HTTP API as a `fetch`: no request leaves the page.
 */
import { WebggufError } from '../errors.js';
import { randomId } from '../openai/completions.js';
import { answering, bodyOf, type Call, CORS, json, statusOf } from '../openai/http.js';
import { bytesOf } from '../openai/stream.js';
import type { AnthropicClient } from './index.js';
import type { CountTokensRequest, MessageEvent, MessageRequest } from './types.js';

type Client = Omit<AnthropicClient, 'fetch'>;

/** @internal */
export function fetchOf(client: Client): typeof fetch {
  const answer = answering((call) => route(client, call), errorBody);
  return async (input, init) => {
    const response = await answer(input, init);
    response.headers.set('request-id', randomId('req_', 24));
    return response;
  };
}

async function route(client: Client, call: Call): Promise<Response> {
  const { method, path, signal } = call;
  const known = ['/messages', '/messages/count_tokens', '/models'].find((end) => path.endsWith(end));
  const [, id] = /\/models\/(.+)$/.exec(path) ?? [];
  if (!known && id === undefined) return json(notFound(`${method} ${path}`), 404);
  const wanted = known === '/models' || id !== undefined ? 'GET' : 'POST';
  if (method !== wanted) return json(notFound(`${method} ${path}, expected ${wanted}`), 405);
  if (known === '/messages') {
    const { thread, ...request } = bodyOf<MessageRequest & { thread?: unknown }>(await call.text()) ?? {};
    return thread == null ? messages(client, request as MessageRequest, signal) : json(withoutThreads(), 400);
  }
  if (known === '/messages/count_tokens') {
    return json(await client.messages.countTokens(bodyOf<CountTokensRequest>(await call.text())));
  }
  if (id === undefined) return json(await client.models.list());
  const model = await client.models.retrieve(decodeURIComponent(id));
  return model ? json(model) : json(notFound(`model ${id}`), 404);
}

async function messages(client: Client, request: MessageRequest, signal: AbortSignal | undefined): Promise<Response> {
  if (!request?.stream) return json(await client.messages.create({ ...request, stream: false }, { signal }));
  const events = await client.messages.create({ ...request, stream: true }, { signal });
  // What is wrong with a request is known by the first event, and has a status of its own.
  const first = await events.next();
  async function* all(): AsyncGenerator<MessageEvent> {
    if (first.done) return;
    yield first.value;
    yield* events;
  }
  const body = bytesOf(all(), written, {
    failed: (error) => {
      signal?.throwIfAborted();
      return written(errorBody(error));
    },
  });
  return new Response(body, { headers: { ...CORS, 'content-type': 'text/event-stream' } });
}

const written = (event: { type: string }): string => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

/** As Anthropic writes errors. */
function errorBody(error: unknown): { type: 'error'; error: object } {
  const said = error instanceof Error ? error.message : String(error);
  const message = said.replace(/^chat\.completions\.create: /, 'messages.create: ');
  const code = error instanceof WebggufError ? error.code : 'internal';
  const type = statusOf(error) < 500 ? 'invalid_request_error' : 'api_error';
  return { type: 'error', error: { type, message, details: { error_code: code } } };
}

/** Anthropic's package then sends all messages again, each time. */
function withoutThreads(): { type: 'error'; error: object } {
  const details = { error_code: 'thread_unsupported_request', unsupported: ['thread'] };
  const message = "messages.create: field 'thread' is not supported: send all messages";
  return { type: 'error', error: { type: 'invalid_request_error', message, details } };
}

function notFound(what: string): { type: 'error'; error: object } {
  const there = 'POST /v1/messages, POST /v1/messages/count_tokens and GET /v1/models';
  const message = `${what} is not here; there are ${there}`;
  return { type: 'error', error: { type: 'not_found_error', message, details: null } };
}
