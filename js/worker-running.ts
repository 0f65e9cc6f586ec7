/**
 * Waiting for a worker's script. This file names no script, so that the worker's own may use it.
 */
import { abortable } from './cancel.js';
import { WebggufError } from './errors.js';
import { RELEASE } from './release.js';

/** What browsers have that know trusted types; TypeScript does not. */
interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): URL };
}

/** The policy's name, for `trusted-types` in a content security policy. */
const POLICY = 'webgguf';
let policy: ReturnType<TrustedTypes['createPolicy']> | undefined;

/**
 * The address of a script of the package as a page with `require-trusted-types-for 'script'` takes it.
 *
 * @throws {WebggufError} `feature_missing` where the page allows no policy of this name
 * @internal
 */
export function trusted(url: string | URL): URL | string {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  if (!trustedTypes) return url;
  try {
    policy ??= trustedTypes.createPolicy(POLICY, { createScriptURL: (address) => address });
  } catch (cause) {
    const message =
      `this page wants trusted types: allow the policy '${POLICY}' (trusted-types ${POLICY} in its content security ` +
      'policy), or give a TrustedScriptURL with init({ worker })';
    throw new WebggufError('feature_missing', message, { cause });
  }
  return policy.createScriptURL(String(url));
}

/** @internal */
export const GIVE_URL = 'give the URL of webgguf/worker.js with init({ worker: url })';

/** What is wrong where the script at `name` is of the release `found`. @internal */
export const otherRelease = (name: string, found: unknown): string =>
  `${name} is of another release of webgguf (${String(found)}) than this page's script (${RELEASE}): reload the page`;

/**
 * Resolves with the first message of the worker, in which its script says its release. A worker that does not start, or
 * is of another release, is ended.
 *
 * @throws {WebggufError} `download_failed`
 * @throws the reason of `signal`
 * @internal
 */
export async function running(worker: Worker, name: string, signal: AbortSignal): Promise<Worker> {
  const started = new Promise<Worker>((resolve, reject) => {
    const began = ({ data }: MessageEvent<{ ready?: unknown }>): void => {
      if (data.ready === RELEASE) resolve(worker);
      else reject(new WebggufError('download_failed', `${otherRelease(name, data.ready)}; ${GIVE_URL}`));
    };
    worker.addEventListener('message', began as EventListener, { once: true });
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
