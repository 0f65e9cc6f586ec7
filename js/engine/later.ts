/**
 * What the engine of a model loads when it is first asked for it: see `files.ts`.
 */
import { allFetched } from './files.js';

/** @internal */
export const later = allFetched({
  chatText: () => import('./conversation-text.js'),
  drafts: () => import('./drafts.js'),
  encodeParts: () => import('./encode-parts.js'),
  encoder: () => import('../media/encoders.js'),
  grammars: () => import('./grammars.js'),
  hear: () => import('../voice/hear.js'),
  host: () => import('../shared/host.js'),
  imagePrompt: () => import('../media/prompt.js'),
  insert: () => import('./insert.js'),
  prefixes: () => import('./prefixes.js'),
  saved: () => import('./saved.js'),
  threads: () => import('./threads.js'),
  tuning: () => import('../tuning/index.js'),
  vocoder: () => import('../voice/vocoder.js'),
});
