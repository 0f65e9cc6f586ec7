/**
 * Starting `worker.js`: from beside this script, from where a bundler put it, or from where the application says.
 */
import { WebggufError } from './errors.js';
import { fileFromVite } from './wasm-file.js';
import { workerScript } from './wasm/instance.js';
import { GIVE_URL, running, trusted } from './worker-running.js';

/**
 * A worker that has run its script.
 *
 * @throws {WebggufError} `feature_missing` where there are no workers; `download_failed` where the script does not run
 * @throws the reason of `signal`
 * @internal
 */
export async function startWorker(signal: AbortSignal): Promise<Worker> {
  if (typeof Worker === 'undefined') {
    const message = 'there are no workers here (service workers, Node.js and Deno): load without the option worker';
    throw new WebggufError('feature_missing', message);
  }
  const given = workerScript();
  if (given !== undefined) return running(atUrl(given), String(given), signal);
  try {
    return await running(besideScript(), 'worker.js', signal);
  } catch (error) {
    signal.throwIfAborted();
    const moved = await fileFromVite('worker.js').catch(() => undefined);
    if (!moved) throw error;
    return running(atUrl(moved), moved.href, signal);
  }
}

/** Bundlers find the file by this expression: it must stay as it is. */
const ofBundler = (): Worker => new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });

function besideScript(): Worker {
  try {
    // In a sandbox no script is of this origin, which Chromium says later than here.
    if (isSandboxed()) throw new Error('sandboxed');
    return ofBundler();
  } catch (cause) {
    const url = addressOfBundler();
    if (url) return atUrl(url);
    const message = `the URL of worker.js is not known: this bundle is no ES module; ${GIVE_URL}`;
    throw new WebggufError('download_failed', message, { cause });
  }
}

const isSandboxed = (): boolean => globalThis.origin === 'null';

/** The address that a bundler has put into {@link ofBundler}: the one way to learn it without starting a worker. */
function addressOfBundler(): string | undefined {
  const { Worker } = globalThis;
  let found: string | undefined;
  globalThis.Worker = function note(url: string | URL) {
    found = String(url);
  } as unknown as typeof Worker;
  try {
    ofBundler();
  } catch {
    // the address is not known
  } finally {
    globalThis.Worker = Worker;
  }
  return found;
}

/** A script of another origin, such as a CDN or a page in a sandbox has, is imported by one of this origin. */
function atUrl(url: string | URL): Worker {
  const { href, origin } = new URL(url, location.href);
  const isTrusted = typeof url === 'object' && !(url instanceof URL); // the page gave a TrustedScriptURL
  if ((origin === location.origin && !isSandboxed()) || !href.startsWith('http')) {
    try {
      return new Worker(isTrusted ? url : trusted(href), { type: 'module' });
    } catch (error) {
      if ((error as Error).name !== 'SecurityError') throw error;
    }
  }
  const text = `import ${JSON.stringify(href)};`;
  const script = new Blob([text], { type: 'text/javascript' });
  // Blobs of a sandbox are of no origin, either.
  const address = isSandboxed() ? `data:text/javascript,${encodeURIComponent(text)}` : URL.createObjectURL(script);
  try {
    return new Worker(trusted(address), { type: 'module' });
  } catch (cause) {
    if (cause instanceof WebggufError) throw cause;
    const message = `${href}: this page may not start workers (${(cause as Error).message}): load without 'worker'`;
    throw new WebggufError('feature_missing', message, { cause });
  } finally {
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  }
}
