/**
 * An HTTP API as a `fetch`: no request leaves the page.
 */
import { type ErrorCode, WebggufError, invalidArgument } from '../errors.js';

/** HTTP's word for an error; 500 where nothing is said. */
const STATUS: Partial<Record<ErrorCode, number>> = {
  invalid_argument: 400,
  context_full: 400,
  limit_exceeded: 400,
  download_failed: 502,
  engine_moved: 503,
};

/** @internal */
export const CORS = { 'access-control-allow-origin': '*' };

/** What was asked for by its name is not there. @internal */
export class NotFound extends WebggufError {
  constructor(message: string) {
    super('invalid_argument', message);
  }
}

/** A request as it came. @internal */
export interface Call {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  text(): Promise<string>;
  form(): Promise<FormData>;
  readonly signal: AbortSignal | undefined;
}

/** A `fetch` whose requests `route` answers; errors become `errorBody`. @internal */
export function answering(
  route: (call: Call) => Promise<Response>,
  errorBody: (error: unknown) => object,
): typeof fetch {
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
      return await route({ method, path: url.pathname, query: url.searchParams, text, form, signal });
    } catch (error) {
      signal?.throwIfAborted();
      return json(errorBody(error), statusOf(error));
    }
  };
}

/** The type of a form that is bytes already. */
function headersOf(init: RequestInit | undefined): ResponseInit {
  const type = new Headers(init?.headers).get('content-type');
  return type && !(init?.body instanceof FormData) ? { headers: { 'content-type': type } } : {};
}

/**
 * The same chunks, once the first that the model wrote is there: what is wrong with a request is known by then, and has
 * a status of its own. `before`: how many chunks come before that; of a chat one, which has the role alone. @internal
 */
export async function begun<T>(chunks: AsyncIterator<T>, before = 1): Promise<AsyncIterable<T>> {
  const first: IteratorResult<T>[] = [];
  while (first.length <= before) first.push(await chunks.next());
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

/** @internal */
export function bodyOf<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    throw invalidArgument(`the body is not JSON: ${(cause as Error).message}`);
  }
}

/** @internal */
export function json(body: unknown, status = 200): Response {
  // Asking again would change nothing.
  const headers = { ...CORS, 'content-type': 'application/json', ...(status !== 200 && { 'x-should-retry': 'false' }) };
  return new Response(JSON.stringify(body), { status, headers });
}

/** @internal */
export function statusOf(error: unknown): number {
  if (error instanceof NotFound) return 404;
  return (error instanceof WebggufError && STATUS[error.code]) || 500;
}
