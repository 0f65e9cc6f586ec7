/**
 * The shapes of OpenAI's chat completions and embeddings, as far as they are taken here, and what is added to them. No
 * code here.
 */
import type { ErrorCode } from '../errors.js';
import type { OpenAiSamplingOptions } from '../sampling.js';
import type { Message, TextPart, Tool, ToolCall } from '../types.js';

/**
 * A request of `chat.completions.create`, with the options of the sampler under their names in the OpenAI API.
 *
 * `temperature` is 0 to 2 and 1 by default; `top_p: 0` keeps the likeliest token alone; `min_p` is 0.05 by default, or
 * 0 where `top_p` or `top_k` is given. `seed: -1` is another each time; of `n` answers each has a seed one higher than
 * the one before.
 */
export interface ChatRequest extends OpenAiSamplingOptions {
  /** The conversation. */
  messages: readonly ChatMessage[];
  /** Comes back in the result; the model is the one that was loaded. A fallback has a name of its own. */
  model?: string | undefined;
  /** Default false. */
  stream?: boolean | null | undefined;
  stream_options?: { include_usage?: boolean | undefined } | null | undefined;
  /** Most tokens of the answer, thoughts included. Default: until the context is full. */
  max_completion_tokens?: number | null | undefined;
  /** The same by its old name. */
  max_tokens?: number | null | undefined;
  /** Strings that end the answer. */
  stop?: string | readonly string[] | null | undefined;
  /** How many answers, 1 to 128, one after the other. Default 1. */
  n?: number | null | undefined;
  logprobs?: boolean | null | undefined;
  top_logprobs?: number | null | undefined;
  logit_bias?: Readonly<Record<string, number>> | null | undefined;
  /** Functions; `custom` tools of OpenAI's API are refused. */
  tools?: readonly (Tool | CustomTool)[] | null | undefined;
  tool_choice?: ToolChoice | null | undefined;
  parallel_tool_calls?: boolean | null | undefined;
  response_format?: ResponseFormat | null | undefined;
  /** `none` switches thinking off where the template can; the rest reach the template. */
  reasoning_effort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | null | undefined;
  /** What much of the answer may be like: where it is, several tokens are written at a time. */
  prediction?: { type: 'content'; content: string | readonly TextPart[] } | null | undefined;
  /** A grammar in llama.cpp's notation. */
  grammar?: string | null | undefined;
  /** Further variables of the chat template. */
  chat_template_kwargs?: Readonly<Record<string, unknown>> | null | undefined;
  /** Adds `timings` to the result. */
  timings?: boolean | null | undefined;
  /** Taken and without effect here. */
  cache_prompt?: boolean | null | undefined;
  user?: string | null | undefined;
  store?: boolean | null | undefined;
  metadata?: object | null | undefined;
  service_tier?: string | null | undefined;
  prompt_cache_key?: string | null | undefined;
  prompt_cache_retention?: string | null | undefined;
  safety_identifier?: string | null | undefined;
  verbosity?: 'low' | 'medium' | 'high' | null | undefined;
  /** Text is what there is. */
  modalities?: readonly 'text'[] | null | undefined;
}

/**
 * A message; `ChatCompletionMessageParam` of the `openai` package is assignable to it. A model here refuses parts that
 * are not text; a server that answers in its place may take them.
 */
export interface ChatMessage extends Omit<Message, 'content' | 'tool_calls'> {
  content?: string | readonly ContentPart[] | null | undefined;
  tool_calls?: readonly (ToolCall | CustomToolCall)[] | undefined;
  /** Of the assistant: why it did not answer. The chat template gets it, like every field. */
  refusal?: string | null | undefined;
}

/** A part of a message in OpenAI's API. */
export type ContentPart =
  | TextPart
  | { type: 'refusal'; refusal: string }
  | { type: 'image_url'; image_url: object }
  | { type: 'input_audio'; input_audio: object }
  | { type: 'file'; file: object };

/** A tool of OpenAI's API whose input is free text. */
export interface CustomTool {
  type: 'custom';
  custom: { name: string };
}

/** A call of a {@link CustomTool}. */
export interface CustomToolCall {
  id: string;
  type: 'custom';
  custom: { name: string; input: string };
}

