/**
 * Starting `worker.js`: from beside this script, from where a bundler put it, or from where the application says.
 */
import { WebggufError } from './errors.js';
import { fileFromVite } from './wasm-file.js';
import { workerScript } from './wasm/instance.js';
import { GIVE_URL, running } from './worker-running.js';

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
function besideScript(): Worker {
  try {
    return new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
  } catch (cause) {
    const { name } = cause as Error;
    if (name === 'SecurityError') return atUrl(import.meta.url.replace(/[^/]*$/, 'worker.js'));
    const message = `the URL of worker.js is not known: this bundle is no ES module; ${GIVE_URL}`;
    throw new WebggufError('download_failed', message, { cause });
  }
}

/** From another origin, such as a CDN, only a script of this one may import it. */
function atUrl(url: string | URL): Worker {
  const { href, origin } = new URL(url, location.href);
  if (origin === location.origin || !href.startsWith('http')) return new Worker(href, { type: 'module' });
  const script = new Blob([`import ${JSON.stringify(href)};`], { type: 'text/javascript' });
  const address = URL.createObjectURL(script);
  try {
    return new Worker(address, { type: 'module' });
  } finally {
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  }
}
