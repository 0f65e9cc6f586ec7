/**
 * What a model writes, taken apart while it is written: thoughts, text, and calls of tools. How the text is cut into
 * pieces makes no difference to what comes out; what cannot be read is text, so that nothing is lost.
 */
import { Cursor, type Tools } from './formats/cursor.js';
import type { Format } from './formats/format.js';

/** A part of what was written. @internal */
export type Delta =
  | { readonly content: string }
  | { readonly reasoning: string }
  /** A call begins; `index` counts calls from 0. */
  | { readonly index: number; readonly name: string }
  /** Further JSON text of its arguments. */
  | { readonly index: number; readonly arguments: string };

/** @internal */
export interface Reader {
  push(text: string): Delta[];
  /** The text is over; `cut`: it was cut off, so that a call which is not complete is no text. */
  end(cut?: boolean): Delta[];
  /** Whether what comes next is a thought. */
  readonly isReasoning: boolean;
  /** Calls that are complete. */
  readonly completeCalls: number;
}

/** Where thoughts stand. @internal */
export interface Thoughts {
  /** Strings with which thoughts begin. */
  readonly opens: readonly string[];
  readonly close: string;
  /** Control tokens of these strings, where they are not the strings themselves. */
  readonly special?: readonly string[];
  /** Strings around the answer that are not part of it. */
  readonly dropped?: readonly string[];
}

/** Of `words` the first in `text`; of several at one place the longest. @internal */
export function firstOf(text: string, words: readonly string[]): { at: number; word: string } | undefined {
  let best: { at: number; word: string } | undefined;
  for (const word of words) {
    const at = text.indexOf(word);
    if (at < 0) continue;
    if (!best || at < best.at || (at === best.at && word.length > best.word.length)) best = { at, word };
  }
  return best;
}

/** Where at the end of `text` a part of one of `words` begins, or white space before it. @internal */
export function heldFrom(text: string, words: readonly string[]): number {
  const longest = Math.max(0, ...words.map((word) => word.length - 1));
  for (let at = Math.max(0, text.length - longest); at < text.length; at += 1) {
    const rest = text.slice(at);
    if (words.some((word) => word.startsWith(rest))) return text.slice(0, at).trimEnd().length;
  }
  return text.trimEnd().length;
}

/** Reads the formats in which thoughts, text and calls follow each other. @internal */
export class TextReader implements Reader {
  readonly #thoughts: Thoughts | undefined;
  readonly #calls: CallReader;
  #state: 'start' | 'thoughts' | 'answer';
  #held = '';
  /** White space here is not part of a thought. */
  #atEdge = true;

  constructor({ thoughts, inThoughts = false, format, tools = new Map() }: TextReaderOptions) {
    this.#thoughts = thoughts;
    this.#state = !thoughts ? 'answer' : inThoughts ? 'thoughts' : 'start';
    this.#calls = new CallReader(format, tools, thoughts?.dropped ?? []);
  }

  get isReasoning(): boolean {
    return this.#state === 'thoughts';
  }

  get completeCalls(): number {
    return this.#calls.complete;
  }

  push(text: string): Delta[] {
    return this.#read(text, false);
  }

  end(cut = false): Delta[] {
    this.#calls.isCut = cut;
    return this.#read('', true);
  }

  #read(text: string, final: boolean): Delta[] {
    if (this.#state === 'answer') return this.#calls.read(text, final);
    this.#held += text;
    if (this.#state === 'start' && !this.#begin(final)) return [];
    if (this.#state === 'thoughts') return this.#think(final);
    return this.#answer(final);
  }

  /** Whether it is known how the text begins. */
  #begin(final: boolean): boolean {
    const { opens } = this.#thoughts as Thoughts;
    const text = this.#held.trimStart();
    const open = opens.find((word) => text.startsWith(word));
    if (open === undefined && !final && opens.some((word) => word.startsWith(text))) return false;
    this.#state = open === undefined ? 'answer' : 'thoughts';
    if (open !== undefined) this.#held = text.slice(open.length);
    return true;
  }

  #think(final: boolean): Delta[] {
    const { close } = this.#thoughts as Thoughts;
    if (this.#atEdge) this.#held = this.#held.trimStart();
    const end = this.#held.indexOf(close);
    const until = end >= 0 ? this.#held.slice(0, end).trimEnd().length : heldFrom(this.#held, [close]);
    const thought = final && end < 0 ? this.#held : this.#held.slice(0, until);
    if (thought) this.#atEdge = false;
    this.#held = this.#held.slice(end >= 0 ? end + close.length : thought.length);
    const deltas: Delta[] = thought ? [{ reasoning: thought }] : [];
    if (end < 0) return deltas;
    this.#state = 'answer';
    this.#calls.trimStart();
    return [...deltas, ...this.#answer(final)];
  }

  #answer(final: boolean): Delta[] {
    const text = this.#held;
    this.#held = '';
    return this.#calls.read(text, final);
  }
}

/** @internal */
export interface TextReaderOptions {
  readonly thoughts?: Thoughts | undefined;
  /** The prompt ends within a thought. */
  readonly inThoughts?: boolean;
  /** How calls are written; without it there are none. */
  readonly format?: Format | undefined;
  readonly tools?: Tools;
}

/** Finds calls in text. */
class CallReader {
  readonly #format: Format | undefined;
  readonly #tools: Tools;
  readonly #dropped: readonly string[];
  #text = '';
  /** Calls begin at the start of `#text`. */
  #inCalls = false;
  /** White space here is not part of the text. */
  #atEdge = false;
  /** White space before the calls. */
  #gap = '';
  #saidSomething = false;
  /** Calls before those in `#text`. */
  #before = 0;
  /** What is known of the calls in `#text`. */
  #sent: { arguments: number }[] = [];
  complete = 0;
  /** The text was cut off at its end. */
  isCut = false;

