/**
 * Training in the worker of a model. The build makes one file of this module and all that it needs,
 * `training/language/training-worker.js`: a worker imports it when a page first trains there, whatever a bundler has
 * made of the worker's own script. What that file has twice, it does not share, but for the classes of WebAssembly.
 */
import type { LocalEngine } from '../../engine/local.js';
import { invalidArgument } from '../../errors.js';
import { type WasmClasses, shareClasses } from './worker-classes.js';
import type { Facts, HostOptions } from './host.js';
import { LocalHost } from './local-host.js';
import { openTrainable } from './open.js';

/** What a worker calls. @internal */
export interface InWorker {
  call(engine: unknown, method: string, args: unknown[]): unknown;
}

/** What opening gives: the number of the training, for later calls. */
export interface OpenedInWorker {
  readonly number: number;
  readonly facts: Facts;
}

/** Starts it with the classes of the worker's WebAssembly. @internal */
export function open(classes: WasmClasses): InWorker {
  shareClasses(classes);
  const hosts = new Map<number, LocalHost>();
  let count = 0;
  const opened = async (engine: unknown, given: Omit<HostOptions, 'openModel'>): Promise<OpenedInWorker> => {
    const host = await LocalHost.open({ ...given, openModel: () => openTrainable(engine as LocalEngine) });
    hosts.set((count += 1), host);
    return { number: count, facts: host.facts };
  };
  const call: InWorker['call'] = (engine, method, args) => {
    if (method === 'open') return opened(engine, args[0] as HostOptions);
    const [number, ...rest] = args as [number, ...unknown[]];
    const host = hosts.get(number);
    if (!host) throw invalidArgument('the worker has no such training');
    if (method === 'free') hosts.delete(number);
    return (host[method as 'step'] as (...args: unknown[]) => unknown).apply(host, rest);
  };
  return { call };
}
