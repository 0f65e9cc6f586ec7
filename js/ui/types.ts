/**
 * What entries for frameworks share. No code here.
 */
export type {
  ChatActions,
  ChatMessage,
  ChatOptions,
  ChatState,
  ChatTool,
  MessageOptions,
  SendOptions,
} from './chat.js';
export type { LoadState, ModelOptions } from './shared-models.js';
export type { CompletionActions, CompletionOptions, CompletionState } from './writer.js';
export type { ObjectActions, ObjectOptions, ObjectState, WriterState } from './writer.js';
