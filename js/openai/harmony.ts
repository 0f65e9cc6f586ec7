/**
 * The format of gpt-oss, https://github.com/openai/harmony: messages of a channel each, `analysis` for thoughts,
 * `final` for the answer, `commentary to=functions.name` for calls:
 * `<|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>final<|message|>…`. The prompt ends with
 * `<|start|>assistant`.
 */
import type { Format } from './formats/format.js';
import { type Delta, type Reader, firstOf, heldFrom } from './reader.js';

const MESSAGE = '<|message|>';
const CHANNEL = '<|channel|>';
const START = '<|start|>';
const ENDS = ['<|end|>', '<|call|>', '<|return|>'];
const AFTER_BODY = [...ENDS, START, CHANNEL];
/** What a header begins with. */
const HEADS = [CHANNEL, START, ' to=', 'to=', 'assistant'];
const LONGEST_HEADER = 500;
const LONGEST_START = LONGEST_HEADER + MESSAGE.length;

/** For templates and forced calls; {@link HarmonyReader} reads them. @internal */
export const harmony: Format = {
  opens: [],
  special: [CHANNEL, MESSAGE, START, '<|constrain|>', '<|end|>'],
  isJson: true,
  read: (cursor) => cursor.other(),
  force: (name) =>
    `${CHANNEL}commentary to=functions.${name === undefined ? '' : `${name} <|constrain|>json${MESSAGE}`}`,
};

type Body = 'reasoning' | 'content' | 'call';

/** @internal */
export class HarmonyReader implements Reader {
  #held = '';
  /** What is being read: a header, or the body of a message. */
  #body: Body | undefined;
  #calls = 0;
  #wroteArguments = false;
  /** The text was cut off at its end. */
  #isCut = false;
  completeCalls = 0;

  get isReasoning(): boolean {
    return this.#body === 'reasoning';
  }

  push(text: string): Delta[] {
    return this.#read(text, false);
  }

  end(cut = false): Delta[] {
    this.#isCut = cut;
    return this.#read('', true);
  }

  #read(text: string, final: boolean): Delta[] {
    this.#held += text;
    const deltas: Delta[] = [];
    while (this.#held !== '') {
      const goesOn = this.#body ? this.#readBody(deltas, final) : this.#readHeader(deltas, final);
      if (!goesOn) break;
    }
    if (final) this.#close(deltas);
    return deltas;
  }

  /** Whether the header is over, or none is here. */
  #readHeader(deltas: Delta[], final: boolean): boolean {
    const text = this.#held;
    const end = text.indexOf(MESSAGE);
    const begins = HEADS.some((head) => text.startsWith(head) || head.startsWith(text));
    const isHeader = this.#isCut && (text.startsWith(CHANNEL) || text.startsWith(START));
    if (end < 0 && begins && (!final || isHeader) && text.length < LONGEST_START) return false;
    if (end < 0 || !begins || end > LONGEST_HEADER) {
      this.#body = 'content';
      const sign = AFTER_BODY.find((word) => text.startsWith(word)) ?? '';
      if (sign) deltas.push({ content: sign });
      this.#held = text.slice(sign.length);
      return true;
    }
    this.#held = text.slice(end + MESSAGE.length);
    this.#begin(text.slice(0, end), deltas);
    return true;
  }

  #begin(header: string, deltas: Delta[]): void {
    const [, name] = /to=(?:functions\.)?([\w.:-]+)/.exec(header) ?? [];
    const [, channel] = /<\|channel\|>\s*(\w+)/.exec(header) ?? [];
    this.#body = name ? 'call' : channel === 'analysis' ? 'reasoning' : 'content';
    if (!name) return;
    deltas.push({ index: this.#calls, name });
    this.#calls += 1;
    this.#wroteArguments = false;
  }

  /** Whether the body is over. */
  #readBody(deltas: Delta[], final: boolean): boolean {
    const found = firstOf(this.#held, AFTER_BODY);
    const isCall = this.#body === 'call';
    const held = isCall ? this.#held.length - partial(this.#held) : heldFrom(this.#held, AFTER_BODY);
    const until = found ? found.at : final ? this.#held.length : held;
    const text = this.#held.slice(0, until);
    if (text) deltas.push(this.#delta(text));
    this.#held = this.#held.slice(until);
    if (!found) return false;
    if (ENDS.includes(found.word)) this.#held = this.#held.slice(found.word.length);
    this.#close(deltas);
    return true;
  }

  #delta(text: string): Delta {
    if (this.#body === 'reasoning') return { reasoning: text };
    if (this.#body !== 'call') return { content: text };
    this.#wroteArguments = true;
    return { index: this.#calls - 1, arguments: text };
  }

  #close(deltas: Delta[]): void {
    if (this.#body === 'call') {
      if (!this.#wroteArguments) deltas.push({ index: this.#calls - 1, arguments: '{}' });
      this.completeCalls = this.#calls;
    }
    this.#body = undefined;
  }
}

/** The length of a part of a sign at the end of `text`. */
function partial(text: string): number {
  const at = text.lastIndexOf('<');
  return at >= 0 && AFTER_BODY.some((word) => word.startsWith(text.slice(at))) ? text.length - at : 0;
}
