/**
 * The format of gpt-oss, https://github.com/openai/harmony: messages of a channel each, `analysis` for thoughts,
 * `final` for the answer, `commentary to=functions.name` for calls:
 * `<|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>final<|message|>…`. The prompt ends with
 * `<|start|>assistant`.
 */
import type { Format, Tools } from './formats/format.js';
import { takeJson } from './formats/json.js';
import { OTHER, OVER, Scanner, type Wait, Words } from './formats/scanner.js';
import { Calls } from './formats/sink.js';
import { type Delta, forwarded, type Reader, Texts } from './reader.js';

const MESSAGE = '<|message|>';
const CHANNEL = '<|channel|>';
const START = '<|start|>';
const ENDS = ['<|end|>', '<|call|>', '<|return|>'];
const AFTER_BODY = new Words([...ENDS, START, CHANNEL]);
const AFTER_HEADER = new Words([MESSAGE]);
/** What a header begins with. */
const HEADS = [CHANNEL, START, ' to=', 'to=', 'assistant'];
const LONGEST_HEADER = 500;

/** For templates and forced calls; {@link HarmonyReader} reads them. @internal */
export const harmony: Format = {
  name: 'harmony',
  opens: [],
  closers: [],
  special: [CHANNEL, MESSAGE, START, '<|constrain|>', '<|end|>'],
  isJson: true,
  // biome-ignore lint/correctness/useYield: it reads nothing
  *read() {
    throw OTHER;
  },
  force: (name) =>
    `${CHANNEL}commentary to=functions.${name === undefined ? '' : `${name} <|constrain|>json${MESSAGE}`}`,
};

type Body = 'reasoning' | 'content' | 'call';

/** @internal */
export class HarmonyReader implements Reader {
  readonly #scanner = new Scanner();
  readonly #texts = new Texts();
  readonly #calls: Calls;
  readonly #run: Wait;
  #body: Body | undefined;
  unreadCalls = 0;

  constructor(tools: Tools = new Map(), isSure = false) {
    this.#calls = new Calls(tools);
    this.#calls.isSure = isSure;
    this.#run = this.#readAll();
  }

  get isReasoning(): boolean {
    return this.#body === 'reasoning';
  }

  get completeCalls(): number {
    return this.#calls.complete;
  }

  push(text: string): Delta[] {
    this.#scanner.push(text);
    return this.#go();
  }

  end(cut = false): Delta[] {
    this.#scanner.isCut = cut;
    this.#scanner.isOver = true;
    return this.#go();
  }

  #go(): Delta[] {
    this.#run.next();
    return this.#texts.deltas.splice(0);
  }

  *#readAll(): Wait {
    const scanner = this.#scanner;
    while ((yield* scanner.peekOrEnd()) !== '') {
      scanner.mark();
      this.#body = yield* this.#readHeader();
      yield* this.#readBody(this.#body);
      this.#body = undefined;
    }
  }

  /** What the header says; text without one is content. */
  *#readHeader(): Wait<Body> {
    const scanner = this.#scanner;
    let isHeader = false;
    for (const head of HEADS) isHeader ||= yield* scanner.is(head);
    const part = scanner.text.slice(scanner.at);
    const isCut = scanner.isOver && scanner.isCut;
    if (!isHeader && isCut && HEADS.some((head) => head.startsWith(part))) return this.#drop();
    if (!isHeader) return yield* this.#strayBody();
    let header = '';
    let word: string | undefined;
    try {
      word = yield* scanner.before(AFTER_HEADER, (text) => {
        header += text;
        if (header.length > LONGEST_HEADER) throw OTHER;
      });
    } catch (stop) {
      if (stop !== OTHER) throw stop;
    }
    if (word !== undefined) return this.#begin(header);
    if (isSignOf(header) && scanner.isCut && scanner.isOver) return this.#drop();
    scanner.back();
    return yield* this.#strayBody();
  }

  /** The text was cut off in a header. */
  #drop(): Body {
    this.#scanner.at = this.#scanner.text.length;
    return 'content';
  }

  /** A sign without a header is text. */
  *#strayBody(): Wait<Body> {
    const sign = yield* this.#scanner.takeAny(AFTER_BODY.list);
    if (sign) this.#texts.say('content', sign);
    return 'content';
  }

  #begin(header: string): Body {
    this.#scanner.at += MESSAGE.length;
    const [, name] = /to=(?:functions\.)?([^\s<]+)/.exec(header) ?? [];
    const [, channel] = /<\|channel\|>\s*(\w+)/.exec(header) ?? [];
    if (!name) return channel === 'analysis' ? 'reasoning' : 'content';
    try {
      this.#calls.begin(name);
    } catch (stop) {
      if (stop !== OTHER) throw stop;
      return 'content';
    }
    return 'call';
  }

  *#readBody(body: Body): Wait {
    if (body === 'call') return yield* this.#readCall();
    const scanner = this.#scanner;
    const word = yield* scanner.before(AFTER_BODY, (text) => this.#texts.say(body, text));
    if (word === undefined) this.#texts.flush(body);
    else if (ENDS.includes(word)) scanner.at += word.length;
    this.#texts.gap = '';
  }

  /** Arguments that are no JSON stay text, behind their header. */
  *#readCall(): Wait {
    const scanner = this.#scanner;
    const calls = this.#calls;
    let isText = false;
    try {
      yield* forwarded(this.#takeArguments(), () => this.#forward());
    } catch (stop) {
      if (stop !== OTHER && stop !== OVER) throw stop;
      if (stop === OVER && scanner.isCut) calls.cut();
      else isText = true;
    }
    if (isText) {
      calls.drop();
      this.unreadCalls += 1;
      this.#texts.say('content', scanner.sinceMark());
    }
    this.#forward();
    yield* this.#readBody('content');
  }

  *#takeArguments(): Wait {
    const scanner = this.#scanner;
    yield* scanner.space();
    if (yield* this.#isBodyOver()) this.#calls.add('{}');
    else if ((yield* scanner.peek()) === '{') yield* takeJson(scanner, (text) => this.#calls.add(text));
    else throw OTHER;
    this.#calls.done();
    this.#texts.edge();
  }

  *#isBodyOver(): Wait<boolean> {
    for (const sign of AFTER_BODY.list) if (yield* this.#scanner.is(sign)) return true;
    return (yield* this.#scanner.peekOrEnd()) === '';
  }

  #forward(): void {
    this.#texts.deltas.push(...this.#calls.deltas.splice(0));
  }
}

const isSignOf = (text: string): boolean => text.startsWith(CHANNEL) || text.startsWith(START);
