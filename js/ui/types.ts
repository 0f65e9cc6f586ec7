/**
 * What entries for frameworks share. No code here.
 */
export type { ChatMessage } from './chat-message.js';
export type {
  ChatActions,
  ChatOptions,
  ChatState,
  ChatTool,
  MessageOptions,
  SendOptions,
} from './chat.js';
export type { LoadState, ModelOptions } from './shared-models.js';
export type { CompletionActions, CompletionOptions, CompletionState } from './writer.js';
export type { ObjectActions, ObjectOptions, ObjectState, WriterState } from './writer.js';
