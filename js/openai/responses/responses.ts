/**
 * `responses` over chat completions: of a model here, or of a server in its place.
 */
import { show, signalOption } from '../../check.js';
import { invalidArgument } from '../../errors.js';
import { NotFound } from '../http.js';
import { AnswerStream } from '../stream.js';
import type { ChatMessage, RequestOptions } from '../types.js';
import { Background } from './background.js';
import { type CheckedResponse, checkResponse, inOwnWords } from './check.js';
import type { ResponseEvent, ResponseSnapshot } from './event-types.js';
import { type Item, messagesOf } from './items.js';
import { type Kept, KeptResponses } from './kept.js';
import { inputItem, responseOf } from './names.js';
import { type Answering, Run, type Watcher } from './run.js';
import type {
  ModelResponse,
  ResponseItemList,
  ResponseItemQuery,
  ResponseQuery,
  ResponseRequest,
  ResponseTokens,
} from './types.js';

/** Answers as OpenAI's Responses API has them. */
export interface Responses {
  /**
   * An answer to a conversation.
   *
   * @param request see {@link ResponseRequest}; with `stream: true` the answer comes in events
   * @param options `signal` ends the answer
   * @throws {WebggufError} `invalid_argument` names the field that is wrong; the errors of `generate`
   * @throws the reason of `options.signal` when that fires; of a streamed answer, the loop throws it
   */
  create(request: ResponseRequest & { stream: true }, options?: RequestOptions): Promise<ResponseEvents>;
  /** The whole answer. */
  create(
    request: ResponseRequest & { stream?: false | null | undefined },
    options?: RequestOptions,
  ): Promise<ModelResponse>;
  /** Either, as `stream` says. */
  create(request: ResponseRequest, options?: RequestOptions): Promise<ModelResponse | ResponseEvents>;
  /** The events of a response that is or was written in the background, from its first or a later one on. */
  retrieve(id: string, query: ResponseQuery & { stream: true }): Promise<ResponseEvents>;
  /** A response that is being written or is kept. */
  retrieve(id: string, query?: ResponseQuery & { stream?: false | null | undefined }): Promise<ModelResponse>;
  /** Forgets a response. */
  delete(id: string): Promise<{ id: string; object: 'response'; deleted: true }>;
  /** Ends an answer that is being written; what there is of it is kept. */
  cancel(id: string): Promise<ModelResponse>;
  /** What the model read. */
  readonly inputItems: { list(id: string, query?: ResponseItemQuery): Promise<ResponseItemList> };
  /** How many tokens the prompt of a request has; a server in the place of the model does not say it. */
  readonly inputTokens: { count(request: ResponseRequest): Promise<ResponseTokens> };
}

/**
 * The events of a response.
 *
 * @example
 * for await (const event of await ai.responses.create({ input, stream: true })) {
 *   if (event.type === 'response.output_text.delta') out.textContent += event.delta;
 * }
 */
export class ResponseEvents extends AnswerStream<ResponseEvent> {}

interface Asked {
  readonly checked: CheckedResponse;
  /** What is new. */
  readonly items: Item[];
  readonly messages: ChatMessage[];
}

/** Prefixes of the names of items of the input. */
const KINDS: Readonly<Record<string, string>> = {
  message: 'msg',
  function_call: 'fc',
  function_call_output: 'fco',
  reasoning: 'rs',
};

/** Events are kept of as many responses that were written in the background. */
const MOST_IN_BACKGROUND = 16;

/** @internal */
export class ModelResponses implements Responses {
  readonly #answering: () => Promise<Answering>;
  readonly #kept: KeptResponses;
  readonly #running = new Map<string, Run>();
  readonly #background = new Map<string, Background>();

  /** `bytes`: of what is kept. */
  constructor(answering: () => Promise<Answering>, bytes?: number) {
    this.#answering = answering;
    this.#kept = new KeptResponses(bytes);
  }

