/**
 * Registries of what is fetched when it is first needed.
 *
 * The script of a worker has all of {@link files} and of `later.ts` from the start, see `worker.ts`: a bundler may make
 * one file of that script, as Vite does, and such a file imports nothing more. It is one file only where every module
 * that these name is part of it already. What pages alone load later is in `model/on-demand.ts`.
 */
import type { DeviceFiles, EncoderFiles, FamilyFiles, RareFiles } from '../wasm/give-needed.js';
import { fetched } from './fetched.js';

type Files = Record<string, (...args: never[]) => Promise<unknown>>;

/** Functions that import, whose failures are a {@link WebggufError}. @internal */
export function allFetched<T extends Files>(files: T): T {
  return Object.fromEntries(
    Object.entries(files).map(([name, file]) => [name, (...args: never[]) => fetched(() => file(...args))]),
  ) as T;
}

/** Files for sources, media, templates and WebAssembly. None of them fetches another one. @internal */
export const files = {
  /**
   * Starts a worker. The page's code and the worker's script each set this to their own way. If the worker's script
   * led to the page's way, a bundler would put the worker into itself without end.
   */
  startWorker: (_signal: AbortSignal): Promise<Worker> => Promise.reject(new Error('no worker starter is registered')),
  /** Loads what is needed later now; pages alone do. */
  preload: async (): Promise<void> => {},
  ...allFetched({
    device: (): Promise<DeviceFiles> => import('../wasm/device.js'),
    encoders: (): Promise<EncoderFiles> => import('../wasm/encoders.js'),
    families: (): Promise<FamilyFiles> => import('../wasm/families.js'),
    grammar: () => import('../grammar/webgguf_grammar.js'),
    mediaFile: () => import('../load/media-file.js'),
    rare: (): Promise<RareFiles> => import('../wasm/rare.js'),
    parts: () => import('../load/parts.js'),
    pictureKinds: () => import('../load/picture-kinds.js'),
    rareTemplates: () => import('../templates/rare.js'),
    transparent: () => import('../load/transparent.js'),
    verified: () => import('../load/verified.js'),
    video: () => import('../video/index.js'),
  }),
};
