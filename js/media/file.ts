/**
 * Files of images and sounds from elsewhere.
 */
import { WebggufError } from '../errors.js';

/** The file at an address. @internal */
export async function download(what: 'image' | 'audio', url: string | URL): Promise<Blob> {
  const shown = String(url).slice(0, 80);
  let response: Response;
  try {
    response = await fetch(url);
  } catch (cause) {
    throw new WebggufError('download_failed', `${what}: ${shown}: ${String(cause)}`, { cause });
  }
  if (response.ok) return response.blob();
  throw new WebggufError('download_failed', `${what}: ${shown}: HTTP status ${response.status}`);
}
