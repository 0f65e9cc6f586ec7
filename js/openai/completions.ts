/**
 * `chat.completions.create` over a model that is loaded.
 */
import type { ChatModel } from './chat-model.js';
import { signalOption } from '../check.js';
import type { ChosenToken, GenerationResult, TokenProbability } from '../types/generate.js';
import { steers } from '../model/generation.js';
import { type Prepared, prepare } from './prepare.js';
import { Prefix } from './prefix.js';
import type { Delta, Reader } from './reader.js';
import { Stops } from './stops.js';
import { ChatStream } from './stream.js';
import type {
  AssistantMessage,
  ChatChunk,
  ChatCompletion,
  ChatRequest,
  ChunkDelta,
  CompletionTimings,
  CompletionUsage,
  FinishReason,
  Logprobs,
  RequestOptions,
  TokenLogprob,
} from './types.js';

/** The answers to requests. */
export interface Completions {
  /**
   * An answer to a conversation, in the shapes of OpenAI's API.
   *
   * @param request see {@link ChatRequest}; with `stream: true` the answer comes in parts
   * @param options `signal` ends the answer
   * @throws {WebggufError} `invalid_argument` names the field that is wrong; the errors of `generate`
   * @throws the reason of `options.signal` when that fires; of a streamed answer, the loop throws it
   */
  create(request: ChatRequest & { stream: true }, options?: RequestOptions): Promise<ChatStream>;
  /** The whole answer. */
  create(
    request: ChatRequest & { stream?: false | null | undefined },
    options?: RequestOptions,
  ): Promise<ChatCompletion>;
  /** Either, as `stream` says. */
  create(request: ChatRequest, options?: RequestOptions): Promise<ChatCompletion | ChatStream>;
}

/** @internal */
export class LocalCompletions implements Completions {
  readonly #model: ChatModel;

  constructor(model: ChatModel) {
    this.#model = model;
  }

