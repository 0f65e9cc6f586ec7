/**
 * Examples for training as token ids: of texts everything is learned, of prompts with a completion the completion, and
 * of chats what the assistant writes.
 */
import { invalidArgument, WebggufError } from '../../errors.js';
import { mediaOf } from '../../model/conversation.js';
import type { WasmModel } from '../../model/model.js';
import { show } from '../../check.js';
import type { Message, Tool } from '../../types/chat.js';
import { completionOf } from './records.js';
import { type Answer, answersOf, type Chat } from './turns.js';

/** A message of an example. */
export interface ExampleMessage extends Message {
  /** 0 if this answer of the assistant is read but not learned, as in OpenAI's files. Default 1. */
  weight?: number | undefined;
}

/** A text; all of it is learned. */
export interface TextExample {
  /** The text. */
  readonly text: string;
}

/** A text with its beginning given. */
export interface CompletionExample {
  /** What stands before: it is read, not learned. */
  readonly prompt: string;
  /** What follows and is learned, as it is: where a space belongs between the two, one of them has it. */
  readonly completion: string;
}

/** A conversation; the messages of the assistant are learned. */
export interface ChatExample {
  /** The conversation. */
  readonly messages: readonly ExampleMessage[];
  /** The functions that the assistant may call in it. */
  readonly tools?: readonly Tool[] | undefined;
}

/**
 * A prompt with two answers, one better than the other, for `loss: 'dpo'`. All texts, and the answers follow the prompt
 * as they are; or messages, where a text stands for one message of the user or the assistant.
 */
export interface PreferenceExample {
  /** What stands before both answers. */
  readonly prompt: string | readonly ExampleMessage[];
  /** The better answer; with another loss it is what is learned. */
  readonly chosen: string | readonly ExampleMessage[];
  /** The worse one. */
  readonly rejected: string | readonly ExampleMessage[];
}

/** Something to learn from. A string is a text. */
export type Example = string | TextExample | CompletionExample | ChatExample | PreferenceExample;

/** Whether an example is a pair of answers. */
export const isPreference = (example: Example): example is PreferenceExample =>
  typeof example === 'object' && example !== null && 'chosen' in example && 'rejected' in example;

/**
 * The better and the worse side of a pair, each an example.
 * @throws {WebggufError} `invalid_argument` for what is no pair
 */
export function sidesOf(pair: PreferenceExample): [chosen: Example, rejected: Example] {
  return [completionOf({ ...pair }, 'chosen'), completionOf({ ...pair }, 'rejected')];
}

/** Options of {@link encodeExamples}. */
export interface EncodeOptions {
  /** Tokens that an example may have, at least 2; what is longer loses its end. Default: `info.contextLength`. */
  length?: number | undefined;
  /**
   * Whether the token that ends a text is learned behind texts and completions, where the vocabulary has one. Chats end
   * as the model's template says. Default true.
   */
  endOfText?: boolean | undefined;
  /**
   * Whether special tokens that are written in texts, prompts and completions are tokens: for files whose texts are in
   * a model's chat format already. In chats they never are. Default false: they are text.
   */
  parseSpecial?: boolean | undefined;
  /** Ends the call early, which then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** An example as a model reads it. */
export interface EncodedExample {
  /** The tokens. */
  readonly ids: Uint32Array;
  /** As many: 1 where a token counts in the loss when it is predicted from those before it. */
  readonly learned: Uint8Array;
  /** Tokens that the example has more than `length`, and that are left out. */
  readonly cut: number;
}

/** What {@link encodeExamples} needs of a model. */
export type ExampleEncoder = Pick<WasmModel, 'info' | 'tokenize' | 'detokenize' | 'applyChatTemplate'>;

/**
 * Turns examples into token ids, as the model would read them, and says which tokens are learned.
 *
 * Of a chat these are the assistant's messages as the model's template writes them, with calls of tools and the token
 * that ends each turn. A token that begins in a prompt and ends in what is learned is learned.
 *
 * @param model a loaded model
 * @returns as many, in the order of `examples`
 * @throws {WebggufError} `invalid_argument` for what is no example, and for chats that the model's template refuses;
 *   the message names the example
 * @throws the reason of `options.signal` when that fires
 *
 * @example
 * const encoded = await encodeExamples(model, [{ prompt: 'The capital of France is', completion: ' Paris.' }]);
 * const sequences = packExamples(encoded, 256);
 */
export async function encodeExamples(
  model: ExampleEncoder,
  examples: readonly Example[],
  options: EncodeOptions = {},
): Promise<EncodedExample[]> {
  const { length = model.info.contextLength, endOfText = true, parseSpecial = false, signal } = options;
  if (!Number.isInteger(length) || length < 2) {
    throw invalidArgument(`encodeExamples: option 'length' must be an integer of at least 2, found ${show(length)}`);
  }
  if (!Array.isArray(examples)) {
    throw invalidArgument(`encodeExamples: expected an array of examples, found ${show(examples)}`);
  }
  const encoder = await Encoder.of(model, endOfText, parseSpecial);
  const encoded: EncodedExample[] = [];
  for (const [index, example] of examples.entries()) {
    signal?.throwIfAborted();
    encoded.push(cutTo(length, await named(`encodeExamples: examples[${index}]`, () => encoder.encode(example))));
  }
  return encoded;
}

/** Ids, and which of them are learned. */
type Whole = Omit<EncodedExample, 'cut'>;

function cutTo(length: number, { ids, learned }: Whole): EncodedExample {
  const cut = Math.max(0, ids.length - length);
  return cut === 0 ? { ids, learned, cut } : { ids: ids.slice(0, length), learned: learned.slice(0, length), cut };
}

/** Puts the place before the message of an error. */
async function named<T>(place: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof WebggufError)) throw error;
    const message = error.message.replace(/^applyChatTemplate: /, '');
    throw new WebggufError(error.code, `${place}: ${message}`, { cause: error });
  }
}

