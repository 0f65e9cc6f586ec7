/**
 * Requests of the Responses API checked, and as requests of a chat.
 */
import { show } from '../../check.js';
import { WebggufError } from '../../errors.js';
import { jsonSchemaOf, withParameters } from '../../model/schema.js';
import { type OpenAiSamplingOptions, SAMPLING_ROWS } from '../../sampling.js';
import type { Tool } from '../../types/chat.js';
import { type Check, checkAll, FLAG, integer, LIST, OBJECT, refuse, TEXT, TOKENS, words } from '../checks.js';
import type { ChatRequest, NamedTool, ResponseFormat, ToolChoice } from '../types.js';
import { type Item, itemsOf, plain } from './items.js';
import type { ModelResponse, ResponseFunction, ResponseReasoning, ResponseRequest } from './types.js';

const CALL = 'responses.create';

/** What the chat's own checks look at. */
const OF_CHAT = [
  'stop',
  'dry_sequence_breakers',
  'logit_bias',
  'enable_thinking',
  'reasoning_budget',
  'adapters',
  'grammar',
  'chat_template_kwargs',
] as const;
/** What comes back as it is. */
const ECHOED = ['user', 'service_tier', 'safety_identifier', 'prompt_cache_key', 'prompt_cache_retention'] as const;

type Fields = Record<string, unknown>;
type OfChat = (typeof OF_CHAT)[number] | keyof OpenAiSamplingOptions;

const SAMPLING = SAMPLING_ROWS.map(([, { openai }]) => openai);
const ANY: Check = () => undefined;
const REASONING = ['effort', 'summary', 'generate_summary', 'context', 'mode'];
const EFFORTS = words('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max');
const SUMMARIES = words('auto', 'concise', 'detailed');
const LOGPROBS = 'message.output_text.logprobs';
/** What may be asked for; but for the first, there is nothing to leave out or to add. */
const INCLUDED = [LOGPROBS, 'reasoning.encrypted_content', 'message.input_image.image_url'];

const CHECKS: Record<keyof ResponseRequest, Check> = {
  ...(Object.fromEntries([...OF_CHAT, ...SAMPLING].map((name) => [name, ANY])) as Record<OfChat, Check>),
  input: ANY,
  instructions: TEXT,
  model: TEXT,
  previous_response_id: TEXT,
  store: FLAG,
  stream: FLAG,
  stream_options: OBJECT,
  max_output_tokens: TOKENS,
  tools: LIST,
  tool_choice: ANY,
  parallel_tool_calls: FLAG,
  text: OBJECT,
  reasoning: OBJECT,
  truncation: words('auto', 'disabled'),
  include: LIST,
  top_logprobs: integer(0, 20),
  metadata: OBJECT,
  background: FLAG,
  max_tool_calls: TOKENS,
  user: TEXT,
  service_tier: TEXT,
  safety_identifier: TEXT,
  prompt_cache_key: TEXT,
  prompt_cache_retention: TEXT,
  prompt_cache_options: OBJECT,
};

/** What OpenAI has and a model here cannot do. */
const NOT_HERE = [
  ...['access_programs', 'background_options', 'context_management', 'conversation', 'image', 'moderation', 'prompt'],
];

/** What a response says of its request. @internal */
export type Echo = Pick<
  ModelResponse,
  | 'instructions'
  | 'max_output_tokens'
  | 'metadata'
  | 'parallel_tool_calls'
  | 'previous_response_id'
  | 'reasoning'
  | 'store'
  | 'temperature'
  | 'text'
  | 'tool_choice'
  | 'tools'
  | 'top_logprobs'
  | 'top_p'
  | 'truncation'
>;

/** A request that is checked. @internal */
export interface CheckedResponse {
  readonly items: Item[];
  readonly instructions: string | undefined;
  readonly previous: string | undefined;
  /** Where it is kept. */
  readonly place: 'memory' | 'disk' | 'nowhere';
  readonly isStreamed: boolean;
  /** Whether it is written after the call. */
  readonly isBackground: boolean;
  /** Whether old turns may be left out. */
  readonly isTruncated: boolean;
  /** The request to the chat, but for its messages. */
  readonly chat: Omit<ChatRequest, 'messages'>;
  readonly echo: Echo;
}

