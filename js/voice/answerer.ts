/**
 * Who gives the answers of a conversation. No code here.
 */
import type { Turn } from './types.js';

/** What is told while an answer is given. @internal */
export interface Telling {
  /** All that is written so far. */
  written(text: string): void;
  /** What is said from now on, for captions. */
  saying(text: string): void;
  /** Sound of the answer is there. */
  sounds(): void;
}

/** One answer. @internal */
export interface Answer {
  /** Writes and says it; resolves with its text once all was heard, rejects or resolves once the signal fires. */
  give(): Promise<string>;
  /** Ends the sound at once; resolves with what was heard. */
  stop(): Promise<string>;
}

/** @internal */
export interface Answerer {
  begin(turns: readonly Turn[], signal: AbortSignal): Answer;
}
