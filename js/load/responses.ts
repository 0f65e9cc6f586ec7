/**
 * Requests for files over HTTP, and what their responses say.
 */
import { shownUrl } from './cache/key.js';
import { cancellable } from '../cancel.js';
import { WebggufError, invalidArgument } from '../errors.js';
import { drop, fetchOnce, fetchPatiently, type Patience } from './patience.js';
import type { Rest } from './rest.js';

/** What a server says of a file, to tell one version from another. @internal */
export interface FileFacts {
  /** Bytes of the file. */
  readonly size?: number | undefined;
  readonly etag?: string | undefined;
  readonly lastModified?: string | undefined;
  /** Whether it came from another origin, where `If-Range` would need the server's consent. */
  readonly crossOrigin: boolean;
}

/** What to do with a path. @internal */
export const GIVE_FILE = 'give the file itself: a File, or in Node.js await openAsBlob(path) of node:fs';

/** The request for a URL; throws `invalid_argument` for one that is none. @internal */
export function requestFor(source: string | URL | Request): Request {
  if (source instanceof Request) {
    if (source.bodyUsed) throw invalidArgument(`${shownUrl(source.url)}: the body of this request was used already`);
    return source;
  }
  if (String(source).trim() === '') throw invalidArgument('the URL of the model is empty');
  try {
    return new Request(source);
  } catch (cause) {
    // Relative to a page this would be an address: here it is nearly always a path.
    const hint = 'location' in globalThis ? '' : `; ${GIVE_FILE}`;
    const message = `not a URL that can be fetched: '${shownUrl(String(source))}'${hint}`;
    throw new WebggufError('invalid_argument', message, { cause });
  }
}

/** Bytes of the body; `undefined` where the server is silent or compresses. @internal */
export function announcedSize(response: Response): number | undefined {
  const encoding = response.headers.get('content-encoding');
  if (encoding && encoding !== 'identity') return undefined;
  const length = response.headers.get('content-length');
  return length && /^\d+$/.test(length) ? Number(length) : undefined;
}

/** Whether a range of this request may be asked for. @internal */
export function takesRange({ method, url, headers }: Request): boolean {
  return method === 'GET' && /^https?:/.test(url) && !headers.has('range');
}

/**
 * Bytes of the file, as the answer to a range request has them. Another origin does not show whether a whole file
 * is compressed all the same, so its length is not believed.
 * @internal
 */
export function sizeOfRange(response: Response): number | undefined {
  if (isPartial(response)) return totalOf(response) ?? announcedSize(response);
  return isCrossOrigin(response) ? undefined : announcedSize(response);
}

/** Bytes of the whole file, of which a response has a part. */
function totalOf({ headers }: Response): number | undefined {
  const total = /\/(\d+)$/.exec(headers.get('content-range') ?? '')?.[1];
  return total === undefined ? undefined : Number(total);
}

/** Whether a response has a part of a file: service workers that answer anew may forget the status. @internal */
export function isPartial({ status, headers }: Response): boolean {
  return status === 206 || (status === 200 && /^bytes \d/.test(headers.get('content-range') ?? ''));
}

/**
 * Whether it came from another origin. `type` says nothing of what a service worker made.
 */
function isCrossOrigin({ type, url }: Response): boolean {
  const { origin } = (globalThis as { location?: Location }).location ?? {};
  return type === 'cors' || (origin !== undefined && url !== '' && new URL(url).origin !== origin);
}

/** Facts about the file of a response, without the size, which is the size of its body. @internal */
export function factsOf(response: Response): FileFacts {
  const { headers } = response;
  // Hugging Face's storage has ETags of its own; where the hub's can be seen, it is the digest of the file.
  const etag = headers.get('x-linked-etag') ?? headers.get('etag') ?? undefined;
  return { etag, lastModified: headers.get('last-modified') ?? undefined, crossOrigin: isCrossOrigin(response) };
}

/** Whether two answers are of different versions, as far as both say something. @internal */
export function isChanged(before: FileFacts | undefined, after: FileFacts | undefined): boolean {
  const differ = (a: string | number | undefined, b: string | number | undefined): boolean =>
    a !== undefined && b !== undefined && a !== b;
  if (differ(before?.size, after?.size) || differ(before?.etag, after?.etag)) return true;
  return !before?.etag && !after?.etag && differ(before?.lastModified, after?.lastModified);
}

/** What `If-Range` may carry: a strong ETag, else the date. @internal */
export function strongValidator(facts: FileFacts | undefined): string | undefined {
  const { etag, lastModified } = facts ?? {};
  return etag && !etag.startsWith('W/') ? etag : lastModified;
}

/** A status in words, with what Hugging Face's hub says of it. @internal */
export function statusOf({ status, statusText, headers, type }: Response): string {
  if (type === 'opaque') {
    return "pages cannot read answers to requests with mode 'no-cors': leave the mode out, and let servers allow CORS";
  }
  if (type === 'opaqueredirect') return "the server redirects, which the request forbids (redirect: 'manual')";
  const text = `HTTP status ${status} ${statusText}`.trim();
  const reason = headers.get('x-error-message') ?? headers.get('x-error-code') ?? waitOf(headers);
  if (headers.get('x-error-code') === 'GatedRepo') {
    return `${text}: ${reason}; accept the terms on the model's page and load it with an access token (option 'token')`;
  }
  return reason ? `${text}: ${reason}` : text;
}

