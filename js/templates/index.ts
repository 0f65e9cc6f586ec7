/**
 * Chat templates with all that templates use, see `render.ts`.
 */
import './rare.js';

export { renderConversation } from './render.js';
