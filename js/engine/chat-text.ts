/**
 * Conversations as text, at once: with all that templates use, see `conversation-text.ts`.
 */
import { enter } from '../templates/more.js';
import { MORE } from '../templates/rare.js';
import { chatText as write } from './protected-text.js';

/** See `protected-text.ts`. @internal */
export function chatText(...of: Parameters<typeof write>): string {
  enter(MORE);
  return write(...of);
}
