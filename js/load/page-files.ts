/**
 * What a page loads for files and requests of some kinds: see `engine/files.ts`. None of these fetches another one.
 */
import { allFetched } from '../engine/files.js';

/** @internal */
export const pageFiles = allFetched({
  advice: () => import('./advice.js'),
  callGrammar: () => import('../openai/call-grammar.js'),
  inspectDraft: () => import('./inspect-draft.js'),
  inspectEncoder: () => import('./inspect-encoder.js'),
  peft: () => import('./peft.js'),
  samples: () => import('../media/samples.js'),
});
