/**
 * What a page loads when it is first asked for it. `preload.ts` has all of it from the start. What the script of a
 * worker needs, too, is in `engine/later.ts`.
 */
import { allFetched } from '../engine/fetched.js';

/** @internal */
export const onDemand = allFetched({
  adapter: () => import('../load/adapter.js'),
  advice: () => import('../load/advice.js'),
  callGrammar: () => import('../openai/call-grammar.js'),
  completions: () => import('../openai/completions.js'),
  embeddings: () => import('../openai/embeddings.js'),
  families: () => import('../openai/families.js'),
  inWorker: () => import('../engine/in-worker.js'),
  inspect: () => import('../load/inspect.js'),
  inspectEncoder: () => import('../load/inspect-encoder.js'),
  messages: () => import('./media-messages.js'),
  peft: () => import('../load/peft.js'),
  preload: () => import('../preload.js'),
  runTools: () => import('../openai/run-tools.js'),
  samples: () => import('../media/samples.js'),
  signs: () => import('../openai/signs.js'),
  templates: () => import('../engine/chat-text.js'),
  transcriptions: () => import('../openai/transcriptions.js'),
  worker: () => import('../worker-start.js'),
});
