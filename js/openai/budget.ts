/**
 * How much a model may think: once that is spent, the thought is closed, and the answer follows.
 */
import type { Engine, Inserted } from '../engine/engine.js';
import type { Steer } from '../model/generation.js';
import type { Conversation } from '../templates/types.js';
import { type Family, familyOf, readerOf, specialOf } from './families.js';
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

/**
 * What bounds the thoughts of an answer to a conversation, where the model thinks. Control tokens do not show in its
 * text: they are known by their ids. @internal
 */
export async function steerOf(engine: Engine, conversation: Conversation, most: number): Promise<Steer | undefined> {
  const { chatTemplate, toolTemplate } = engine.info;
  const family = familyOf(conversation.tools ? (toolTemplate ?? chatTemplate) : chatTemplate);
  const text = closingOf(family);
  if (text === undefined) return undefined;
  const signs = new Map<number, string>();
  for (const sign of specialOf(family, false)) {
    const [id, more] = await engine.tokenize(sign, false, true);
    if (id === undefined || more !== undefined) continue;
    if ((await engine.detokenize(Uint32Array.of(id), false)) === '') signs.set(id, sign);
  }
  const shown = await engine.detokenize(await engine.tokenize(text, false, true), false);
  const reader = readerOf(family, await engine.applyChatTemplate(conversation), undefined);
  const budget = new Budget(most, reader, { text, shown });
  return ({ text: said, ids }) => {
    const hidden = [...ids].map((id) => signs.get(id) ?? '').join('');
    return budget.after({ text: hidden + said, ids });
  };
}
