/**
 * Conversations as text, at once: with all that templates use, see `conversation-text.ts`.
 */
import '../templates/rare.js';

export { chatText } from './protected-text.js';
