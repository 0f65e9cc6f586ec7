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
    const found = addressOfBundler();
    if (found) return atUrl(found.url);
    const message = `the URL of worker.js is not known: this bundle is no ES module; ${GIVE_URL}`;
    throw new WebggufError('download_failed', message, { cause });
  }
}

const isSandboxed = (): boolean => globalThis.origin === 'null';

/** Where the script is, and what kind of script a bundler has made of it. */
interface Address {
  readonly url: string | URL;
  readonly type: WorkerType | undefined;
}

/**
 * What connects to the SharedWorker `name`, which runs the same script as other workers; a sentence where there can be
 * none. The tabs of an origin find it by the address of the script, so that must be an address of the origin.
 * @internal
 */
export function sharedWorker(name: string): (() => SharedWorker) | string {
  if (typeof SharedWorker === 'undefined') return 'there are no SharedWorkers here';
  const given = workerScript();
  const found = given === undefined ? addressOfBundler() : { url: given, type: 'module' as const };
  if (!found) return `the URL of worker.js is not known: ${GIVE_URL}`;
  const { url, type } = found;
  const { href, origin } = new URL(url, location.href);
  if (origin !== location.origin || href.startsWith('blob:')) {
    return `the script of workers (${href.slice(0, 80)}) has no address of this origin: ${GIVE_URL}`;
  }
  const address = typeof url === 'object' && !(url instanceof URL) ? url : trusted(href);
  return () => new SharedWorker(address, { name, ...(type && { type }) });
}

/** The address that a bundler has put into {@link ofBundler}: the one way to learn it without starting a worker. */
function addressOfBundler(): Address | undefined {
  const { Worker } = globalThis;
  let found: Address | undefined;
  globalThis.Worker = function note(url: string | URL, options?: WorkerOptions) {
    found = { url: String(url), type: options?.type };
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