  create(request: ResponseRequest & { stream: true }, options?: RequestOptions): Promise<ResponseEvents>;
  create(
    request: ResponseRequest & { stream?: false | null | undefined },
    options?: RequestOptions,
  ): Promise<ModelResponse>;
  create(request: ResponseRequest, options?: RequestOptions): Promise<ModelResponse | ResponseEvents>;
  async create(body: ResponseRequest, options: RequestOptions = {}): Promise<ModelResponse | ResponseEvents> {
    const signal = signalOption('responses.create', { signal: options?.signal ?? undefined });
    signal?.throwIfAborted();
    const { checked, items, messages } = await this.#asked(body);
    // What is written in the background does not end with the call.
    const further = checked.isBackground ? {} : { signal };
    const run = new Run(await this.#answering(), checked, messages, { ...further, onProgress: options?.onProgress });
    await run.prepare();
    if (checked.isBackground) return this.#inBackground(run, items, signal);
    const events = run.events(this.#watcher(items));
    if (checked.isStreamed) return new ResponseEvents(events, run.controller);
    for await (const _ of events);
    return withText(run.writer.response);
  }

  #inBackground(run: Run, items: readonly Item[], signal: AbortSignal | undefined): ModelResponse | ResponseEvents {
    const response = withText(run.snapshot);
    const background = new Background(run, this.#watcher(items));
    this.#background.set(run.id, background);
    for (const old of this.#background.keys()) {
      if (this.#background.size <= MOST_IN_BACKGROUND) break;
      if (!this.#running.has(old)) this.#background.delete(old);
    }
    return run.checked.isStreamed ? eventsOf(background, -1, signal) : response;
  }

  retrieve(id: string, query: ResponseQuery & { stream: true }): Promise<ResponseEvents>;
  retrieve(id: string, query?: ResponseQuery & { stream?: false | null | undefined }): Promise<ModelResponse>;
  async retrieve(id: string, query?: ResponseQuery): Promise<ModelResponse | ResponseEvents> {
    const { stream, starting_after: after = -1 } = query ?? {};
    if (stream) {
      const background = this.#background.get(id);
      if (!background) throw notKept('retrieve', id, "'s events are not kept");
      if (!Number.isInteger(after)) {
        throw invalidArgument(`responses.retrieve: 'starting_after' must be an integer, found ${show(after)}`);
      }
      return eventsOf(background, Math.max(after, -1));
    }
    return withText(this.#runningOf(id)?.snapshot ?? (await this.#keptOf('retrieve', id)).response);
  }

  async delete(id: string): Promise<{ id: string; object: 'response'; deleted: true }> {
    this.#background.delete(id);
    if (!(await this.#kept.delete(String(id)))) throw notKept('delete', id);
    return { id, object: 'response', deleted: true };
  }

  async cancel(id: string): Promise<ModelResponse> {
    const run = this.#running.get(id);
    if (!run) {
      const { response } = await this.#keptOf('cancel', id);
      const { status, background } = response;
      if (background && status === 'cancelled') return withText(response);
      throw invalidArgument(`responses.cancel: response ${show(id)} is not being written, its status is '${status}'`);
    }
    run.cancel();
    return withText(run.snapshot);
  }

  readonly inputItems = {
    list: async (id: string, query: ResponseItemQuery = {}): Promise<ResponseItemList> => {
      const { after, limit = 20, order = 'desc' } = query ?? {};
      if (!Number.isInteger(limit) || limit < 1 || limit > 100) {
        const found = show(limit);
        throw invalidArgument(`responses.inputItems.list: 'limit' must be an integer from 1 to 100, found ${found}`);
      }
      if (order !== 'asc' && order !== 'desc') {
        throw invalidArgument(`responses.inputItems.list: 'order' must be 'asc' or 'desc', found ${show(order)}`);
      }
      const { response, input } = await this.#keptOf('inputItems.list', id);
      const previous = response.previous_response_id;
      const before = previous === null ? [] : await this.#conversation('inputItems.list', previous);
      const items = [...before, ...input] as ResponseItemList['data'];
      return pageOf(order === 'desc' ? items.reverse() : items, after, limit);
    },
  };

  readonly inputTokens = {
    count: async (body: ResponseRequest): Promise<ResponseTokens> => {
      const { checked, messages } = await this.#asked(body);
      const { count } = await this.#answering();
      if (!count) throw invalidArgument('responses.inputTokens.count: a server has the model, which does not count');
      const tokens = await count({ ...checked.chat, messages }).catch((error: unknown) => {
        throw inOwnWords(error);
      });
      return { object: 'response.input_tokens', input_tokens: tokens };
    },
  };

  /** A request, and the conversation that it asks the model to go on with. */
  async #asked(body: ResponseRequest): Promise<Asked> {
    const checked = checkResponse(body);
    const before = checked.previous === undefined ? [] : await this.#conversation('create', checked.previous);
    const items = await this.#resolved(checked.items);
    return { checked, items, messages: messagesOf([...before, ...items], checked.instructions) };
  }

  #watcher(items: readonly Item[]): Watcher {
    return {
      begun: (run) => void this.#running.set(run.id, run),
      over: (run) => void this.#running.delete(run.id),
      done: (run) => this.#keep(run, items),
    };
  }

  async #keep(run: Run, items: readonly Item[]): Promise<void> {
    const { id, checked, writer } = run;
    if (checked.place === 'nowhere') return;
    const named = items.map((item, index) => ({
      ...item,
      id: item.id ?? inputItem(KINDS[item.type] ?? 'item', id, index),
    }));
    const error = await this.#kept.put({ response: withText(writer.response), input: named }, checked.place);
    if (error !== undefined) run.warn(error);
  }

  #runningOf(id: string): Run | undefined {
    const run = this.#running.get(id);
    return run?.checked.place === 'nowhere' ? undefined : run;
  }

  async #keptOf(call: string, id: string): Promise<Kept> {
    const kept = await this.#kept.get(String(id));
    if (!kept) throw notKept(call, id);
    return kept;
  }

  /** All that was said until the end of a response, in its order. */
  async #conversation(call: string, last: string): Promise<Item[]> {
    const turns: Item[][] = [];
    const seen = new Set<string>();
    for (let id: string | null = last; id !== null; ) {
      const kept: Kept | undefined = seen.has(id) ? undefined : await this.#kept.get(id);
      if (!kept) {
        const which = id === last ? '' : `, which the conversation of ${show(last)} goes on from`;
        throw invalidArgument(`responses.${call}: field 'previous_response_id': ${show(id)} is not kept${which}`);
      }
      seen.add(id);
      turns.push([...kept.input, ...kept.response.output.filter(isWhole)]);
      id = kept.response.previous_response_id;
    }
    this.#kept.use([...seen].reverse());
    return turns.reverse().flat();
  }

  /** The items, with those in the place of references that these refer to. */
  async #resolved(items: readonly Item[]): Promise<Item[]> {
    if (!items.some(({ type }) => type === 'item_reference')) return [...items];
    const known = new Map<string, Item>();
    const read = new Set<string>();
    for (const { type, id } of items) {
      const response = type === 'item_reference' ? responseOf(id as string) : undefined;
      if (response === undefined || read.has(response)) continue;
      read.add(response);
      const { input = [], response: { output = [] } = {} } = (await this.#kept.get(response)) ?? {};
      for (const item of [...input, ...output]) known.set(item.id, item);
    }
    return items.map((item, index) => {
      if (item.type !== 'item_reference') return item;
      const found = known.get(item.id as string);
      if (!found) throw invalidArgument(`responses.create: 'input[${index}]': item ${show(item.id)} is not kept`);
      return found;
    });
  }
}

/** A call that was cut has no arguments that can be read. */
const isWhole = ({ type, status }: ModelResponse['output'][number]): boolean =>
  type !== 'function_call' || status === 'completed';

function notKept(call: string, id: unknown, what = ' is not kept'): NotFound {
  return new NotFound(`responses.${call}: response ${show(id)}${what}`);
}

/** The events with numbers greater than `after`. Leaving the loop does not end the answer. */
function eventsOf(background: Background, after: number, given?: AbortSignal): ResponseEvents {
  const controller = new AbortController();
  const signal = given ? AbortSignal.any([controller.signal, given]) : controller.signal;
  async function* events(): AsyncGenerator<ResponseEvent> {
    yield* background.after(after, signal);
    given?.throwIfAborted();
  }
  return new ResponseEvents(events(), controller);
}

/** A copy with its text. */
function withText(response: ResponseSnapshot): ModelResponse {
  const texts = response.output.flatMap((item) => (item.type === 'message' ? item.content : []));
  return { ...structuredClone(response), output_text: texts.map(({ text }) => text).join('') };
}

function pageOf(items: ResponseItemList['data'], after: string | undefined, limit: number): ResponseItemList {
  const at = after === undefined ? -1 : items.findIndex(({ id }) => id === after);
  if (after !== undefined && at < 0) {
    throw invalidArgument(`responses.inputItems.list: 'after' names ${show(after)}, which is not among the items`);
  }
  const data = items.slice(at + 1, at + 1 + limit);
  const [first_id, last_id] = [data[0]?.id ?? null, data.at(-1)?.id ?? null];
  return { object: 'list', data, first_id, last_id, has_more: at + 1 + limit < items.length };
}
