/**
 * webgguf/voice: listening and speaking in pages.
 *
 * {@link listen} hears when somebody speaks and what is said, {@link speechIn} finds speech in a recording;
 * {@link createConversation} is a conversation by voice, {@link createRealtime} one with the events of OpenAI's
 * realtime API; {@link createPlayer} plays what a model speaks, {@link spokenText} makes a text ready for that.
 *
 * @module webgguf/voice
 */
export { type ActivityOptions, speechIn, type SpeechSpan } from './activity.js';
export {
  type AnswerTimes,
  Conversation,
  type ConversationEvent,
  type ConversationOptions,
  type ConversationState,
  createConversation,
} from './conversation.js';
export { listen, Listening } from './listen.js';
export { createPlayer, Player, type PlayerOptions, type Stopped } from './player.js';
export { createRealtime, Realtime } from './realtime/realtime.js';
export { type RealtimeSocket, type RealtimeSocketClass, realtimeSocket } from './realtime/socket.js';
export type * from './realtime/types.js';
export { sentences, spokenText } from './spoken/spoken-text.js';
export type * from './types.js';
export type { SpeakingModel, Voice } from './voices.js';
export { wav, type WavOptions } from './wav.js';
