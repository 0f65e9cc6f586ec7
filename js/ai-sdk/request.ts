/**
 * Calls of the AI SDK as requests of OpenAI's face. What a model here cannot do is a warning.
 */
import { canAnswerOrCall, familyOf } from '../openai/families.js';
import type { TextRequest } from '../openai/request.js';
import { choiceOf } from '../openai/tool-choice.js';
import type { ChatRequest } from '../openai/types.js';
import { jsonSchemaOf, parametersOf } from '../model/schema.js';
import { schemaGuide } from '../model/schema-guide.js';
import { SAMPLING } from '../sampling.js';
import type { Message, Tool } from '../types/chat.js';
import { messagesOf } from './prompt.js';
import type { CallOptions, ToolDefinition, Warning } from './types.js';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const;
type Effort = (typeof EFFORTS)[number];

/** @internal */
export function requestOf(options: CallOptions): { request: TextRequest; warnings: Warning[] } {
  const warnings: Warning[] = [];
  const tools = toolsOf(options.tools ?? [], warnings);
  const { format, guide } = formatOf(options);
  const request: Mutable<TextRequest> = {
    messages: withGuide(messagesOf(options.prompt), guide),
    max_completion_tokens: options.maxOutputTokens,
    temperature: within('temperature', options.temperature, [0, 2], warnings),
    top_p: options.topP === 0 ? SAMPLING.topP.least : options.topP,
    top_k: options.topK,
    presence_penalty: within('presencePenalty', options.presencePenalty, [-2, 2], warnings),
    frequency_penalty: within('frequencyPenalty', options.frequencyPenalty, [-2, 2], warnings),
    seed: seedOf(options.seed, warnings),
    stop: options.stopSequences?.filter((text) => text !== ''),
    reasoning_effort: effortOf(options.reasoning, warnings),
    response_format: format,
    ...(tools.length > 0 && { tools, tool_choice: givenChoice(options.toolChoice) }),
    ...(options.providerOptions?.webgguf as Partial<TextRequest> | undefined),
  };
  return { request, warnings };
}

function toolsOf(tools: readonly ToolDefinition[], warnings: Warning[]): Tool[] {
  return tools.flatMap((tool): Tool[] => {
    if (tool.type === 'function') {
      const { name, description } = tool;
      const parameters = parametersOf(`the tool '${name}'`, tool);
      return [{ type: 'function', function: { name, description, ...(parameters && { parameters }) } }];
    }
    warnings.push({ type: 'unsupported', feature: `tool ${tool.id}`, details: 'a tool of another provider' });
    return [];
  });
}

function givenChoice(choice: CallOptions['toolChoice']): NonNullable<ChatRequest['tool_choice']> {
  if (choice?.type === 'tool') return { type: 'function', function: { name: choice.toolName } };
  return choice?.type ?? 'auto';
}

/** The schema is in the prompt, too. */
function formatOf({ responseFormat }: CallOptions): { format?: ChatRequest['response_format']; guide?: string } {
  if (responseFormat?.type !== 'json') return {};
  const { schema: given, name = 'answer' } = responseFormat;
  const schema = jsonSchemaOf('responseFormat.schema', given) as object | undefined;
  const guide = schema ? schemaGuide(JSON.stringify(schema)) : 'Answer in JSON.';
  return { format: schema ? { type: 'json_schema', json_schema: { name, schema } } : { type: 'json_object' }, guide };
}

/** Without a format that a model with this chat template cannot be kept to beside tools. @internal */
export function withFollowable(request: TextRequest, template: string | undefined, warnings: Warning[]): TextRequest {
  const { response_format: format, ...others } = request;
  const tools = request.tools ?? [];
  const mayCall = tools.length > 0 && choiceOf(tools, request.tool_choice ?? 'auto').mode === 'auto';
  if (!format || !mayCall || canAnswerOrCall(familyOf(template))) return request;
  const details = 'where there are tools, this model is asked for JSON and not kept to it';
  warnings.push({ type: 'compatibility', feature: 'responseFormat', details });
  return others;
}

function withGuide(messages: readonly Message[], guide: string | undefined): readonly Message[] {
  if (guide === undefined) return messages;
  const [first, ...rest] = messages;
  if (first?.role !== 'system') return [{ role: 'system', content: guide }, ...messages];
  return [{ ...first, content: `${first.content}\n\n${guide}` }, ...rest];
}

/** A number outside its range becomes the nearest one inside. */
/** A number in the range that a model takes, or a warning. @internal */
export function within(
  feature: string,
  value: number | undefined,
  [least, most]: readonly [number, number],
  warnings: Warning[],
): number | undefined {
  if (value === undefined || (value >= least && value <= most)) return value;
  const taken = Math.min(Math.max(value, least), most);
  warnings.push({
    type: 'compatibility',
    feature,
    details: `${value} is not from ${least} to ${most}: ${taken} taken`,
  });
  return taken;
}

function seedOf(seed: number | undefined, warnings: Warning[]): number | undefined {
  if (seed === undefined || (Number.isSafeInteger(seed) && seed >= 0)) return seed;
  warnings.push({ type: 'unsupported', feature: 'seed', details: `${seed} is no integer from 0 to 2^53 - 1` });
  return undefined;
}

function effortOf(reasoning: string | undefined, warnings: Warning[]): Effort | undefined {
  if (reasoning === undefined || reasoning === 'provider-default') return undefined;
  const effort = reasoning === 'max' ? 'xhigh' : EFFORTS.find((name) => name === reasoning);
  if (!effort) warnings.push({ type: 'unsupported', feature: 'reasoning', details: `there is no '${reasoning}'` });
  return effort;
}