/** @internal */
export function checkResponse(body: ResponseRequest): CheckedResponse {
  const request = checkAll(CALL, body, CHECKS, NOT_HERE);
  const { store, truncation = 'disabled', max_output_tokens: most, model } = request;
  const items = itemsOf(CALL, request.input);
  if (items.length === 0 && request.previous_response_id === undefined) refuse(CALL, "field 'input' is missing");
  if (request.background && store === false) {
    refuse(CALL, "field 'background': nobody could read a response that 'store: false' does not keep");
  }
  const tools = plain(CALL, 'tools', () => (request.tools ?? []).map(toolOf));
  const choice = choiceOf(request.tool_choice ?? 'auto');
  const reasoning = reasoningOf(request.reasoning ?? {});
  const text = plain(CALL, 'text', () => textOf(request.text ?? {}));
  const included = request.include ?? [];
  const unknown = included.find((name) => !INCLUDED.includes(name));
  if (unknown !== undefined) refuse(CALL, `field 'include': ${show(unknown)} is not supported`);
  const top = request.top_logprobs;
  const hasLogprobs = top !== undefined || included.includes(LOGPROBS);
  const passed = [...OF_CHAT, ...SAMPLING].map((name) => [name, request[name as OfChat]]);
  const taken = ECHOED.map((name) => [name, request[name]]);
  return {
    ...{ items, instructions: request.instructions, previous: request.previous_response_id },
    place: store === undefined ? 'memory' : store ? 'disk' : 'nowhere',
    isStreamed: request.stream ?? false,
    isBackground: request.background ?? false,
    isTruncated: truncation === 'auto',
    chat: {
      ...Object.fromEntries(passed.filter(([, value]) => value !== undefined)),
      ...(model !== undefined && { model }),
      ...(store === false && { store }),
      ...(most !== undefined && { max_completion_tokens: most }),
      ...(tools.length > 0 && { tools: tools.map(chatToolOf) }),
      ...(choice.given !== 'auto' && { tool_choice: choice.ofChat }),
      ...(request.parallel_tool_calls === false && { parallel_tool_calls: false }),
      ...(text.format.type !== 'text' && { response_format: formatOf(text.format) }),
      ...(reasoning.effort && { reasoning_effort: reasoning.effort === 'max' ? 'xhigh' : reasoning.effort }),
      ...(hasLogprobs && { logprobs: true, top_logprobs: top ?? 0 }),
    },
    echo: {
      ...Object.fromEntries(taken.filter(([, value]) => value !== undefined)),
      ...{ instructions: request.instructions ?? null, previous_response_id: request.previous_response_id ?? null },
      metadata: plain(CALL, 'metadata', () => (request.metadata ?? {}) as Record<string, string>),
      temperature: request.temperature ?? 1,
      ...{ top_p: request.top_p ?? 1, max_output_tokens: most ?? null, top_logprobs: top ?? 0, reasoning, text, tools },
      ...{ parallel_tool_calls: request.parallel_tool_calls ?? true, tool_choice: choice.given, truncation },
      store: store ?? true,
    },
  };
}

/** A function of the request, with its schema as JSON. */
function toolOf(given: unknown, index: number): ResponseFunction {
  const where = `'tools[${index}]'`;
  const { type, name, description, parameters, strict, ...others } = (given ?? {}) as Fields;
  if (type !== 'function') {
    refuse(CALL, `${where} is of type ${show(type)}, which is not supported: tools are functions`);
  }
  if (typeof name !== 'string') refuse(CALL, `${where} must be { type: 'function', name, … }, found ${show(given)}`);
  for (const field of ['defer_loading', 'async']) {
    if (others[field]) refuse(CALL, `${where} asks for '${field}', which is not supported`);
  }
  const described = withParameters(`${CALL}: ${where}`, { name, parameters: parameters ?? undefined });
  return {
    ...{ type, name, parameters: (described.parameters as Fields | undefined) ?? null },
    ...(typeof description === 'string' && { description }),
    strict: (strict as boolean | null | undefined) ?? null,
  };
}

function chatToolOf({ name, description, parameters, strict }: ResponseFunction): Tool {
  const further = { ...(parameters && { parameters }), ...(strict !== null && { strict }) };
  return { type: 'function', function: { name, ...(description && { description }), ...further } };
}

interface Chosen {
  readonly given: ModelResponse['tool_choice'];
  readonly ofChat: ToolChoice;
}

