/**
 * The shapes of OpenAI's Responses API, as far as they are taken here, and what is added to them. No code here.
 */
import type { OpenAiSamplingOptions } from '../../sampling.js';
import type { AdapterUse } from '../../types/generate.js';
import type { Origin } from '../types.js';

/**
 * A request of `responses.create`, with the options of the sampler under their names in the OpenAI API. What
 * `ChatRequest` has and OpenAI's Responses API has not is taken, too, under the same name.
 */
export interface ResponseRequest extends OpenAiSamplingOptions {
  /** The conversation, or what is new in it after `previous_response_id`: a text of the user, or items. */
  input?: string | readonly ResponseInputItem[] | null | undefined;
  /** The system prompt of this request alone: the system prompt of an earlier one does not go on. */
  instructions?: string | null | undefined;
  /** Comes back in the result; the model is the one that was loaded. A fallback has a name of its own. */
  model?: string | undefined;
  /** The response that the conversation goes on from: its input and its output come before this input. */
  previous_response_id?: string | null | undefined;
  /**
   * Where the response is kept for `previous_response_id` and `retrieve`: in memory (default), with `true` in the
   * origin's IndexedDB, where it survives a reload, with `false` nowhere.
   */
  store?: boolean | null | undefined;
  /** Default false. */
  stream?: boolean | null | undefined;
  /** Taken and without effect here. */
  stream_options?: object | null | undefined;
  /** Most tokens of the answer, thoughts included. Default: until the context is full. */
  max_output_tokens?: number | null | undefined;
  /** Functions; other tools of OpenAI's API are refused. */
  tools?: readonly ResponseTool[] | null | undefined;
  /** Whether tools are called. Default `auto`. */
  tool_choice?: ResponseToolChoice | null | undefined;
  /** Whether one answer may have several calls. Default true. */
  parallel_tool_calls?: boolean | null | undefined;
  /** What the answer must be. `verbosity` is taken and without effect here. */
  text?: { format?: ResponseTextFormat | undefined; verbosity?: 'low' | 'medium' | 'high' | null } | null | undefined;
  /**
   * How long the model thinks, as `reasoning_effort` of a `ChatRequest`. With `summary`, thoughts come where
   * OpenAI puts a summary of them.
   */
  reasoning?: ResponseReasoning | null | undefined;
  /** `auto`: where the conversation does not fit the context, its oldest turns are left out. Default `disabled`. */
  truncation?: 'auto' | 'disabled' | null | undefined;
  /** `message.output_text.logprobs` adds to the text how likely its tokens were. */
  include?: readonly string[] | null | undefined;
  /** With the log-probabilities of tokens: number of the most likely tokens for each place, 0 to 20. */
  top_logprobs?: number | null | undefined;
  /** Comes back in the result. */
  metadata?: object | null | undefined;
  /** The call gives a response that is still to be written; `responses.retrieve` reads it. */
  background?: boolean | null | undefined;
  /** Beyond OpenAI's: strings that end the answer. */
  stop?: string | readonly string[] | null | undefined;
  /** Beyond OpenAI's: added to the logits of tokens, by their ids. */
  logit_bias?: Readonly<Record<string, number>> | null | undefined;
  /** Beyond OpenAI's: whether the model thinks before it answers; `reasoning.effort` says more. */
  enable_thinking?: boolean | null | undefined;
  /** Beyond OpenAI's: most tokens of the thoughts, as in chat completions. */
  reasoning_budget?: number | null | undefined;
  /** Beyond OpenAI's: adapters of the model and how much of each, as `generate` takes them. */
  adapters?: readonly AdapterUse[] | null | undefined;
  /** Beyond OpenAI's: a grammar in llama.cpp's notation. */
  grammar?: string | null | undefined;
  /** Beyond OpenAI's: further variables of the chat template. */
  chat_template_kwargs?: Readonly<Record<string, unknown>> | null | undefined;
  /** Taken and without effect here: no tool runs here. */
  max_tool_calls?: number | null | undefined;
  /** Taken and without effect here. */
  user?: string | null | undefined;
  /** Taken and without effect here. */
  service_tier?: string | null | undefined;
  /** Taken and without effect here. */
  safety_identifier?: string | null | undefined;
  /** Taken and without effect here. */
  prompt_cache_key?: string | null | undefined;
  /** Taken and without effect here. */
  prompt_cache_retention?: string | null | undefined;
  /** Taken and without effect here. */
  prompt_cache_options?: object | null | undefined;
}

/** How the model thinks. */
export interface ResponseReasoning {
  /** `none` switches thinking off where the template can; the other values reach the template. */
  effort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max' | null | undefined;
  /** With any value the thoughts, which nobody shortens here, stand in `summary` in place of `content`. */
  summary?: 'auto' | 'concise' | 'detailed' | null | undefined;
  /** The same by its old name. */
  generate_summary?: 'auto' | 'concise' | 'detailed' | null | undefined;
  /** Taken and without effect here. */
  context?: string | null | undefined;
  /** Only `standard`. */
  mode?: string | undefined;
}

