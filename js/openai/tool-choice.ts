/**
 * What `tool_choice` says: whether the model may or must call tools, and which.
 */
import type { Tool } from '../types/chat.js';
import type { ToolChoice } from './types.js';

/** @internal */
export interface Choice {
  readonly mode: 'none' | 'auto' | 'required';
  /** What may be called. */
  readonly tools: readonly Tool[];
  /** One tool was named, for one call. */
  readonly isNamed: boolean;
}

/** @internal */
export function choiceOf(tools: readonly Tool[], choice: ToolChoice = 'auto'): Choice {
  if (typeof choice === 'string') return { mode: choice, tools, isNamed: false };
  const names = namesOf(choice);
  const named = tools.filter((tool) => names.includes(tool.function.name));
  const isNamed = choice.type === 'function';
  return { mode: isNamed ? 'required' : choice.allowed_tools.mode, tools: named, isNamed };
}

/** The choice after a call that was forced has been made: the next is the model's. @internal */
export function afterCall<T extends ToolChoice | null | undefined>(choice: T): T | ToolChoice {
  if (choice === 'required') return 'auto';
  if (typeof choice !== 'object' || choice === null) return choice;
  if (choice.type === 'function') return 'auto';
  return { ...choice, allowed_tools: { ...choice.allowed_tools, mode: 'auto' } };
}

/** What is expected, where that is none. @internal */
export function toolChoiceShape(value: unknown): string | undefined {
  const shape = (value ?? {}) as { type?: unknown; function?: { name?: unknown }; allowed_tools?: unknown };
  if (['none', 'auto', 'required'].includes(value as string)) return undefined;
  if (shape.type === 'function' && typeof shape.function?.name === 'string') return undefined;
  if (shape.type === 'allowed_tools') return allowedShape(shape.allowed_tools);
  return "'none', 'auto', 'required', { type: 'function', function: { name } } or { type: 'allowed_tools', … }";
}

function allowedShape(value: unknown): string | undefined {
  const { mode, tools } = (value ?? {}) as { mode?: unknown; tools?: { function?: { name?: unknown } }[] };
  const isNamed = Array.isArray(tools) && tools.every((tool) => typeof tool?.function?.name === 'string');
  if ((mode === 'auto' || mode === 'required') && isNamed && tools.length > 0) return undefined;
  const tool = "{ type: 'function', function: { name } }";
  return `{ type: 'allowed_tools', allowed_tools: { mode: 'auto' or 'required', tools: [${tool}, …] } }`;
}

/** What is wrong between tools and a choice. @internal */
export function choiceMistake(tools: readonly Tool[], choice: ToolChoice): string | undefined {
  if (choice === 'required' && tools.length === 0) return "'tool_choice' is 'required' and 'tools' is empty";
  if (typeof choice !== 'object') return undefined;
  const known = tools.map((tool) => tool.function.name);
  const unknown = namesOf(choice).find((name) => !known.includes(name));
  return unknown === undefined
    ? undefined
    : `'tool_choice' names '${unknown}', 'tools' has ${known.join(', ') || 'none'}`;
}

function namesOf(choice: Exclude<ToolChoice, string>): string[] {
  const named = choice.type === 'function' ? [choice] : choice.allowed_tools.tools;
  return named.map((tool) => tool.function.name);
}
