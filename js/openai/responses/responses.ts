/**
 * `responses` over chat completions: of a model here, or of a server in its place.
 */
import { show, signalOption } from '../../check.js';
import { invalidArgument } from '../../errors.js';
import { NotFound } from '../http.js';
import { AnswerStream } from '../stream.js';
import type { ChatMessage, RequestOptions } from '../types.js';
import { type CheckedResponse, checkResponse, inOwnWords } from './check.js';
import type { ResponseEvent, ResponseSnapshot } from './event-types.js';
import { type Item, messagesOf } from './items.js';
import { type Kept, KeptResponses } from './kept.js';
import { inputItem, responseOf } from './names.js';
import { type Answering, Run, type Watcher } from './run.js';
import type { ModelResponse, ResponseItemList, ResponseItemQuery, ResponseRequest, ResponseTokens } from './types.js';

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
  /** A response that is being written or is kept. */
  retrieve(id: string): Promise<ModelResponse>;
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

/** @internal */
export class ModelResponses implements Responses {
  readonly #answering: () => Promise<Answering>;
  readonly #kept: KeptResponses;
  readonly #running = new Map<string, Run>();

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
    const run = new Run(await this.#answering(), checked, messages, { signal, onProgress: options?.onProgress });
    await run.prepare();
    const events = run.events(this.#watcher(items));
    if (checked.isStreamed) return new ResponseEvents(events, run.controller);
    for await (const _ of events);
    return withText(run.writer.response);
  }

  async retrieve(id: string): Promise<ModelResponse> {
    return withText(this.#runningOf(id)?.snapshot ?? (await this.#keptOf('retrieve', id)).response);
  }

  async delete(id: string): Promise<{ id: string; object: 'response'; deleted: true }> {
    if (!(await this.#kept.delete(String(id)))) throw notKept('delete', id);
    return { id, object: 'response', deleted: true };
  }

  async cancel(id: string): Promise<ModelResponse> {
    const run = this.#running.get(id);
    if (!run) {
      const { status } = (await this.#keptOf('cancel', id)).response;
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

function notKept(call: string, id: unknown): NotFound {
  return new NotFound(`responses.${call}: response ${show(id)} is not kept`);
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
