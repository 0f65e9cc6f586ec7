/**
 * From a request to a prompt, options of `generate`, and a reader of what the model writes.
 */
import type { Inserted } from '../engine/engine.js';
import { grammarText } from '../engine/grammar.js';
import { lenient } from '../model/schema.js';
import { invalidArgument } from '../errors.js';
import { mediaOf } from '../model/conversation.js';
import { pageFiles } from '../load/page-files.js';
import { type TextWithMedia, withMedia } from '../model/prompt.js';
import { Budget, budgetOf, closingOf } from './budget.js';
import type { ChatModel } from './chat-model.js';
import type { Checked } from './checks.js';
import { type OpenAiSamplingOptions, SAMPLING, SAMPLING_ROWS } from '../sampling.js';
import type { ChatTemplateOptions, Message, Tool } from '../types/chat.js';
import type { GenerateOptions, Grammar } from '../types/generate.js';
import { canAnswerOrCall, type Family, familyOf, isFollowed, isInThoughts, readerOf, specialOf } from './families.js';
import type { Format, ObjectKeys, Tools } from './formats/format.js';
import { harmony } from './harmony.js';
import { formsOf, messagesFor } from './messages.js';
import { otherForms } from './other-forms.js';
import { withoutPrefix } from './prefix.js';
import type { Reader } from './reader.js';
import { checkChat } from './request.js';
import { type Choice, choiceOf } from './tool-choice.js';
import type { ChatRequest } from './types.js';

/** @internal */
export type CheckedChat = ReturnType<typeof checkChat>;

/** A request that can run. @internal */
export interface Prepared {
  readonly request: CheckedChat;
  readonly prompt: string | TextWithMedia;
  /** What the model is made to begin with; part of the prompt. */
  readonly begun: string;
  /** The end of `begun` that is no part of the answer. */
  readonly prefix: string;
  readonly options: GenerateOptions;
  /** Strings that end the text of the answer; in thoughts and calls they mean nothing. */
  readonly stop: ChatRequest['stop'];
  /** A new reader for each answer. */
  reader(): Reader;
  /** What bounds the thoughts of an answer, a new one for each; nothing where they have no bound. */
  budget(): Budget | undefined;
}

/** What a request of OpenAI's cannot say. @internal */
export interface Extension {
  /** What the answer must be. */
  readonly grammar?: Grammar | undefined;
  /** What the answer is made to begin with. */
  readonly prefix?: string | undefined;
}

/** @internal */
export async function prepare(
  model: ChatModel,
  body: ChatRequest,
  { grammar: wanted, prefix: given }: Extension = {},
): Promise<Prepared> {
  const request = checkChat(body);
  const { messages, prefix = given } = withoutPrefix(request.messages);
  const template = templateOf(model.info, body.tools);
  const family = familyOf(template);
  const choice = choiceOf(request.tools ?? [], request.tool_choice);
  const tools = shownTools(family, request.tools ?? [], choice);
  const asked = grammarOf(request);
  const answer = asked && tools.length > 0 ? schemaBesideTools(family, choice, asked) : undefined;
  const grammar = asked ?? wanted;
  const isConstrained = grammar !== undefined || prefix !== undefined;
  const templated = await templateText(model, family, messages, tools, {
    chatTemplateKwargs: { ...thinking(request, isConstrained), ...request.chat_template_kwargs },
  });
  const hasTools = tools.length > 0;
  const isForced = choice.mode === 'required';
  const beginning = beginningOf(family, templated, [request, choice], { grammar, prefix });
  const { begun, grammar: constraint } = beginning.needsRules
    ? { ...beginning, grammar: await grammarOfForced(model, family, choice.tools, beginning.several ?? false) }
    : beginning;
  const mayCall = hasTools && choice.mode === 'auto' && !isConstrained;
  const calls = answer || mayCall ? await grammarOfCalls(model, family, templated, choice.tools, answer) : undefined;
  const followed = calls ?? constraint;
  const schemas = hasTools ? schemasOf(tools) : undefined;
  const isSure = followed !== undefined && (calls !== undefined || isForced);
  const reader = (): Reader => readerOf(family, templated, schemas, isSure);
  const most = isConstrained || isForced ? undefined : budgetOf(request, template);
  const closing = most === undefined ? undefined : await closingIn(model, family, mayCall ? choice.tools : []);
  return {
    request,
    stop: request.stop,
    prompt: withMedia(templated + (await asText(model, begun, prefix, choice)), mediaOf(messages)),
    begun,
    prefix: prefix !== undefined && begun.endsWith(prefix) ? prefix : '',
    options: {
      ...samplingOf(request),
      ...(followed && { grammar: followed }),
      showSpecial: specialOf(family, hasTools),
      ...(request.store === false && { prefixCache: false }),
    },
    reader,
    budget: () => closing && new Budget(most as number, reader(), closing),
  };
}

