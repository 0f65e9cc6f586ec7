/**
 * One answer of a realtime session: what the model writes becomes items, and its text a voice.
 */
import type { WebggufError } from '../../errors.js';
import type { ChatChunk, CompletionUsage, FinishReason } from '../../openai/types.js';
import { OutputCall, OutputMessage, type Outlet } from './output.js';
import { failureOf } from './refusal.js';
import type { RealtimeResponse, RealtimeSession } from './types.js';
import type { Written } from './writer.js';

type Details = NonNullable<RealtimeResponse['status_details']>;

/** @internal */
export class ResponseRun {
  readonly response: RealtimeResponse;
  readonly #outlet: Outlet;
  readonly #session: RealtimeSession;
  readonly #controller = new AbortController();
  #reason: 'turn_detected' | 'client_cancelled' | undefined;
  #message: OutputMessage | undefined;
  #call: OutputCall | undefined;
  #callAt = -1;
  #finish: FinishReason | null = null;
  #usage: CompletionUsage | undefined;

  /** `session` is the session as the response has it. */
  constructor(response: RealtimeResponse, session: RealtimeSession, outlet: Outlet) {
    this.response = response;
    this.#session = session;
    this.#outlet = outlet;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  cancel(reason: 'turn_detected' | 'client_cancelled'): void {
    this.#reason ??= reason;
    this.#controller.abort();
  }

  /** Gives the whole answer, and never rejects. `forget` makes room in a full context, or returns false. */
  async run(write: () => Promise<AsyncIterable<Written>>, forget: () => boolean): Promise<void> {
    const { response, signal } = this;
    let details: Details;
    try {
      await this.#write(write, forget);
      signal.throwIfAborted();
      await this.#close('completed');
      signal.throwIfAborted();
      details = this.#finish === 'length' ? { type: 'incomplete', reason: 'max_output_tokens' } : { type: 'completed' };
    } catch (error) {
      details = signal.aborted
        ? { type: 'cancelled', reason: this.#reason ?? 'client_cancelled' }
        : { type: 'failed', error: failureOf(error) };
      await this.#close('incomplete');
    }
    response.status = details.type;
    response.status_details = details;
    if (this.#usage) response.usage = usageOf(this.#usage);
    this.#outlet.emit({ type: 'response.done', response: { ...response } });
  }

  async #write(write: () => Promise<AsyncIterable<Written>>, forget: () => boolean): Promise<void> {
    try {
      for await (const piece of await write()) {
        this.signal.throwIfAborted();
        if ('samples' in piece) this.#open().hear(piece);
        else if ('text' in piece) await this.#open().write(piece.text);
        else await this.#read(piece);
      }
    } catch (error) {
      const isFull = (error as Partial<WebggufError> | null)?.code === 'context_full';
      if (!isFull || this.response.output.length > 0 || this.signal.aborted || !forget()) throw error;
      await this.#write(write, forget);
    }
  }

  /** The message that is being written. */
  #open(): OutputMessage {
    const { output_modalities: kinds, audio } = this.#session;
    this.#message ??= new OutputMessage(this, this.#outlet, kinds[0] === 'audio', audio);
    return this.#message;
  }

  async #read({ choices: [choice], usage }: ChatChunk): Promise<void> {
    this.#usage = usage ?? this.#usage;
    if (!choice) return;
    this.#finish = choice.finish_reason ?? this.#finish;
    const { content, tool_calls: calls = [] } = choice.delta;
    if (content) await this.#open().write(content);
    for (const { index, id, function: part } of calls) {
      if (index !== this.#callAt) {
        await this.#close('completed');
        this.#callAt = index;
        this.#call = new OutputCall(this, this.#outlet, part.name ?? '', id);
      }
      if (part.arguments) this.#call?.write(part.arguments);
    }
  }

  /** Ends the item that is being written. */
  async #close(status: 'completed' | 'incomplete'): Promise<void> {
    const [message, call] = [this.#message, this.#call];
    // What ends with an error is not ended again.
    [this.#message, this.#call] = [undefined, undefined];
    call?.close(status);
    try {
      await message?.close(status);
    } catch (error) {
      message?.end('incomplete');
      throw error;
    }
  }
}

function usageOf(usage: CompletionUsage): NonNullable<RealtimeResponse['usage']> {
  const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = usage;
  const cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
  return {
    ...{ total_tokens: total, input_tokens: input, output_tokens: output },
    input_token_details: { text_tokens: input, cached_tokens: cached, audio_tokens: 0 },
    output_token_details: { text_tokens: output, audio_tokens: 0 },
  };
}
