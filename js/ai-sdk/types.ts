/**
 * The shapes of the AI SDK's interface for providers (`@ai-sdk/provider`), as far as they are used here: what is given
 * fits that package's types, which are not needed. Version 3 has the shapes of version 4. No code here.
 */

/** The interface that an `ai` takes: `ai` 5 v2, `ai` 6 v3, `ai` 7 v4. */
export type SpecificationVersion = 'v2' | 'v3' | 'v4';

/** Options of one provider or another, by its name. */
export type ProviderOptions = Record<string, Record<string, unknown>>;

export interface TextPart {
  type: 'text';
  text: string;
}

/** What a file part holds; up to version 3, bytes, base64 or a URL. */
export type FileData =
  | Uint8Array
  | string
  | URL
  | { type: 'data'; data: Uint8Array | string }
  | { type: 'url'; url: URL }
  | { type: 'text'; text: string }
  | { type: 'reference'; reference: unknown };

export interface FilePart {
  type: 'file';
  data: FileData;
  mediaType: string;
}

export interface ToolCallPart {
  type: 'tool-call';
  toolCallId: string;
  toolName: string;
  input: unknown;
}

/** What a tool gave. */
export type ToolOutput =
  | { type: 'text' | 'error-text'; value: string }
  | { type: 'json' | 'error-json'; value: unknown }
  | { type: 'execution-denied'; reason?: string }
  | { type: 'content'; value: readonly { type: string; text?: string }[] };

export interface ToolResultPart {
  type: 'tool-result';
  toolCallId: string;
  toolName: string;
  output: ToolOutput;
}

/** A message of a prompt. */
export type PromptMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: readonly (TextPart | FilePart)[] }
  | {
      role: 'assistant';
      content: readonly (TextPart | ToolCallPart | { type: 'reasoning'; text: string } | { type: string })[];
    }
  | { role: 'tool'; content: readonly (ToolResultPart | { type: string })[] };

export type ToolDefinition =
  | { type: 'function'; name: string; description?: string; inputSchema: object; strict?: boolean }
  | { type: 'provider' | 'provider-defined'; id: string; name: string; args: Record<string, unknown> };

/** Options of `doGenerate` and `doStream`. */
export interface CallOptions {
  prompt: readonly PromptMessage[];
  maxOutputTokens?: number | undefined;
  temperature?: number | undefined;
  stopSequences?: string[] | undefined;
  topP?: number | undefined;
  topK?: number | undefined;
  presencePenalty?: number | undefined;
  frequencyPenalty?: number | undefined;
  responseFormat?:
    | { type: 'text' }
    | { type: 'json'; schema?: object; name?: string; description?: string }
    | undefined;
  seed?: number | undefined;
  tools?: readonly ToolDefinition[] | undefined;
  toolChoice?: { type: 'auto' | 'none' | 'required' } | { type: 'tool'; toolName: string } | undefined;
  includeRawChunks?: boolean | undefined;
  abortSignal?: AbortSignal | undefined;
  headers?: Record<string, string | undefined> | undefined;
  reasoning?: string | undefined;
  /** `webgguf`: further fields of a request of `chat.completions.create`. */
  providerOptions?: ProviderOptions | undefined;
}

export type Warning =
  | { type: 'unsupported'; feature: string; details?: string }
  | { type: 'compatibility'; feature: string; details?: string };

export interface TokenUsage {
  inputTokens: {
    total: number | undefined;
    noCache: number | undefined;
    cacheRead: number | undefined;
    cacheWrite: number | undefined;
  };
  outputTokens: { total: number | undefined; text: number | undefined; reasoning: number | undefined };
}

export interface FinishReason {
  unified: 'stop' | 'length' | 'tool-calls' | 'error' | 'other';
  raw: string | undefined;
}

/** What an answer has. */
export type Content =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  | { type: 'tool-call'; toolCallId: string; toolName: string; input: string };

export interface ResponseMetadata {
  id?: string;
  timestamp?: Date;
  modelId?: string;
}

export type StreamPart =
  | { type: 'stream-start'; warnings: Warning[] }
  | ({ type: 'response-metadata' } & ResponseMetadata)
  | { type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end' | 'tool-input-end'; id: string }
  | { type: 'text-delta' | 'reasoning-delta' | 'tool-input-delta'; id: string; delta: string }
  | { type: 'tool-input-start'; id: string; toolName: string }
  | { type: 'tool-call'; toolCallId: string; toolName: string; input: string }
  | { type: 'finish'; finishReason: FinishReason; usage: TokenUsage }
  | { type: 'raw'; rawValue: unknown }
  | { type: 'error'; error: unknown };

export interface GenerateResult {
  content: Content[];
  finishReason: FinishReason;
  usage: TokenUsage;
  warnings: Warning[];
  response: ResponseMetadata;
}

/** The token counts of version 2. */
export interface TokenUsageV2 {
  inputTokens: number | undefined;
  outputTokens: number | undefined;
  totalTokens: number | undefined;
  reasoningTokens?: number | undefined;
  cachedInputTokens?: number | undefined;
}

export type WarningV2 = { type: 'other'; message: string };

export type StreamPartV2 =
  | Exclude<StreamPart, { type: 'stream-start' | 'finish' }>
  | { type: 'stream-start'; warnings: WarningV2[] }
  | { type: 'finish'; finishReason: FinishReason['unified']; usage: TokenUsageV2 };

export interface GenerateResultV2 {
  content: Content[];
  finishReason: FinishReason['unified'];
  usage: TokenUsageV2;
  warnings: WarningV2[];
  response: ResponseMetadata;
}

/** What every model says of itself. */
export interface ModelName<V extends SpecificationVersion> {
  readonly specificationVersion: V;
  readonly provider: string;
  readonly modelId: string;
}

/** `LanguageModelV4`, or that of another version. */
export interface WebggufLanguageModel<V extends SpecificationVersion = 'v4'> extends ModelName<V> {
  readonly supportedUrls: Record<string, RegExp[]>;
  doGenerate(options: CallOptions): Promise<V extends 'v2' ? GenerateResultV2 : GenerateResult>;
  doStream(options: CallOptions): Promise<{ stream: ReadableStream<V extends 'v2' ? StreamPartV2 : StreamPart> }>;
}

/** Options of every call. */
interface CallSettings {
  abortSignal?: AbortSignal | undefined;
  providerOptions?: ProviderOptions | undefined;
  headers?: Record<string, string | undefined> | undefined;
}

/** `EmbeddingModelV4`, or that of another version. */
export interface WebggufEmbeddingModel<V extends SpecificationVersion = 'v4'> extends ModelName<V> {
  readonly maxEmbeddingsPerCall: number | undefined;
  readonly supportsParallelCalls: boolean;
  doEmbed(
    options: CallSettings & { values: string[] },
  ): Promise<{ embeddings: number[][]; usage: { tokens: number }; warnings: Warning[] }>;
}

/** Options of `doRerank`. `providerOptions.webgguf` may have `truncate`, see `WasmModel.rank`. */
export interface RerankCall extends CallSettings {
  documents: { type: 'text'; values: string[] } | { type: 'object'; values: readonly unknown[] };
  query: string;
  topN?: number | undefined;
}

/** `RerankingModelV4` or `RerankingModelV3`: version 2 has none. */
export interface WebggufRerankingModel<V extends SpecificationVersion = 'v4'> extends ModelName<V> {
  /** The best documents first; a larger score is better. */
  doRerank(options: RerankCall): Promise<{ ranking: { index: number; relevanceScore: number }[] }>;
}