/** What closes a thought, and the grammar of what follows where that may call tools. */
async function closingIn(model: ChatModel, family: Family, tools: readonly Tool[]): Promise<Inserted | undefined> {
  const text = closingOf(family);
  if (text === undefined) return undefined;
  const grammar = tools.length > 0 ? await grammarOfCalls(model, family, '', tools) : undefined;
  return { text, ...(grammar && { grammar: grammarText(grammar) }) };
}

/** The beginning of an answer in a prompt: control tokens in its prefix and in the name of a tool are text. */
async function asText(model: ChatModel, begun: string, given = '', { mode, tools }: Choice): Promise<string> {
  const [only] = mode === 'required' ? tools : [];
  const prefix = begun.endsWith(given) ? given : '';
  const own = begun.slice(0, begun.length - prefix.length);
  const name = only?.function.name ?? '';
  const isPlain = /^[\w-]*$/.test(name) || !own.includes(name);
  const call = isPlain ? own : own.split(name).join(await model.protectedText(name, false));
  return call + (prefix && (await model.protectedText(prefix, true)));
}

/** What the model is told of: all, where a grammar keeps its calls to those that are allowed. */
function shownTools(family: Family, tools: readonly Tool[], choice: Choice): readonly Tool[] {
  if (choice.mode === 'none') return [];
  return isFollowed(family.format) || choice.isNamed ? tools : choice.tools;
}

/** The template that writes a conversation with these tools. */
function templateOf(
  { chatTemplate, toolTemplate }: ChatModel['info'],
  tools?: readonly unknown[] | null,
): string | undefined {
  return tools?.length ? (toolTemplate ?? chatTemplate) : chatTemplate;
}

/** A conversation as text, without the beginning of an answer, its images and its sounds. @internal */
export async function conversationText(
  model: ChatModel,
  messages: readonly Message[],
  tools: readonly Tool[],
  options: ChatTemplateOptions = { addGenerationPrompt: false },
): Promise<string | TextWithMedia> {
  const text = await templateText(model, familyOf(templateOf(model.info, tools)), messages, tools, options);
  return withMedia(text, mediaOf(messages));
}

/** Where the template refuses the messages, they are given to it in other forms that say the same. */
async function templateText(
  model: ChatModel,
  family: Family,
  given: readonly Message[],
  tools: readonly Tool[],
  variables: ChatTemplateOptions,
): Promise<string> {
  const options: ChatTemplateOptions = {
    parseSpecial: false,
    ...(tools.length > 0 && family.takesTools && { tools }),
    ...variables,
  };
  let refusal: unknown;
  for (const form of otherForms(messagesFor(family, given, tools))) {
    for (const messages of formsOf(form)) {
      try {
        return await model.textWithMarks(messages, options);
      } catch (error) {
        refusal ??= error;
      }
    }
  }
  throw refusal;
}

/** Variables of templates that say whether and how long the model thinks. */
function thinking(request: CheckedChat, isConstrained: boolean): Record<string, unknown> {
  const { reasoning_effort: effort, enable_thinking: thinks = isConstrained ? false : undefined } = request;
  if (effort === undefined) return thinks === undefined ? {} : { enable_thinking: thinks };
  if (effort === 'none') return { enable_thinking: false, thinking: false, reasoning_effort: 'low' };
  const known = effort === 'minimal' ? 'low' : effort === 'xhigh' ? 'high' : effort;
  return { enable_thinking: true, thinking: true, reasoning_effort: known };
}

/** What the answer is made to begin with, and what must follow. */
interface Beginning {
  readonly begun: string;
  readonly grammar?: Grammar | undefined;
  /** A call follows that is no JSON: its grammar has rules of its own. */
  readonly needsRules?: boolean;
  readonly several?: boolean;
}

/** A call where one is required, and no thoughts where the answer is constrained or begun. */
function beginningOf(
  family: Family,
  prompt: string,
  [request, { mode, tools, isNamed }]: readonly [CheckedChat, Choice],
  { grammar, prefix }: Extension,
): Beginning {
  const isForced = mode === 'required';
  if (!isForced && !grammar && prefix === undefined) return { begun: '' };
  const isOpen = isInThoughts(family.thoughts, prompt);
  const close = isOpen ? `\n${family.thoughts?.close ?? ''}\n\n` : '';
  const answer = family.format === harmony ? '<|channel|>final<|message|>' : close;
  if (!isForced) return { begun: answer + (prefix ?? ''), grammar };
  const call = forcedCall(family.format, tools, request.parallel_tool_calls !== false && !isNamed);
  return { ...call, begun: close + call.begun };
}

/** Fetched when it is first needed, as the WebAssembly is that follows it. */
async function grammarOfForced(
  ...args: Parameters<typeof import('./call-grammar.js').forcedGrammar>
): Promise<Grammar | undefined> {
  const { forcedGrammar } = await pageFiles.callGrammar();
  return forcedGrammar(...args);
}

