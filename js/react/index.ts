/**
 * webgguf/react: models and chats as hooks.
 *
 * {@link useModel} loads a model as long as a component shows it; {@link useChat} is a conversation with one, with
 * tools. They need React 18 or newer.
 *
 * @module webgguf/react
 */
'use client';
export { useModel, type ModelOptions, type ModelState } from './use-model.js';
export { useChat, type Chat } from './use-chat.js';
export type { LoadState } from '../ui/shared-models.js';
export type { ChatMessage, ChatOptions, ChatState, ChatTool, MessageOptions, SendOptions } from '../ui/chat.js';
