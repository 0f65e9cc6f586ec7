/**
 * What a page loads when it is first asked for it. `preload.ts` has all of it from the start. What the script of a
 * worker needs, too, is in `engine/later.ts` and `engine/files.ts`.
 */
import { allFetched } from '../engine/files.js';

/** @internal */
export const onDemand = allFetched({
  adapter: () => import('../load/adapter.js'),
  budget: () => import('../openai/budget.js'),
  completions: () => import('../openai/completions.js'),
  embedContents: () => import('./embed-contents.js'),
  embeddings: () => import('../openai/embeddings.js'),
  converse: () => import('../voice/converse.js'),
  families: () => import('../openai/families.js'),
  inWorker: () => import('../engine/in-worker.js'),
  inspect: () => import('../load/inspect.js'),
  messages: () => import('./media-messages.js'),
  preload: () => import('../preload.js'),
  runTools: () => import('../openai/run-tools.js'),
  shared: () => import('../shared/engine.js'),
  signs: () => import('../openai/signs.js'),
  templates: () => import('../engine/chat-text.js'),
  transcriptions: () => import('../openai/transcriptions.js'),
  voice: () => import('../voice/speak.js'),
  worker: () => import('../worker-start.js'),
});
