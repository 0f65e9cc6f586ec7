/**
 * An answer: the model writes, tools are called as long as it asks for them.
 */
import { abortable } from '../cancel.js';
import type { WasmModel } from '../model/model.js';
import { Prefix } from '../openai/prefix.js';
import { type Prepared, prepare } from '../openai/prepare.js';
import type { Delta, Reader } from '../openai/reader.js';
import type { Session } from '../model/session.js';
import { resultOf } from '../model/tool-result.js';
import type { Message, ToolCall } from '../types/chat.js';
import type { GenerateOptions, Grammar } from '../types/generate.js';
import type { CallableTool } from './input.js';
import type { Sampling } from './sampling.js';

/** How often a model may call tools for one answer. */
const MOST_ROUNDS = 32;
/** Tokens less likely than this share of the likeliest are left out, as quantised models need it. */
const MIN_P = 0.05;

/** What answers. @internal */
export interface Answerer {
  readonly model: WasmModel;
  /** Has the cache. */
  readonly session: Session;
  readonly sampling: Sampling;
  readonly tools: readonly CallableTool[];
  readonly enableThinking: boolean | undefined;
  /** Hears how far the conversation is read. */
  readonly onProgress: GenerateOptions['onProgress'];
}

/** What is asked. @internal */
export interface Question {
  readonly messages: readonly Message[];
  readonly prefix: string | undefined;
  readonly grammar: Grammar | undefined;
  readonly signal: AbortSignal;
  /** Gets the text as it is written. */
  write(text: string): void;
}

/**
 * The messages that the answer adds to the conversation: calls of tools, their results, and what the assistant says at
 * last. Under a grammar the model first calls tools as it likes, then answers once more without them. @internal
 */
export async function answerTo(answerer: Answerer, question: Question): Promise<Message[]> {
  const { messages, grammar, signal } = question;
  const { tools } = answerer;
  const callable = new Map(tools.map(({ tool, execute }) => [tool.function.name, execute]));
  const added: Message[] = [];
  const isLater = tools.length > 0 && grammar !== undefined;
  const free: Question = isLater ? { ...question, grammar: undefined, write: () => {} } : question;
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const said = await writeOnce(answerer, { ...free, messages: [...messages, ...added] }, tools);
    if (!said.tool_calls) return [...added, isLater ? await last(answerer, question, added) : said];
    const results = Promise.all(said.tool_calls.map((call) => resultOf(call, callable)));
    added.push(said, ...(await abortable(results, signal)));
  }
  throw new DOMException(`the model called tools ${MOST_ROUNDS} times in a row`, 'OperationError');
}

async function last(answerer: Answerer, question: Question, added: readonly Message[]): Promise<Message> {
  return writeOnce(answerer, { ...question, messages: [...question.messages, ...added] }, []);
}

/** What the assistant says. */
async function writeOnce(
  { model, session, sampling, enableThinking, onProgress }: Answerer,
  { messages, prefix, grammar, signal, write }: Question,
  tools: readonly CallableTool[],
): Promise<Message> {
  const request = {
    messages,
    tools: tools.map(({ tool }) => tool),
    temperature: sampling.temperature,
    top_k: sampling.topK,
    min_p: MIN_P,
    ...(enableThinking === false && { reasoning_effort: 'none' as const }),
    ...(enableThinking && { chat_template_kwargs: { enable_thinking: true } }),
  };
  const prepared = await prepare(model, request, { grammar, prefix });
  signal.throwIfAborted();
  const said = new Said(prepared, prefix ?? '', write);
  const generation = session.complete(prepared.prompt, { ...prepared.options, signal, onProgress }, prefix);
  try {
    for await (const { text } of generation) said.push(text);
    await generation;
  } finally {
    await generation.stop();
  }
  signal.throwIfAborted();
  return said.end();
}

/** Collects what is written, without thoughts, and passes on what comes after the prefix. */
class Said {
  readonly #reader: Reader;
  readonly #write: (text: string) => void;
  readonly #calls: ToolCall[] = [];
  readonly #prefix: string;
  readonly #left: Prefix;
  #text = '';
  #thoughts = '';

  constructor({ reader, begun }: Prepared, prefix: string, write: (text: string) => void) {
    this.#reader = reader();
    this.#write = write;
    this.#prefix = prefix;
    this.#left = new Prefix(prefix);
    if (begun) this.push(begun);
  }

  push(text: string): void {
    for (const delta of this.#reader.push(text)) this.#take(delta);
  }

  /** The message. */
  end(): Message {
    for (const delta of this.#reader.end()) this.#take(delta);
    // Thoughts before a call go on with its result; those before an answer are none of the conversation.
    const thoughts = this.#thoughts === '' ? {} : { reasoning_content: this.#thoughts };
    const calls = this.#calls.length > 0 ? { ...thoughts, tool_calls: this.#calls } : {};
    return { role: 'assistant', content: this.#prefix + this.#text, ...calls };
  }

  #take(delta: Delta): void {
    if ('reasoning' in delta) {
      this.#thoughts += delta.reasoning;
      return;
    }
    if ('content' in delta) {
      this.#say(delta.content);
      return;
    }
    const { index } = delta;
    const begun: ToolCall = { id: `call_${index}`, type: 'function', function: { name: '', arguments: '' } };
    const call = (this.#calls[index] ??= begun);
    if ('name' in delta) call.function.name = delta.name;
    else call.function.arguments += delta.arguments;
  }

  #say(content: string): void {
    const text = this.#left.pass(content);
    if (!text) return;
    this.#text += text;
    this.#write(text);
  }
}
