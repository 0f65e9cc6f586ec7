/**
 * What the client fetches when it is first asked for it: see `engine/files.ts`. None of these fetches another one.
 */
import { allFetched } from '../engine/files.js';

/** @internal */
export const openaiFiles = allFetched({
  chatItems: () => import('./responses/chat-items.js'),
  decide: () => import('../decide/index.js'),
  decisions: () => import('../decide/decisions.js'),
  heard: () => import('../voice/heard.js'),
  responses: () => import('./responses/responses.js'),
  responsesHttp: () => import('./responses/http.js'),
  speech: () => import('./speech.js'),
  timed: () => import('./timed.js'),
  textCompletions: () => import('./text-completions.js'),
});
