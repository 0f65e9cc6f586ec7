/**
 * The shapes of OpenAI's chat completions and embeddings, as far as they are taken here, and what is added to them. No
 * code here.
 */
import type { ErrorCode } from '../errors.js';
import type { OpenAiSamplingOptions } from '../sampling.js';
import type { Message, TextPart, Tool, ToolCall } from '../types/chat.js';
import type { AdapterUse, PromptProgress } from '../types/generate.js';
import type { AudioPart, ImagePart, VideoPart } from '../types/media.js';
import type { EmbedTask } from '../types/read.js';

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
  /** Whether the last chunk of a stream has `usage`. */
  stream_options?: { include_usage?: boolean | undefined } | null | undefined;
  /** Most tokens of the answer, thoughts included. Default: until the context is full. */
  max_completion_tokens?: number | null | undefined;
  /** The same by its old name. */
  max_tokens?: number | null | undefined;
  /** Strings that end the answer. */
  stop?: string | readonly string[] | null | undefined;
  /** How many answers, 1 to 128, one after the other. Default 1. */
  n?: number | null | undefined;
  /** Adds to each answer how likely its tokens were. Default false. */
  logprobs?: boolean | null | undefined;
  /** With `logprobs`: number of the most likely tokens for each place, 0 to 20. */
  top_logprobs?: number | null | undefined;
  /** Added to the logits of tokens, by their ids. */
  logit_bias?: Readonly<Record<string, number>> | null | undefined;
  /** Functions; `custom` tools of OpenAI's API are refused. */
  tools?: readonly (Tool | CustomTool)[] | null | undefined;
  /** Whether tools are called. Default `auto`. */
  tool_choice?: ToolChoice | null | undefined;
  /** Whether one answer may have several calls. Default true. */
  parallel_tool_calls?: boolean | null | undefined;
  /** What the answer must be. Default: text. */
  response_format?: ResponseFormat | null | undefined;
  /** `none` switches thinking off where the template can; the other values reach the template. */
  reasoning_effort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | null | undefined;
  /** Whether the model thinks before it answers, where its template can say so; `reasoning_effort` says more. */
  enable_thinking?: boolean | null | undefined;
  /**
   * Most tokens of thoughts: once they are spent, the thought is closed, and the answer follows. Default: by
   * `reasoning_effort` where the template does not know that (`minimal` 128, `low` 512, `medium` 2048), else none.
   */
  reasoning_budget?: number | null | undefined;
  /** What much of the answer may be like: where it is, several tokens are written at a time. */
  prediction?: { type: 'content'; content: string | readonly TextPart[] } | null | undefined;
  /** Adapters of the model and how much of each, as `generate` takes them. */
  adapters?: readonly AdapterUse[] | null | undefined;
  /** A grammar in llama.cpp's notation. */
  grammar?: string | null | undefined;
  /** Further variables of the chat template. */
  chat_template_kwargs?: Readonly<Record<string, unknown>> | null | undefined;
  /** Adds `timings` to the result. */
  timings?: boolean | null | undefined;
  /** Taken and without effect here. */
  cache_prompt?: boolean | null | undefined;
  /** Taken and without effect here. */
  user?: string | null | undefined;
  /** Taken and without effect here. */
  store?: boolean | null | undefined;
  /** Taken and without effect here. */
  metadata?: object | null | undefined;
  /** Taken and without effect here. */
  service_tier?: string | null | undefined;
  /** Taken and without effect here. */
  prompt_cache_key?: string | null | undefined;
  /** Taken and without effect here. */
  prompt_cache_retention?: string | null | undefined;
  /** Taken and without effect here. */
  safety_identifier?: string | null | undefined;
  /** Taken and without effect here. */
  verbosity?: 'low' | 'medium' | 'high' | null | undefined;
  /** Text is what there is. */
  modalities?: readonly 'text'[] | null | undefined;
}

/**
 * A message; `ChatCompletionMessageParam` of the `openai` package is assignable to it. A model here takes parts with
 * text, refusals (as text), images and sounds, and refuses files; a server that answers in its place may take them.
 */
