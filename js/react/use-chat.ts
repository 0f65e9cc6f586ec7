'use client';
import { useEffect, useState, useSyncExternalStore } from 'react';
import type { WasmModel } from '../model/model.js';
import { ChatStore, type ChatOptions, type ChatState, type MessageOptions, type SendOptions } from '../ui/chat.js';

/** What {@link useChat} gives. The functions are always the same ones. */
export interface Chat extends ChatState {
  /**
   * Says something and lets the model answer; tools that it calls are run, and it goes on with their results. An answer
   * that is still being written is ended. Resolves when it is over, also by an error, which is in `error`.
   */
  readonly send: (text: string, options?: MessageOptions) => Promise<void>;
  /** Answers the last message of the user anew. */
  readonly regenerate: (options?: SendOptions) => Promise<void>;
  /** Ends the answer; what was written of it stays. */
  readonly stop: () => Promise<void>;
  /** Ends the answer and forgets all messages. */
  readonly clear: () => Promise<void>;
}

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
  const [store] = useState(() => new ChatStore(options.messages));
  useEffect(() => store.configure(model, options));
  useEffect(() => () => void store.stop(), [store]);
  const state = useSyncExternalStore(store.subscribe, store.state, store.state);
  return { ...state, send: store.send, regenerate: store.regenerate, stop: store.stop, clear: store.clear };
}