/** A tool by its name. */
export interface NamedTool {
  type: 'function';
  function: { name: string };
}

/**
 * Whether tools are called. `required`: at least one; an object names it. `allowed_tools`: as `mode` says, and these
 * alone of all that the model is told of. Default `auto`.
 */
export type ToolChoice =
  | 'none'
  | 'auto'
  | 'required'
  | NamedTool
  | { type: 'allowed_tools'; allowed_tools: { mode: 'auto' | 'required'; tools: readonly NamedTool[] } };

/** What the answer must be. */
export type ResponseFormat =
  | { type: 'text' }
  | { type: 'json_object' }
  | {
      type: 'json_schema';
      json_schema: { name?: string; schema?: object; strict?: boolean | null; description?: string };
    };

/** Counts of tokens. */
export interface CompletionUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details: { cached_tokens: number };
  completion_tokens_details: {
    reasoning_tokens: number;
    accepted_prediction_tokens: number;
    rejected_prediction_tokens: number;
  };
}

/** How fast it was, as llama-server says it. */
export interface CompletionTimings {
  cache_n: number;
  prompt_n: number;
  prompt_ms: number;
  prompt_per_second: number;
  predicted_n: number;
  predicted_ms: number;
  predicted_per_second: number;
}

/** A token and how likely it was. */
export interface TokenLogprob {
  token: string;
  logprob: number;
  bytes: number[];
}

/** The tokens of an answer. */
export interface Logprobs {
  content: (TokenLogprob & { top_logprobs: TokenLogprob[] })[];
  refusal: null;
}

/** Why an answer ended; `abort`: `model.stop()` or `model.free()` cut it, and its last call may not be whole. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'abort';

/** Where an answer was written, and why not here. */
export interface Origin {
  backend: 'webgpu' | 'cpu' | 'server';
  /** Of a server: why the model could not answer. */
  reason?: { code: ErrorCode; message: string };
}

interface Common {
  id: string;
  /** Seconds since 1970. */
  created: number;
  model: string;
  system_fingerprint: string;
  /** Not OpenAI's. */
  webgguf: Origin;
  /** Not OpenAI's. */
  timings?: CompletionTimings;
}

/** The answer of the assistant. */
export interface AssistantMessage {
  role: 'assistant';
  content: string | null;
  refusal: null;
  /** What the model thought before it answered. Not OpenAI's; llama-server and vLLM have it. */
  reasoning_content?: string;
  tool_calls?: ToolCall[];
}

/** What `chat.completions.create` gives. */
export interface ChatCompletion extends Common {
  object: 'chat.completion';
  choices: { index: number; message: AssistantMessage; finish_reason: FinishReason; logprobs: Logprobs | null }[];
  usage: CompletionUsage;
}

/** What is new in a message. */
export interface ChunkDelta {
  role?: 'assistant';
  content?: string | null;
  reasoning_content?: string;
  tool_calls?: {
    index: number;
    id?: string;
    type?: 'function';
    function: { name?: string; arguments?: string };
  }[];
}

/** A part of a streamed answer. */
export interface ChatChunk extends Common {
  object: 'chat.completion.chunk';
  choices: { index: number; delta: ChunkDelta; finish_reason: FinishReason | null; logprobs: Logprobs | null }[];
  usage?: CompletionUsage | null;
}

/** A request of `embeddings.create`. */
export interface EmbeddingRequest {
  input: string | readonly string[] | readonly number[] | readonly (readonly number[])[];
  model?: string | undefined;
  /** `base64`: the bytes of 32-bit floats, little-endian. Default `float`. */
  encoding_format?: 'float' | 'base64' | null | undefined;
  dimensions?: number | null | undefined;
  user?: string | null | undefined;
}

/** What `embeddings.create` gives; `Vector` is `string` where the request asked for `base64`. */
export interface EmbeddingResponse<Vector extends number[] | string = number[]> {
  object: 'list';
  data: { object: 'embedding'; index: number; embedding: Vector }[];
  model: string;
  usage: { prompt_tokens: number; total_tokens: number };
}

/** What may be given beside a request. */
export interface RequestOptions {
  /** Ends the request: the call, or the loop over a streamed answer, throws the signal's reason. */
  signal?: AbortSignal | null | undefined;
}
