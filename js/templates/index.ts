/**
 * Chat templates with all that templates use, see `render.ts`.
 */
import { enter } from './more.js';
import { MORE } from './rare.js';
import { renderConversation as render } from './render.js';

/** @internal */
export function renderConversation(...of: Parameters<typeof render>): string {
  enter(MORE);
  return render(...of);
}
