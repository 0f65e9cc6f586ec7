/**
 * Errors and streams as OpenAI's HTTP API writes them.
 */
import { WebggufError } from '../errors.js';
import { begun, CORS, statusOf } from './http.js';
import { bytesOf } from './stream.js';

/** As OpenAI writes errors. @internal */
export function errorBody(error: unknown): { error: object } {
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof WebggufError ? error.code : 'internal';
  const [, param = null] = /field '([\w.]+)'/.exec(message) ?? [];
  const type = statusOf(error) < 500 ? 'invalid_request_error' : 'server_error';
  return { error: { message, type, param, code: code === 'context_full' ? 'context_length_exceeded' : code } };
}

/** @internal */
export function notFound(message: string): { error: object } {
  return { error: { message, type: 'invalid_request_error', param: null, code: 'not_found' } };
}

/** @internal */
export interface Written<T> {
  /** How many chunks come before the first that the model wrote. */
  readonly before: number;
  readonly signal: AbortSignal | undefined;
  write(chunk: T): string;
  readonly end?: string;
  failed?(error: unknown): string;
}

/** Chunks as server-sent events. @internal */
export async function eventStream<T>(stream: AsyncIterable<T>, written: Written<T>): Promise<Response> {
  const { before, signal, write, end, failed = dataOfError } = written;
  const chunks = await begun(stream[Symbol.asyncIterator](), before);
  const body = bytesOf(chunks, write, {
    ...(end !== undefined && { end }),
    failed: (error) => {
      signal?.throwIfAborted();
      return failed(error);
    },
  });
  return new Response(body, { headers: { ...CORS, 'content-type': 'text/event-stream' } });
}

const dataOfError = (error: unknown): string => `data: ${JSON.stringify(errorBody(error))}\n\n`;
