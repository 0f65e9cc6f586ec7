/**
 * The shapes of Anthropic's Messages, as far as they are taken here. No code here.
 */
import type { Origin } from '../openai/types.js';

/** A request of `messages.create`. */
export interface MessageRequest {
  /** Comes back in the result; the model is the one that was loaded. */
  model?: string | undefined;
  /** The conversation. Where its last message is the assistant's, the answer goes on behind that. */
  messages: readonly MessageParam[];
  /** Most tokens of the answer, thoughts included. */
  max_tokens: number;
  /** The system prompt. */
  system?: string | readonly TextBlockParam[] | undefined;
  /** Default false. */
  stream?: boolean | undefined;
  /** Strings that end the text of the answer. */
  stop_sequences?: readonly string[] | undefined;
  /** 0 to 1. Default 1. */
  temperature?: number | undefined;
  /** Keep the most likely tokens that together have this probability. */
  top_p?: number | undefined;
  /** Keep only the k most likely tokens. */
  top_k?: number | undefined;
  /** Functions; tools that run at Anthropic are refused. */
  tools?: readonly (ToolParam | { type: string })[] | undefined;
  /** Whether tools are called. Default `auto`. */
  tool_choice?: ToolChoice | undefined;
  /**
   * Whether the model thinks before it answers, where its template can say so. Default: it does not, and thoughts that
   * come all the same are left out.
   */
  thinking?: ThinkingConfig | undefined;
  /** How hard it thinks, and the schema of the answer. */
  output_config?: OutputConfig | undefined;
  /** Taken and without effect here. */
  cache_control?: object | null | undefined;
  /** Taken and without effect here. */
  diagnostics?: object | null | undefined;
  /** Taken and without effect here. */
  inference_geo?: string | null | undefined;
  /** Taken and without effect here. */
  metadata?: object | undefined;
  /** Taken and without effect here. */
  service_tier?: string | undefined;
  /** Taken and without effect here. */
  speed?: string | null | undefined;
  /** Taken and without effect here. */
  user_profile_id?: string | undefined;
  /** Taken and without effect here. */
  workspace_id?: string | undefined;
  /** Null: there are no containers here. */
  container?: unknown;
}

/** A request of `messages.countTokens`. */
export type CountTokensRequest = Omit<MessageRequest, 'max_tokens' | 'stream'>;

/** A message of a request. */
export interface MessageParam {
  /** Who speaks: `user`, `assistant` or `system`. */
  role: 'user' | 'assistant' | 'system' | (string & Record<never, never>);
  /** The text, or blocks. */
  content: string | readonly BlockParam[];
}

/** A block of a message: these, and documents of text and search results, which are read as text. */
export type BlockParam =
  | TextBlockParam
  | ImageBlockParam
  | ToolUseBlockParam
  | ToolResultBlockParam
  | ThinkingBlockParam
  | { type: string };

/** A text. */
export interface TextBlockParam {
  /** `text`. */
  type: 'text';
  /** The text. */
  text: string;
}

/** An image; the model must be loaded with an encoder (`mmproj`). */
export interface ImageBlockParam {
  /** `image`. */
  type: 'image';
  /** The file in base64, or its address; files that lie at Anthropic are refused. */
  source:
    | { type: 'base64'; media_type: string; data: string }
    | { type: 'url'; url: string }
    | { type: 'file'; file_id: string };
}

/** A call of a tool, in a message of the assistant. */
export interface ToolUseBlockParam {
  /** `tool_use`. */
  type: 'tool_use';
  /** The name that its result answers to. */
  id: string;
  /** The tool. */
  name: string;
  /** The arguments. */
  input: unknown;
}

/** What a tool gave, in a message of the user. */
export interface ToolResultBlockParam {
  /** `tool_result`. */
  type: 'tool_result';
  /** The id of the call. */
  tool_use_id: string;
  /** What it gave. */
  content?: string | readonly BlockParam[] | undefined;
  /** Whether it failed. */
  is_error?: boolean | undefined;
}

/** What the assistant thought. */
export interface ThinkingBlockParam {
  /** `thinking`. */
  type: 'thinking';
  /** The thought. */
  thinking: string;
  /** Not checked here. */
  signature?: string;
}

/** A function that the model may call. */
export interface ToolParam {
  /** `custom`, or nothing. */
  type?: 'custom' | null | undefined;
  /** By which the model calls it. */
  name: string;
  /** For the model: what it does. */
  description?: string | undefined;
  /** A JSON Schema of its arguments. */
  input_schema: object;
}

