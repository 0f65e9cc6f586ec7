/**
 * A conversation that a page shows: messages, the answer as it is written, and the tools that the model calls. It knows
 * nothing of React.
 */
import { abortable } from '../cancel.js';
import { nextTurn, roomForAnswer } from '../model/conversation.js';
import { parametersOf } from '../model/schema.js';
import { invalidArgument, WebggufError } from '../errors.js';
import type { WasmModel } from '../model/model.js';
import { onDemand } from '../model/on-demand.js';
import type { ChatRequest, ChunkDelta } from '../openai/types.js';
import { conversationText } from '../openai/prepare.js';
import { afterCall } from '../openai/tool-choice.js';
import type { ChatMessage } from './chat-message.js';
import { Store, type Writes } from './store.js';
import { resultOf } from '../model/tool-result.js';
import type { Message, Tool, ToolCall } from '../types/chat.js';
import type { PromptProgress } from '../types/generate.js';
import type { AudioPart, ImagePart } from '../types/media.js';

/** A tool that the model may call, in the shape of the Prompt API. */
export interface ChatTool {
  /** By which the model calls it. */
  name: string;
  /** What it does, for the model. */
  description?: string | undefined;
  /** JSON Schema of the object that `execute` gets; also one of zod, valibot or arktype that can be converted. */
  inputSchema?: object | undefined;
  /** The same by its name in OpenAI's API; `input_schema`, as Anthropic's API has it, is taken, too. */
  parameters?: object | undefined;
  /**
   * Does it. A string is the result as it is, other values as JSON. What it throws is a result, too.
   * `signal` fires when the answer is ended.
   */
  // biome-ignore lint/suspicious/noExplicitAny: the schema says what it is, and TypeScript cannot check that
  execute(input: any, options: { signal: AbortSignal }): unknown;
}

/** Fields of a request to `model.chat.completions.create`, such as `temperature` and `max_completion_tokens`. */
export type SendOptions = Omit<ChatRequest, 'messages' | 'model' | 'n' | 'stream' | 'stream_options' | 'tools'>;

/** Options of `send`: what is said besides the text, and how it is answered. */
export interface MessageOptions extends SendOptions {
  /**
   * Images for a model that sees, before the text. They go to the model with every answer: of a video or a canvas, give
   * a picture of it (`createImageBitmap`).
   */
  images?: readonly ImagePart['image'][] | undefined;
  /** Sounds for a model that hears, before the text and behind the images. They go to the model with every answer. */
  sounds?: readonly AudioPart['audio'][] | undefined;
}

/** Options of {@link useChat}: also all of {@link SendOptions}, for every message. */
export interface ChatOptions extends SendOptions {
  /** The system prompt. */
  system?: string | undefined;
  /** Whether the model thinks before it answers, where its chat template can say so. Default: what that says. */
  enableThinking?: boolean | undefined;
  /** Tools that the model may call. */
  tools?: readonly ChatTool[] | undefined;
  /** A conversation to go on with; read at the first render. */
  messages?: readonly Omit<ChatMessage, 'id'>[] | undefined;
  /** Most answers to one message, each after the results of the tools before it. Default 8. */
  maxSteps?: number | undefined;
  /**
   * When the conversation no longer fits the context: `error` (default), which is `context_full`; or `truncate`, then
   * the model does not get the oldest turns, and an answer has room (`max_completion_tokens`, else a quarter of the
   * context); the page still shows them.
   */
  overflow?: 'error' | 'truncate' | undefined;
}

/** What a page shows of a conversation. */
export interface ChatState {
  /** All messages but the system prompt; the last one grows while `status` is `writing`. */
  readonly messages: readonly ChatMessage[];
  /** Whether an answer is being written, or the last one failed. */
  readonly status: 'idle' | 'writing' | 'error';
  /** Why the last answer failed, nearly always a `WebggufError`; `undefined` unless `status` is `error`. */
  readonly error: Error | undefined;
  /** While `status` is `writing` and before there is text: how far the conversation is encoded and read. */
  readonly progress: PromptProgress | undefined;
}

/** What a page does with a conversation. The functions are always the same ones. */
export interface ChatActions {
  /**
   * Says something and lets the model answer; tools that it calls are run, and it goes on with their results. An answer
   * that is still being written is ended. Resolves when it is over, also by an error, which is in `error`.
   */
  readonly send: (text: string, options?: MessageOptions) => Promise<void>;
  /** Answers the last message of the user anew. */
  readonly regenerate: (options?: SendOptions) => Promise<void>;
  /** Ends the answer; what was written of it stays. */
  readonly stop: () => Promise<void>;
  /** Ends the answer and forgets all messages. */
  readonly clear: () => Promise<void>;
}

const STEPS = 8;

type Draft = { -readonly [K in keyof ChatMessage]: ChatMessage[K] };

