/**
 * What a tool of the page gave, as a message for the model.
 */
import type { ToolCall } from '../types/chat.js';

/** What a tool gave: a message of a chat. */
export interface ToolResult {
  readonly role: 'tool';
  /** Name of the tool. */
  readonly name: string;
  /** Id of the call. */
  readonly tool_call_id: string;
  /** What the tool returned: a string as it is, other values as JSON. */
  readonly content: string;
}

/**
 * Calls a tool. A string is the result as it is, other values as JSON; what goes wrong is a result, too, so that the
 * model can make something of it. @internal
 */
export async function resultOf(
  { id, function: { name, arguments: text } }: ToolCall,
  tools: ReadonlyMap<string, (input: unknown) => unknown>,
): Promise<ToolResult> {
  const answer = (content: string): ToolResult => ({ role: 'tool', name, tool_call_id: id, content });
  try {
    const execute = tools.get(name);
    if (!execute) throw new Error(`there is no tool '${name}', only ${[...tools.keys()].join(', ')}`);
    const result = await execute(JSON.parse(text || '{}'));
    return answer(typeof result === 'string' ? result : (JSON.stringify(result) ?? 'null'));
  } catch (error) {
    return answer(`error: ${error instanceof Error ? error.message : String(error)}`);
  }
}
