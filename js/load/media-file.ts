/**
 * Files of images and sounds from elsewhere.
 */
import { WebggufError } from '../errors.js';

/** The file at an address. Rejects with the reason of `signal` where that fires. @internal */
export async function download(
  what: 'image' | 'audio',
  url: string | URL,
  signal: AbortSignal | undefined,
): Promise<Blob> {
  const shown = String(url).slice(0, 80);
  let response: Response;
  try {
    response = await fetch(url, { signal: signal ?? null });
    if (response.ok) return await response.blob();
  } catch (cause) {
    signal?.throwIfAborted();
    throw new WebggufError('download_failed', `${what}: ${shown}: ${String(cause)}`, { cause });
  }
  throw new WebggufError('download_failed', `${what}: ${shown}: HTTP status ${response.status}`);
}
