/**
 * Requests checked: what is wrong is named, with what was found and what is right.
 */
import { invalidArgument } from '../errors.js';
import { isContent } from '../model/embedding.js';
import { jsonSchemaOf, withParameters } from '../model/schema.js';
import { show } from '../check.js';
import { checkBreakers, checkSampling, type OpenAiSamplingOptions, SAMPLING_ROWS } from '../sampling.js';
import {
  checkAll,
  type Check,
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
  words,
} from './checks.js';
import { choiceMistake, toolChoiceShape } from './tool-choice.js';
import type { Message, Tool } from '../types/chat.js';
import type { ChatRequest, EmbeddingRequest, ResponseFormat } from './types.js';

/** A JSON Schema, its text, or what libraries have in its place, which may be a function. */
const isSchema = (value: unknown): boolean => value !== null && ['object', 'function', 'string'].includes(typeof value);

const FORMAT: Check = (value) => {
  const {
    type: kind,
    json_schema: named,
    schema,
  } = value as Partial<Record<'type' | 'schema', unknown>> & {
    json_schema?: { schema?: unknown };
  };
  if (kind === 'text' || (kind === 'json_object' && (schema === undefined || isSchema(schema)))) return undefined;
  if (kind === 'json_schema' && isSchema(named?.schema) && typeof named?.schema !== 'string') return undefined;
  return "{ type: 'text' }, { type: 'json_object' } or { type: 'json_schema', json_schema: { name, schema } }";
};

const PREDICTION: Check = (value) => {
  const { type: kind, content } = value as { type?: unknown; content?: unknown };
  const isText = (part: unknown): boolean => typeof (part as { text?: unknown } | null)?.text === 'string';
  const fits = typeof content === 'string' || (Array.isArray(content) && content.every(isText));
  return kind === 'content' && fits ? undefined : "{ type: 'content', content } with a string or parts of text";
};

const SAMPLING_CHECKS: Record<string, Check> = Object.fromEntries(
  SAMPLING_ROWS.map(([, row]): [string, Check] => [row.openai, (value) => checkSampling(row, value)]),
);

/** @internal */
export const CHAT_CHECKS: Record<keyof ChatRequest, Check> = {
  messages: LIST,
  model: TEXT,
  stream: FLAG,
  stream_options: OBJECT,
  max_completion_tokens: TOKENS,
  max_tokens: TOKENS,
  ...(SAMPLING_CHECKS as Record<keyof OpenAiSamplingOptions, Check>),
  dry_sequence_breakers: checkBreakers,
  temperature: range(0, 2),
  top_p: range(0, 1),
  seed: integer(-1, Number.MAX_SAFE_INTEGER),
  stop: STOP,
  n: integer(1, 128),
  logprobs: FLAG,
  top_logprobs: integer(0, 20),
  logit_bias: OBJECT,
  tools: LIST,
  tool_choice: toolChoiceShape,
  parallel_tool_calls: FLAG,
  response_format: FORMAT,
  reasoning_effort: words('none', 'minimal', 'low', 'medium', 'high', 'xhigh'),
  enable_thinking: FLAG,
  reasoning_budget: integer(0, 2 ** 32 - 1),
  prediction: PREDICTION,
  adapters: LIST,
  grammar: TEXT,
  chat_template_kwargs: OBJECT,
  timings: FLAG,
  cache_prompt: FLAG,
  user: TEXT,
  store: FLAG,
  metadata: OBJECT,
  service_tier: TEXT,
  prompt_cache_key: TEXT,
  prompt_cache_retention: TEXT,
  safety_identifier: TEXT,
  verbosity: words('low', 'medium', 'high'),
  modalities: (value) => (Array.isArray(value) && value.join() === 'text' ? undefined : "['text']"),
};

const EMBEDDING: Record<keyof EmbeddingRequest, Check> = {
  input: (value) =>
    typeof value === 'string' || Array.isArray(value) || isContent(value) ? undefined : 'a string or an array',
  task: TEXT,
  model: TEXT,
  encoding_format: words('float', 'base64'),
  dimensions: TOKENS,
  user: TEXT,
};

/** What OpenAI has and a model here cannot do. */
const NOT_HERE = ['audio', 'functions', 'function_call', 'web_search_options'];

/** A request whose tools are functions and whose messages are text: what a model here answers. @internal */
export interface TextRequest extends Omit<ChatRequest, 'messages' | 'tools'> {
  messages: readonly Message[];
  tools?: readonly Tool[] | null | undefined;
}

/** Checks a request. The parts of its messages are checked later, when the prompt is made. @internal */
export function checkChat(request: ChatRequest): Checked<TextRequest> & Pick<TextRequest, 'messages'> {
  const checked = checkAll('chat.completions.create', request as TextRequest, CHAT_CHECKS, NOT_HERE);
  const { tools = [], tool_choice: choice = 'auto', messages, grammar, response_format: format } = checked;
  const wrong = (message: string): never => refuse('chat.completions.create', message);
  const unnamed = tools.findIndex((tool) => typeof tool?.function?.name !== 'string');
  if (unnamed >= 0) {
    const expected = "{ type: 'function', function: { name, description, parameters } }";
    wrong(`'tools[${unnamed}]' must be ${expected}, found ${show(tools[unnamed])}`);
  }
  if (!messages) return wrong("field 'messages' is missing");
  const named = tools.map((tool, index) => {
    const what = `chat.completions.create: 'tools[${index}]'`;
    return { ...tool, function: withParameters(what, tool.function) };
  });
  const mistake = choiceMistake(tools, choice);
  if (mistake) wrong(mistake);
  if (grammar !== undefined && format && format.type !== 'text') {
    wrong("'grammar' and 'response_format' exclude each other");
  }
  if (checked.top_logprobs !== undefined && !checked.logprobs) wrong("'top_logprobs' needs 'logprobs: true'");
  // As llama-server has it: another seed each time.
  const { seed, ...others } = checked;
  return {
    ...others,
    ...(checked.tools && { tools: named }),
    ...(format && { response_format: plainFormat(format) }),
    ...(seed !== -1 && seed !== undefined && { seed }),
    messages,
  };
}

/** With a JSON Schema; as WebLLM and llama-server have it, `json_object` may have one, too. */
function plainFormat(format: ResponseFormat): ResponseFormat {
  const what = "chat.completions.create: field 'response_format': its schema";
  if (format.type === 'json_schema') {
    const schema = jsonSchemaOf(what, format.json_schema.schema) as object;
    return { ...format, json_schema: { ...format.json_schema, schema } };
  }
  if (format.type === 'text' || format.schema === undefined) return format;
  const { schema } = format;
  if (typeof schema !== 'string') return { ...format, schema: jsonSchemaOf(what, schema) as object };
  try {
    return { ...format, schema: JSON.parse(schema) as object };
  } catch (cause) {
    throw invalidArgument(`${what} is no JSON: ${(cause as Error).message}`);
  }
}

/** @internal */
export function checkEmbedding(request: EmbeddingRequest): Checked<EmbeddingRequest> {
  const checked = checkAll('embeddings.create', request, EMBEDDING);
  if (checked.input === undefined) refuse('embeddings.create', "field 'input' is missing");
  return checked;
}
