/**
 * One answer of a realtime session: what the model writes becomes items, and its text a voice.
 */
import type { ChatChunk, ChatRequest, CompletionUsage, FinishReason } from '../../openai/types.js';
import { failureOf } from './refusal.js';
import { OutputCall, OutputMessage, type Outlet } from './output.js';
import type { RealtimeResponse, RealtimeSession } from './types.js';

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

  /** Gives the whole answer, and never rejects. */
  async run(messages: () => Promise<ChatRequest['messages']>): Promise<void> {
    const { response, signal } = this;
    let details: Details;
    try {
      const request = requestOf(this.#session, await messages());
      signal.throwIfAborted();
      const chunks = await this.#outlet.model.chat.completions.create(request, { signal });
      for await (const chunk of chunks) await this.#read(chunk);
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

  async #read({ choices: [choice], usage }: ChatChunk): Promise<void> {
    this.#usage = usage ?? this.#usage;
    if (!choice) return;
    this.signal.throwIfAborted();
    this.#finish = choice.finish_reason ?? this.#finish;
    const { content, tool_calls: calls = [] } = choice.delta;
    if (content) {
      const { output_modalities: kinds } = this.#session;
      const message = this.#message ?? new OutputMessage(this, this.#outlet, kinds[0] === 'audio', this.#session.audio);
      this.#message = message;
      await message.write(content);
    }
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

function requestOf(session: RealtimeSession, messages: ChatRequest['messages']): ChatRequest & { stream: true } {
  const { tools, tool_choice: choice, max_output_tokens: most } = session;
  const asTools = tools.map(({ name = '', description, parameters }) => ({
    type: 'function' as const,
    function: { name, ...(description !== undefined && { description }), parameters: parameters as object },
  }));
  const named = typeof choice === 'string' ? choice : { type: choice.type, function: { name: choice.name } };
  return {
    ...{ messages, stream: true, stream_options: { include_usage: true } },
    ...(most !== 'inf' && { max_completion_tokens: most }),
    ...(asTools.length > 0 && { tools: asTools, tool_choice: named }),
  };
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
