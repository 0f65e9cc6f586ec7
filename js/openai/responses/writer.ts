/**
 * What a model writes, as a response and as its events.
 */
import type { ChatChunk, ChunkDelta, CompletionUsage, FinishReason, Logprobs } from '../types.js';
import type { ResponseEvent, ResponseSnapshot } from './event-types.js';
import { outputItem } from './names.js';
import type {
  ResponseCall,
  ResponseItemStatus,
  ResponseLogprob,
  ResponseMessage,
  ResponseOutputItem,
  ResponseOutputText,
  ResponseThoughts,
  ResponseUsage,
} from './types.js';

/** Events before they are numbered. */
type Unnumbered = ResponseEvent extends infer Each
  ? Each extends object
    ? Omit<Each, 'sequence_number'>
    : never
  : never;

type Choice = ChatChunk['choices'][number];

/** The last item, while it is written. */
type Open =
  | { readonly item: ResponseMessage; readonly part: ResponseOutputText }
  | { readonly item: ResponseThoughts; readonly part: { text: string } }
  | { readonly item: ResponseCall; readonly index: number };

/** @internal */
export class ResponseWriter {
  readonly response: ResponseSnapshot;
  #sequence = 0;
  #open: Open | undefined;

  constructor(response: ResponseSnapshot) {
    this.response = response;
  }

  *start(): Generator<ResponseEvent> {
    yield this.#event({ type: 'response.created', response: this.#copy() });
    if (this.response.status === 'queued') {
      yield this.#event({ type: 'response.queued', response: this.#copy() });
      this.response.status = 'in_progress';
    }
    yield this.#event({ type: 'response.in_progress', response: this.#copy() });
  }

  *take({ delta, logprobs }: Choice): Generator<ResponseEvent> {
    const { reasoning_content: thought, content, tool_calls: calls } = delta;
    if (thought) yield* this.#think(thought);
    if (content) yield* this.#say(content, logprobs);
    for (const call of calls ?? []) yield* this.#call(call);
  }

  /** The model is done, or was ended. */
  *end(reason: FinishReason, usage: CompletionUsage | null | undefined): Generator<ResponseEvent> {
    const isWhole = reason !== 'length' && reason !== 'abort';
    const { response } = this;
    if (this.#open) yield* this.#close(this.#open, isWhole ? 'completed' : 'incomplete');
    response.completed_at = Math.floor(Date.now() / 1e3);
    if (usage) response.usage = usageOf(usage);
    response.status = reason === 'abort' ? 'cancelled' : isWhole ? 'completed' : 'incomplete';
    if (reason === 'length') response.incomplete_details = { reason: 'max_output_tokens' };
    yield this.#event({ type: isWhole ? 'response.completed' : 'response.incomplete', response: this.#copy() });
  }

  *fail(error: unknown): Generator<ResponseEvent> {
    const message = error instanceof Error ? error.message : String(error);
    Object.assign(this.response, { status: 'failed', error: { code: 'server_error', message } });
    yield this.#event({ type: 'response.failed', response: this.#copy() });
  }

  *#think(text: string): Generator<ResponseEvent> {
    let open = this.#open;
    if (open?.item.type !== 'reasoning') open = yield* this.#beginThoughts();
    const { item, part } = open as Open & { part: { text: string } };
    part.text += text;
    const place = this.#placeOf(item);
    const isSummary = this.response.reasoning.summary !== null;
    yield isSummary
      ? this.#event({ type: 'response.reasoning_summary_text.delta', ...place, summary_index: 0, delta: text })
      : this.#event({ type: 'response.reasoning_text.delta', ...place, content_index: 0, delta: text });
  }

  *#beginThoughts(): Generator<ResponseEvent, Open> {
    const isSummary = this.response.reasoning.summary !== null;
    const item: ResponseThoughts = {
      ...{ type: 'reasoning', id: this.#newId('rs'), summary: [] },
      ...(!isSummary && { content: [] }),
      status: 'in_progress',
    };
    yield* this.#begin(item);
    const place = this.#placeOf(item);
    if (isSummary) {
      const part = { type: 'summary_text', text: '' } as const;
      item.summary.push(part);
      yield this.#event({
        type: 'response.reasoning_summary_part.added',
        ...place,
        summary_index: 0,
        part: { ...part },
      });
      return (this.#open = { item, part });
    }
    const part = { type: 'reasoning_text', text: '' } as const;
    item.content?.push(part);
    yield this.#event({ type: 'response.content_part.added', ...place, content_index: 0, part: { ...part } });
    return (this.#open = { item, part });
  }

  *#say(text: string, logprobs: Logprobs | null): Generator<ResponseEvent> {
    let open = this.#open;
    if (open?.item.type !== 'message') open = yield* this.#beginMessage();
    const { item, part } = open as Open & { part: ResponseOutputText };
    const added = (logprobs?.content ?? []).map(logprobOf);
    part.text += text;
    part.logprobs.push(...added);
    const place = { ...this.#placeOf(item), content_index: 0 };
    yield this.#event({ type: 'response.output_text.delta', ...place, delta: text, logprobs: added });
  }

