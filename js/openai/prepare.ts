/**
 * From a request to a prompt, options of `generate`, and a reader of what the model writes.
 */
import { invalidArgument } from '../errors.js';
import type { WasmModel } from '../model.js';
import type { ChatTemplateOptions, GenerateOptions, Grammar, Message, Tool } from '../types.js';
import { type Family, familyOf, isInThoughts, readerOf, specialOf } from './families.js';
import type { Tools } from './formats/cursor.js';
import { harmony } from './harmony.js';
import { messagesFor, withoutSystem } from './messages.js';
import type { Reader } from './reader.js';
import { type Checked, checkChat } from './request.js';
import type { ChatRequest } from './types.js';

/** @internal */
export type CheckedChat = ReturnType<typeof checkChat>;

/** A request that can run. @internal */
export interface Prepared {
  readonly request: CheckedChat;
  readonly prompt: string;
  /** What the model is made to begin with; part of the prompt. */
  readonly begun: string;
  readonly options: GenerateOptions;
  /** A new reader for each answer. */
  reader(): Reader;
}

/** @internal */
export async function prepare(model: WasmModel, body: ChatRequest): Promise<Prepared> {
  const request = checkChat(body);
  const { tools: given = [], tool_choice: choice = 'auto' } = request;
  const family = familyOf(model.info.chatTemplate);
  const tools = choice === 'none' ? [] : given;
  const grammar = grammarOf(request, tools);
  const templated = await templateText(model, family, request, tools, grammar !== undefined);
  const hasTools = tools.length > 0;
  const begun = beginning(family, templated, request, grammar !== undefined);
  const schemas = hasTools ? schemasOf(tools) : undefined;
  return {
    request,
    prompt: templated + begun,
    begun,
    options: { ...samplingOf(request), ...(grammar && { grammar }), showSpecial: specialOf(family, hasTools) },
    reader: () => readerOf(family, templated, schemas),
  };
}

async function templateText(
  model: WasmModel,
  family: Family,
  request: CheckedChat,
  tools: readonly Tool[],
  isConstrained: boolean,
): Promise<string> {
  const messages = messagesFor(family, request.messages, tools);
  const options: ChatTemplateOptions = {
    ...(tools.length > 0 && family.takesTools && { tools }),
    chatTemplateKwargs: { ...thinking(request, isConstrained), ...request.chat_template_kwargs },
  };
  const apply = (list: readonly Message[]): Promise<string> => model.applyChatTemplate(list, options);
  const merged = withoutSystem(messages);
  if (!merged) return apply(messages);
  return apply(messages).catch((error: unknown) =>
    apply(merged).catch(() => {
      throw error;
    }),
  );
}

/** Variables of templates that say whether and how long the model thinks. */
function thinking({ reasoning_effort: effort }: CheckedChat, isConstrained: boolean): Record<string, unknown> {
  if (effort === undefined) return isConstrained ? { enable_thinking: false } : {};
  if (effort === 'none') return { enable_thinking: false, thinking: false, reasoning_effort: 'low' };
  const known = effort === 'minimal' ? 'low' : effort === 'xhigh' ? 'high' : effort;
  return { enable_thinking: true, thinking: true, reasoning_effort: known };
}

/** What the answer is made to begin with: a call where one is required, and no thoughts where it is constrained. */
function beginning(family: Family, prompt: string, request: CheckedChat, isConstrained: boolean): string {
  const { tools = [], tool_choice: choice = 'auto' } = request;
  const isForced = choice === 'required' || typeof choice === 'object';
  if (!isForced && !isConstrained) return '';
  const isOpen = isInThoughts(family.thoughts, prompt);
  const close = isOpen ? `\n${family.thoughts?.close ?? ''}\n\n` : '';
  const [only] = tools.length === 1 ? tools : [];
  const name = typeof choice === 'object' ? choice.function.name : only?.function.name;
  if (isForced) return close + family.format.force(name);
  return family.format === harmony ? '<|channel|>final<|message|>' : close;
}

function schemasOf(tools: readonly Tool[]): Tools {
  return new Map(tools.map((tool) => [tool.function?.name, tool.function?.parameters]));
}

function grammarOf(request: CheckedChat, tools: readonly Tool[]): Grammar | undefined {
  const { response_format: format, grammar } = request;
  const wanted: Grammar | undefined =
    format?.type === 'json_object'
      ? { json: true }
      : format?.type === 'json_schema'
        ? { jsonSchema: format.json_schema.schema as object }
        : grammar === undefined
          ? undefined
          : { gbnf: grammar };
  if (wanted && tools.length > 0) {
    const field = grammar === undefined ? 'response_format' : 'grammar';
    throw invalidArgument(
      `chat.completions.create: '${field}' and 'tools' at once are not supported; set 'tool_choice' to 'none'`,
    );
  }
  return wanted;
}

function samplingOf(request: Checked<ChatRequest>): GenerateOptions {
  const { top_p: topP = 1, top_k: topK = 0, min_p: minP, logprobs, top_logprobs: top = 0 } = request;
  return {
    maxTokens: request.max_completion_tokens ?? request.max_tokens,
    temperature: request.temperature ?? 1,
    topP,
    topK,
    minP: minP ?? (request.top_p === undefined && request.top_k === undefined ? 0.05 : 0),
    repetitionPenalty: request.repetition_penalty,
    frequencyPenalty: request.frequency_penalty,
    presencePenalty: request.presence_penalty,
    stop: request.stop,
    ...(logprobs && { logprobs: top }),
    ...(request.logit_bias && { logitBias: request.logit_bias as Record<number, number> }),
  };
}