/** Encodes one example after the other. */
class Encoder {
  readonly #model: ExampleEncoder;
  /** The token that a sequence begins with, or none. */
  readonly #begin: Uint32Array;
  /** The token that ends a text, or none. */
  readonly #end: Uint32Array;
  readonly #parseSpecial: boolean;
  /** Whether a token is no text. */
  readonly #controls = new Map<number, boolean>();

  private constructor(model: ExampleEncoder, begin: Uint32Array, end: Uint32Array, parseSpecial: boolean) {
    this.#model = model;
    this.#begin = begin;
    this.#end = end;
    this.#parseSpecial = parseSpecial;
  }

  static async of(model: ExampleEncoder, endOfText: boolean, parseSpecial: boolean): Promise<Encoder> {
    // What is put before a text, which has one token of its own at least.
    const [plain, whole] = [await model.tokenize('a'), await model.tokenize('a', { addSpecial: true })];
    const begin = whole.slice(0, Math.max(0, whole.indexOf(plain[0] as number)));
    const name = endOfText ? model.info.endOfText : undefined;
    const end = name ? await model.tokenize(name, { parseSpecial: true }) : new Uint32Array();
    return new Encoder(model, begin, end.length === 1 ? end : new Uint32Array(), parseSpecial);
  }

  async encode(example: Example): Promise<Whole> {
    if (typeof example === 'string') return this.#text('', example);
    if (typeof example !== 'object' || example === null) throw notAnExample(example);
    if (isPreference(example)) return this.encode(sidesOf(example)[0]);
    if ('messages' in example) return this.#chat(example);
    if ('text' in example) return this.#text('', checkedText('text', example.text));
    if (!('completion' in example)) throw notAnExample(example);
    return this.#text(checkedText('prompt', example.prompt), checkedText('completion', example.completion));
  }

  async #text(prompt: string, completion: string): Promise<Whole> {
    const ids = await this.#ids(prompt + completion, this.#parseSpecial);
    const all = Uint32Array.from([...ids, ...this.#end]);
    const start = await this.#border(ids, prompt, this.#parseSpecial);
    return { ids: all, learned: new Uint8Array(all.length).fill(1, Math.max(start, this.#begin.length)) };
  }

  async #chat({ messages, tools }: ChatExample): Promise<Whole> {
    const { text, answers } = await answersOf(this.#render, chatOf(messages, tools));
    const ids = await this.#ids(text, true);
    const learned = new Uint8Array(ids.length);
    for (const answer of answers) {
      const start = await this.#border(ids, text.slice(0, answer.start), true);
      learned.fill(1, Math.max(start, this.#begin.length), await this.#endOf(ids, text, answer));
    }
    return { ids, learned };
  }

  readonly #render = (chat: Chat, addGenerationPrompt: boolean): Promise<string> =>
    this.#model.applyChatTemplate(chat.messages, { tools: chat.tools, addGenerationPrompt, parseSpecial: false });

  /** Behind the first control token of what closes the turn; where there is none, and for calls, behind all of it. */
  async #endOf(ids: Uint32Array, text: string, { end, closed, calls }: Answer): Promise<number> {
    const [first, last] = [await this.#before(ids, text, end), await this.#before(ids, text, closed)];
    for (let at = first; at < last && !calls; at++) if (await this.#isControl(ids[at] as number)) return at + 1;
    return this.#before(ids, text, end + text.slice(end, closed).trimEnd().length);
  }

  #before(ids: Uint32Array, text: string, at: number): Promise<number> {
    return this.#border(ids, text.slice(0, at), true);
  }

  /** How many of `ids` are tokens of `start` alone, with which their text begins. */
  async #border(ids: Uint32Array, start: string, parseSpecial: boolean): Promise<number> {
    const before = await this.#ids(start, parseSpecial);
    const differs = before.findIndex((id, at) => id !== ids[at]);
    return differs < 0 ? before.length : differs;
  }

  /** As a prompt is encoded: with the first token in front, where the text does not begin with it. */
  async #ids(text: string, parseSpecial: boolean): Promise<Uint32Array> {
    const ids = await this.#model.tokenize(text, { parseSpecial });
    const [begin] = this.#begin;
    return begin === undefined || ids[0] === begin ? ids : Uint32Array.from([begin, ...ids]);
  }

  async #isControl(id: number): Promise<boolean> {
    const known = this.#controls.get(id);
    if (known !== undefined) return known;
    const [text, name] = await Promise.all([
      this.#model.detokenize([id]),
      this.#model.detokenize([id], { showSpecial: true }),
    ]);
    this.#controls.set(id, text === '' && name !== '');
    return text === '' && name !== '';
  }
}

function chatOf(messages: readonly ExampleMessage[], tools: readonly Tool[] | undefined): Chat {
  if (!Array.isArray(messages) || messages.length === 0) {
    throw invalidArgument(`expected an array of at least one message, found ${show(messages)}`);
  }
  if (mediaOf(messages).length > 0) throw invalidArgument('images and sounds cannot be learned from');
  return {
    messages: messages.map(({ weight: _, ...message }) => message),
    tools,
    isLearned: messages.map(({ role, weight }) => role === 'assistant' && weight !== 0),
  };
}

function checkedText(name: string, text: unknown): string {
  if (typeof text === 'string') return text;
  throw invalidArgument(`${name} must be a string, found ${show(text)}`);
}

function notAnExample(value: unknown): WebggufError {
  const known = 'a string, { text }, { prompt, completion }, { messages } or { prompt, chosen, rejected }';
  return invalidArgument(`expected ${known}, found ${show(value)}`);
}
