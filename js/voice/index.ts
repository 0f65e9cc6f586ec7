/**
 * webgguf/voice: listening and speaking in pages.
 *
 * {@link listen} hears when somebody speaks and what is said, {@link speechIn} finds speech in a recording.
 *
 * @module webgguf/voice
 */
export { type ActivityOptions, speechIn, type SpeechSpan } from './activity.js';
export { listen, Listening } from './listen.js';
export type * from './types.js';
