/**
 * A response while it is written.
 */
import { WebggufError } from '../../errors.js';
import { warningOf } from '../../load/cache/warning.js';
import type { ChatModel } from '../chat-model.js';
import type { Completions } from '../completions.js';
import type { ChatStream } from '../stream.js';
import type {
  ChatChunk,
  ChatMessage,
  ChatRequest,
  CompletionUsage,
  FinishReason,
  Origin,
  RequestOptions,
} from '../types.js';
import { type CheckedResponse, inOwnWords } from './check.js';
import type { ResponseEvent, ResponseSnapshot } from './event-types.js';
import { newResponse } from './names.js';
import { fewerTurns, fittingTurns } from './turns.js';
import { ResponseWriter } from './writer.js';

/** Who answers. @internal */
export interface Answering {
  readonly completions: Completions;
  /** The name of the model. */
  readonly name: string;
  /** Where it is, before it has said so. */
  readonly origin: Origin;
  /** The model, where it is here. */
  readonly model?: ChatModel | undefined;
  /** The tokens of a prompt, where the model is here. */
  readonly count?: ((request: ChatRequest) => Promise<number>) | undefined;
}

/** @internal */
export interface Watcher {
  /** The writing begins. */
  begun(run: Run): void;
  /** It is over, however it ended. */
  over(run: Run): void;
  /** The response is what it will be. */
  done(run: Run): Promise<void>;
}

/** @internal */
export class Run {
  readonly checked: CheckedResponse;
  readonly writer: ResponseWriter;
  readonly controller = new AbortController();
  readonly #answering: Answering;
  readonly #options: RequestOptions;
  #messages: readonly ChatMessage[];
  /** The answer of the chat, until it is read. */
  #chat: ChatStream | undefined;
  #isCancelled = false;

  constructor(
    answering: Answering,
    checked: CheckedResponse,
    messages: readonly ChatMessage[],
    options: RequestOptions,
  ) {
    this.checked = checked;
    this.#answering = answering;
    this.#messages = messages;
    this.#options = options;
    this.writer = new ResponseWriter(responseOf(answering, checked));
  }

  get id(): string {
    return this.writer.response.id;
  }

  /** The response as far as it is. */
  get snapshot(): ResponseSnapshot {
    const copy = structuredClone(this.writer.response);
    return this.#isCancelled ? { ...copy, status: 'cancelled' } : copy;
  }

  /** Ends the writing; what there is of the answer counts. */
  cancel(): void {
    this.#isCancelled = true;
    this.controller.abort();
  }

  /** The response was not written to the disk. */
  warn(error: unknown): void {
    this.#answering.model?.warn?.(warningOf(`response '${this.id}'`, error));
  }

  /** Asks the chat: what is wrong with the request is thrown here. */
  async prepare(): Promise<void> {
    const { model, count } = this.#answering;
    const { isTruncated, chat } = this.checked;
    try {
      if (isTruncated && model && count) {
        const { contextLength } = model.info;
        const counter = { contextLength, count: (messages: ChatMessage[]) => count({ ...chat, messages }) };
        this.#messages = await fittingTurns(this.#messages, chat, counter);
      }
      this.#chat = await this.#ask();
    } catch (error) {
      throw inOwnWords(error);
    }
  }

  /** All events. Once `controller` aborts, they end without throwing; `watcher` hears of the end either way. */
  async *events(watcher: Watcher): AsyncGenerator<ResponseEvent> {
    const { writer } = this;
    watcher.begun(this);
    try {
      yield* writer.start();
      const { reason, usage } = yield* this.#written();
      if (reason === undefined && !this.#isCancelled) return;
      for (const event of writer.end(this.#isCancelled ? 'abort' : (reason ?? 'stop'), usage)) {
        // It can be gone on from once its last event is there.
        if ('response' in event) await watcher.done(this);
        yield event;
      }
    } finally {
      watcher.over(this);
    }
  }

  async *#written(): AsyncGenerator<ResponseEvent, { reason?: FinishReason; usage?: CompletionUsage | null }> {
    const { writer } = this;
    let reason: FinishReason | undefined;
    let usage: CompletionUsage | null | undefined;
    try {
      for await (const { choices, usage: counted, webgguf } of this.#chunks()) {
        writer.response.webgguf = webgguf ?? writer.response.webgguf;
        for (const choice of choices) {
          yield* writer.take(choice);
          reason = choice.finish_reason ?? reason;
        }
        usage = counted ?? usage;
      }
    } catch (error) {
      if (this.#options.signal?.aborted) throw error;
      // Before that, the request was wrong rather than the answer.
      if (writer.response.output.length > 0) yield* writer.fail(error);
      throw inOwnWords(error);
    }
    return { ...(reason !== undefined && { reason }), ...(usage && { usage }) };
  }

  /** The chunks of the chat; where the prompt is too long and may be cut, of a shorter one. */
  async *#chunks(): AsyncGenerator<ChatChunk> {
    const abort = (): void => this.#chat?.controller.abort();
    this.controller.signal.addEventListener('abort', abort);
    try {
      for (;;) {
        this.#chat ??= await this.#ask();
        if (this.controller.signal.aborted) abort();
        try {
          yield* this.#chat;
          return;
        } catch (error) {
          const isFull = error instanceof WebggufError && error.code === 'context_full';
          const isBegun = this.writer.response.output.length > 0;
          const fewer = isFull && !isBegun && this.checked.isTruncated ? fewerTurns(this.#messages) : undefined;
          if (!fewer) throw error;
          this.#messages = fewer;
          this.#chat = undefined;
        }
      }
    } finally {
      this.controller.signal.removeEventListener('abort', abort);
    }
  }

  #ask(): Promise<ChatStream> {
    const request = { ...this.checked.chat, messages: this.#messages };
    const streamed = { ...request, stream: true, stream_options: { include_usage: true } } as const;
    return this.#answering.completions.create(streamed, this.#options);
  }
}

function responseOf({ name, origin }: Answering, { echo, chat, isBackground }: CheckedResponse): ResponseSnapshot {
  return {
    id: newResponse(),
    object: 'response',
    created_at: Math.floor(Date.now() / 1e3),
    completed_at: null,
    status: isBackground ? 'queued' : 'in_progress',
    error: null,
    incomplete_details: null,
    model: chat.model ?? name,
    output: [],
    background: isBackground,
    access_programs: null,
    ...echo,
    webgguf: origin,
  };
}
