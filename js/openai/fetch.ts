/**
 * OpenAI's HTTP API as a `fetch`: no request leaves the page.
 */
import { WebggufError } from '../errors.js';
import { answering, begun, bodyOf, type Call, CORS, json, statusOf } from './http.js';
import type { OpenAIClient } from './index.js';
import { bytesOf } from './stream.js';
import type { TranscriptionRequest } from './transcriptions.js';
import type { ChatRequest, EmbeddingRequest } from './types.js';

type Client = Omit<OpenAIClient, 'fetch'>;

/** @internal */
export function fetchOf(client: Client): typeof fetch {
  return answering((call) => route(client, call), errorBody);
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
