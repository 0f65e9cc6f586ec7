/**
 * Answers with functions of the page: the model calls them, gets what they give, and goes on.
 */
import { abortable } from '../cancel.js';
import { invalidArgument, WebggufError } from '../errors.js';
import { parametersOf } from '../model/schema.js';
import { resultOf } from '../model/tool-result.js';
import { show, signalOption } from '../check.js';
import type { Message, Tool } from '../types/chat.js';
import type { Completions } from './completions.js';
import { afterCall } from './tool-choice.js';
import type { ChatRequest, FinishReason } from './types.js';

/** A function of the page that the model may call. */
export interface PageTool {
  /** By which the model calls it. */
  readonly name: string;
  /** For the model: what it does, and when to call it. */
  readonly description?: string | undefined;
  /**
   * A JSON Schema of its one argument, an object; also one of zod, valibot or arktype that says how it is converted.
   * Default: any object.
   */
  readonly parameters?: object | undefined;
  /** The same by its name in the AI SDK and MCP; `input_schema`, as Anthropic's API has it, is taken, too. */
  readonly inputSchema?: object | undefined;
  /**
   * Gets the arguments, parsed. What it gives, or what its promise gives, goes to the model: a string as it is, other
   * values as JSON. What it throws goes to the model as `error: …`.
   */
  // biome-ignore lint/suspicious/noExplicitAny: the schema says what it is
  execute(input: any): unknown;
}

/** Options of {@link WasmModel.runTools}: the options of a chat completion, and these. */
export interface RunToolsOptions extends Omit<ChatRequest, 'messages' | 'tools' | 'stream' | 'stream_options' | 'n'> {
  /** Functions that the model may call. */
  readonly tools: readonly PageTool[];
  /** How often the model may write, calls and the answer together, 1 to 1000. Default 8. */
  readonly maxRounds?: number | undefined;
  /** Rejects with its reason; functions that run are not waited for. */
  readonly signal?: AbortSignal | undefined;
}

/** What came of it. */
export interface ToolRun {
  /** The answer. */
  readonly text: string;
  /** Why it ended; after `length` or `abort` the last call may not be whole, and was not made. */
  readonly finishReason: FinishReason;
  /** What the conversation has more: calls, results, and the answer. */
  readonly messages: Message[];
}

const DEFAULT_ROUNDS = 8;
const MOST_ROUNDS = 1000;

/** @internal */
export async function runTools(
  completions: Completions,
  messages: readonly Message[],
  { tools, maxRounds = DEFAULT_ROUNDS, signal, ...request }: RunToolsOptions,
): Promise<ToolRun> {
  const ended = signalOption('runTools', { signal });
  const functions = functionsOf(tools);
  if (!Number.isInteger(maxRounds) || maxRounds < 1 || maxRounds > MOST_ROUNDS) {
    const found = show(maxRounds);
    throw invalidArgument(`runTools: option 'maxRounds' must be an integer from 1 to ${MOST_ROUNDS}, found ${found}`);
  }
  const added: Message[] = [];
  for (let round = 0; round < maxRounds; round += 1) {
    const asked = { ...request, messages: [...messages, ...added], tools: tools.map(declared) };
    const { choices } = await completions.create(afterFirst(asked, round), { signal: ended });
    const [{ message, finish_reason: finishReason }] = choices as [(typeof choices)[number]];
    added.push(message);
    if (finishReason !== 'tool_calls') return { text: message.content ?? '', finishReason, messages: added };
    const results = Promise.all((message.tool_calls ?? []).map((call) => resultOf(call, functions)));
    added.push(...(await (ended ? abortable(results, ended) : results)));
  }
  throw new WebggufError('limit_exceeded', `runTools: the model wrote ${maxRounds} times, and called a tool each time`);
}

function afterFirst(request: ChatRequest, round: number): ChatRequest & { stream: false } {
  const { tool_choice: choice } = request;
  return { ...request, stream: false, tool_choice: round > 0 ? afterCall(choice) : choice };
}

function declared(tool: PageTool, index: number): Tool {
  const { name, description } = tool;
  const parameters = parametersOf(`runTools: 'tools[${index}]'`, tool);
  const described = { name, ...(description !== undefined && { description }), ...(parameters && { parameters }) };
  return { type: 'function', function: described };
}

function functionsOf(tools: readonly PageTool[]): Map<string, (input: unknown) => unknown> {
  if (!Array.isArray(tools)) throw invalidArgument(`runTools: 'tools' must be an array, found ${show(tools)}`);
  const functions = new Map<string, (input: unknown) => unknown>();
  for (const [index, tool] of tools.entries()) {
    if (typeof tool?.name !== 'string' || typeof tool.execute !== 'function') {
      throw invalidArgument(`runTools: 'tools[${index}]' must be { name, execute, … }, found ${show(tool)}`);
    }
    if (functions.has(tool.name)) throw invalidArgument(`runTools: the tool '${tool.name}' is there twice`);
    functions.set(tool.name, (input) => tool.execute(input));
  }
  return functions;
}
