/**
 * What a model writes, taken apart while it is written: thoughts, text, and calls of tools. How the text is cut into
 * pieces makes no difference to what comes out; what cannot be read is text, so that nothing is lost.
 */
import type { Format, Tools } from './formats/format.js';
import { OTHER, OVER, Scanner, type Wait, Words } from './formats/scanner.js';
import { type CallDelta, Calls } from './formats/sink.js';

/** A part of what was written. @internal */
export type Delta = { readonly content: string } | { readonly reasoning: string } | CallDelta;

/** @internal */
export interface Reader {
  push(text: string): Delta[];
  /** The text is over; `cut`: it was cut off, so that a call which is not complete is no text. */
  end(cut?: boolean): Delta[];
  /** Whether what comes next is a thought. */
  readonly isReasoning: boolean;
  /** Calls that are complete. */
  readonly completeCalls: number;
  /** Calls that began, could not be read and stayed text. */
  readonly unreadCalls: number;
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

/** @internal */
export interface TextReaderOptions {
  readonly thoughts?: Thoughts | undefined;
  /** The prompt ends within a thought. */
  readonly inThoughts?: boolean;
  /** How calls are written; without it there are none. */
  readonly format?: Format | undefined;
  readonly tools?: Tools;
  /** A grammar keeps calls behind the format's marks to their schemas. */
  readonly isSure?: boolean;
}

/** Most calls without an end; what looks like another one is text, since each is read to the end of the answer. */
const MOST_ENDLESS = 16;

type Kind = 'content' | 'reasoning';

/** Texts as they come, without white space at their edges. @internal */
export class Texts {
  readonly deltas: Delta[] = [];
  /** Something was said, by the model or by a call. */
  saidSomething = false;
  /** White space here is not part of the text. */
  atEdge = false;
  /** White space that is part of it if more text follows. */
  gap = '';

  say(kind: Kind, text: string): void {
    const from = this.atEdge ? text.trimStart() : text;
    const said = from.trimEnd();
    if (said !== '') {
      this.deltas.push({ [kind]: this.gap + said } as { content: string } | { reasoning: string });
      this.atEdge = false;
      if (kind === 'content') this.saidSomething = true;
      this.gap = '';
    }
    this.gap += from.slice(said.length);
  }

  /** Also the white space at the end. */
  flush(kind: Kind): void {
    if (this.gap) this.deltas.push({ [kind]: this.gap } as { content: string } | { reasoning: string });
    this.gap = '';
  }

  edge(): void {
    this.gap = '';
    this.atEdge = true;
  }
}

/** Reads, and hands on what there is of calls wherever that waits for more text. @internal */
export function* forwarded(reading: Wait, forward: () => void): Wait {
  while (!reading.next().done) {
    forward();
    yield;
  }
}

/** Reads the formats in which thoughts, text and calls follow each other. @internal */
export class TextReader implements Reader {
  readonly #options: TextReaderOptions;
  readonly #scanner = new Scanner();
  readonly #texts = new Texts();
  readonly #calls: Calls;
  readonly #words: Words;
  readonly #thoughtEnds: Words;
  readonly #run: Wait;
  #afterCall = false;
  /** Calls that began and did not end until the text was over. */
  #endless = 0;
  #isInText = false;
  isReasoning: boolean;
  unreadCalls = 0;

  constructor(options: TextReaderOptions) {
    this.#options = options;
    const { thoughts, format, inThoughts = false, tools = new Map() } = options;
    this.#calls = new Calls(tools);
    this.#calls.onTaken = () => this.#scanner.mark();
    this.isReasoning = Boolean(thoughts) && inThoughts;
    const { opens = [], close = '', dropped = [] } = thoughts ?? {};
    const { opens: signs = [], atStart = [], closers = [], endsThoughts = false } = format ?? {};
    this.#words = new Words([...signs, ...atStart, ...closers, ...opens, close, ...dropped]);
    this.#thoughtEnds = new Words([close, ...(endsThoughts ? signs : [])]);
    this.#run = this.#readAll();
  }

  get completeCalls(): number {
    return this.#calls.complete;
  }

  push(text: string): Delta[] {
    this.#scanner.push(text);
    return this.#go();
  }

  end(cut = false): Delta[] {
    const scanner = this.#scanner;
    scanner.isCut = cut;
    scanner.isOver = true;
    // The beginning of a sign behind a call is no text.
    if (cut && this.#isInText && this.#afterCall) scanner.at = scanner.text.length;
    return this.#go();
  }

  #go(): Delta[] {
    this.#run.next();
    return this.#texts.deltas.splice(0);
  }