/**
 * An item of a conversation; `ResponseInputItem` of the `openai` package is assignable to it. Taken are messages, calls
 * of functions and their results, thoughts, and references to items of responses that are kept.
 */
export interface ResponseInputItem {
  /** `message` (default), `function_call`, `function_call_output`, `reasoning` or `item_reference`. */
  type?: string | null | undefined;
  /** The name of the item. */
  id?: string | null | undefined;
  /** Who speaks, in a message. */
  role?: string | undefined;
  /** The text or the parts of a message; the thoughts of `reasoning`. */
  content?: string | readonly object[] | null | undefined;
  /** What stands for thoughts. */
  summary?: readonly object[] | undefined;
  /** The name of a call, which its result has, too. */
  call_id?: string | null | undefined;
  /** The function that is called. */
  name?: string | null | undefined;
  /** The arguments of a call as JSON text. */
  arguments?: unknown;
  /** What the function of a call gave. */
  output?: unknown;
}

/** A function that the model may call; other tools of OpenAI's API are refused. */
export interface ResponseTool {
  /** `function`. */
  type: string;
  /** By which the model calls it. */
  name?: string | undefined;
  /** For the model: what it does, and when to call it. */
  description?: string | null | undefined;
  /** A JSON Schema of its one argument, an object; also a schema of zod, valibot or arktype. */
  parameters?: unknown;
}

/** Whether tools are called. `required`: at least one; an object names what may or must be called. */
export type ResponseToolChoice =
  | 'none'
  | 'auto'
  | 'required'
  | {
      type: string;
      name?: string | null | undefined;
      mode?: string | undefined;
      tools?: readonly object[] | undefined;
    };

/** What the answer must be. */
export type ResponseTextFormat =
  | { type: 'text' }
  | { type: 'json_object' }
  | { type: 'json_schema'; name: string; schema: object; strict?: boolean | null; description?: string };

/** What an answer must be, as a response says it. */
export type ResponseGivenFormat =
  | Exclude<ResponseTextFormat, { type: 'json_schema' }>
  | {
      type: 'json_schema';
      name: string;
      schema: Record<string, unknown>;
      strict?: boolean | null;
      description?: string;
    };

/** A token of the text and how likely it was. */
export interface ResponseLogprob {
  /** The text of the token. */
  token: string;
  /** Bytes of the token in UTF-8, which need not be whole characters. */
  bytes: number[];
  /** Natural log-probability of the token. */
  logprob: number;
  /** The tokens that were likeliest in its place. */
  top_logprobs: { token: string; bytes: number[]; logprob: number }[];
}

/** Whether an item is whole. */
export type ResponseItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** The text of an answer. */
export interface ResponseOutputText {
  /** `output_text`. */
  type: 'output_text';
  /** The text. */
  text: string;
  /** Always empty: nothing is cited. */
  annotations: never[];
  /** How likely the tokens were, where the request asked for that. */
  logprobs: ResponseLogprob[];
}

/** A message of the model. */
export interface ResponseMessage {
  /** `message`. */
  type: 'message';
  /** The name of the item. */
  id: string;
  /** Always `assistant`. */
  role: 'assistant';
  /** Whether it is whole. */
  status: ResponseItemStatus;
  /** What it says. */
  content: ResponseOutputText[];
}

/** A call of a function. */
export interface ResponseCall {
  /** `function_call`. */
  type: 'function_call';
  /** The name of the item. */
  id: string;
  /** The name that its result answers to. */
  call_id: string;
  /** The function. */
  name: string;
  /** JSON text. */
  arguments: string;
  /** Whether it is whole. */
  status: ResponseItemStatus;
}

/** A part of the thoughts. */
export interface ResponseThought {
  /** The thoughts. */
  text: string;
  /** Where they stand. */
  type: 'reasoning_text';
}

/** What stands for thoughts. */
export interface ResponseSummary {
  /** The thoughts, as they are. */
  text: string;
  /** Where they stand. */
  type: 'summary_text';
}

/** What the model thought. */
export interface ResponseThoughts {
  /** `reasoning`. */
  type: 'reasoning';
  /** The name of the item. */
  id: string;
  /** The thoughts, where `reasoning.summary` asked for them; else empty. */
  summary: ResponseSummary[];
  /** The thoughts, where `reasoning.summary` did not ask for them. */
  content?: ResponseThought[];
  /** Whether they are whole. */
  status: ResponseItemStatus;
}

/** A part of what the model answers. */
export type ResponseOutputItem = ResponseMessage | ResponseCall | ResponseThoughts;

