/**
 * How much a model may think: once that is spent, the thought is closed, and the answer follows.
 */
import type { Inserted } from '../engine/engine.js';
import type { Steer } from '../model/generation.js';
import type { Family } from './families.js';
import { harmony } from './harmony.js';
import type { Reader } from './reader.js';
import type { ChatRequest } from './types.js';

/** Tokens of thoughts where the template does not know `reasoning_effort`; no bound above. */
const OF_EFFORT: Partial<Record<string, number>> = { minimal: 128, low: 512, medium: 2048 };

/** Most tokens of thoughts, where there is a bound. @internal */
export function budgetOf(
  { reasoning_budget: budget, reasoning_effort: effort }: Pick<ChatRequest, 'reasoning_budget' | 'reasoning_effort'>,
  template = '',
): number | undefined {
  if (budget != null) return budget;
  return effort && !template.includes('reasoning_effort') ? OF_EFFORT[effort] : undefined;
}

/** What closes a thought. @internal */
export function closingOf({ format, thoughts }: Family): string | undefined {
  if (format === harmony) return '<|end|><|start|>assistant<|channel|>final<|message|>';
  return thoughts && `\n${thoughts.close}\n\n`;
}

/** Counts the tokens of thoughts in an answer. @internal */
export class Budget {
  readonly #most: number;
  readonly #reader: Reader;
  readonly #closing: Inserted;
  #spent = 0;

  /** @param reader one for the answer, which has read how that begins */
  constructor(most: number, reader: Reader, closing: Inserted) {
    this.#most = most;
    this.#reader = reader;
    this.#closing = closing;
  }

  /** What is put behind a piece. */
  readonly after: Steer = ({ text, ids }) => {
    const before = this.#reader.isReasoning;
    this.#reader.push(text);
    if (before || this.#reader.isReasoning) this.#spent += ids.length;
    // Without a text the piece may end within a character.
    if (!this.#reader.isReasoning || this.#spent < this.#most || text === '') return undefined;
    this.#reader.push(this.#closing.text);
    return this.#closing;
  };
}
