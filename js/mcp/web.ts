/**
 * WebMCP: tools that a page offers to agents, in both directions (https://webmachinelearning.github.io/webmcp/, and
 * `getTools` and `executeTool` as Chromium has them).
 */
import { WebggufError } from '../errors.js';
import { parametersOf } from '../model/schema.js';
import type { PageTool } from '../openai/run-tools.js';
import { checkConsent, consented } from './consent.js';
import { fieldsOf, textIn } from './content.js';
import type { McpTool, OnToolCall } from './types.js';

/** What `document.modelContext` has. */
interface ModelContext {
  registerTool(tool: object, options?: object): Promise<void> | undefined;
  unregisterTool?(name: string): void;
  getTools?(): Promise<readonly object[]>;
  executeTool?(tool: object, input: object, options?: { signal?: AbortSignal }): Promise<unknown>;
}

/** Options of {@link webMcpTools}. */
export interface WebMcpOptions {
  /** Consent to calls. Required unless all tools say that they change nothing. */
  readonly onToolCall?: OnToolCall | undefined;
}

/** Options of {@link offerTools}. */
export interface OfferOptions {
  /** Asked before each call by an agent. */
  readonly onToolCall?: OnToolCall | undefined;
  /** Takes the tools back. */
  readonly signal?: AbortSignal | undefined;
  /** Origins of frames that may see the tools, too. */
  readonly exposedTo?: readonly string[] | undefined;
}

/**
 * The tools that this page and frames of its origin offer to agents, for the model.
 *
 * @throws {WebggufError} `feature_missing` where the browser has no WebMCP, or does not list tools to pages;
 *   `invalid_argument` where tools may change something and there is no `onToolCall`
 *
 * @example
 * const tools = await webMcpTools({ onToolCall: ({ readOnly, name }) => readOnly || confirm(`Run ${name}?`) });
 * const { text } = await model.runTools(messages, { tools });
 */
export async function webMcpTools({ onToolCall }: WebMcpOptions = {}): Promise<McpTool[]> {
  const context = modelContext('webMcpTools');
  if (!context.getTools || !context.executeTool) {
    throw new WebggufError('feature_missing', 'webMcpTools: this browser does not list the tools of WebMCP to pages');
  }
  const tools = (await context.getTools()).map((tool) => made(context, tool, onToolCall));
  checkConsent('webMcpTools', tools, onToolCall);
  return tools;
}

function made(context: ModelContext, tool: object, onToolCall: OnToolCall | undefined): McpTool {
  const { name, title, description, inputSchema, annotations } = tool as Record<string, unknown>;
  // Older versions give the schema as text.
  const schema = typeof inputSchema === 'string' ? JSON.parse(inputSchema || '{}') : inputSchema;
  const { readOnlyHint } = fieldsOf(annotations);
  const facts = {
    name: String(name),
    title: textIn(title) || undefined,
    server: 'page',
    readOnly: readOnlyHint === true,
  };
  return {
    ...facts,
    description: textIn(description) ?? '',
    inputSchema: { type: 'object', ...fieldsOf(schema) },
    async execute(input, { signal } = {}) {
      await consented(onToolCall, { ...facts, input });
      const result = await context.executeTool?.(tool, fieldsOf(input), signal ? { signal } : {});
      return typeof result === 'string' ? result : (JSON.stringify(result) ?? 'null');
    },
  };
}

/**
 * Offers tools of the page, as `runTools` takes them, or of MCP servers, to agents of the browser.
 *
 * @throws {WebggufError} `feature_missing` where the browser has no WebMCP
 * @throws what the browser says, `InvalidStateError` for a name that is taken; none is offered then
 *
 * @example
 * const controller = new AbortController();
 * await offerTools([rollDice], { signal: controller.signal });
 * controller.abort(); // takes them back
 */
export async function offerTools(tools: readonly PageTool[], options: OfferOptions = {}): Promise<void> {
  const context = modelContext('offerTools');
  const { signal, exposedTo, onToolCall } = options;
  const ended = new AbortController();
  const scope = signal ? AbortSignal.any([signal, ended.signal]) : ended.signal;
  try {
    for (const [index, tool] of tools.entries()) {
      const offered = offer(tool, parametersOf(`offerTools: 'tools[${index}]'`, tool), onToolCall);
      await context.registerTool(offered, { signal: scope, ...(exposedTo && { exposedTo }) });
      scope.addEventListener('abort', () => context.unregisterTool?.(tool.name), { once: true });
    }
  } catch (error) {
    ended.abort();
    throw error;
  }
}

function offer(tool: PageTool, inputSchema: object | undefined, onToolCall: OnToolCall | undefined): object {
  const { name, description = name, title, readOnly } = tool as PageTool & Partial<McpTool>;
  return {
    name,
    description,
    ...(title !== undefined && { title }),
    ...(inputSchema && { inputSchema }),
    annotations: { readOnlyHint: readOnly === true },
    async execute(input: unknown, options: { signal?: AbortSignal } = {}) {
      const facts = { name, title, server: 'page', readOnly: readOnly === true, input };
      if (onToolCall) await consented(onToolCall, facts);
      return (tool.execute as (input: unknown, options: object) => unknown).call(tool, input, options);
    },
  };
}

function modelContext(call: string): ModelContext {
  const { document, navigator } = globalThis as {
    document?: { modelContext?: ModelContext };
    navigator?: { modelContext?: ModelContext };
  };
  const context = document?.modelContext ?? navigator?.modelContext;
  if (context) return context;
  throw new WebggufError('feature_missing', `${call}: this browser has no document.modelContext (WebMCP)`);
}