/** The beginning of a call of one of `tools`, whose arguments follow their schema where the format is JSON. */
function forcedCall(format: Format, tools: readonly Tool[], several: boolean): Beginning {
  const { object } = format;
  const [only] = tools;
  if ((format.parameters || format.literal) && format.body) return { begun: format.force(), needsRules: true, several };
  if (tools.length === 1 && only && !(several && object?.isList)) {
    const begun = format.force(only.function.name);
    return { begun, ...(format.isJson && { grammar: { jsonSchema: lenient(parametersOf(only)) } }) };
  }
  if (!object) return { begun: format.force(), needsRules: true, several };
  const $defs: Record<string, object> = {};
  const calls = tools.map((tool, place) => {
    $defs[`tool_${place}`] = moved(parametersOf(tool), `#/$defs/tool_${place}`) as object;
    return {
      type: 'object',
      ...objectSchema(object, tool.function.name, { $ref: `#/$defs/tool_${place}` }),
      additionalProperties: false,
    };
  });
  const items = calls.length === 1 ? (calls[0] as object) : { anyOf: calls };
  const list = { type: 'array', items, minItems: 1, ...(!several && { maxItems: 1 }) };
  const jsonSchema = lenient({ ...(object.isList ? list : items), $defs });
  return { begun: object.before, grammar: { jsonSchema } };
}

/** The members of a call that is an object. */
function objectSchema({ name = 'name', key, id, isByName = false }: ObjectKeys, tool: string, value: object): object {
  if (isByName) return { properties: { [tool]: value }, required: [tool] };
  const first = id ? { [id]: { type: 'string', maxLength: 64 } } : {};
  return { properties: { ...first, [name]: { const: tool }, [key]: value }, required: [name, key] };
}

/** Fetched when it is first needed, as the WebAssembly is that follows it. */
async function grammarOfCalls(
  ...args: Parameters<typeof import('./call-grammar.js').callGrammar>
): Promise<Grammar | undefined> {
  const { callGrammar } = await pageFiles.callGrammar();
  return callGrammar(...args);
}

/** Arguments are an object, whatever else the schema says. */
const parametersOf = ({ function: { parameters } }: Tool): object => ({ type: 'object', ...parameters });

/** A copy of a schema whose references into itself begin at `root`. */
function moved(schema: unknown, root: string): unknown {
  if (Array.isArray(schema)) return schema.map((item) => moved(item, root));
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => {
      const isPointer = key === '$ref' && typeof value === 'string' && /^#(\/|$)/.test(value);
      return [key, isPointer ? root + value.slice(1) : moved(value, root)];
    }),
  );
}

function schemasOf(tools: readonly Tool[]): Tools {
  return new Map(tools.map((tool) => [tool.function?.name, tool.function?.parameters]));
}

function grammarOf({ response_format: format, grammar }: CheckedChat): Grammar | undefined {
  if (format?.type === 'json_object') return format.schema ? { jsonSchema: format.schema } : { json: true };
  if (format?.type === 'json_schema') return { jsonSchema: format.json_schema.schema as object };
  return grammar === undefined ? undefined : { gbnf: grammar };
}

/** The schema of an answer that may be a call instead; none where it must be one. */
function schemaBesideTools(family: Family, { mode }: Choice, asked: Grammar): object | undefined {
  const isFormat = !('gbnf' in asked);
  if (!isFormat || (mode === 'auto' && !canAnswerOrCall(family))) {
    const field = isFormat ? 'response_format' : 'grammar';
    const why = isFormat ? ' by this model' : '';
    throw invalidArgument(
      `chat.completions.create: '${field}' and 'tools' at once are not supported${why}; set 'tool_choice' to 'none'`,
    );
  }
  if (mode === 'required') return undefined;
  return 'jsonSchema' in asked ? (asked.jsonSchema as object) : { type: 'object' };
}

function predictedText(content: NonNullable<ChatRequest['prediction']>['content']): string {
  return typeof content === 'string' ? content : content.map((part) => part.text).join('');
}

/** @internal */
export function samplingOf(request: Checked<ChatRequest>): GenerateOptions {
  const { logprobs, top_logprobs: top = 0 } = request;
  const given = SAMPLING_ROWS.map(([name, { openai }]) => [name, request[openai as keyof OpenAiSamplingOptions]]);
  const hasFilter = request.top_p !== undefined || request.top_k !== undefined;
  return {
    temperature: 1,
    minP: hasFilter ? 0 : 0.05,
    ...Object.fromEntries(given.filter(([, value]) => value !== undefined)),
    ...(request.top_p === 0 && { topP: SAMPLING.topP.least }),
    ...(request.dry_sequence_breakers && { drySequenceBreakers: request.dry_sequence_breakers }),
    maxTokens: request.max_completion_tokens ?? request.max_tokens,
    ...(request.prediction && { prediction: predictedText(request.prediction.content) }),
    ...(request.adapters && { adapters: request.adapters }),
    ...(logprobs && { logprobs: top }),
    ...(request.logit_bias && { logitBias: request.logit_bias as Record<number, number> }),
  };
}