/** Counts of tokens. */
export interface ResponseUsage {
  /** Tokens of the prompt, template included. */
  input_tokens: number;
  /** How many tokens of the prompt were in the KV cache already. */
  input_tokens_details: { cached_tokens: number; cache_write_tokens: number };
  /** Tokens of the answer. */
  output_tokens: number;
  /** How many tokens were thoughts. */
  output_tokens_details: { reasoning_tokens: number };
  /** Both together. */
  total_tokens: number;
}

/** The state of an answer. `queued`: in the background; `cancelled`: by `cancel`, the model's `stop` or `free`. */
export type ResponseStatus = 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled';

/** What `responses.create` gives. Fields of the request that are not described come back as they are. */
export interface ModelResponse {
  /** The name of the response, for `previous_response_id` and `retrieve`. */
  id: string;
  /** Always `response`. */
  object: 'response';
  /** Seconds since 1970. */
  created_at: number;
  /** The same of the end. */
  completed_at: number | null;
  /** How far it is. */
  status: ResponseStatus;
  /** Why it failed. */
  error: { code: 'server_error'; message: string } | null;
  /** Why it is not whole. */
  incomplete_details: { reason: 'max_output_tokens' } | null;
  /** What the model answers, in its order. */
  output: ResponseOutputItem[];
  /** The text of all messages in `output`; events have responses without it. */
  output_text: string;
  /** Counts of tokens, at the end; a server may not say them. */
  usage?: ResponseUsage;
  /** What the request called the model, else its own name. */
  model: string;
  /** The system prompt. */
  instructions: string | null;
  /** The response that this one goes on from. */
  previous_response_id: string | null;
  /** As the request has it. */
  metadata: Record<string, string>;
  /** As the request has it. */
  parallel_tool_calls: boolean;
  /** As the request has it. */
  temperature: number;
  /** As the request has it. */
  top_p: number;
  /** As the request has it. */
  max_output_tokens: number | null;
  /** As the request has it. */
  top_logprobs: number;
  /** As the request has it. */
  reasoning: { effort: NonNullable<ResponseReasoning['effort']> | null; summary: ResponseReasoning['summary'] | null };
  /** As the request has it. */
  text: { format: ResponseGivenFormat; verbosity?: 'low' | 'medium' | 'high' };
  /** As the request has it. */
  tool_choice: 'none' | 'auto' | 'required' | ResponseNamedTool | ResponseAllowedTools;
  /** As the request has it. */
  tools: ResponseFunction[];
  /** As the request has it. */
  truncation: 'auto' | 'disabled';
  /** Whether it is kept, in memory or in IndexedDB. */
  store: boolean;
  /** As the request has it. */
  background: boolean;
  /** Always null. */
  access_programs: null;
  /** Not OpenAI's. */
  webgguf: Origin;
}

/** A tool by its name. */
export interface ResponseNamedTool {
  /** `function`. */
  type: 'function';
  /** The name of the function. */
  name: string;
}

/** Tools that may or must be called, of all that the model is told of. */
export interface ResponseAllowedTools {
  /** `allowed_tools`. */
  type: 'allowed_tools';
  /** Whether one must be called. */
  mode: 'auto' | 'required';
  /** These. */
  tools: { [key: string]: unknown; type: 'function'; name: string }[];
}

/** A function of a request. */
export interface ResponseFunction extends ResponseNamedTool {
  /** For the model. */
  description?: string | null;
  /** A JSON Schema. */
  parameters: Record<string, unknown> | null;
  /** As the request has it. */
  strict: boolean | null;
}

/** What `responses.inputItems.list` gives: a page of the items that the model read. */
export interface ResponseItemList {
  /** Always `list`. */
  object: 'list';
  /** The items. */
  data: (ResponseInputItem & { id: string })[];
  /** The name of the first. */
  first_id: string | null;
  /** The name of the last, for `after`. */
  last_id: string | null;
  /** Whether more follow. */
  has_more: boolean;
}

/** Which items `responses.inputItems.list` gives. */
export interface ResponseItemQuery {
  /** The name of the item before the first. */
  after?: string | undefined;
  /** Most items, 1 to 100. Default 20. */
  limit?: number | undefined;
  /** Default `desc`: the newest first. */
  order?: 'asc' | 'desc' | undefined;
  /** Taken and without effect here: items are whole. */
  include?: readonly string[] | undefined;
}

/** How `responses.retrieve` gives a response. */
export interface ResponseQuery {
  /** As events, where it is or was written in the background. */
  stream?: boolean | null | undefined;
  /** With `stream`: the number of the event before the first. */
  starting_after?: number | undefined;
}

/** What `responses.inputTokens.count` gives. */
export interface ResponseTokens {
  /** Always `response.input_tokens`. */
  object: 'response.input_tokens';
  /** Tokens of the prompt, template included. */
  input_tokens: number;
}
