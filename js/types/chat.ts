/**
 * Conversations: messages, tools, and what chat templates take. No code here.
 */
import type { AudioPart, ImagePart, VideoPart } from './media.js';

/** One message of a conversation, as the OpenAI API has it. Further fields reach the model's template as they are. */
export interface Message {
  /** `system`, `user`, `assistant`, `tool`, or what else the model's template knows. */
  role: 'system' | 'user' | 'assistant' | 'tool' | (string & Record<never, never>);
  /** The text, in one string or in parts, which are joined by newlines; nothing beside `tool_calls`. */
  content?: string | readonly (TextPart | ImagePart | VideoPart | AudioPart)[] | null | undefined;
  /** Calls of tools, in a message of the assistant. */
  tool_calls?: readonly ToolCall[] | undefined;
  /** The id of the call whose result this is, in a message of a tool. */
  tool_call_id?: string | undefined;
  /** Who speaks; of a tool its name. */
  name?: string | undefined;
  /** The assistant's thoughts before its answer. Some templates write them into the prompt. */
  reasoning_content?: string | null | undefined;
}

/** A call of a tool. */
export interface ToolCall {
  /** The name that its result answers to. */
  id: string;
  /** `function`. */
  type: 'function';
  /** `arguments`: JSON text. */
  function: { name: string; arguments: string };
}

/** A function that the model may call. */
export interface Tool {
  /** `function`. */
  type: 'function';
  /**
   * `parameters`: a JSON Schema, or a schema of zod, valibot or arktype that says how it is converted (Standard
   * Schema). `inputSchema`, as the AI SDK and MCP have it, and Anthropic's `input_schema` are other names for it.
   */
  function: {
    name: string;
    description?: string | undefined;
    parameters?: object | undefined;
    inputSchema?: object | undefined;
    input_schema?: object | undefined;
    strict?: boolean | null | undefined;
  };
}

/** A text in a message. */
export interface TextPart {
  /** `text`. */
  type: 'text';
  /** The text. */
  text: string;
}

/** Options of {@link WasmModel.session}. */
export interface SessionOptions extends Omit<ChatTemplateOptions, 'addGenerationPrompt'> {
  /**
   * Functions that the model may call. A call is part of the answer's text, with the control tokens around it, such as
   * `[TOOL_CALLS]`; the session neither reads nor runs it, which `chat.completions` and `runTools` do. A template that
   * knows no tools ignores them.
   */
  tools?: readonly Tool[] | undefined;
  /** The system prompt. */
  system?: string | undefined;
  /** A conversation to go on with, after the system prompt. */
  messages?: readonly Message[] | undefined;
  /**
   * Where the conversation leaves no room for an answer (of `maxTokens`, else of a quarter of the context): `error`
   * (default) throws `context_full` where it does not fit at all; `truncate` drops the oldest turns, whole ones, and
   * keeps the system prompt.
   */
  overflow?: 'truncate' | 'error' | undefined;
}

/** Options of `applyChatTemplate`. */
export interface ChatTemplateOptions {
  /** End with the opening of the assistant's turn. Default true. */
  addGenerationPrompt?: boolean | undefined;
  /** Functions that the model may call. A template that knows none ignores them. */
  tools?: readonly Tool[] | undefined;
  /**
   * Whether the model thinks first: variable `enable_thinking` of the template, and what else it may read in its place
   * (`thinking`, `reasoning`, `thinking_budget`). Default: what the template says.
   */
  enableThinking?: boolean | undefined;
  /** Further variables of the template. */
  chatTemplateKwargs?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Whether special tokens such as `<|im_end|>` that are written in messages and tools are tokens. Where they are,
   * the author of a message, a tool's result or a document can speak as the system. Default false: they are text. For
   * `applyChatTemplate` the default is true, since its text is what Hugging Face's function of this name gives; with
   * false they get the mark U+FDD1 behind their first character, which `generate` takes out of its prompt again.
   */
  parseSpecial?: boolean | undefined;
}
