/**
 * OpenAI's HTTP API as a `fetch`: no request leaves the page.
 */
import { type ErrorCode, WebggufError, invalidArgument } from '../errors.js';
import type { OpenAIClient } from './index.js';
import { bytesOf } from './stream.js';
import type { TranscriptionRequest } from './transcriptions.js';
import type { ChatRequest, EmbeddingRequest } from './types.js';

type Client = Omit<OpenAIClient, 'fetch'>;

/** HTTP's word for an error; 500 where nothing is said. */
const STATUS: Partial<Record<ErrorCode, number>> = {
  invalid_argument: 400,
  context_full: 400,
  limit_exceeded: 400,
  download_failed: 502,
};

const CORS = { 'access-control-allow-origin': '*' };

/** @internal */
export function fetchOf(client: Client): typeof fetch {
  return async (input, init) => {
    const request = input instanceof Request ? input : undefined;
    const signal = init?.signal ?? request?.signal ?? undefined;
    signal?.throwIfAborted();
    try {
      const url = new URL(request?.url ?? String(input), 'http://webgguf');
      const method = (init?.method ?? request?.method ?? 'GET').toUpperCase();
      const text = async (): Promise<string> =>
        init?.body == null && request ? request.clone().text() : new Response(init?.body ?? '').text();
      const form = async (): Promise<FormData> =>
        (init?.body == null && request ? request.clone() : new Response(init?.body, headersOf(init))).formData();
      return await route(client, { method, path: url.pathname, text, form, signal });
    } catch (error) {
      signal?.throwIfAborted();
      return json(errorBody(error), statusOf(error));
    }
  };
}

interface Call {
  readonly method: string;
  readonly path: string;
  text(): Promise<string>;
  form(): Promise<FormData>;
  readonly signal: AbortSignal | undefined;
}

async function route(client: Client, call: Call): Promise<Response> {
  const { method, path, signal } = call;
  const known = ['/chat/completions', '/audio/transcriptions', '/embeddings', '/models'].find((end) =>
    path.endsWith(end),
  );
  const [, id] = /\/models\/(.+)$/.exec(path) ?? [];
  if (!known && id === undefined) return json(notFound(`${method} ${path}`), 404);
  const wanted = known === '/models' || id !== undefined ? 'GET' : 'POST';
  if (method !== wanted) return json(notFound(`${method} ${path}, expected ${wanted}`), 405);
  if (known === '/embeddings') {
    return json(await client.embeddings.create(bodyOf<EmbeddingRequest>(await call.text()), { signal }));
  }
  if (known === '/audio/transcriptions') return transcribed(client, await call.form(), signal);
  if (known === '/chat/completions') return chat(client, bodyOf<ChatRequest>(await call.text()), signal);
  const list = await client.models.list();
  if (id === undefined) return json(list);
  const model = list.data.find((entry) => entry.id === decodeURIComponent(id));
  return model ? json(model) : json(notFound(`model ${id}`), 404);
}

/** A form as the `openai` package writes it; `text` comes without quotes. */
async function transcribed(client: Client, form: FormData, signal: AbortSignal | undefined): Promise<Response> {
  const fields = Object.fromEntries([...form].map(([name, value]) => [name, value === '' ? undefined : value]));
  const { temperature, ...others } = fields as Record<string, unknown>;
  const heat = temperature === undefined ? undefined : Number(temperature);
  const request = { ...others, temperature: heat } as unknown as TranscriptionRequest;
  const found = await client.audio.transcriptions.create(request, { signal });
  return typeof found === 'string' ? new Response(found, { headers: CORS }) : json(found);
}

/** The type of a form that is bytes already. */
function headersOf(init: RequestInit | undefined): ResponseInit {
  const type = new Headers(init?.headers).get('content-type');
  return type && !(init?.body instanceof FormData) ? { headers: { 'content-type': type } } : {};
}

async function chat(client: Client, request: ChatRequest, signal: AbortSignal | undefined): Promise<Response> {
  if (!request?.stream) return json(await client.chat.completions.create({ ...request, stream: false }, { signal }));
  const stream = await client.chat.completions.create({ ...request, stream: true }, { signal });
  const chunks = await begun(stream[Symbol.asyncIterator]());
  const body = bytesOf(chunks, (chunk) => `data: ${JSON.stringify(chunk)}\n\n`, {
    end: 'data: [DONE]\n\n',
    failed: (error) => {
      signal?.throwIfAborted();
      return `data: ${JSON.stringify(errorBody(error))}\n\n`;
    },
  });
  return new Response(body, { headers: { ...CORS, 'content-type': 'text/event-stream' } });
}

/**
 * The same chunks, once the first that the model wrote is there: what is wrong with a request is known by then, and has
 * a status of its own. The chunk before that has the role alone.
 */
async function begun<T>(chunks: AsyncIterator<T>): Promise<AsyncIterable<T>> {
  const first = [await chunks.next(), await chunks.next()];
  async function* all(): AsyncGenerator<T> {
    try {
      for (const { done, value } of first) {
        if (done) return;
        yield value;
      }
      for (;;) {
        const { done, value } = await chunks.next();
        if (done) return;
        yield value;
      }
    } finally {
      await chunks.return?.();
    }
  }
  return all();
}

function bodyOf<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    throw invalidArgument(`the body is not JSON: ${(cause as Error).message}`);
  }
}

function json(body: unknown, status = 200): Response {
  // Asking again would change nothing.
  const headers = { ...CORS, 'content-type': 'application/json', ...(status !== 200 && { 'x-should-retry': 'false' }) };
  return new Response(JSON.stringify(body), { status, headers });
}

function statusOf(error: unknown): number {
  return (error instanceof WebggufError && STATUS[error.code]) || 500;
}

/** As OpenAI writes errors. */
function errorBody(error: unknown): { error: object } {
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof WebggufError ? error.code : 'internal';
  const [, param = null] = /field '(\w+)'/.exec(message) ?? [];
  const type = statusOf(error) < 500 ? 'invalid_request_error' : 'server_error';
  return { error: { message, type, param, code: code === 'context_full' ? 'context_length_exceeded' : code } };
}

function notFound(what: string): { error: object } {
  const there = 'POST /chat/completions, POST /embeddings, POST /audio/transcriptions and GET /models';
  const message = `${what} is not here; there are ${there}`;
  return { error: { message, type: 'invalid_request_error', param: null, code: 'not_found' } };
}