  create(request: ChatRequest & { stream: true }, options?: RequestOptions): Promise<ChatStream>;
  create(
    request: ChatRequest & { stream?: false | null | undefined },
    options?: RequestOptions,
  ): Promise<ChatCompletion>;
  create(request: ChatRequest, options?: RequestOptions): Promise<ChatCompletion | ChatStream>;
  async create(body: ChatRequest, options: RequestOptions = {}): Promise<ChatCompletion | ChatStream> {
    const signal = signalOption('chat.completions.create', { signal: options?.signal ?? undefined });
    signal?.throwIfAborted();
    const { options: own, ...asked } = await prepare(this.#model, body);
    const prepared = { ...asked, options: { ...own, onProgress: options?.onProgress } };
    const controller = new AbortController();
    const chunks = chunksOf(this.#model, prepared, controller, signal);
    return prepared.request.stream ? new ChatStream(chunks, controller) : completionOf(chunks);
  }
}

/** Aborts what `controller` stands for when the caller's signal fires. What it returns ends that. @internal */
export function followed(signal: AbortSignal | undefined, controller: AbortController): () => void {
  const abort = (): void => controller.abort(signal?.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort, { once: true });
  return () => signal?.removeEventListener('abort', abort);
}

/**
 * All answers, at once where the model runs requests together, and a last chunk with the counts. Once `controller`
 * aborts, they end without throwing; with the caller's signal, they throw its reason.
 */
async function* chunksOf(
  model: ChatModel,
  prepared: Prepared,
  controller: AbortController,
  caller: AbortSignal | undefined,
): AsyncGenerator<ChatChunk> {
  const { signal } = controller;
  // Here, where the first chunk is asked for: a request that was not begun is never ended.
  const done = followed(caller, controller);
  const { request } = prepared;
  const { n = 1, stream = false, stream_options: { include_usage: wantsUsage = false } = {} } = request;
  const frame = frameOf(model, request);
  const usage = emptyUsage();
  let timings: CompletionTimings | undefined;
  try {
    const answers = Array.from({ length: n }, (_, index) => new Answer(model, prepared, index, signal));
    for (const group of (model.info.parallel ?? 1) > 1 ? [answers] : answers.map((answer) => [answer])) {
      for await (const choice of merged(group.map((answer) => answer.choices()))) {
        yield { ...frame, choices: [choice], ...(stream && wantsUsage && { usage: null }) };
      }
      for (const answer of group) {
        if (caller?.aborted && signal.reason === caller.reason) throw caller.reason;
        if (!answer.result || signal.aborted) return;
        count(usage, answer, answer === answers[0]);
        timings ??= timingsOf(answer.result);
      }
    }
  } finally {
    done();
  }
  if (!stream || wantsUsage) yield { ...frame, choices: [], usage, ...(request.timings && timings && { timings }) };
}

/** What all of these give, as it comes. @internal */
export async function* merged<T>(sources: AsyncGenerator<T>[]): AsyncGenerator<T> {
  const next = (source: AsyncGenerator<T>) => {
    const step = source.next().then((result) => ({ source, result }));
    step.catch(() => {}); // others may fail, too
    return step;
  };
  const steps = new Map(sources.map((source) => [source, next(source)]));
  try {
    while (steps.size > 0) {
      const { source, result } = await Promise.race([...steps.values()]);
      steps.delete(source);
      if (result.done) continue;
      yield result.value;
      steps.set(source, next(source));
    }
  } finally {
    await Promise.allSettled(sources.map((source) => source.return(undefined)));
  }
}

type Choice = ChatChunk['choices'][number];

const UNREAD = {
  code: 'tools',
  message: 'the model began a call of a tool that is not valid in its format: it stays in the content',
} as const;

/** One answer. */
class Answer {
  readonly #model: ChatModel;
  readonly #prepared: Prepared;
  readonly #index: number;
  readonly #signal: AbortSignal;
  readonly #reader: Reader;
  readonly #stops: Stops;
  readonly #prefix: Prefix;
  #calls = 0;
  #logprobs: Logprobs['content'] | undefined;
  reasoningTokens = 0;
  result: GenerationResult | undefined;

  constructor(model: ChatModel, prepared: Prepared, index: number, signal: AbortSignal) {
    this.#model = model;
    this.#prepared = prepared;
    this.#index = index;
    this.#signal = signal;
    this.#reader = prepared.reader();
    this.#stops = new Stops(prepared.stop);
    this.#prefix = new Prefix(prepared.prefix);
  }

  async *choices(): AsyncGenerator<Choice> {
    const { prompt, options, request, begun } = this.#prepared;
    const { seed } = request;
    const chosen = { ...options, ...(seed !== undefined && { seed: seed + this.#index }) };
    const budget = this.#prepared.budget();
    if (budget) steers.set(chosen, budget.after);
    // The public types know nothing of a text with images.
    const generation = this.#model.generate(prompt as string, chosen);
    const stop = (): void => void generation.stop();
    this.#signal.addEventListener('abort', stop, { once: true });
    if (this.#signal.aborted) stop();
    try {
      yield this.#choice({ role: 'assistant', content: '' });
      if (begun) yield* this.#deltas(this.#reader.push(begun));
      for await (const piece of generation) {
        const { isReasoning } = this.#reader;
        const deltas = this.#reader.push(piece.text);
        if (isReasoning || this.#reader.isReasoning) this.reasoningTokens += piece.ids.length;
        this.#note(piece.tokens);
        yield* this.#deltas(deltas);
        if (this.#isEnough()) break;
      }
      this.result = await generation;
      if (this.#signal.aborted) return;
      const cut = this.result.finishReason === 'length' || this.result.finishReason === 'abort';
      yield* this.#deltas(this.#isEnough() ? [] : this.#reader.end(cut), true);
      if (this.#reader.unreadCalls > 0) this.#model.warn?.(UNREAD);
      yield this.#choice({}, this.#reason(this.result));
    } finally {
      this.#signal.removeEventListener('abort', stop);
      await generation.stop();
    }
  }

  /** One call is all that is wanted, or the text came to a string that ends it. */
  #isEnough(): boolean {
    const isCalled = this.#prepared.request.parallel_tool_calls === false && this.#reader.completeCalls > 0;
    return isCalled || this.#stops.isOver;
  }

  #reason({ finishReason }: GenerationResult): FinishReason {
    if (finishReason === 'length' && !this.#stops.isOver) return 'length';
    if (finishReason === 'abort' && !this.#isEnough()) return 'abort';
    return this.#calls > 0 ? 'tool_calls' : 'stop';
  }

  *#deltas(deltas: readonly Delta[], isLast = false): Generator<Choice> {
    const onlyOne = this.#prepared.request.parallel_tool_calls === false;
    for (const delta of this.#stops.pass(deltas.flatMap(this.#behindPrefix), isLast)) {
      if ('index' in delta && delta.index > 0 && onlyOne) continue;
      yield this.#choice(this.#part(delta));
    }
  }

  readonly #behindPrefix = (delta: Delta): Delta | [] => {
    if (!('content' in delta)) return delta;
    const content = this.#prefix.pass(delta.content);
    return content === '' ? [] : { content };
  };

  #part(delta: Delta): ChunkDelta {
    if ('content' in delta) return delta;
    if ('reasoning' in delta) return { reasoning_content: delta.reasoning };
    const { index } = delta;
    if ('arguments' in delta) return { tool_calls: [{ index, function: { arguments: delta.arguments } }] };
    this.#calls = index + 1;
    const called = { name: delta.name, arguments: '' };
    return { tool_calls: [{ index, id: randomId('call_', 24), type: 'function', function: called }] };
  }

  #note(tokens: readonly ChosenToken[] | undefined): void {
    if (!tokens) return;
    this.#logprobs ??= [];
    this.#logprobs.push(...tokens.map((token) => ({ ...logprobOf(token), top_logprobs: token.top.map(logprobOf) })));
  }

  #choice(delta: ChunkDelta, reason: FinishReason | null = null): Choice {
    const content = this.#logprobs;
    this.#logprobs = undefined;
    const logprobs = content ? { content, refusal: null } : null;
    const found = reason === 'stop' ? this.#stops.found : undefined;
    return { index: this.#index, delta, finish_reason: reason, ...(found && { stop_reason: found }), logprobs };
  }
}

function logprobOf({ text, logprob, bytes }: TokenProbability): TokenLogprob {
  return { token: text, logprob, bytes: [...bytes] };
}

/** @internal */
export function emptyUsage(): CompletionUsage {
  return {
    prompt_tokens: 0,
    completion_tokens: 0,
    total_tokens: 0,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0, image_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0, accepted_prediction_tokens: 0, rejected_prediction_tokens: 0 },
  };
}

/** What an answer took. @internal */
export interface Spent {
  readonly result: GenerationResult | undefined;
  readonly reasoningTokens: number;
}

/** A prompt counts once, however many answers it gets: with the first. @internal */
export function count(usage: CompletionUsage, { result, reasoningTokens }: Spent, isFirst: boolean): void {
  const { promptTokens = 0, completionTokens = 0, promptTokensDetails } = result?.usage ?? {};
  const { acceptedDraftTokens = 0, rejectedDraftTokens = 0 } = result?.usage ?? {};
  if (isFirst) {
    usage.prompt_tokens += promptTokens;
    const { cachedTokens = 0, audioTokens = 0, imageTokens = 0 } = promptTokensDetails ?? {};
    usage.prompt_tokens_details.cached_tokens += cachedTokens;
    usage.prompt_tokens_details.audio_tokens += audioTokens;
    usage.prompt_tokens_details.image_tokens += imageTokens;
  }
  usage.completion_tokens += completionTokens;
  const details = usage.completion_tokens_details;
  details.reasoning_tokens += reasoningTokens;
  details.accepted_prediction_tokens += acceptedDraftTokens;
  details.rejected_prediction_tokens += rejectedDraftTokens;
  usage.total_tokens = usage.prompt_tokens + usage.completion_tokens;
}

function timingsOf({ usage, timings }: GenerationResult): CompletionTimings {
  const { tokensPerSecond: rate, promptTokensPerSecond: readRate } = timings;
  const read = usage.promptTokens - usage.cachedTokens;
  return {
    cache_n: usage.cachedTokens,
    prompt_n: read,
    prompt_ms: readRate > 0 ? (read / readRate) * 1e3 : 0,
    prompt_per_second: readRate,
    predicted_n: usage.completionTokens,
    predicted_ms: rate > 0 ? ((usage.completionTokens - 1) / rate) * 1e3 : 0,
    predicted_per_second: rate,
  };
}

function frameOf({ info }: ChatModel, { model }: { model?: string | undefined }): Omit<ChatChunk, 'choices'> {
  return {
    id: randomId('chatcmpl-', 24),
    object: 'chat.completion.chunk',
    created: Math.floor(Date.now() / 1e3),
    model: model ?? nameOf(info),
    system_fingerprint: `webgguf-${info.backend}`,
    webgguf: { backend: info.backend },
  };
}

/** What a model is called. @internal */
export function nameOf({ name, architecture }: ChatModel['info']): string {
  return name ?? architecture;
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** @internal */
export function randomId(prefix: string, length: number): string {
  const letter = (): string => LETTERS[Math.floor(Math.random() * LETTERS.length)] as string;
  return prefix + Array.from({ length }, letter).join('');
}

/** The whole answer from its chunks. @internal */
export async function completionOf(chunks: AsyncIterable<ChatChunk>): Promise<ChatCompletion> {
  const choices: ChatCompletion['choices'] = [];
  let last: ChatChunk | undefined;
  for await (const chunk of chunks) {
    last = chunk;
    for (const part of chunk.choices) {
      const message: AssistantMessage = { role: 'assistant', content: null, refusal: null };
      const choice = (choices[part.index] ??= { index: part.index, message, finish_reason: 'stop', logprobs: null });
      merge(choice.message, part.delta);
      if (part.logprobs) {
        choice.logprobs ??= { content: [], refusal: null };
        choice.logprobs.content.push(...part.logprobs.content);
      }
      choice.finish_reason = part.finish_reason ?? choice.finish_reason;
      if (part.stop_reason) choice.stop_reason = part.stop_reason;
    }
  }
  for (const { message } of choices) if (!message.tool_calls && !message.reasoning_content) message.content ??= '';
  const { usage, choices: _, ...frame } = last as ChatChunk;
  return { ...frame, object: 'chat.completion', choices, usage: usage ?? emptyUsage() };
}

function merge(
  message: AssistantMessage,
  { content, reasoning_content: thought, tool_calls: calls = [] }: ChunkDelta,
): void {
  if (content) message.content = (message.content ?? '') + content;
  if (thought) message.reasoning_content = (message.reasoning_content ?? '') + thought;
  for (const { index, id = '', function: called } of calls) {
    message.tool_calls ??= [];
    const call = (message.tool_calls[index] ??= { id, type: 'function', function: { name: '', arguments: '' } });
    call.function.name += called.name ?? '';
    call.function.arguments += called.arguments ?? '';
  }
}
