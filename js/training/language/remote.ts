/**
 * Training in the worker of a model: the same calls, sent there.
 */
import type { Engine } from '../../engine/engine.js';
import { WebggufError } from '../../errors.js';
import { fileFromVite } from '../../wasm-file.js';
import type { Begin, Facts, Host, HostOptions, Outcome, Unfinished } from './host.js';
import type { OpenedInWorker } from './in-worker.js';

/** @internal */
export class RemoteHost implements Host {
  readonly facts: Facts;
  readonly #call: <T>(method: string, ...args: unknown[]) => Promise<T>;

  private constructor(facts: Facts, call: <T>(method: string, ...args: unknown[]) => Promise<T>) {
    this.facts = facts;
    this.#call = call;
  }

  /** `script`: where the page says that the file for workers is. */
  static async open(
    engine: Required<Pick<Engine, 'train'>>,
    given: Omit<HostOptions, 'openModel'>,
    script: string | URL | undefined,
  ): Promise<RemoteHost> {
    const at = await opened(engine, given, script);
    const { number, facts } = at.opened;
    return new RemoteHost(facts, (method, ...args) => engine.train(at.script, method, [number, ...args]));
  }

  packs(length: number): Promise<boolean> {
    return this.#call('packs', length);
  }

  begin(run: Begin): Promise<void> {
    return this.#call('begin', run);
  }

  step(): Promise<Outcome | undefined> {
    return this.#call('step');
  }

  interrupt(): Promise<Unfinished | undefined> {
    return this.#call('interrupt');
  }

  file(dtype: 'f32' | 'f16'): Promise<Blob> {
    return this.#call('file', dtype);
  }

  save(name: string | undefined): Promise<void> {
    return this.#call('save', name);
  }

  recover(): Promise<void> {
    return this.#call('recover');
  }

  async free(): Promise<void> {
    await this.#call('free').catch(() => {}); // gone with the worker
  }
}

/** Opens training with the file that was given, the one beside this script, or the one that Vite has moved. */
async function opened(
  engine: Required<Pick<Engine, 'train'>>,
  given: Omit<HostOptions, 'openModel'>,
  script: string | URL | undefined,
): Promise<{ opened: OpenedInWorker; script: string }> {
  const attempt = async (url: string): Promise<{ opened: OpenedInWorker; script: string }> => ({
    opened: await engine.train<OpenedInWorker>(url, 'open', [given]),
    script: url,
  });
  if (script !== undefined) return attempt(new URL(script, document.baseURI).href);
  try {
    return await attempt(besideScript());
  } catch (error) {
    if ((error as WebggufError).code !== 'download_failed') throw error;
    const moved = await fileFromVite('training/language/training-worker.js').catch(() => undefined);
    if (!moved) throw error;
    return attempt(moved.href);
  }
}

/** Bundlers find the file by this expression: it must stay as it is. */
function besideScript(): string {
  try {
    return new URL('./training-worker.js', import.meta.url).href;
  } catch (cause) {
    const message = 'the URL of training-worker.js is not known: this bundle is no ES module; give it as workerScript';
    throw new WebggufError('download_failed', message, { cause });
  }
}