/** Which tool a choice names is checked by the chat. */
function choiceOf(given: unknown): Chosen {
  if (given === 'none' || given === 'auto' || given === 'required') return { given, ofChat: given };
  const { type, name, mode, tools } = (typeof given === 'object' && given !== null ? given : {}) as Fields;
  if (type === 'function' && typeof name === 'string') return { given: { type, name }, ofChat: namedTool(name) };
  const names = Array.isArray(tools) ? tools.map((tool: Fields | null) => tool?.type === 'function' && tool.name) : [];
  const isNamed = names.length > 0 && names.every((each) => typeof each === 'string');
  if (type === 'allowed_tools' && isNamed && (mode === 'auto' || mode === 'required')) {
    const named = (names as string[]).map((each) => ({ type: 'function', name: each }) as const);
    const allowed = { mode: mode as 'auto' | 'required', tools: named.map((tool) => namedTool(tool.name)) };
    return { given: { type, mode: allowed.mode, tools: named }, ofChat: { type, allowed_tools: allowed } };
  }
  const expected = "'none', 'auto', 'required', { type: 'function', name } or { type: 'allowed_tools', mode, tools }";
  return refuse(CALL, `field 'tool_choice' must be ${expected}, found ${show(type ?? given)}`);
}

const namedTool = (name: string): NamedTool => ({ type: 'function', function: { name } });

function reasoningOf(given: ResponseReasoning): ModelResponse['reasoning'] {
  for (const [name, value] of Object.entries(given)) {
    if (!REASONING.includes(name)) refuse(CALL, `field 'reasoning' has an unknown '${name}'`);
    const check = name === 'effort' ? EFFORTS : name === 'mode' ? words('standard') : ANY;
    const expected = value === undefined || value === null ? undefined : check(value);
    if (expected) refuse(CALL, `field 'reasoning.${name}' must be ${expected}, found ${show(value)}`);
  }
  const { effort = null, generate_summary: old, summary = old ?? null } = given;
  const expected = summary === null ? undefined : SUMMARIES(summary);
  if (expected) refuse(CALL, `field 'reasoning.summary' must be ${expected}, found ${show(summary)}`);
  return { effort, summary };
}

function textOf(given: object): ModelResponse['text'] {
  const { format = null, verbosity = null, ...others } = given as Fields;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) refuse(CALL, `field 'text' has an unknown '${unknown}'`);
  const expected = verbosity === null ? undefined : words('low', 'medium', 'high')(verbosity);
  if (expected) refuse(CALL, `field 'text.verbosity' must be ${expected}, found ${show(verbosity)}`);
  const { type, name, schema, strict, description } = (format ?? { type: 'text' }) as Fields;
  const said = verbosity !== null && { verbosity: verbosity as 'low' };
  if (type === 'text' || type === 'json_object') return { format: { type }, ...said };
  if (type !== 'json_schema' || !['object', 'function'].includes(typeof schema) || schema === null) {
    const shapes = "{ type: 'text' }, { type: 'json_object' } or { type: 'json_schema', name, schema }";
    refuse(CALL, `field 'text.format' must be ${shapes}, found ${show(type)}`);
  }
  const named = { name: typeof name === 'string' ? name : 'answer', ...(typeof strict === 'boolean' && { strict }) };
  const plain = jsonSchemaOf(`${CALL}: field 'text.format': its schema`, schema) as Fields;
  const described = typeof description === 'string' && { description };
  return { format: { type: 'json_schema', ...named, ...described, schema: plain }, ...said };
}

function formatOf(format: ModelResponse['text']['format']): ResponseFormat {
  if (format.type !== 'json_schema') return format;
  const { name, schema } = format;
  return { type: 'json_schema', json_schema: { name, schema } };
}

/** Names of the fields of a chat, and of the fields here. */
const FIELDS: Readonly<Record<string, string>> = {
  response_format: 'text.format',
  reasoning_effort: 'reasoning.effort',
  max_completion_tokens: 'max_output_tokens',
};

/** An error of the chat in the words of this request. @internal */
export function inOwnWords(error: unknown): unknown {
  const begins = 'chat.completions.create: ';
  if (!(error instanceof WebggufError) || !error.message.startsWith(begins)) return error;
  const message = error.message
    .slice(begins.length)
    .replaceAll(/'(response_format|reasoning_effort|max_completion_tokens)'/g, (_, name) => `'${FIELDS[name]}'`);
  return new WebggufError(error.code, `${CALL}: ${message}`, { cause: error });
}