  *#readAll(): Wait {
    if (this.isReasoning) yield* this.#think();
    for (;;) {
      const word = yield* this.#readText();
      if (word === undefined) return;
      if (!(yield* this.#act(word))) this.#say(word);
    }
  }

  /** Says text until a word is here that may be more than that. */
  *#readText(): Wait<string | undefined> {
    const scanner = this.#scanner;
    this.#isInText = true;
    const word = yield* scanner.before(this.#words, (text) => this.#say(text));
    this.#isInText = false;
    if (word !== undefined) return word;
    this.#texts.flush('content');
    return undefined;
  }

  #say(text: string): void {
    this.#texts.say('content', text);
    if (text.trim() !== '') this.#afterCall = false;
  }

  /** Does what a word says. Whether it is more than text; what is not is taken. */
  *#act(word: string): Wait<boolean> {
    const { thoughts, format } = this.#options;
    const texts = this.#texts;
    const isCall = format?.opens.includes(word) || (format?.atStart?.includes(word) && this.#isStart);
    if (isCall && this.#endless < MOST_ENDLESS) return yield* this.#readCalls(format as Format, word);
    this.#scanner.at += word.length;
    if (thoughts?.dropped?.includes(word) || (this.#afterCall && format?.closers.includes(word))) {
      texts.edge();
      return true;
    }
    const isEdge = texts.atEdge || !texts.saidSomething;
    if (isEdge && thoughts?.opens.includes(word)) {
      yield* this.#think();
      return true;
    }
    // The opening sign stood in the prompt, or the sign is there twice.
    if (isEdge && word === thoughts?.close) texts.edge();
    return isEdge && word === thoughts?.close;
  }

  get #isStart(): boolean {
    return !this.#texts.saidSomething && this.#calls.complete === 0;
  }

  *#think(): Wait {
    const scanner = this.#scanner;
    this.isReasoning = true;
    this.#texts.edge();
    const word = yield* scanner.before(this.#thoughtEnds, (text) => this.#texts.say('reasoning', text));
    if (word === undefined) this.#texts.flush('reasoning');
    else if (word === this.#options.thoughts?.close) scanner.at += word.length;
    this.isReasoning = false;
    this.#texts.edge();
    this.#afterCall = false;
  }

  /** Whether there are calls. */
  *#readCalls(format: Format, word: string): Wait<boolean> {
    const scanner = this.#scanner;
    const calls = this.#calls;
    const before = calls.complete;
    scanner.mark();
    calls.isSure = Boolean(this.#options.isSure) && (format.marks?.includes(word) || format.isBare === true);
    let isOther = false;
    try {
      yield* forwarded(format.read(scanner, calls), () => this.#forward());
      isOther = calls.complete === before;
    } catch (stop) {
      if (stop !== OTHER && stop !== OVER) throw stop;
      if (stop === OVER) this.#endless += 1;
      isOther = !(stop === OVER && this.#endsCut(format, word));
    }
    this.#forward();
    const isLost = isOther && this.#giveBack(before, word);
    if (!isOther) scanner.mark();
    if (!isLost) this.#texts.edge();
    this.#afterCall = !isLost;
    return true;
  }

  #forward(): void {
    if (this.#calls.deltas.length > 0) this.#texts.gap = '';
    this.#texts.deltas.push(...this.#calls.deltas.splice(0));
  }

  /** The text was cut off within calls: what there is of the last goes on. Whether that is so. */
  #endsCut(format: Format, word: string): boolean {
    // A sign that is a control token is never part of a text; a brace or a fence may be.
    if (!this.#scanner.isCut || !format.special.includes(word) || !this.#calls.cut()) return false;
    this.#scanner.at = this.#scanner.text.length;
    return true;
  }

  /** What looked like calls is text from the last call on. Whether there was none. */
  #giveBack(before: number, word: string): boolean {
    this.#calls.drop();
    const isLost = this.#calls.complete === before;
    const scanner = this.#scanner;
    const isSign = this.#options.format?.special.includes(word);
    if (isSign && (isLost || scanner.sinceMark().trim() !== '')) this.unreadCalls += 1;
    scanner.back();
    if (!isLost) return false;
    scanner.at += word.length;
    this.#say(word);
    return true;
  }
}
