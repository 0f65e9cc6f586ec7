/**
 * A session of the Prompt API.
 */
import { abortable } from '../cancel.js';
import { WebggufError } from '../errors.js';
import { hasMedia } from '../model/conversation.js';
import type { WasmModel } from '../model/model.js';
import { onDemand } from '../model/on-demand.js';
import type { TextWithMedia } from '../model/prompt.js';
import { knowItself, throughProxies } from '../proxies.js';
import type { Session } from '../model/session.js';
import type { Message } from '../types/chat.js';
import type { GenerateOptions } from '../types/generate.js';
import { answerTo } from './answer.js';
import { constraintOf, withGuide } from './constraint.js';
import { Context } from './context.js';
import { fromWebgguf, quotaExceeded } from './errors.js';
import { Handlers } from './handlers.js';
import { type CoreOptions, type Input, inputOf, signalOf } from './input.js';
import type {
  LanguageModelPrompt,
  LanguageModelPromptOptions,
  LanguageModelSamplingMode,
  LanguageModelSignalOptions,
} from './types.js';

type Handler = ((event: Event) => unknown) | null;

/** What a session begins with. @internal */
export interface Beginning {
  readonly model: WasmModel;
  readonly session: Session;
  readonly core: CoreOptions;
  readonly enableThinking: boolean | undefined;
  readonly onPromptProgress: GenerateOptions['onProgress'];
  readonly messages: readonly Message[];
  /** How many of the messages always stay. */
  readonly initial: number;
  readonly usage: number;
}

/** A conversation with a model. Its calls have their turn one after the other. */
export class LanguageModelSession extends EventTarget {
  readonly #begun: Beginning;
  readonly #context: Context;
  readonly #handlers = new Handlers(this);
  readonly #destruction = new AbortController();
  #messages: readonly Message[];
  #usage: number;
  /** The last call has ended. */
  #last: Promise<unknown> = Promise.resolve();

  /** Pages use `create`. @internal */
  constructor(begun: Beginning) {
    super();
    knowItself(this);
    if (typeof begun?.session?.complete !== 'function') throw new TypeError('LanguageModel is made by create()');
    this.#begun = begun;
    this.#context = new Context(begun.model, begun.session, begun.core.tools);
    this.#messages = begun.messages;
    this.#usage = begun.usage;
  }

  /** Tokens of the conversation. */
  get contextUsage(): number {
    return this.#usage;
  }

  /** Tokens that the conversation may have. */
  get contextWindow(): number {
    return this.#context.window;
  }

  /** Null where `topK` or `temperature` were given. */
  get samplingMode(): LanguageModelSamplingMode | null {
    return this.#begun.core.sampling.mode;
  }

  /** As `create` was told, or the default. */
  get topK(): number {
    return this.#begun.core.sampling.topK;
  }

  /** As `create` was told, or the default. */
  get temperature(): number {
    return this.#begun.core.sampling.temperature;
  }

  /** Called when the oldest turns were dropped, to make room. */
  get oncontextoverflow(): Handler {
    return this.#handlers.get('contextoverflow');
  }

  set oncontextoverflow(handler: Handler) {
    this.#handlers.set('contextoverflow', handler);
  }

  /** @deprecated now {@link contextUsage} */
  get inputUsage(): number {
    return this.contextUsage;
  }

  /** @deprecated now {@link contextWindow} */
  get inputQuota(): number {
    return this.contextWindow;
  }

  /** @deprecated now {@link oncontextoverflow} */
  get onquotaoverflow(): Handler {
    return this.#handlers.get('quotaoverflow');
  }

  set onquotaoverflow(handler: Handler) {
    this.#handlers.set('quotaoverflow', handler);
  }

  /**
   * The answer to a prompt. Both become part of the conversation; a call that fails or is ended leaves it as it was.
   *
   * @throws {DOMException} `QuotaExceededError`, `NotSupportedError`, `SyntaxError`, `OperationError`, `UnknownError`;
   *   `AbortError` after {@link destroy}
   * @throws the reason of `options.signal` when that fires
   */
  async prompt(input: LanguageModelPrompt, options: LanguageModelPromptOptions = {}): Promise<string> {
    let text = '';
    await this.#answer(input, options, (piece) => (text += piece));
    return text;
  }

