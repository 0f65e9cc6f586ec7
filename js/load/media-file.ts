/**
 * Files of images, videos and sounds from elsewhere.
 */
import { WebggufError, invalidArgument } from '../errors.js';
import { drop, unlessStalled } from './patience.js';
import { announcedSize } from './responses.js';

type MediumKind = 'image' | 'video' | 'audio';

/** Refuses a file with more bytes than are taken: see `media/kept.ts`. */
type CheckBytes = (what: MediumKind, bytes: number) => void;

/** Milliseconds without a byte after which a server counts as gone. */
const PATIENCE = { retries: 0, stallTimeout: 30_000 };

/**
 * The file at an address. Rejects with the reason of `signal` where that fires.
 *
 * @throws {WebggufError} `invalid_argument` for what is no address, a `data:` URL that is damaged and too many bytes;
 *   `download_failed`
 * @internal
 */
export async function download(
  what: MediumKind,
  url: string | URL,
  checkBytes: CheckBytes,
  signal?: AbortSignal | undefined,
): Promise<Blob> {
  const shown = String(url).slice(0, 80);
  const connection = new AbortController();
  const stop = (): void => connection.abort(signal?.reason);
  const patiently = <T>(work: Promise<T>): Promise<T> => unlessStalled(work, PATIENCE, stop);
  signal?.throwIfAborted();
  signal?.addEventListener('abort', stop);
  try {
    const response = await patiently(fetch(url, { signal: connection.signal }));
    if (response.ok) return await fileOf((bytes) => checkBytes(what, bytes), response, patiently);
    drop(response);
    throw new WebggufError('download_failed', `${what}: ${shown}: HTTP status ${response.status}`);
  } catch (cause) {
    signal?.throwIfAborted();
    if (cause instanceof WebggufError) throw cause;
    if (/^\s*data:/i.test(shown)) throw invalidArgument(`${what}: ${shown}: a data URL that is damaged`);
    if (!isAddress(url)) throw invalidArgument(`${what}: '${shown}' is no address`);
    throw new WebggufError('download_failed', `${what}: ${shown}: ${String(cause)}`, { cause });
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}

function isAddress(url: string | URL): boolean {
  try {
    return Boolean(new Request(url));
  } catch {
    return false;
  }
}

/** The body, which may say no size, or another one. */
async function fileOf(
  check: (bytes: number) => void,
  response: Response,
  patiently: <T>(work: Promise<T>) => Promise<T>,
): Promise<Blob> {
  const { body, headers } = response;
  if (!body) return response.blob();
  const reader = body.getReader();
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let bytes = announcedSize(response) ?? 0;
  try {
    for (let found = 0; ; bytes = found) {
      check(bytes);
      const { value } = await patiently(reader.read());
      if (!value) return new Blob(pieces, { type: headers.get('content-type') ?? '' });
      pieces.push(value as Uint8Array<ArrayBuffer>);
      found += value.length;
    }
  } catch (error) {
    reader.cancel().catch(() => {});
    throw error;
  }
}
