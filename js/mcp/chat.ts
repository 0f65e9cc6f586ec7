/**
 * Tools for chat completions, where a page runs calls by itself.
 */
import { parametersOf } from '../model/schema.js';
import { resultOf, type ToolResult } from '../model/tool-result.js';
import type { PageTool } from '../openai/run-tools.js';
import type { Tool, ToolCall } from '../types/chat.js';

/** Tools as `model.chat.completions.create` takes them. */
export function chatTools(tools: readonly PageTool[]): Tool[] {
  return tools.map((tool, index) => {
    const parameters = parametersOf(`chatTools: 'tools[${index}]'`, tool);
    const { name, description } = tool;
    return {
      type: 'function',
      function: { name, ...(description !== undefined && { description }), ...(parameters && { parameters }) },
    };
  });
}

/**
 * Makes the calls of an answer, one after the other, and gives the messages with their results.
 *
 * @example
 * const { choices: [{ message }] } = await model.chat.completions.create({ messages, tools: chatTools(tools) });
 * if (message.tool_calls) messages.push(message, ...(await callTools(message.tool_calls, tools)));
 */
export async function callTools(
  calls: readonly ToolCall[],
  tools: readonly PageTool[],
  options: { signal?: AbortSignal } = {},
): Promise<ToolResult[]> {
  const run = (tool: PageTool) => (input: unknown) =>
    (tool.execute as (input: unknown, options: object) => unknown).call(tool, input, options);
  const functions = new Map(tools.map((tool) => [tool.name, run(tool)]));
  const results: ToolResult[] = [];
  for (const call of calls) results.push(await resultOf(call, functions));
  return results;
}