  /**
   * The answer as it is written: a stream of pieces of text. Cancelling the stream ends the answer.
   *
   * @throws the reason of `options.signal` where that has fired, `AbortError` after {@link destroy}; all else
   *   comes through the stream
   */
  promptStreaming(input: LanguageModelPrompt, options: LanguageModelPromptOptions = {}): ReadableStream<string> {
    const left = new AbortController();
    const signal = AbortSignal.any([this.#scope(options.signal), left.signal]);
    return new ReadableStream<string>({
      start: (controller) => {
        const write = (piece: string): void => {
          if (!left.signal.aborted) controller.enqueue(piece);
        };
        this.#answer(input, { ...options, signal }, write).then(
          () => left.signal.aborted || controller.close(),
          (error: unknown) => controller.error(error),
        );
      },
      cancel: (reason) => left.abort(reason),
    });
  }

  /** Adds messages to the conversation, and reads them ahead of the next prompt. Throws as {@link prompt} does. */
  async append(input: LanguageModelPrompt, options: LanguageModelSignalOptions = {}): Promise<undefined> {
    const given = fixed(addedBy(this.#inputOf(input)));
    given.catch(() => {}); // its turn reports it
    return this.#inTurn(options.signal, async (scope) => {
      const added = await given;
      if (added.length === 0) return undefined;
      const all = [...(await this.#keptBeside(added)), ...added];
      await readAhead(this.#begun.session, await this.#context.text(all).catch(() => ''), scope);
      await this.#become(all, added.length, scope);
      return undefined;
    });
  }

  /** How many tokens of the context a prompt would take. */
  async measureContextUsage(input: LanguageModelPrompt, options: LanguageModelPromptOptions = {}): Promise<number> {
    const constraint = constraintOf(options);
    const { messages, prefix } = this.#inputOf(input);
    const added = addedBy({ messages: withGuide(messages, constraint), prefix });
    const scope = this.#scope(options.signal);
    return translated(abortable(this.#context.measure(added, this.#messages, this.#usage), scope));
  }

  /** @deprecated now {@link measureContextUsage} */
  async measureInputUsage(input: LanguageModelPrompt, options: LanguageModelPromptOptions = {}): Promise<number> {
    return this.measureContextUsage(input, options);
  }

  /** Another session that goes on from here, with a copy of what the model has read. */
  async clone(options: LanguageModelSignalOptions = {}): Promise<this> {
    return this.#inTurn(options.signal, async (scope) => {
      const session = await this.#begun.session.fork();
      if (scope.aborted) void session.free();
      scope.throwIfAborted();
      const Class = this.constructor as new (begun: Beginning) => this;
      return new Class({ ...this.#begun, session, messages: this.#messages, usage: this.#usage });
    });
  }

  /** Ends all calls and frees the memory of the conversation. The model stays. */
  destroy(): void {
    this.#destroy(new DOMException('the session was destroyed', 'AbortError'));
  }

  /** Destroys the session when `signal` fires. @internal */
  destroyWith(signal: AbortSignal | undefined): void {
    const ended = this.#destruction.signal;
    signal?.addEventListener('abort', () => this.#destroy(signal.reason), { once: true, signal: ended });
  }

  #inputOf(input: LanguageModelPrompt): Input {
    return inputOf(input, this.#begun.core.media);
  }

  #destroy(reason: unknown): void {
    if (this.#destruction.signal.aborted) return;
    this.#destruction.abort(reason);
    void this.#begun.session.free().catch(() => {}); // the model may have been freed
  }

  /** Fires when the session is destroyed, and with the caller's; throws where that has been. */
  #scope(signal: AbortSignal | undefined): AbortSignal {
    const given = signalOf(signal);
    const destruction = this.#destruction.signal;
    const scope = given ? AbortSignal.any([destruction, given]) : destruction;
    scope.throwIfAborted();
    return scope;
  }

  /** Does `work` once the calls before are done. */
  async #inTurn<T>(signal: AbortSignal | undefined, work: (scope: AbortSignal) => Promise<T>): Promise<T> {
    const scope = this.#scope(signal);
    const turn = this.#last.then(() => {
      scope.throwIfAborted();
      return work(scope);
    });
    this.#last = turn.catch(() => {});
    return translated(abortable(turn, scope));
  }

  async #answer(
    input: LanguageModelPrompt,
    options: LanguageModelPromptOptions,
    write: (text: string) => void,
  ): Promise<void> {
    this.#scope(options.signal);
    const constraint = constraintOf(options);
    const { messages: given, prefix } = this.#inputOf(input);
    const fixing = fixed(given);
    fixing.catch(() => {}); // its turn reports it
    await this.#inTurn(options.signal, async (signal) => {
      const messages = await fixing;
      const isNothing = messages.length === 0 && this.#messages.length === 0;
      const told: readonly Message[] = isNothing ? [{ role: 'user', content: '' }] : messages;
      const added = withGuide(told, constraint);
      const before = [...(await this.#keptBeside(addedBy({ messages: added, prefix }))), ...added];
      const grammar = constraint?.grammar;
      const { model, session, core, enableThinking, onPromptProgress } = this.#begun;
      const { sampling, tools } = core;
      const answerer = { model, session, sampling, tools, enableThinking, onProgress: onPromptProgress };
      const answer = answerTo(answerer, { messages: before, prefix, grammar, signal, write });
      const said = await answer.catch((error: unknown) => this.#failed(error, before));
      await this.#become([...before, ...said], added.length + said.length, signal);
    });
  }

  /**
   * The messages that have room beside others: what goes for them stays part of the conversation until these are.
   * Throws where there is no room, and where a system prompt comes late.
   */
  async #keptBeside(added: readonly Message[]): Promise<readonly Message[]> {
    if (added[0]?.role === 'system' && this.#messages.length > 0) {
      throw new TypeError('a system prompt must come first');
    }
    return this.#context.fit(this.#messages, this.#begun.initial, added);
  }

  /** The conversation, of which the last `added` messages are new. */
  async #become(all: readonly Message[], added: number, scope: AbortSignal): Promise<void> {
    const { messages, usage } = await this.#context.bounded(all, this.#begun.initial);
    scope.throwIfAborted();
    const isLess = messages.length < this.#messages.length + added;
    this.#messages = messages;
    this.#usage = usage;
    if (isLess) for (const type of ['contextoverflow', 'quotaoverflow']) this.dispatchEvent(new Event(type));
  }

  /** What did not fit after all gets its numbers. */
  async #failed(error: unknown, messages: readonly Message[]): Promise<never> {
    const isFull = error instanceof WebggufError && error.code === 'context_full';
    throw isFull ? quotaExceeded(await this.#context.count(messages), this.#context.window) : error;
  }
}
throughProxies(LanguageModelSession);

/** The same messages with pixels in place of what may show something else by the time it is read. @internal */
export async function fixed(messages: readonly Message[]): Promise<readonly Message[]> {
  if (!hasMedia(messages)) return messages;
  const { fixedMedia } = await onDemand.messages();
  return fixedMedia(messages);
}

/** The messages, and the beginning of the answer as one of them. */
function addedBy({ messages, prefix }: Input): readonly Message[] {
  return prefix === undefined ? messages : [...messages, { role: 'assistant', content: prefix }];
}

/** Lets the model read a text, so that the next answer begins sooner; one token is written and dropped. @internal */
export async function readAhead(
  session: Session,
  text: string | TextWithMedia,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (text === '') return;
  const reading = session.complete(text, { maxTokens: 1, signal });
  try {
    await reading;
  } catch (error) {
    // No room for that token: it is read with the next prompt.
    if (!(error instanceof WebggufError) || error.code !== 'context_full') throw error;
  }
  signal?.throwIfAborted();
}

/** Rejects with what the draft has. @internal */
export async function translated<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    throw fromWebgguf(error);
  }
}
