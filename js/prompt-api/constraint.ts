/**
 * `responseConstraint`: a JSON Schema or a regular expression.
 */
import { schemaGuide } from '../model/schema-guide.js';
import { jsonSchemaOf } from '../model/schema.js';
import type { Message } from '../types/chat.js';
import type { Grammar } from '../types/generate.js';
import { notSupported } from './errors.js';
import { regexText } from './regex.js';
import type { LanguageModelPromptOptions } from './types.js';

/** A constraint that was checked. @internal */
export interface Constraint {
  readonly grammar: Grammar;
  /** What the model is told; empty where the page does that. */
  readonly guide: string;
}

/** Throws a `TypeError`, or a `NotSupportedError` for what cannot be followed. @internal */
export function constraintOf(options: LanguageModelPromptOptions): Constraint | undefined {
  const { responseConstraint: wanted, omitResponseConstraintInput: omits = false } = options;
  if (wanted === undefined || wanted === null) {
    if (omits) throw new TypeError('omitResponseConstraintInput needs a responseConstraint');
    return undefined;
  }
  if (typeof wanted !== 'object' && typeof wanted !== 'function') {
    throw new TypeError('responseConstraint must be a JSON Schema or a RegExp');
  }
  if (wanted instanceof RegExp) {
    const guide = `Answer with a text that matches this regular expression: ${wanted.source}`;
    return { grammar: { regex: regexText(wanted) }, guide: omits ? '' : guide };
  }
  const schema = schemaText(wanted);
  return { grammar: { jsonSchema: schema }, guide: omits ? '' : schemaGuide(schema) };
}

function schemaText(schema: object): string {
  try {
    return JSON.stringify(jsonSchemaOf('the schema', schema));
  } catch (cause) {
    throw notSupported(`responseConstraint: ${(cause as Error)?.message ?? cause}`);
  }
}

/** The messages, the last one of the user with what the constraint is. @internal */
export function withGuide(messages: readonly Message[], constraint: Constraint | undefined): readonly Message[] {
  if (!constraint?.guide) return messages;
  const at = messages.map(({ role }) => role).lastIndexOf('user');
  const guide: Message = { role: 'user', content: constraint.guide };
  if (at < 0) return [...messages, guide];
  return messages.map((each, index) => (index === at ? { ...each, content: guided(each, constraint.guide) } : each));
}

function guided({ content }: Message, guide: string | undefined): Message['content'] {
  if (Array.isArray(content)) return [...content, { type: 'text', text: `\n${guide}` }];
  return `${content}\n\n${guide}`;
}