export interface ChatMessage extends Omit<Message, 'content' | 'tool_calls'> {
  /** The text, in one string or in parts; nothing beside `tool_calls`. */
  content?: string | readonly ContentPart[] | null | undefined;
  /** Calls of tools, in a message of the assistant. */
  tool_calls?: readonly (ToolCall | CustomToolCall)[] | undefined;
  /**
   * In the last message, of the assistant: the answer goes on behind its text, which it does not repeat. Not OpenAI's;
   * the APIs of DeepSeek and Mistral have it.
   */
  prefix?: boolean | null | undefined;
  /** Why the assistant did not answer. The chat template gets it, like every field. */
  refusal?: string | null | undefined;
}

/**
 * A part of a message in OpenAI's API. `detail` of an `image_url` is taken and without effect here: the encoder and the
 * option `maxImageTokens` of `load` say how many tokens an image takes.
 */
export type ContentPart =
  | TextPart
  | ImagePart
  | VideoPart
  | AudioPart
  | { type: 'refusal'; refusal: string }
  | { type: 'image_url'; image_url: object }
  | { type: 'video_url'; video_url: object }
  | { type: 'input_audio'; input_audio: object }
  | { type: 'file'; file: object };

/** A tool of OpenAI's API whose input is free text. */
export interface CustomTool {
  /** `custom`. */
  type: 'custom';
  /** The name of the tool. */
  custom: { name: string };
}

/** A call of a {@link CustomTool}. */
export interface CustomToolCall {
  /** The name that its result answers to. */
  id: string;
  /** `custom`. */
  type: 'custom';
  /** The tool, and the text that it gets. */
  custom: { name: string; input: string };
}

