/**
 * What is needed of an MCP client, and the tools that are made of it. No code here.
 */
import type { Message } from '../types/chat.js';

/**
 * A client of `@modelcontextprotocol/sdk` that is connected, or what has these calls of it. Results are checked when
 * they are there: a server may answer anything.
 */
export interface McpClient {
  /** A page of the server's tools. */
  listTools(params?: { cursor?: string }, options?: { signal?: AbortSignal }): Promise<unknown>;
  /** Calls one. */
  callTool(
    params: { name: string; arguments?: Record<string, unknown> },
    schema?: undefined,
    options?: { signal?: AbortSignal },
  ): Promise<unknown>;
  /** What the server can do. */
  getServerCapabilities?(): { resources?: object | undefined; prompts?: object | undefined } | undefined;
  /** What the server is called. */
  getServerVersion?(): { name?: string | undefined } | undefined;
  /** A page of its resources. */
  listResources?(params?: { cursor?: string }, options?: { signal?: AbortSignal }): Promise<unknown>;
  /** Reads one. */
  readResource?(params: { uri: string }, options?: { signal?: AbortSignal }): Promise<unknown>;
  /** A page of its prompts. */
  listPrompts?(params?: { cursor?: string }, options?: { signal?: AbortSignal }): Promise<unknown>;
  /** The messages of one. */
  getPrompt?(
    params: { name: string; arguments?: Record<string, string> },
    options?: { signal?: AbortSignal },
  ): Promise<unknown>;
}

/** A call that is about to be made. */
export interface McpCall {
  /** The tool. */
  readonly name: string;
  /** What it is told to be called on a page. */
  readonly title: string | undefined;
  /** The server; `page` for tools of WebMCP. */
  readonly server: string;
  /** The arguments that the model wrote. */
  readonly input: unknown;
  /** Whether the tool says that it changes nothing. Who offers the tool says so. */
  readonly readOnly: boolean;
}

/**
 * Asked before each call. `true`: it is made; `false` or a text that says why: it is not, and the model is told so.
 */
export type OnToolCall = (call: McpCall) => boolean | string | Promise<boolean | string>;

/** Options of {@link mcpTools}. */
export interface McpOptions {
  /** Consent to calls. Required unless all tools say that they change nothing. */
  readonly onToolCall?: OnToolCall | undefined;
  /** Whether there is a tool that reads the server's resources, where it has some. Default true. */
  readonly resources?: boolean | undefined;
  /** Ends the listing. */
  readonly signal?: AbortSignal | undefined;
}

/** A tool for `runTools`, `useChat`, and {@link chatTools}. */
export interface McpTool {
  /** By which the model calls it; of two tools with one name, with the name of the server before it. */
  readonly name: string;
  /** For people. */
  readonly title?: string | undefined;
  /** For the model. */
  readonly description: string;
  /** A JSON Schema of its arguments. */
  readonly inputSchema: object;
  /** Whether it says that it changes nothing. */
  readonly readOnly: boolean;
  /** The server; `page` for tools of WebMCP. */
  readonly server: string;
  /** Asks for consent and calls it. Gives text for the model, and throws where it failed or was refused. */
  execute(input: unknown, options?: { signal?: AbortSignal | undefined }): Promise<string>;
}

/** A prompt of a server, for the user to choose. */
export interface McpPrompt {
  /** The name. */
  readonly name: string;
  /** For people. */
  readonly title?: string | undefined;
  /** For people. */
  readonly description?: string | undefined;
  /** What has to be filled in. */
  readonly arguments: readonly { readonly name: string; readonly description?: string; readonly required?: boolean }[];
  /** The messages for the model. */
  messages(values?: Record<string, string>, options?: { signal?: AbortSignal }): Promise<Message[]>;
}