/** @internal */
export class ChatStore extends Store<ChatState> implements Writes<ChatState, ChatOptions, ChatActions> {
  #model: WasmModel | undefined;
  #options: ChatOptions = {};
  #running: Promise<void> = Promise.resolve();
  #controller = new AbortController();
  #lastId = 0;
  /** The first message that the model still gets. */
  #from = 0;
  /** Unchanging copies of messages with images and sounds, as they were sent first. */
  readonly #fixed = new WeakMap<ChatMessage, Promise<Message>>();

  constructor(messages: ChatOptions['messages'] = []) {
    super({ messages: [], status: 'idle', error: undefined, progress: undefined });
    for (const message of messages) this.#append(message);
  }

  configure(model: WasmModel | undefined, options: ChatOptions): void {
    if (model !== this.#model) void this.stop();
    this.#model = model;
    this.#options = options;
  }

  readonly send = (text: string, { images = [], sounds = [], ...options }: MessageOptions = {}): Promise<void> => {
    const shown = {
      ...(images.length > 0 && { images: [...images] }),
      ...(sounds.length > 0 && { sounds: [...sounds] }),
    };
    return this.#next(() => this.#append({ role: 'user', content: text, ...shown }), options);
  };

  readonly regenerate = (options: SendOptions = {}): Promise<void> =>
    this.#next(() => this.#cut(this.#lastQuestion() + 1), options);

  readonly stop = (): Promise<void> => {
    this.#controller.abort();
    return this.#running;
  };

  readonly clear = async (): Promise<void> => {
    await this.stop();
    this.#from = 0;
    this.set({ messages: [], status: 'idle', error: undefined });
  };

  readonly actions: ChatActions = {
    send: this.send,
    regenerate: this.regenerate,
    stop: this.stop,
    clear: this.clear,
  };

  /** Ends what is being written, then changes the conversation and answers. */
  #next(change: () => void, options: SendOptions): Promise<void> {
    const before = this.stop();
    const { signal } = (this.#controller = new AbortController());
    this.#running = before.then(() => {
      change();
      return signal.aborted ? undefined : this.#answerAll(options, signal);
    });
    return this.#running;
  }

  async #answerAll(options: SendOptions, signal: AbortSignal): Promise<void> {
    const { system, tools = [], messages, maxSteps = STEPS, overflow, enableThinking, ...fields } = this.#options;
    let request: SendOptions = { enable_thinking: enableThinking, ...fields, ...options };
    try {
      if (this.#lastQuestion() < 0) return;
      this.set({ status: 'writing', error: undefined });
      for (let step = 0; step < maxSteps && !signal.aborted; step += 1) {
        const calls = await this.#fittingAnswer(request, signal);
        if (calls.length === 0) break;
        for (const call of calls) this.#append(await resultOf(call, callable(tools, signal)));
        request = { ...request, tool_choice: afterCall(request.tool_choice) };
      }
      this.set({ status: 'idle' });
    } catch (error) {
      this.set(signal.aborted ? { status: 'idle' } : { status: 'error', error: error as Error });
    }
  }

  /** An answer; where the conversation does not fit, without the oldest turns, if asked. */
  async #fittingAnswer(request: SendOptions, signal: AbortSignal): Promise<readonly ToolCall[]> {
    if (this.#options.overflow === 'truncate') while (!(await this.#hasRoom(request)) && this.#dropTurn());
    for (;;) {
      try {
        return await this.#answer(request, signal);
      } catch (error) {
        const isFull = error instanceof WebggufError && error.code === 'context_full';
        if (!isFull || this.#options.overflow !== 'truncate' || !this.#dropTurn()) throw error;
      }
    }
  }

  /** Whether the context holds the conversation and an answer. */
  async #hasRoom(request: SendOptions): Promise<boolean> {
    const model = this.#model;
    if (!model) return true;
    const { tools } = this.#tools(request);
    const messages = await this.#conversation();
    const count = await model.session().count(await conversationText(model, messages, tools ?? [], {}));
    const { contextLength } = model.info;
    const wanted = request.max_completion_tokens ?? request.max_tokens ?? undefined;
    return count + roomForAnswer(contextLength, wanted) <= contextLength;
  }

  /** Adds an answer as it is written. Returns the calls that it ends with. */
  async #answer(request: SendOptions, signal: AbortSignal): Promise<readonly ToolCall[]> {
    if (!this.#model) throw invalidArgument('send: there is no model yet');
    const messages = await this.#conversation(signal);
    const count = this.state().messages.length;
    const answer = this.#append({ role: 'assistant', content: '' });
    try {
      const stream = await this.#model.chat.completions.create(
        {
          ...request,
          ...this.#tools(request),
          messages,
          stream: true,
          stream_options: { include_usage: true },
          timings: true,
        },
        { signal, onProgress: (progress) => this.set({ progress: progress.fraction < 1 ? progress : undefined }) },
      );
      for await (const {
        choices: [choice],
        timings,
      } of stream) {
        if (choice) extend(answer, choice.delta);
        if (choice?.finish_reason) answer.finish_reason = choice.finish_reason;
        if (timings) answer.timings = timings;
        this.#replaceLast({ ...answer });
      }
    } finally {
      if (this.state().progress) this.set({ progress: undefined });
      this.#settle(answer, count);
    }
    return answer.finish_reason === 'tool_calls' && answer.tool_calls ? answer.tool_calls : [];
  }

  /** Calls of an answer that did not come to its end have no results, and an answer of nothing is none. */
  #settle(answer: Draft, count: number): void {
    if (answer.finish_reason !== 'tool_calls') delete answer.tool_calls;
    if (answer.content || answer.reasoning_content || answer.tool_calls) this.#replaceLast({ ...answer });
    else this.#cut(count);
  }

  #tools({ tool_choice: choice }: SendOptions): Pick<ChatRequest, 'tool_choice'> & { tools?: readonly Tool[] } {
    const { tools = [] } = this.#options;
    if (tools.length === 0) return {};
    const list = tools.map((tool, index) => {
      const { name, description } = tool;
      const parameters = parametersOf(`useChat: tools[${index}]`, tool) ?? { type: 'object', properties: {} };
      return { type: 'function' as const, function: { name, description, parameters } };
    });
    return { tools: list, tool_choice: choice };
  }

  /** The messages as the model gets them. */
  async #conversation(signal?: AbortSignal): Promise<Message[]> {
    const { system } = this.#options;
    const first: Message[] = system === undefined ? [] : [{ role: 'system', content: system }];
    const sent = this.state().messages.slice(this.#from);
    return [...first, ...(await Promise.all(sent.map((message) => this.#sent(message, signal))))];
  }

  /** A message as the model gets it with every answer: addresses of images and sounds are fetched once. */
  async #sent(message: ChatMessage, signal?: AbortSignal): Promise<Message> {
    if (!message.images && !message.sounds) return messageOf(message);
    const known = this.#fixed.get(message) ?? fixed(messageOf(message), signal);
    this.#fixed.set(message, known);
    known.catch(() => this.#fixed.delete(message));
    return known;
  }

  #lastQuestion(): number {
    return this.state()
      .messages.map(({ role }) => role)
      .lastIndexOf('user');
  }

  #dropTurn(): boolean {
    const next = nextTurn(this.state().messages, this.#from);
    if (next > 0) this.#from = next;
    return next > 0;
  }

  #append(message: Omit<ChatMessage, 'id'>): Draft {
    const added = { ...message, id: (this.#lastId += 1) };
    this.set({ messages: [...this.state().messages, added] });
    return { ...added };
  }

  #cut(count: number): void {
    this.set({ messages: this.state().messages.slice(0, count) });
  }

  #replaceLast(message: ChatMessage): void {
    this.setSoon({ messages: [...this.state().messages.slice(0, -1), message] });
  }
}

async function fixed(message: Message, signal: AbortSignal | undefined): Promise<Message> {
  const { fixedMedia } = await onDemand.messages();
  const [copy] = await fixedMedia([message], signal);
  return copy ?? message;
}

/** Without what is for the page alone. */
function messageOf({ id, finish_reason, timings, images = [], sounds = [], ...message }: ChatMessage): Message {
  const media = [
    ...images.map((image): ImagePart => ({ type: 'image', image })),
    ...sounds.map((audio): AudioPart => ({ type: 'audio', audio })),
  ];
  if (media.length === 0) return message;
  const text = message.content === '' ? [] : [{ type: 'text' as const, text: message.content }];
  return { ...message, content: [...media, ...text] };
}

function extend(answer: Draft, { content, reasoning_content: thought, tool_calls: calls = [] }: ChunkDelta): void {
  if (content) answer.content += content;
  if (thought) answer.reasoning_content = (answer.reasoning_content ?? '') + thought;
  for (const { index, id, function: part } of calls) {
    const list = [...(answer.tool_calls ?? [])];
    const { id: known = '', function: old = { name: '', arguments: '' } } = list[index] ?? {};
    const called = { name: old.name + (part.name ?? ''), arguments: old.arguments + (part.arguments ?? '') };
    list[index] = { id: id ?? known, type: 'function', function: called };
    answer.tool_calls = list;
  }
}

/** What runs each tool, until `signal` fires. */
function callable(tools: readonly ChatTool[], signal: AbortSignal): Map<string, (input: unknown) => unknown> {
  const run = (tool: ChatTool) => (input: unknown) => {
    signal.throwIfAborted();
    return abortable(Promise.resolve(tool.execute(input, { signal })), signal);
  };
  return new Map(tools.map((tool) => [tool.name, run(tool)]));
}
