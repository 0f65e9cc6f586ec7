/**
 * What `generate` may be given, checked.
 */
import { conversationOf } from './conversation.js';
import type { Prompt } from './engine.js';
import { invalidArgument } from './errors.js';
import { checkIds, checkPrompt } from './options.js';
import type { Message, TokenIds } from './types.js';

/** A checked copy of a prompt. @internal */
export function promptOf(prompt: string | readonly Message[] | TokenIds, vocabularySize: number): Prompt {
  checkPrompt(prompt);
  if (typeof prompt === 'string') return prompt;
  if (isConversation(prompt)) return conversationOf('generate', prompt);
  return someIds('generate', prompt, vocabularySize);
}

/** A checked copy of ids, at least one. @internal */
export function someIds(call: string, ids: TokenIds, vocabularySize: number): Uint32Array {
  const checked = checkIds(call, ids, vocabularySize);
  if (checked.length > 0) return checked;
  throw invalidArgument(`${call}: expected at least one token id, found none`);
}

/** Messages are objects; ids are numbers. */
function isConversation(prompt: readonly Message[] | TokenIds): prompt is readonly Message[] {
  return Array.isArray(prompt) && typeof prompt[0] === 'object';
}