function waitOf(headers: Headers): string | undefined {
  const after = headers.get('retry-after');
  return after ? `the server wants to be asked again after ${after}${/^\d+$/.test(after) ? ' s' : ''}` : undefined;
}

/** The message for an answer with the whole file. */
const NO_RANGE = 'the server takes no range requests, or the file changed meanwhile';

/** Why a response does not have the bytes of a range of this version of a file, if so. */
function problemOfRange(response: Response, rest: Rest): string | undefined {
  if (!isPartial(response)) return response.ok ? NO_RANGE : statusOf(response);
  return problemOfRest(response, { ...rest, size: rest.facts?.size ?? totalOf(response) });
}

/**
 * Reads `length` bytes from `offset` on by a range request of its own.
 *
 * @param facts the version of the file that the bytes must be of
 * @throws {WebggufError} `download_failed` for any answer but these bytes
 * @internal
 */
export async function fetchRange(
  request: Request,
  { offset, length }: { readonly offset: number; readonly length: number },
  facts: FileFacts | undefined,
  { signal, patience }: { readonly signal: AbortSignal; readonly patience: Patience },
): Promise<Uint8Array> {
  const rest = { at: offset, until: offset + length, facts };
  const asked = rangeRequest(request, rest);
  const about = `${shownUrl(request.url)}: asked for ${asked.headers.get('range')}`;
  const failed = (what: string, cause?: unknown): WebggufError =>
    new WebggufError('download_failed', `${about}: ${what}`, { cause });
  try {
    // With a scope of its own: `signal` may live long, and each request listens to its own.
    return await cancellable(signal, async (scope) => {
      const response = await fetchPatiently(() => asked.clone(), scope, patience);
      const problem = problemOfRange(response, rest);
      if (problem) throw failed(problem); // which ends the response, too
      const bytes = new Uint8Array(await response.arrayBuffer());
      if (bytes.length === length) return bytes;
      throw failed(`received ${bytes.length} bytes of ${length}`);
    });
  } catch (cause) {
    if (cause instanceof WebggufError) throw cause;
    throw failed('could not be fetched', cause);
  }
}

/**
 * The request for the missing range. `If-Range` guards against a file that changed meanwhile; across origins it would
 * cost a preflight that many file hosts refuse, so there `problemOfRest` alone compares what is visible.
 * @internal
 */
export function rangeRequest(request: Request, { at, until, facts }: Rest): Request {
  const headers = new Headers(request.headers);
  headers.set('range', `bytes=${at}-${until === undefined ? '' : until - 1}`);
  const validator = facts?.crossOrigin ? undefined : strongValidator(facts);
  if (validator) headers.set('if-range', validator);
  return new Request(request.clone(), { headers });
}

/** Why `response` does not have the missing range, if so; `size` is the size of the file. @internal */
export function problemOfRest(
  response: Response,
  { at, until, size, facts }: Rest & { readonly size: number | undefined },
): string | undefined {
  const { headers, status } = response;
  // Before the first byte the whole file is missing.
  const isPart = isPartial(response);
  if (!isPart && status === 200 && at > 0) return NO_RANGE;
  if (!isPart && status !== 200) return `resuming gave HTTP status ${status}`;
  const range = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headers.get('content-range') ?? '');
  if (range && Number(range[1]) !== at) return `the server resumed at byte ${range[1]}`;
  if (range && range[2] !== '*' && Number(range[2]) !== size) return 'the file changed meanwhile';
  const rest = announcedSize(response);
  if (rest !== undefined && rest !== (until ?? NaN) - at) return 'the file changed meanwhile';
  return isChanged(facts, factsOf(response)) ? 'the file changed meanwhile' : undefined;
}

/**
 * What a server says of a file without sending it; nothing where it refuses that. Throws where there is no such file.
 * @internal
 */
export async function askFacts(
  request: Request,
  signal: AbortSignal,
  patience: Patience,
): Promise<FileFacts | undefined> {
  if (request.method !== 'GET') return undefined;
  const ask = async (asked: Request): Promise<Response | undefined> => {
    const head = new Request(asked, { method: 'HEAD' });
    const response = await fetchOnce(head, signal, patience).catch(() => undefined);
    signal.throwIfAborted();
    return response;
  };
  const whole = { at: 0, until: undefined, facts: undefined };
  const ranged = takesRange(request) ? await ask(rangeRequest(request, whole)) : undefined;
  let response = ranged?.ok ? ranged : await ask(request.clone());
  if (response && isGone(response)) {
    // Some servers know HEAD for no file.
    response = await fetchOnce(request.clone(), signal, patience).catch(() => undefined);
    signal.throwIfAborted();
    if (response) drop(response);
    if (response && isGone(response)) {
      throw new WebggufError('download_failed', `${shownUrl(request.url)}: ${statusOf(response)}`);
    }
  }
  if (!response?.ok) return undefined;
  return { ...factsOf(response), size: isPartial(response) ? sizeOfRange(response) : announcedSize(response) };
}

const isGone = ({ status }: Response): boolean => status === 404 || status === 410;

/** Whether a server gives parts of this version of a file alone. @internal */
export function takesParts(response: Response | undefined, facts: FileFacts | undefined): boolean {
  return response?.status === 206 && strongValidator(facts) !== undefined;
}