/** A tool by its name. */
export interface NamedTool {
  /** `function`. */
  type: 'function';
  /** The name of the function. */
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
  | { type: 'json_object'; schema?: object | string }
  | {
      type: 'json_schema';
      json_schema: { name?: string; schema?: object; strict?: boolean | null; description?: string };
    };

/** Counts of tokens. */
export interface CompletionUsage {
  /** Tokens of the prompt, template included. */
  prompt_tokens: number;
  /** Tokens of the answer, or of all `n` of them. */
  completion_tokens: number;
  /** Both together. */
  total_tokens: number;
  /** How many tokens of the prompt were in the KV cache already, and how many are rows of sounds and of images. */
  prompt_tokens_details: { cached_tokens: number; audio_tokens: number; image_tokens: number };
  /** How many tokens were thoughts; the other counts are 0. */
  completion_tokens_details: {
    reasoning_tokens: number;
    accepted_prediction_tokens: number;
    rejected_prediction_tokens: number;
  };
}

/** How fast it was, as llama-server says it. */
export interface CompletionTimings {
  /** Tokens of the prompt that were in the KV cache already. */
  cache_n: number;
  /** Tokens of the prompt that were read. */
  prompt_n: number;
  /** How long that took, in milliseconds, without the encoding of images and sounds. */
  prompt_ms: number;
  /** Tokens of the prompt per second. */
  prompt_per_second: number;
  /** Tokens that were written. */
  predicted_n: number;
  /** How long that took, in milliseconds. */
  predicted_ms: number;
  /** Tokens of the answer per second. */
  predicted_per_second: number;
}

/** A token and how likely it was. */
export interface TokenLogprob {
  /** The text of the token. */
  token: string;
  /** Natural log-probability of the token. */
  logprob: number;
  /** Bytes of the token in UTF-8, which need not be whole characters. */
  bytes: number[];
}

/** The tokens of an answer. */
export interface Logprobs {
  /** Each token that was chosen, with those that were likeliest in its place. */
  content: (TokenLogprob & { top_logprobs: TokenLogprob[] })[];
  /** Always null: a model here has no refusals apart from its text. */
  refusal: null;
}

/** Why an answer ended; `abort`: `model.stop()` or `model.free()` cut it, and its last call may not be whole. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'abort';

/** Where an answer was written, and why not here. */
export interface Origin {
  /** Where: on the GPU, on the CPU, or on the server of `fallback`. */
  backend: 'webgpu' | 'cpu' | 'server';
  /** Why a server's model could not answer. */
  reason?: { code: ErrorCode; message: string };
}

interface Common {
  /** A name of the answer, another each time. */
  id: string;
  /** Seconds since 1970. */
  created: number;
  /** What the request called the model, else its own name. */
  model: string;
  /** `webgguf-webgpu` or `webgguf-cpu`; of a server what it says. */
  system_fingerprint: string;
  /** Not OpenAI's. */
  webgguf: Origin;
  /** Not OpenAI's. */
  timings?: CompletionTimings;
}

/** The answer of the assistant. */
export interface AssistantMessage {
  /** Always `assistant`. */
  role: 'assistant';
  /** The text; null where the answer is calls of tools alone. */
  content: string | null;
  /** Always null. */
  refusal: null;
  /** What the model thought before it answered. Not OpenAI's; llama-server and vLLM have it. */
  reasoning_content?: string;
  /** Tools that the model calls. */
  tool_calls?: ToolCall[];
}

/** What `chat.completions.create` gives. */
export interface ChatCompletion extends Common {
  /** Always `chat.completion`. */
  object: 'chat.completion';
  /** The answers: one, or as many as `n` asked for. */
  choices: {
    index: number;
    message: AssistantMessage;
    finish_reason: FinishReason;
    /** Which of `stop` ended the answer, where one did. Not OpenAI's; vLLM has it. */
    stop_reason?: string;
    logprobs: Logprobs | null;
  }[];
  /** Counts of tokens. */
  usage: CompletionUsage;
}

/** What is new in a message. */
export interface ChunkDelta {
  /** In the first chunk of an answer. */
  role?: 'assistant';
  /** Further text. */
  content?: string | null;
  /** Further text of the thoughts. Not OpenAI's. */
  reasoning_content?: string;
  /** New calls, and further text of the arguments of calls that have begun, told apart by `index`. */
  tool_calls?: {
    index: number;
    id?: string;
    type?: 'function';
    function: { name?: string; arguments?: string };
  }[];
}

/** A part of a streamed answer. */
export interface ChatChunk extends Common {
  /** Always `chat.completion.chunk`. */
  object: 'chat.completion.chunk';
  /** What is new in an answer; empty in the chunk that has `usage` alone. */
  choices: {
    index: number;
    delta: ChunkDelta;
    finish_reason: FinishReason | null;
    /** Which of `stop` ended the answer, where one did. Not OpenAI's; vLLM has it. */
    stop_reason?: string;
    logprobs: Logprobs | null;
  }[];
  /** Counts of tokens, in the last chunk, where `stream_options` asked for them. */
  usage?: CompletionUsage | null;
}

/** Parts of a message that become one vector. */
export interface EmbeddingContent {
  /** A text, or texts, images and sounds in this order. */
  content: ChatMessage['content'];
}

/** A request of `embeddings.create`. */
export interface EmbeddingRequest {
  /**
   * A text or several; or token ids of a text or of several. Not OpenAI's: `{ content }` with parts of messages, also
   * in OpenAI's shapes, for models that embed images and sounds.
   */
  input: string | readonly number[] | EmbeddingContent | readonly (string | readonly number[] | EmbeddingContent)[];
  /** What the vectors are for, as `task` of `embed`. Not OpenAI's. */
  task?: EmbedTask | undefined;
  /** Comes back in the result. */
  model?: string | undefined;
  /** `base64`: the bytes of 32-bit floats, little-endian. Default `float`. */
  encoding_format?: 'float' | 'base64' | null | undefined;
  /** Number of values of each vector to keep, for models trained so (Matryoshka). Default: all. */
  dimensions?: number | null | undefined;
  /** Taken and without effect here. */
  user?: string | null | undefined;
}

/** What `embeddings.create` gives; `Vector` is `string` where the request asked for `base64`. */
export interface EmbeddingResponse<Vector extends number[] | string = number[]> {
  /** Always `list`. */
  object: 'list';
  /** The vectors, in the order of the texts. */
  data: { object: 'embedding'; index: number; embedding: Vector }[];
  /** What the request called the model, else its own name. */
  model: string;
  /** Counts of tokens. */
  usage: { prompt_tokens: number; total_tokens: number };
}

/** What may be given beside a request. */
export interface RequestOptions {
  /** Ends the request: the call, or the loop over a streamed answer, throws the signal's reason. */
  signal?: AbortSignal | null | undefined;
  /** Hears how far the prompt is encoded and read, see {@link PromptProgress}; OpenAI has no such option. */
  onProgress?: ((progress: PromptProgress) => void) | undefined;
}
