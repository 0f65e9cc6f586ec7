/**
 * Waiting for a worker's script. This file names no script, so that the worker's own may use it.
 */
import { abortable } from './cancel.js';
import { WebggufError } from './errors.js';

/** @internal */
export const GIVE_URL = 'give the URL of webgguf/worker.js with init({ worker: url })';

/**
 * Resolves with the first message of the worker: its script has run then. A worker that does not start is ended.
 *
 * @throws {WebggufError} `download_failed`
 * @throws the reason of `signal`
 * @internal
 */
export async function running(worker: Worker, name: string, signal: AbortSignal): Promise<Worker> {
  const started = new Promise<Worker>((resolve, reject) => {
    worker.addEventListener('message', () => resolve(worker), { once: true });
    const failed = ({ message }: ErrorEvent): void => {
      const why = message ? `: ${message}` : '';
      const hint = `not at its URL, or forbidden by the content security policy (worker-src)${why}`;
      reject(new WebggufError('download_failed', `${name}: the worker did not start: ${hint}; ${GIVE_URL}`));
    };
    worker.addEventListener('error', failed, { once: true });
  });
  try {
    return await abortable(started, signal);
  } catch (error) {
    worker.terminate();
    throw error;
  }
}
