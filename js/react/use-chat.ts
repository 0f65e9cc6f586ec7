'use client';
import type { WasmModel } from '../model/model.js';
import { type ChatActions, type ChatOptions, type ChatState, ChatStore } from '../ui/chat.js';
import { useStore } from './use-writer.js';

/** What {@link useChat} gives. */
export interface Chat extends ChatState, ChatActions {}

/**
 * A conversation with a model. It ends writing when the component unmounts or the model changes.
 *
 * @param model of `useModel`; may be `undefined` until there is something to send
 * @param options see {@link ChatOptions}; the options of the last render count when something is sent
 *
 * @example
 * const { messages, status, send, stop } = useChat(model, { system: 'You answer briefly.', tools: [rollDice] });
 */
export function useChat(model: WasmModel | undefined, options: ChatOptions = {}): Chat {
  return useStore(() => new ChatStore(options.messages), model, options);
}
