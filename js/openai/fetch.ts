/**
 * OpenAI's HTTP API as a `fetch`: no request leaves the page.
 */
import { openaiFiles } from './files.js';
import { answering, bodyOf, type Call, CORS, json } from './http.js';
import type { OpenAIClient } from './index.js';
import { AnswerStream } from './stream.js';
import type { TextCompletion, TextRequest } from './text-types.js';
import type { TranscriptionRequest } from './transcription-types.js';
import type { ChatChunk, ChatRequest, EmbeddingRequest } from './types.js';
import { errorBody, eventStream, notFound } from './wire.js';

type Client = Omit<OpenAIClient, 'fetch'>;

/** @internal */
export function fetchOf(client: Client): typeof fetch {
  return answering((call) => route(client, call), errorBody);
}

/** Gets what stands in the brackets of the path. */
type Route = (client: Client, call: Call, name: string) => Promise<Response>;

const routesOfResponses = () => openaiFiles.responsesHttp();

const ROUTES: readonly (readonly ['GET' | 'POST' | 'DELETE', string, Route])[] = [
  ['POST', '/chat/completions', async (client, call) => chat(client, bodyOf(await call.text()), call.signal)],
  ['POST', '/completions', async (client, call) => completed(client, bodyOf(await call.text()), call.signal)],
  [
    ...(['POST', '/responses'] as const),
    async ({ responses }, call) =>
      (await routesOfResponses()).created(responses, bodyOf(await call.text()), call.signal),
  ],
  [
    ...(['POST', '/responses/input_tokens'] as const),
    async ({ responses }, call) => json(await responses.inputTokens.count(bodyOf(await call.text()))),
  ],
  [
    ...(['GET', '/responses/{id}'] as const),
    async ({ responses }, { query, signal }, id) => (await routesOfResponses()).retrieved(responses, id, query, signal),
  ],
  ['DELETE', '/responses/{id}', async ({ responses }, _, id) => json(await responses.delete(id))],
  [
    ...(['POST', '/responses/{id}/cancel'] as const),
    async ({ responses }, _, id) => (await routesOfResponses()).cancelled(responses, id),
  ],
  [
    ...(['GET', '/responses/{id}/input_items'] as const),
    async ({ responses }, { query }, id) => (await routesOfResponses()).listed(responses, id, query),
  ],
  [
    ...(['POST', '/embeddings'] as const),
    async ({ embeddings }, call) =>
      json(await embeddings.create(bodyOf<EmbeddingRequest>(await call.text()), { signal: call.signal })),
  ],
  [
    ...(['POST', '/audio/speech'] as const),
    async ({ audio }, call) => audio.speech.create(bodyOf(await call.text()), { signal: call.signal }),
  ],
  [
    ...(['POST', '/decisions'] as const),
    async ({ decisions }, call) => json(await decisions.create(bodyOf(await call.text()), { signal: call.signal })),
  ],
  ['POST', '/audio/transcriptions', async (client, call) => transcribed(client, await call.form(), call.signal)],
  ['GET', '/models', async ({ models }) => json(await models.list())],
  ['GET', '/models/{id}', modelOf],
];

/** The paths of routes at the end of an address, whatever base it has. */
const PATHS = ROUTES.map(
  ([, path]) => new RegExp(`${path.replace('{id}', path.startsWith('/models') ? '(.+)' : '([^/]+)')}$`),
);

async function route(client: Client, call: Call): Promise<Response> {
  const { method, path } = call;
  const fitting = ROUTES.flatMap(([wanted, , answer], index) => {
    const found = PATHS[index]?.exec(path);
    return found ? [{ wanted, answer, name: found[1] ?? '' }] : [];
  });
  const found = fitting.find(({ wanted }) => wanted === method);
  if (found) return found.answer(client, call, nameIn(found.name));
  const [other] = fitting;
  if (other) return json(notFound(`${method} ${path} is not here, expected ${other.wanted}`), 405);
  const there = ROUTES.map(([verb, end]) => `${verb} ${end}`).join(', ');
  return json(notFound(`${method} ${path} is not here; there are ${there}`), 404);
}

function nameIn(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // it is no name of anything
  }
}

async function modelOf(client: Client, _: Call, id: string): Promise<Response> {
  const model = (await client.models.list()).data.find((entry) => entry.id === id);
  return model ? json(model) : json(notFound(`model ${id} is not here`), 404);
}

/** A form as the `openai` package writes it; `text` comes without quotes. */
async function transcribed(client: Client, form: FormData, signal: AbortSignal | undefined): Promise<Response> {
  const fields = Object.fromEntries([...form].map(([name, value]) => [name, value === '' ? undefined : value]));
  const {
    temperature,
    stream,
    'timestamp_granularities[]': _,
    'include[]': __,
    ...others
  } = fields as Record<string, unknown>;
  const [times, include] = ['timestamp_granularities[]', 'include[]'].map((name) => form.getAll(name));
  const request = {
    ...others,
    ...(temperature !== undefined && { temperature: Number(temperature) }),
    ...(stream !== undefined && { stream: stream === 'true' || (stream === 'false' ? false : stream) }),
    ...(times?.length && { timestamp_granularities: times }),
    ...(include?.length && { include }),
  } as unknown as TranscriptionRequest;
  const found = await client.audio.transcriptions.create(request, { signal });
  if (found instanceof AnswerStream) {
    const write = (event: object): string => `data: ${JSON.stringify(event)}\n\n`;
    return eventStream(found, { before: 0, signal, write });
  }
  return typeof found === 'string' ? new Response(found, { headers: CORS }) : json(found);
}

async function chat(client: Client, request: ChatRequest, signal: AbortSignal | undefined): Promise<Response> {
  if (!request?.stream) return json(await client.chat.completions.create({ ...request, stream: false }, { signal }));
  const stream = await client.chat.completions.create({ ...request, stream: true }, { signal });
  const write = (chunk: ChatChunk): string => `data: ${JSON.stringify(chunk)}\n\n`;
  // The chunk before the first that the model wrote has the role alone.
  return eventStream(stream, { before: 1, signal, write, end: 'data: [DONE]\n\n' });
}

async function completed(client: Client, request: TextRequest, signal: AbortSignal | undefined): Promise<Response> {
  if (!request?.stream) return json(await client.completions.create({ ...request, stream: false }, { signal }));
  const stream = await client.completions.create({ ...request, stream: true }, { signal });
  const write = (chunk: TextCompletion): string => `data: ${JSON.stringify(chunk)}\n\n`;
  return eventStream(stream, { before: 0, signal, write, end: 'data: [DONE]\n\n' });
}
