/**
 * Scripts of the package that are loaded when they are first needed.
 */
import { WebggufError } from '../errors.js';

/** What `file` imports. @throws {WebggufError} `download_failed`, `feature_missing` in service workers @internal */
export async function fetched<T>(file: () => Promise<T>): Promise<T> {
  try {
    return await file();
  } catch (cause) {
    if (cause instanceof WebggufError) throw cause;
    if ('ServiceWorkerGlobalScope' in globalThis) {
      const message =
        "service workers may not load scripts later (import()): import 'webgguf/preload.js' beside webgguf";
      throw new WebggufError('feature_missing', message, { cause });
    }
    const message =
      'a script of webgguf could not be loaded: offline, or the site was deployed anew; ' +
      `init({ preload: true }) loads all of them early (${(cause as Error).message})`;
    throw new WebggufError('download_failed', message, { cause });
  }
}
