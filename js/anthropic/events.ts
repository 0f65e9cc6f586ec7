/**
 * Chunks of chat completions as the events of Anthropic's stream, and a message from those.
 */
import type { ChatChunk, CompletionUsage, FinishReason } from '../openai/types.js';
import type { Asked } from './request.js';
import type { BlockDelta, ContentBlock, MessageEvent, MessageResponse, MessageUsage, StopReason } from './types.js';

/** Stands where Anthropic signs a thought; nothing checks it. */
const SIGNATURE = 'webgguf';

/** The events of a streamed answer; `promptTokens` is asked once the prompt is read. @internal */
export async function* eventsOf(
  chunks: AsyncIterable<ChatChunk>,
  { display, chat }: Asked,
  promptTokens: () => number,
): AsyncGenerator<MessageEvent> {
  const blocks = new Blocks(display);
  const most = chat.max_completion_tokens ?? Number.POSITIVE_INFINITY;
  let isBegun = false;
  let end: { reason: FinishReason; found: string | undefined } = { reason: 'stop', found: undefined };
  let usage: CompletionUsage | undefined;
  for await (const chunk of chunks) {
    const [choice] = chunk.choices;
    const isRole = choice?.delta.role !== undefined && !choice.delta.content;
    // The prompt is read when something is there that the model wrote.
    if (!isBegun && isRole) continue;
    if (!isBegun) yield { type: 'message_start', message: messageOf(chunk, promptTokens()) };
    isBegun = true;
    if (choice) yield* blocks.take(choice.delta);
    if (choice?.finish_reason) end = { reason: choice.finish_reason, found: choice.stop_reason };
    usage = chunk.usage ?? usage;
  }
  if (!isBegun) return;
  yield* blocks.close();
  const counts = usageOf(usage);
  const stopReason = reasonOf(end, counts.output_tokens < most);
  const delta = { stop_reason: stopReason, stop_sequence: end.found ?? null, stop_details: null, container: null };
  yield { type: 'message_delta', delta, usage: counts };
  yield { type: 'message_stop' };
}

/** The blocks of an answer, one after the other. */
class Blocks {
  readonly #display: Asked['display'];
  #index = -1;
  /** What the block is, while one is open: its type, and of a call its number. */
  #open: string | undefined;

  constructor(display: Asked['display']) {
    this.#display = display;
  }

  *take({
    content,
    reasoning_content: thought,
    tool_calls: calls = [],
  }: ChatChunk['choices'][number]['delta']): Generator<MessageEvent> {
    if (thought && this.#display !== 'none') {
      yield* this.#begin('thinking', { type: 'thinking', thinking: '', signature: '' });
      if (this.#display === 'shown') yield this.#delta({ type: 'thinking_delta', thinking: thought });
    }
    if (content) {
      yield* this.#begin('text', { type: 'text', text: '', citations: null });
      yield this.#delta({ type: 'text_delta', text: content });
    }
    for (const { index, id = '', function: called } of calls) {
      const block = { id: id.replace(/^call_/, 'toolu_'), name: called.name ?? '', input: {} };
      yield* this.#begin(`tool_use ${index}`, { type: 'tool_use', ...block, caller: { type: 'direct' } });
      if (called.arguments) yield this.#delta({ type: 'input_json_delta', partial_json: called.arguments });
    }
  }

  *#begin(what: string, block: ContentBlock): Generator<MessageEvent> {
    if (this.#open === what) return;
    yield* this.close();
    this.#open = what;
    this.#index += 1;
    yield { type: 'content_block_start', index: this.#index, content_block: block };
  }

  *close(): Generator<MessageEvent> {
    if (this.#open === undefined) return;
    if (this.#open === 'thinking') yield this.#delta({ type: 'signature_delta', signature: SIGNATURE });
    yield { type: 'content_block_stop', index: this.#index };
    this.#open = undefined;
  }

  #delta(delta: BlockDelta): MessageEvent {
    return { type: 'content_block_delta', index: this.#index, delta };
  }
}

function messageOf({ id, model, webgguf }: ChatChunk, promptTokens: number): MessageResponse {
  return {
    id: id.replace(/^chatcmpl-/, 'msg_'),
    type: 'message',
    role: 'assistant',
    content: [],
    model,
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    container: null,
    diagnostics: null,
    usage: { ...usageOf(undefined), input_tokens: promptTokens },
    webgguf,
  };
}

/** Anthropic counts the tokens of the prompt that were cached apart from the others. */
function usageOf(usage: CompletionUsage | undefined): MessageUsage {
  const { prompt_tokens: prompt = 0, completion_tokens: written = 0 } = usage ?? {};
  const cached = usage?.prompt_tokens_details?.cached_tokens ?? 0;
  return {
    input_tokens: prompt - cached,
    output_tokens: written,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: 0,
    output_tokens_details: { thinking_tokens: usage?.completion_tokens_details?.reasoning_tokens ?? 0 },
    cache_creation: null,
    inference_geo: null,
    server_tool_use: null,
    service_tier: null,
    speed: null,
  };
}

function reasonOf(end: { reason: FinishReason; found: string | undefined }, isBelowLimit: boolean): StopReason {
  if (end.found !== undefined) return 'stop_sequence';
  if (end.reason === 'length') return isBelowLimit ? 'model_context_window_exceeded' : 'max_tokens';
  if (end.reason === 'tool_calls') return 'tool_use';
  return end.reason === 'abort' ? 'pause_turn' : 'end_turn';
}

/** The whole answer from its events. @internal */
export async function messageFrom(events: AsyncIterable<MessageEvent>): Promise<MessageResponse> {
  let message: MessageResponse | undefined;
  let json = '';
  for await (const event of events) {
    if (event.type === 'message_start') message = event.message;
    if (!message || event.type === 'message_start') continue;
    if (event.type === 'content_block_start') {
      message.content.push({ ...event.content_block });
      json = '';
    } else if (event.type === 'content_block_delta') {
      if (event.delta.type === 'input_json_delta') json += event.delta.partial_json;
      merge(message.content[event.index] as ContentBlock, event.delta);
    } else if (event.type === 'content_block_stop') {
      const block = message.content[event.index] as ContentBlock;
      if (block.type === 'tool_use') block.input = parsed(json);
    } else if (event.type === 'message_delta') Object.assign(message, event.delta, { usage: event.usage });
  }
  return message as MessageResponse;
}

function merge(block: ContentBlock, delta: BlockDelta): void {
  if (block.type === 'text' && delta.type === 'text_delta') block.text += delta.text;
  if (block.type !== 'thinking') return;
  if (delta.type === 'thinking_delta') block.thinking += delta.thinking;
  if (delta.type === 'signature_delta') block.signature = delta.signature;
}

/** Arguments of a call; none where the answer was cut within them. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json || '{}');
  } catch {
    return {};
  }
}
