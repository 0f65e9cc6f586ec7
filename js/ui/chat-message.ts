/**
 * A message of a conversation that a page shows. No code here.
 */
import type { CompletionTimings, FinishReason } from '../openai/types.js';
import type { ToolCall } from '../types/chat.js';
import type { AudioPart, ImagePart } from '../types/media.js';

/** A message on the page. */
export interface ChatMessage {
  /** A `key`, different for each message. */
  readonly id: number;
  /** Who speaks. */
  readonly role: 'user' | 'assistant' | 'tool';
  /** The text so far. */
  readonly content: string;
  /** Images before the text, in a message of the user. */
  readonly images?: readonly ImagePart['image'][] | undefined;
  /** Sounds before the text, in a message of the user. */
  readonly sounds?: readonly AudioPart['audio'][] | undefined;
  /** The thoughts of the assistant before its answer. */
  readonly reasoning_content?: string | undefined;
  /** Calls of tools by the assistant; their results are messages of the role `tool`. */
  readonly tool_calls?: readonly ToolCall[] | undefined;
  /** The name of the tool, in its result. */
  readonly name?: string | undefined;
  /** The id of the call whose result this is. */
  readonly tool_call_id?: string | undefined;
  /** Why the assistant's answer ended; absent if `stop` ended it. */
  readonly finish_reason?: FinishReason | undefined;
  /** How fast the assistant's answer was written. */
  readonly timings?: CompletionTimings | undefined;
}
