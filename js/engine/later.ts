/**
 * What an engine loads when it is first asked for it.
 *
 * The script of a worker has all of it from the start, see `worker.ts`: a bundler may make one file of that script, as
 * Vite does, and such a file imports nothing more. It is one file only where every module here is part of it already.
 * What pages alone load later is in `model/on-demand.ts`.
 */
import { allFetched } from './fetched.js';
import type { RareFiles } from '../wasm/give-rare.js';

/** @internal */
export const later = {
  /**
   * Starts a worker. The page's code and the worker's script each set this to their own way. If the worker's script
   * led to the page's way, a bundler would put the worker into itself without end.
   */
  startWorker: (_signal: AbortSignal): Promise<Worker> => Promise.reject(new Error('nobody said how to start workers')),
  /** Loads what is needed later now; pages alone do. */
  preload: async (): Promise<void> => {},
  ...allFetched({
    chatText: () => import('./conversation-text.js'),
    encodeParts: () => import('./encode-parts.js'),
    encoder: () => import('../media/encoders.js'),
    grammar: () => import('../grammar/webgguf_grammar.js'),
    imagePrompt: () => import('../media/prompt.js'),
    mediaFile: () => import('../load/media-file.js'),
    rare: (): Promise<RareFiles> => import('../wasm/rare.js'),
    parts: () => import('../load/parts.js'),
    pictureKinds: () => import('../load/picture-kinds.js'),
    saved: () => import('./saved.js'),
    rareTemplates: () => import('../templates/rare.js'),
    threads: () => import('./threads.js'),
    transparent: () => import('../load/transparent.js'),
    tuning: () => import('../tuning/index.js'),
  }),
};
