/**
 * The option `grammar` of `generate` as plain data, which crosses to a worker.
 */
import { invalidArgument } from '../errors.js';
import { jsonSchemaOf, schemaText } from '../model/schema.js';
import type { Grammar } from '../types/generate.js';

/** A grammar as plain data: its kind and its text, as `Vocabulary.compile` takes them. @internal */
export interface GrammarText {
  readonly kind: 'json_schema' | 'json_object' | 'regex' | 'choice' | 'lark' | 'gbnf';
  readonly text: string;
  /** What the text begins with already, so that the prompt has it. */
  readonly prefix?: string;
}

/** The option as the engine takes it. Throws `invalid_argument` where a schema is no JSON. @internal */
export function grammarText(grammar: Grammar): GrammarText {
  if ('json' in grammar) return { kind: 'json_object', text: '' };
  if ('regex' in grammar) return { kind: 'regex', text: grammar.regex };
  if ('choice' in grammar) return { kind: 'choice', text: JSON.stringify(grammar.choice) };
  if ('lark' in grammar) return { kind: 'lark', text: grammar.lark };
  if ('gbnf' in grammar) return { kind: 'gbnf', text: grammar.gbnf };
  if (typeof grammar.jsonSchema === 'string') return { kind: 'json_schema', text: grammar.jsonSchema };
  const jsonSchema = jsonSchemaOf("generate: option 'grammar': its jsonSchema", grammar.jsonSchema);
  try {
    return { kind: 'json_schema', text: schemaText(jsonSchema) };
  } catch (cause) {
    throw invalidArgument(`generate: option 'grammar' must be { jsonSchema } with JSON: ${String(cause)}`);
  }
}
