/**
 * Requests of Anthropic's shape, checked, as requests of chat completions.
 */
import { invalidArgument } from '../errors.js';
import { show } from '../check.js';
import {
  type Check,
  checkAll,
  type Checked,
  FLAG,
  integer,
  LIST,
  OBJECT,
  range,
  refuse,
  STOP,
  TEXT,
  TOKENS,
} from '../openai/checks.js';
import type { ChatRequest } from '../openai/types.js';
import type { Tool } from '../types/chat.js';
import { chatMessages } from './messages.js';
import type { CountTokensRequest, MessageRequest, OutputConfig, ThinkingConfig, ToolChoice } from './types.js';

const CALL = 'messages.create';

const oneOf =
  (field: string, ...kinds: string[]): Check =>
  (value) =>
    kinds.includes((value as Record<string, unknown>)[field] as string)
      ? undefined
      : `an object whose '${field}' is ${kinds.map((kind) => `'${kind}'`).join(', ')}`;

const CHOICE: Check = (value) => {
  const { type, name } = value as { type?: unknown; name?: unknown };
  if (type === 'tool' && typeof name !== 'string') return "{ type: 'tool', name } with a string for name";
  return oneOf('type', 'auto', 'any', 'tool', 'none')(value);
};

const THINKING: Check = (value) => {
  const { type, budget_tokens: budget } = value as { type?: unknown; budget_tokens?: unknown };
  if (type === 'enabled' && TOKENS(budget)) return "{ type: 'enabled', budget_tokens } with 1 token or more";
  return oneOf('type', 'enabled', 'adaptive', 'disabled', 'between_tools')(value);
};

const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max', undefined, null];

const OUTPUT: Check = (value) => {
  const { effort, format } = value as { effort?: string; format?: { type?: unknown; schema?: unknown } | null };
  const isSchema = format == null || (format.type === 'json_schema' && typeof format.schema === 'object');
  if (EFFORTS.includes(effort) && isSchema) return undefined;
  return "{ effort, format } with 'low' to 'max' and { type: 'json_schema', schema }";
};

const FIELDS: Record<keyof MessageRequest, Check> = {
  model: TEXT,
  messages: LIST,
  max_tokens: TOKENS,
  system: (value) => (typeof value === 'string' || Array.isArray(value) ? undefined : 'a string or blocks of text'),
  stream: FLAG,
  stop_sequences: (value) => LIST(value) ?? STOP(value),
  temperature: range(0, 1),
  top_p: range(0, 1),
  top_k: integer(0, 2 ** 32 - 1),
  tools: LIST,
  tool_choice: CHOICE,
  thinking: THINKING,
  output_config: OUTPUT,
  cache_control: OBJECT,
  diagnostics: OBJECT,
  inference_geo: TEXT,
  metadata: OBJECT,
  service_tier: TEXT,
  speed: TEXT,
  user_profile_id: TEXT,
  workspace_id: TEXT,
  container: () => 'null',
};

/** What Anthropic has and a model here cannot do. */
const NOT_HERE = ['mcp_servers', 'context_management', 'fallbacks'];

/** What becomes of thoughts. @internal */
export type Display = 'shown' | 'omitted' | 'none';

/** A request that can run. @internal */
export interface Asked {
  readonly chat: ChatRequest;
  readonly display: Display;
}

/** @internal */
export function askedOf(request: MessageRequest): Asked {
  const asked = counted(request);
  const { max_tokens: most, thinking } = checkAll(CALL, request, FIELDS, NOT_HERE);
  if (most === undefined) refuse(CALL, "field 'max_tokens' is missing");
  if (thinking?.type === 'enabled' && thinking.budget_tokens >= (most as number)) {
    const found = `found ${thinking.budget_tokens} and ${most}`;
    refuse(CALL, `field 'thinking': 'budget_tokens' must be less than 'max_tokens', ${found}`);
  }
  return asked;
}

/** The same of a request that asks for a count. @internal */
export function counted(request: CountTokensRequest): Asked {
  const checked = checkAll(CALL, request as MessageRequest, FIELDS, NOT_HERE);
  const { messages, system, model, stream, tools, tool_choice: choice, thinking, output_config: output } = checked;
  if (!messages) refuse(CALL, "field 'messages' is missing");
  const { max_tokens: most, temperature, top_p: topP, top_k: topK, stop_sequences: stop } = checked;
  return {
    display: displayOf(thinking),
    chat: {
      messages: chatMessages(system, messages as MessageRequest['messages']),
      ...given({ model, stream, max_completion_tokens: most, temperature, top_p: topP, top_k: topK, stop }),
      ...(tools && { tools: tools.map(toolOf) }),
      ...(choice && choiceOf(choice)),
      ...thoughtsOf(thinking, output),
      ...(output?.format && {
        response_format: { type: 'json_schema' as const, json_schema: { schema: output.format.schema } },
      }),
    },
  };
}

/** Without what is absent. */
const given = <T extends object>(fields: T): Checked<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Checked<T>;

function toolOf(tool: unknown, index: number): Tool {
  const { type, name, description, input_schema: parameters } = (tool ?? {}) as Record<string, unknown>;
  if (type != null && type !== 'custom') {
    throw invalidArgument(`${CALL}: 'tools[${index}]': tools of type ${show(type)} run at Anthropic, not here`);
  }
  if (typeof name !== 'string' || typeof parameters !== 'object' || parameters === null) {
    throw invalidArgument(
      `${CALL}: 'tools[${index}]' must be { name, description, input_schema }, found ${show(tool)}`,
    );
  }
  const said = typeof description === 'string' ? { description } : {};
  return { type: 'function', function: { name, ...said, parameters } };
}

function choiceOf(choice: ToolChoice): Pick<ChatRequest, 'tool_choice' | 'parallel_tool_calls'> {
  const { type } = choice;
  const onlyOne = type !== 'none' && choice.disable_parallel_tool_use === true;
  const called = type === 'any' ? 'required' : type;
  return {
    tool_choice: called === 'tool' ? { type: 'function', function: { name: nameIn(choice) } } : called,
    ...(onlyOne && { parallel_tool_calls: false }),
  };
}

const nameIn = (choice: ToolChoice): string => (choice as { name: string }).name;

function thoughtsOf(
  thinking: ThinkingConfig | undefined,
  output: OutputConfig | undefined,
): Pick<ChatRequest, 'enable_thinking' | 'reasoning_effort' | 'reasoning_budget'> {
  if (displayOf(thinking) === 'none') return { enable_thinking: false };
  const budget = thinking?.type === 'enabled' ? { reasoning_budget: thinking.budget_tokens } : {};
  const effort = output?.effort;
  return {
    ...budget,
    ...(effort ? { reasoning_effort: effort === 'max' ? 'xhigh' : effort } : { enable_thinking: true }),
  };
}

function displayOf(thinking: ThinkingConfig | undefined): Display {
  if (thinking?.type !== 'enabled' && thinking?.type !== 'adaptive') return 'none';
  return thinking.display === 'omitted' ? 'omitted' : 'shown';
}
