/**
 * The beginning of an answer that was given: what the model writes goes on behind it.
 */
import { invalidArgument } from '../errors.js';
import { textOfPart } from '../model/conversation.js';
import type { Message } from '../types/chat.js';

/** Leaves a prefix out of the text that a reader gives. @internal */
export class Prefix {
  /** What of the prefix the reader has not given yet. */
  #left: string;

  constructor(prefix: string) {
    this.#left = prefix;
  }

  /** The text behind the prefix. Readers leave out white space at the start of an answer. */
  pass(content: string): string {
    let at = 0;
    while (this.#left !== '' && at < content.length) {
      if (this.#left[0] === content[at]) at += 1;
      else if (this.#left[0]?.trim()) this.#left = ' ';
      this.#left = this.#left.slice(1);
    }
    return content.slice(at);
  }
}

/** The messages, without the last where that is a prefix of the answer, and its text. @internal */
export function withoutPrefix(messages: readonly Message[]): {
  readonly messages: readonly Message[];
  readonly prefix: string | undefined;
} {
  const at = messages.findIndex((message) => (message as { prefix?: unknown } | null)?.prefix === true);
  if (at < 0) return { messages, prefix: undefined };
  const { role, content } = messages[at] as Message;
  if (at < messages.length - 1 || role !== 'assistant' || at === 0) {
    throw invalidArgument(
      `chat.completions.create: 'messages[${at}]': 'prefix' is for the last of several messages, of the assistant`,
    );
  }
  const parts = Array.isArray(content) ? content.map((part) => textOfPart(part) ?? '') : [content ?? ''];
  return { messages: messages.slice(0, at), prefix: parts.join('\n') };
}