  *#beginMessage(): Generator<ResponseEvent, Open> {
    const id = this.#newId('msg');
    const item: ResponseMessage = { type: 'message', id, role: 'assistant', status: 'in_progress', content: [] };
    yield* this.#begin(item);
    const part: ResponseOutputText = { type: 'output_text', text: '', annotations: [], logprobs: [] };
    item.content.push(part);
    const place = { ...this.#placeOf(item), content_index: 0 };
    yield this.#event({ type: 'response.content_part.added', ...place, part: structuredClone(part) });
    return (this.#open = { item, part });
  }

  *#call({ index, id, function: called }: NonNullable<ChunkDelta['tool_calls']>[number]): Generator<ResponseEvent> {
    let open = this.#open;
    if (!open || !('index' in open) || open.index !== index) {
      const name = called.name ?? '';
      const item: ResponseCall = {
        ...{ type: 'function_call', id: this.#newId('fc'), call_id: id ?? '', name, arguments: '' },
        status: 'in_progress',
      };
      yield* this.#begin(item);
      open = this.#open = { item, index };
    }
    const { item } = open as Open & { item: ResponseCall };
    if (!called.arguments) return;
    item.arguments += called.arguments;
    const place = this.#placeOf(item);
    yield this.#event({ type: 'response.function_call_arguments.delta', ...place, delta: called.arguments });
  }

  *#begin(item: ResponseOutputItem): Generator<ResponseEvent> {
    if (this.#open) yield* this.#close(this.#open, 'completed');
    this.#open = undefined;
    const index = this.response.output.push(item) - 1;
    yield this.#event({ type: 'response.output_item.added', output_index: index, item: structuredClone(item) });
  }

  *#close(open: Open, status: ResponseItemStatus): Generator<ResponseEvent> {
    const place = this.#placeOf(open.item);
    if (open.item.type === 'function_call') yield this.#callDone(open.item);
    else yield* this.#partDone(open as Exclude<Open, { index: number }>);
    open.item.status = status;
    const item = structuredClone<ResponseOutputItem>(open.item);
    yield this.#event({ type: 'response.output_item.done', output_index: place.output_index, item });
  }

  #callDone(item: ResponseCall): ResponseEvent {
    const { name, arguments: text } = item;
    return this.#event({
      ...{ type: 'response.function_call_arguments.done', ...this.#placeOf(item) },
      ...{ name, arguments: text },
    });
  }

  *#partDone({ item, part }: Exclude<Open, { index: number }>): Generator<ResponseEvent> {
    const place = this.#placeOf(item);
    const { text } = part;
    const ofPart = { ...place, content_index: 0 };
    if (item.type === 'message') {
      const [said] = structuredClone(item.content) as [ResponseOutputText];
      yield this.#event({ type: 'response.output_text.done', ...ofPart, text, logprobs: said.logprobs });
      yield this.#event({ type: 'response.content_part.done', ...ofPart, part: said });
    } else if (item.content) {
      yield this.#event({ type: 'response.reasoning_text.done', ...ofPart, text });
      yield this.#event({ type: 'response.content_part.done', ...ofPart, part: { type: 'reasoning_text', text } });
    } else {
      const ofSummary = { ...place, summary_index: 0 };
      const summary = { type: 'summary_text', text } as const;
      yield this.#event({ type: 'response.reasoning_summary_text.done', ...ofSummary, text });
      yield this.#event({ type: 'response.reasoning_summary_part.done', ...ofSummary, part: summary });
    }
  }

  #placeOf(item: ResponseOutputItem): { item_id: string; output_index: number } {
    return { item_id: item.id, output_index: this.response.output.length - 1 };
  }

  #newId(kind: string): string {
    return outputItem(kind, this.response.id, this.response.output.length);
  }

  #copy(): ResponseSnapshot {
    return structuredClone(this.response);
  }

  #event(event: Unnumbered): ResponseEvent {
    return { ...event, sequence_number: this.#sequence++ } as ResponseEvent;
  }
}

function logprobOf({ token, logprob, bytes, top_logprobs: top }: Logprobs['content'][number]): ResponseLogprob {
  return { token, bytes, logprob, top_logprobs: top.map((each) => ({ ...each })) };
}

function usageOf(usage: CompletionUsage): ResponseUsage {
  return {
    input_tokens: usage.prompt_tokens,
    input_tokens_details: { cached_tokens: usage.prompt_tokens_details?.cached_tokens ?? 0, cache_write_tokens: 0 },
    output_tokens: usage.completion_tokens,
    output_tokens_details: { reasoning_tokens: usage.completion_tokens_details?.reasoning_tokens ?? 0 },
    total_tokens: usage.total_tokens,
  };
}
