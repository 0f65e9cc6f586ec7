/**
 * Strings that end an answer, looked for in its text alone: in thoughts and in calls they mean nothing.
 */
import { Words } from './formats/scanner.js';
import type { Delta } from './reader.js';

/** @internal */
export class Stops {
  readonly #words: Words;
  /** May be the beginning of one. */
  #held = '';
  /** The one that was found: the answer is over. */
  found: string | undefined;

  constructor(stop: string | readonly string[] | null | undefined) {
    this.#words = new Words([stop ?? []].flat());
  }

  get isOver(): boolean {
    return this.found !== undefined;
  }

  /** What goes on of what was read; `isLast`: no more follows. */
  pass(deltas: readonly Delta[], isLast = false): Delta[] {
    const out: Delta[] = [];
    for (const delta of deltas) {
      if (this.isOver) return out;
      if ('content' in delta) this.#text(delta.content, out);
      else {
        this.#release(out);
        out.push(delta);
      }
    }
    if (isLast && !this.isOver) this.#release(out);
    return out;
  }

  #text(content: string, out: Delta[]): void {
    const text = this.#held + content;
    const { at, word } = this.#words.find(text, 0, false);
    if (at > 0) out.push({ content: text.slice(0, at) });
    this.#held = word === undefined ? text.slice(at) : '';
    this.found = word;
  }

  #release(out: Delta[]): void {
    const text = this.#held;
    this.#held = '';
    if (text === '') return;
    const { at, word } = this.#words.find(text, 0, true);
    this.found = word;
    if (at > 0) out.push({ content: text.slice(0, at) });
  }
}
