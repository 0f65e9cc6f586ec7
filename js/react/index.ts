/**
 * webgguf/react: models, chats, texts and objects as hooks. They need React 18 or newer.
 *
 * {@link useModel} loads a model as long as a component shows it; {@link useChat} is a conversation with one, with
 * tools; {@link useCompletion} is a text, and {@link useObject} an object by a schema, shown while it grows.
 *
 * @module webgguf/react
 */
'use client';
export { useModel, type ModelState } from './use-model.js';
export { useChat, type Chat } from './use-chat.js';
export { type Completion, useCompletion, useObject, type WrittenObject } from './use-writer.js';
export type * from '../ui/types.js';