  constructor(format: Format | undefined, tools: Tools, dropped: readonly string[]) {
    this.#format = format;
    this.#tools = tools;
    this.#dropped = dropped;
  }

  trimStart(): void {
    this.#atEdge = true;
  }

  read(text: string, final: boolean): Delta[] {
    this.#text += text;
    const deltas: Delta[] = [];
    while (this.#text !== '') {
      const goesOn = this.#inCalls ? this.#readCalls(deltas, final) : this.#readText(deltas, final);
      if (!goesOn) break;
    }
    return deltas;
  }

  #say(deltas: Delta[], content: string): void {
    if (content === '') return;
    this.#atEdge = false;
    if (content.trim() !== '') this.#saidSomething = true;
    deltas.push({ content });
  }

  /** Whether calls, or something that is dropped, were found. */
  #readText(deltas: Delta[], final: boolean): boolean {
    if (this.#atEdge) this.#text = this.#text.trimStart();
    const opens = this.#opens();
    const words = [...opens, ...this.#dropped];
    const found = firstOf(this.#text, words);
    const start = found && this.#atStart(found) ? found : this.#firstLater(words);
    if (start) {
      const isCall = opens.includes(start.word);
      const before = this.#text.slice(0, start.at).trimEnd();
      this.#gap = this.#text.slice(before.length, start.at);
      this.#say(deltas, before);
      this.#text = this.#text.slice(start.at + (isCall ? 0 : start.word.length));
      this.#inCalls = isCall;
      this.#atEdge ||= !isCall;
      return true;
    }
    const until = final ? this.#text.length : words.length > 0 ? heldFrom(this.#text, words) : this.#text.length;
    this.#say(deltas, this.#text.slice(0, until));
    this.#text = this.#text.slice(until);
    return false;
  }

  #opens(): readonly string[] {
    const { opens = [], atStart = [] } = this.#format ?? {};
    return this.#saidSomething || this.#before > 0 ? opens : [...opens, ...atStart];
  }

  /** Whether it may stand where it does. */
  #atStart({ at, word }: { at: number; word: string }): boolean {
    return !this.#format?.atStart?.includes(word) || this.#text.slice(0, at).trim() === '';
  }

  #firstLater(words: readonly string[]): { at: number; word: string } | undefined {
    return firstOf(
      this.#text,
      words.filter((word) => !this.#format?.atStart?.includes(word)),
    );
  }

  /** Whether the calls are over. */
  #readCalls(deltas: Delta[], final: boolean): boolean {
    const format = this.#format as Format;
    // A sign that is a control token is never part of a text; a brace or a fence may be.
    const isSigned = format.special?.some((sign) => this.#text.startsWith(sign));
    const cut = this.isCut && isSigned ? (format.isJson ? 'json' : 'other') : undefined;
    const cursor = new Cursor(this.#text, final, this.#tools);
    const { calls, end } = Cursor.region(cursor, (place) => format.read(place), cut);
    for (const [place, call] of calls.entries()) {
      const index = this.#before + place;
      const sent = (this.#sent[place] ??= { arguments: -1 });
      if (sent.arguments < 0) deltas.push({ index, name: call.name });
      const text = call.arguments.slice(Math.max(0, sent.arguments));
      if (text) deltas.push({ index, arguments: text });
      sent.arguments = call.arguments.length;
    }
    this.complete = this.#before + calls.filter((call) => call.complete).length;
    if (end === undefined) return false;
    this.#inCalls = false;
    this.#before += calls.length;
    this.#sent = [];
    if (end === 0) this.#giveBack(deltas);
    else this.#text = this.#text.slice(end);
    this.#atEdge = end > 0;
    return true;
  }

  /** What looked like calls is text. */
  #giveBack(deltas: Delta[]): void {
    const opens = this.#opens();
    const [open = ''] = opens.filter((word) => this.#text.startsWith(word)).sort((a, b) => b.length - a.length);
    this.#text = this.#text.slice(open.length);
    this.#say(deltas, this.#gap + open);
  }
}
