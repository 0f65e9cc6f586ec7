/**
 * The routes of the Responses API.
 */
import { json } from '../http.js';
import { eventStream } from '../wire.js';
import type { ResponseEvent } from './event-types.js';
import type { ResponseEvents, Responses } from './responses.js';
import type { ModelResponse, ResponseItemQuery, ResponseRequest } from './types.js';

/** As the API writes it: `output_text` is an addition of OpenAI's client. */
const withoutText = ({ output_text: _, ...response }: ModelResponse): Response => json(response);

/** @internal */
export async function created(
  responses: Responses,
  request: ResponseRequest,
  signal: AbortSignal | undefined,
): Promise<Response> {
  if (!request?.stream) return withoutText(await responses.create({ ...request, stream: false }, { signal }));
  const stream = await responses.create({ ...request, stream: true }, { signal });
  // Two events say that it begins.
  return streamed(stream, 2, signal);
}

function streamed(stream: ResponseEvents, before: number, signal: AbortSignal | undefined): Promise<Response> {
  const write = (event: ResponseEvent): string => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
  // An event has said that it failed.
  return eventStream(stream, { before, signal, write, failed: () => '' });
}

/** @internal */
export async function retrieved(
  responses: Responses,
  id: string,
  query: URLSearchParams,
  signal: AbortSignal | undefined,
): Promise<Response> {
  if (query.get('stream') !== 'true') return withoutText(await responses.retrieve(id));
  const after = query.get('starting_after');
  const starting = after === null ? {} : { starting_after: Number(after) };
  return streamed(await responses.retrieve(id, { stream: true, ...starting }), 1, signal);
}

/** @internal */
export const cancelled = async (responses: Responses, id: string): Promise<Response> =>
  withoutText(await responses.cancel(id));

/** @internal */
export async function listed(responses: Responses, id: string, query: URLSearchParams): Promise<Response> {
  const { after, limit, order } = Object.fromEntries(query);
  const asked = {
    ...(after !== undefined && { after }),
    ...(limit !== undefined && { limit: Number(limit) }),
    ...(order !== undefined && { order }),
  } as ResponseItemQuery;
  return json(await responses.inputItems.list(id, asked));
}