/** Whether tools are called: `any`, at least one; `tool`, the one that is named. */
export type ToolChoice =
  | { type: 'auto' | 'any'; disable_parallel_tool_use?: boolean | undefined }
  | { type: 'tool'; name: string; disable_parallel_tool_use?: boolean | undefined }
  | { type: 'none' };

/** Whether the model thinks; `display: 'omitted'` leaves the text of thoughts out. */
export type ThinkingConfig =
  | { type: 'enabled'; budget_tokens: number; display?: 'summarized' | 'omitted' | null | undefined }
  | { type: 'adaptive'; display?: 'summarized' | 'omitted' | null | undefined }
  | { type: 'disabled' }
  | { type: 'between_tools' };

/** How hard the model thinks, where it does, and what its answer must be. */
export interface OutputConfig {
  /** Reaches the template. */
  effort?: 'low' | 'medium' | 'high' | 'xhigh' | 'max' | null | undefined;
  /** The schema of the answer. */
  format?: { type: 'json_schema'; schema: object } | null | undefined;
}

/** Counts of tokens. */
export interface MessageUsage {
  /** Tokens of the prompt that were read. */
  input_tokens: number;
  /** Tokens of the answer. */
  output_tokens: number;
  /** Tokens of the prompt that were in the KV cache already. */
  cache_read_input_tokens: number;
  /** Always 0: what is read is cached at no cost. */
  cache_creation_input_tokens: number;
  /** How many tokens of the answer were thoughts. */
  output_tokens_details: { thinking_tokens: number };
  /** Always null. */
  cache_creation: null;
  /** Always null. */
  inference_geo: null;
  /** Always null. */
  server_tool_use: null;
  /** Always null. */
  service_tier: null;
  /** Always null. */
  speed: null;
}

/** A block of an answer. */
export type ContentBlock =
  | { type: 'text'; text: string; citations: null }
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'tool_use'; id: string; name: string; input: unknown; caller: { type: 'direct' } };

/**
 * Why an answer ended. `model_context_window_exceeded`: the context is full; `pause_turn`: `model.stop()` or
 * `model.free()` cut it.
 */
export type StopReason =
  | 'end_turn'
  | 'max_tokens'
  | 'stop_sequence'
  | 'tool_use'
  | 'pause_turn'
  | 'model_context_window_exceeded';

/** What `messages.create` gives. */
export interface MessageResponse {
  /** A name of the answer, another each time. */
  id: string;
  /** Always `message`. */
  type: 'message';
  /** Always `assistant`. */
  role: 'assistant';
  /** The answer. */
  content: ContentBlock[];
  /** What the request called the model, else its own name. */
  model: string;
  /** Why the answer ended; null while it is written. */
  stop_reason: StopReason | null;
  /** Which of `stop_sequences` ended it. */
  stop_sequence: string | null;
  /** Always null. */
  stop_details: null;
  /** Always null. */
  container: null;
  /** Always null. */
  diagnostics: null;
  /** Counts of tokens. */
  usage: MessageUsage;
  /** Not Anthropic's. */
  webgguf: Origin;
}

/** What is new in a block. */
export type BlockDelta =
  | { type: 'text_delta'; text: string }
  | { type: 'thinking_delta'; thinking: string }
  | { type: 'signature_delta'; signature: string }
  | { type: 'input_json_delta'; partial_json: string };

/** An event of a streamed answer. */
export type MessageEvent =
  | { type: 'message_start'; message: MessageResponse }
  | { type: 'content_block_start'; index: number; content_block: ContentBlock }
  | { type: 'content_block_delta'; index: number; delta: BlockDelta }
  | { type: 'content_block_stop'; index: number }
  | {
      type: 'message_delta';
      delta: { stop_reason: StopReason; stop_sequence: string | null; stop_details: null; container: null };
      usage: MessageUsage;
    }
  | { type: 'message_stop' };

/** What `messages.countTokens` gives. */
export interface TokensCount {
  /** Tokens of the prompt, template included. */
  input_tokens: number;
}

/** A model in the list of models. */
export interface ModelEntry {
  /** The name of the model. */
  id: string;
  /** Always `model`. */
  type: 'model';
  /** The name of the model. */
  display_name: string;
  /** Always 1970. */
  created_at: string;
}

/** What `models.list` gives: one page. */
export interface ModelPage {
  /** The one model. */
  data: ModelEntry[];
  /** Always false. */
  has_more: false;
  /** The name of the model. */
  first_id: string;
  /** The name of the model. */
  last_id: string;
}
