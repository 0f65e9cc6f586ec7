/**
 * The shapes of the AI SDK's interface for providers (`@ai-sdk/provider`), as far as they are used here: what is given
 * fits that package's types, which are not needed. Version 3 has the shapes of version 4. No code here.
 */
import type { CompletionUsage } from '../openai/types.js';

/** The interface that an `ai` takes: `ai` 5 v2, `ai` 6 v3, `ai` 7 v4. */
export type SpecificationVersion = 'v2' | 'v3' | 'v4';

/** Options of one provider or another, by its name. */
export type ProviderOptions = Record<string, Record<string, unknown>>;

/** A part of a message that is text. */
export interface TextPart {
  /** `text`. */
  type: 'text';
  /** The text. */
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

/** A part of a message that is a file. Text and JSON, and images and sounds where the model has an encoder of them. */
export interface FilePart {
  /** `file`. */
  type: 'file';
  /** What is in it. */
  data: FileData;
  /** The IANA media type. */
  mediaType: string;
}

/** A call of a tool, in a message of the assistant. */
export interface ToolCallPart {
  /** `tool-call`. */
  type: 'tool-call';
  /** The name that its result answers to. */
  toolCallId: string;
  /** The tool. */
  toolName: string;
  /** The arguments, as a value. */
  input: unknown;
}

/** What a tool gave. */
export type ToolOutput =
  | { type: 'text' | 'error-text'; value: string }
  | { type: 'json' | 'error-json'; value: unknown }
  | { type: 'execution-denied'; reason?: string }
  | { type: 'content'; value: readonly { type: string; text?: string }[] };

/** What a tool gave, in a message of the role `tool`. */
export interface ToolResultPart {
  /** `tool-result`. */
  type: 'tool-result';
  /** The call that it answers. */
  toolCallId: string;
  /** The tool. */
  toolName: string;
  /** What came of it. */
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

/** A tool that the model is told of: a function of the page, or another provider's, which is left out. */
export type ToolDefinition =
  | { type: 'function'; name: string; description?: string; inputSchema: object; strict?: boolean }
  | { type: 'provider' | 'provider-defined'; id: string; name: string; args: Record<string, unknown> };

/** Options of `doGenerate` and `doStream`. */
export interface CallOptions {
  /** The conversation. */
  prompt: readonly PromptMessage[];
  /** Most tokens of the answer. Default: until the context is full. */
  maxOutputTokens?: number | undefined;
  /** As `temperature` of `SamplingOptions`. */
  temperature?: number | undefined;
  /** Strings that end the answer. */
  stopSequences?: string[] | undefined;
  /** As `topP` of `SamplingOptions`. */
  topP?: number | undefined;
  /** As `topK` of `SamplingOptions`. */
  topK?: number | undefined;
  /** As `presencePenalty` of `SamplingOptions`. */
  presencePenalty?: number | undefined;
  /** As `frequencyPenalty` of `SamplingOptions`. */
  frequencyPenalty?: number | undefined;
  /** Text, or JSON, also by a schema. */
  responseFormat?:
    | { type: 'text' }
    | { type: 'json'; schema?: object; name?: string; description?: string }
    | undefined;
  /** As `seed` of `SamplingOptions`. */
  seed?: number | undefined;
  /** Tools that the model may call. */
  tools?: readonly ToolDefinition[] | undefined;
  /** Whether it must call one. */
  toolChoice?: { type: 'auto' | 'none' | 'required' } | { type: 'tool'; toolName: string } | undefined;
  /** Whether a stream also has the unchanged chunks of `chat.completions`. */
  includeRawChunks?: boolean | undefined;
  /** Ends the call. */
  abortSignal?: AbortSignal | undefined;
  /** Taken and without effect: nothing is sent. */
  headers?: Record<string, string | undefined> | undefined;
  /** How much the model thinks; `none` switches that off where the template can. */
  reasoning?: string | undefined;
  /** `webgguf`: further fields of a request of `chat.completions.create`. */
  providerOptions?: ProviderOptions | undefined;
}

/** An option that the call could not follow. */
export type Warning =
  | { type: 'unsupported'; feature: string; details?: string }
  | { type: 'compatibility'; feature: string; details?: string };

/** Counts of tokens; `undefined` where there is none. */
export interface TokenUsage {
  /** Tokens of the prompt: all, those in the KV cache, and those that were not. */
  inputTokens: {
    total: number | undefined;
    noCache: number | undefined;
    cacheRead: number | undefined;
    cacheWrite: number | undefined;
  };
  /** Tokens of the answer: all, of its text, and of its thoughts. */
  outputTokens: { total: number | undefined; text: number | undefined; reasoning: number | undefined };
  /** As `chat.completions` says it, rows of images and sounds among it. */
  raw?: Pick<CompletionUsage, keyof CompletionUsage>; // as a type, which the SDK takes for JSON
}

/** Why an answer ended. */
export interface FinishReason {
  /** In the words of the AI SDK. */
  unified: 'stop' | 'length' | 'tool-calls' | 'error' | 'other';
  /** As `chat.completions` says it. */
  raw: string | undefined;
}

/** What an answer has. */
export type Content =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  | { type: 'tool-call'; toolCallId: string; toolName: string; input: string };

/** What else is known of an answer. */
export interface ResponseMetadata {
  /** The id in `chat.completions`. */
  id?: string;
  /** When it began. */
  timestamp?: Date;
  /** The model. */
  modelId?: string;
}

/** A part of a streamed answer. */
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

/** A whole answer. */
export interface GenerateResult {
  /** Thoughts, text and calls of tools. */
  content: Content[];
  /** Why it ended. */
  finishReason: FinishReason;
  /** Counts of tokens. */
  usage: TokenUsage;
  /** Options that it could not follow. */
  warnings: Warning[];
  /** What else is known of it. */
  response: ResponseMetadata;
}

/** The token counts of version 2. */
export interface TokenUsageV2 {
  /** Tokens of the prompt. */
  inputTokens: number | undefined;
  /** Tokens of the answer. */
  outputTokens: number | undefined;
  /** Both together. */
  totalTokens: number | undefined;
  /** Tokens of the thoughts. */
  reasoningTokens?: number | undefined;
  /** Tokens of the prompt that were in the KV cache already. */
  cachedInputTokens?: number | undefined;
}

/** An option that a call of version 2 could not follow. */
export interface WarningV2 {
  /** Always `other`. */
  type: 'other';
  /** What was not followed. */
  message: string;
}

/** A part of a streamed answer of version 2. */
export type StreamPartV2 =
  | Exclude<StreamPart, { type: 'stream-start' | 'finish' }>
  | { type: 'stream-start'; warnings: WarningV2[] }
  | { type: 'finish'; finishReason: FinishReason['unified']; usage: TokenUsageV2 };

/** A whole answer of version 2. */
export interface GenerateResultV2 {
  /** Thoughts, text and calls of tools. */
  content: Content[];
  /** Why it ended. */
  finishReason: FinishReason['unified'];
  /** Counts of tokens. */
  usage: TokenUsageV2;
  /** Options that it could not follow. */
  warnings: WarningV2[];
  /** What else is known of it. */
  response: ResponseMetadata;
}

/** What every model says of itself. */
export interface ModelName<V extends SpecificationVersion> {
  /** The version of the interface. */
  readonly specificationVersion: V;
  /** `webgguf.` and what the model does, such as `webgguf.chat`. */
  readonly provider: string;
  /** The name of the model. */
  readonly modelId: string;
}

/** `LanguageModelV4`, or the interface of another version. */
export interface WebggufLanguageModel<V extends SpecificationVersion = 'v4'> extends ModelName<V> {
  /** Addresses of files that the model reads by itself: none. */
  readonly supportedUrls: Record<string, RegExp[]>;
  /** Answers, and gives the whole. */
  doGenerate(options: CallOptions): Promise<V extends 'v2' ? GenerateResultV2 : GenerateResult>;
  /** Answers, and gives the parts as they are written. */
  doStream(options: CallOptions): Promise<{ stream: ReadableStream<V extends 'v2' ? StreamPartV2 : StreamPart> }>;
}

/** Options of every call. */
interface CallSettings {
  /** Ends the call. */
  abortSignal?: AbortSignal | undefined;
  /** `webgguf`: further options of the call. */
  providerOptions?: ProviderOptions | undefined;
  /** Taken and without effect: nothing is sent. */
  headers?: Record<string, string | undefined> | undefined;
}

/** `EmbeddingModelV4`, or the interface of another version. */
export interface WebggufEmbeddingModel<V extends SpecificationVersion = 'v4'> extends ModelName<V> {
  /** Most texts of a call; `undefined`: any number. */
  readonly maxEmbeddingsPerCall: number | undefined;
  /** Whether calls may be made at the same time. */
  readonly supportsParallelCalls: boolean;
  /** Makes a vector of each text. */
  doEmbed(
    options: CallSettings & { values: string[] },
  ): Promise<{ embeddings: number[][]; usage: { tokens: number }; warnings: Warning[] }>;
}

/** Options of `doRerank`. `providerOptions.webgguf` may have `truncate`, see `WasmModel.rank`. */
export interface RerankCall extends CallSettings {
  /** What to put in order: texts, or objects, which are read as JSON. */
  documents: { type: 'text'; values: string[] } | { type: 'object'; values: readonly unknown[] };
  /** What they are to be about. */
  query: string;
  /** Number of the best documents to return. Default: all. */
  topN?: number | undefined;
}

/** `RerankingModelV4` or `RerankingModelV3`: version 2 has none. */
export interface WebggufRerankingModel<V extends SpecificationVersion = 'v4'> extends ModelName<V> {
  /** The best documents first; a larger score is better. */
  doRerank(options: RerankCall): Promise<{ ranking: { index: number; relevanceScore: number }[] }>;
}

/** How a text is to be spoken. `providerOptions.webgguf` may have further options of `WasmModel.speak`. */
interface SpeechSettings extends CallSettings {
  /** The name of one of `model.voices`; a warning where the model has none, as Soprano has one voice. */
  voice?: string | undefined;
  /** A warning: they follow none. */
  instructions?: string | undefined;
  /** 0.25 to 4; another number is a warning. */
  speed?: number | undefined;
  /** Other than `en` and `auto` it is a warning. */
  language?: string | undefined;
}

/** Options of `doGenerate` of a model that speaks. */
export interface SpeechCall extends SpeechSettings {
  /** The text. */
  text: string;
  /** `wav` (default), or `pcm`: samples of 16 bits at 24 kHz. Another one is a warning, and `wav` is taken. */
  outputFormat?: string | undefined;
}

/** Options of `doStream` of a model that speaks. */
export interface SpeechStreamCall extends SpeechSettings {
  /** The text, as it is written. */
  text: ReadableStream<{ type: 'text'; text: string }>;
  /** `audio/pcm`, with the samples each second, by default as many as the model makes. */
  outputFormat?: { type: string; rate?: number } | undefined;
  /** Taken and without effect: there are none. */
  includeRawChunks?: boolean | undefined;
}

/** A part of speech that is streamed. */
export type SpeechStreamPart =
  | { type: 'stream-start'; warnings: Warning[] }
  | { type: 'response-metadata'; timestamp?: Date; modelId?: string }
  | { type: 'audio'; audio: Uint8Array; audioFormat: { type: string; rate?: number } }
  | { type: 'finish'; usage?: { inputCharacters?: number } }
  | { type: 'error'; error: unknown };

/** `SpeechModelV4`, or the interface of another version. */
export interface WebggufSpeechModel<V extends SpecificationVersion = 'v4'> extends ModelName<V> {
  /** Speaks a text, and gives the whole sound. */
  doGenerate(options: SpeechCall): Promise<{
    audio: Uint8Array;
    warnings: (V extends 'v2' ? WarningV2 : Warning)[];
    response: { timestamp: Date; modelId: string };
  }>;
  /** Speaks a text while it is written, for `experimental_streamSpeech` of `ai` 7. */
  doStream(
    options: SpeechStreamCall,
  ): Promise<{ stream: ReadableStream<SpeechStreamPart>; response: { modelId: string } }>;
}

/** A text of a question: JSON is read as it is written. */
export type DecisionText = string | object | null;

/** A question of `DecisionModelV4`; `box`, a place in an image, is refused. */
export type DecisionQuestion =
  | {
      readonly type: 'choice';
      readonly instructions?: DecisionText;
      readonly criteria: Readonly<Record<string, DecisionText>>;
    }
  | { readonly type: 'score'; readonly instructions?: DecisionText; readonly criteria: readonly DecisionText[] }
  | {
      readonly type: 'boolean';
      readonly instructions?: DecisionText;
      readonly criteria?: { readonly true?: DecisionText; readonly false?: DecisionText } | null;
    }
  | { readonly type: 'box'; readonly instructions?: DecisionText };

/** Options of `doDecide`. `providerOptions.webgguf` may have further options of `decide` of `webgguf/decide`. */
export interface DecisionCall extends CallSettings {
  /** What the questions are about. */
  state: readonly (TextPart | FilePart | { type: 'json'; value: unknown })[];
  /** The questions by name. */
  questions: Readonly<Record<string, DecisionQuestion>>;
  /** Taken and without effect: nothing is written. */
  maxOutputTokens?: number | undefined;
  /** Other than `none` it is a warning: the model does not think. */
  reasoning?: string | undefined;
}

/** An answer of `DecisionModelV4`. */
export type DecisionAnswer =
  | { type: 'choice'; choice: string; probabilities: Record<string, number> }
  | { type: 'score'; score: number; probabilities: Record<string, number> }
  | { type: 'boolean'; probability: number };

/** `DecisionModelV4`, for `experimental_decide` of `ai` 7. */
export interface WebggufDecisionModel extends ModelName<'v4'> {
  /** `choice`, `score` and `boolean`. */
  readonly supportedQuestionTypes: readonly DecisionQuestion['type'][];
  /** Answers all questions. */
  doDecide(options: DecisionCall): Promise<{
    answers: Record<string, DecisionAnswer>;
    usage: { inputTokens: number; outputTokens: number };
    warnings: Warning[];
    response: { modelId: string };
  }>;
}
