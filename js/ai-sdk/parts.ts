/**
 * Chunks of OpenAI's face as parts of the AI SDK's stream, and parts as a whole answer.
 */
import type { ChatChunk, CompletionUsage, FinishReason as ChatReason } from '../openai/types.js';
import type { Content, FinishReason, GenerateResult, StreamPart, TokenUsage, Warning } from './types.js';

const REASONS: Record<ChatReason, FinishReason['unified']> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool-calls',
  abort: 'other',
};

const NOTHING: TokenUsage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

type ToolDelta = NonNullable<ChatChunk['choices'][number]['delta']['tool_calls']>[number];

/** Reads chunks one after the other. @internal */
export class PartReader {
  #open: { kind: 'text' | 'reasoning'; id: string } | undefined;
  #call: { index: number; toolCallId: string; toolName: string; input: string } | undefined;
  #blocks = 0;
  #reason: ChatReason | undefined;
  #usage: TokenUsage = NOTHING;

  /** The parts that a chunk adds. */
  *read({ choices, usage }: ChatChunk): Generator<StreamPart> {
    if (usage) this.#usage = usageOf(usage);
    for (const { delta, finish_reason: reason } of choices) {
      if (delta.reasoning_content) yield* this.#say('reasoning', delta.reasoning_content);
      if (delta.content) yield* this.#say('text', delta.content);
      for (const call of delta.tool_calls ?? []) yield* this.#callPart(call);
      this.#reason = reason ?? this.#reason;
    }
  }

  /** The last parts. */
  *end(): Generator<StreamPart> {
    yield* this.#closeText();
    yield* this.#closeCall();
    const unified = this.#reason ? REASONS[this.#reason] : 'other';
    yield { type: 'finish', finishReason: { unified, raw: this.#reason }, usage: this.#usage };
  }

  *#say(kind: 'text' | 'reasoning', delta: string): Generator<StreamPart> {
    yield* this.#closeCall();
    if (this.#open?.kind !== kind) {
      yield* this.#closeText();
      this.#open = { kind, id: `${kind}-${(this.#blocks += 1)}` };
      yield { type: `${kind}-start`, id: this.#open.id };
    }
    yield { type: `${kind}-delta`, id: this.#open.id, delta };
  }

  *#callPart({ index, id, function: called }: ToolDelta): Generator<StreamPart> {
    yield* this.#closeText();
    if (this.#call?.index !== index) {
      yield* this.#closeCall();
      this.#call = { index, toolCallId: id ?? `call_${index}`, toolName: called.name ?? '', input: '' };
      yield { type: 'tool-input-start', id: this.#call.toolCallId, toolName: this.#call.toolName };
    }
    if (!called.arguments) return;
    this.#call.input += called.arguments;
    yield { type: 'tool-input-delta', id: this.#call.toolCallId, delta: called.arguments };
  }

  *#closeText(): Generator<StreamPart> {
    if (this.#open) yield { type: `${this.#open.kind}-end`, id: this.#open.id };
    this.#open = undefined;
  }

  /** A call that was cut off, by the limit of tokens or by an abort, is none. */
  *#closeCall(): Generator<StreamPart> {
    if (!this.#call) return;
    const { toolCallId, toolName, input } = this.#call;
    this.#call = undefined;
    yield { type: 'tool-input-end', id: toolCallId };
    const isCut = this.#reason === 'length' || this.#reason === 'abort';
    if (isCut && !isJson(input)) return;
    yield { type: 'tool-call', toolCallId, toolName, input };
  }
}

/** The end of a stream that failed. @internal */
export function failed(error: unknown): StreamPart[] {
  const finishReason: FinishReason = { unified: 'error', raw: undefined };
  return [
    { type: 'error', error },
    { type: 'finish', finishReason, usage: NOTHING },
  ];
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function usageOf(usage: CompletionUsage): TokenUsage {
  const { prompt_tokens: input, completion_tokens: output } = usage;
  const { cached_tokens: cached } = usage.prompt_tokens_details;
  const { reasoning_tokens: reasoning } = usage.completion_tokens_details;
  return {
    inputTokens: { total: input, noCache: input - cached, cacheRead: cached, cacheWrite: undefined },
    outputTokens: { total: output, text: output - reasoning, reasoning },
    raw: usage,
  };
}

/** The whole answer. Throws what the stream has as an error. @internal */
export async function wholeOf(parts: AsyncIterable<StreamPart>, warnings: Warning[]): Promise<GenerateResult> {
  const content: Content[] = [];
  const whole: GenerateResult = {
    content,
    finishReason: { unified: 'other', raw: undefined },
    usage: NOTHING,
    warnings,
    response: {},
  };
  for await (const part of parts) {
    const last = content.at(-1);
    if (part.type === 'text-start') content.push({ type: 'text', text: '' });
    if (part.type === 'reasoning-start') content.push({ type: 'reasoning', text: '' });
    if ((part.type === 'text-delta' || part.type === 'reasoning-delta') && last && 'text' in last)
      last.text += part.delta;
    if (part.type === 'tool-call') content.push(part);
    if (part.type === 'error') throw part.error;
    if (part.type === 'response-metadata') {
      const { type: _, ...response } = part;
      whole.response = response;
    }
    if (part.type === 'finish') Object.assign(whole, { finishReason: part.finishReason, usage: part.usage });
  }
  return whole;
}
