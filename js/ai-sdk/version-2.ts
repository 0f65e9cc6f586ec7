/**
 * `LanguageModelV2`, which `ai` 5 takes: the answers of version 4 in older shapes.
 */
import { knowItself, throughProxies } from '../proxies.js';
import type { LanguageModel } from './language-model.js';
import type {
  CallOptions,
  GenerateResultV2,
  StreamPart,
  StreamPartV2,
  TokenUsage,
  TokenUsageV2,
  Warning,
  WarningV2,
  WebggufLanguageModel,
} from './types.js';

/** @internal */
export class LanguageModelV2 implements WebggufLanguageModel<'v2'> {
  readonly specificationVersion = 'v2';
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls = {};
  readonly #model: LanguageModel;

  constructor(model: LanguageModel) {
    knowItself(this);
    this.provider = model.provider;
    this.modelId = model.modelId;
    this.#model = model;
  }

  async doGenerate(options: CallOptions): Promise<GenerateResultV2> {
    const { finishReason, usage, warnings, ...rest } = await this.#model.doGenerate(options);
    return { ...rest, finishReason: finishReason.unified, usage: usageOf(usage), warnings: warnings.map(warningOf) };
  }

  async doStream(options: CallOptions): Promise<{ stream: ReadableStream<StreamPartV2> }> {
    const { stream } = await this.#model.doStream(options);
    const older = new TransformStream<StreamPart, StreamPartV2>({
      transform: (part, controller) => controller.enqueue(partOf(part)),
    });
    return { stream: stream.pipeThrough(older) };
  }
}
throughProxies(LanguageModelV2);

function partOf(part: StreamPart): StreamPartV2 {
  if (part.type === 'stream-start') return { ...part, warnings: part.warnings.map(warningOf) };
  if (part.type !== 'finish') return part;
  return { ...part, finishReason: part.finishReason.unified, usage: usageOf(part.usage) };
}

function usageOf({ inputTokens: input, outputTokens: output }: TokenUsage): TokenUsageV2 {
  const isCounted = input.total !== undefined && output.total !== undefined;
  return {
    inputTokens: input.total,
    outputTokens: output.total,
    totalTokens: isCounted ? (input.total as number) + (output.total as number) : undefined,
    reasoningTokens: output.reasoning,
    cachedInputTokens: input.cacheRead,
  };
}

/** @internal */
export function warningOf({ feature, details }: Warning): WarningV2 {
  return { type: 'other', message: details ? `${feature}: ${details}` : feature };
}
