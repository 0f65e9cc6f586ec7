/**
 * Grammars: a second WebAssembly module, `llguidance`, which is fetched when a text is first to follow one.
 */
import type { LoadWarning } from '../load/cache/warning.js';
import { jsonSchemaOf, schemaText } from '../model/schema.js';
import { WebggufError, invalidArgument } from '../errors.js';
import type { Grammar as Compiled, Matcher, Vocabulary } from '../grammar/webgguf_grammar.js';
import { show } from '../check.js';
import type { Grammar } from '../types/generate.js';
import type { WasmModel as WasmHandle } from '../wasm/webgguf.js';
import { grammarFile } from '../wasm-file.js';
import { later } from './later.js';

/** A grammar as plain data: its kind and its text, as `Vocabulary.compile` takes them. @internal */
export interface GrammarText {
  readonly kind: 'json_schema' | 'json_object' | 'regex' | 'choice' | 'lark' | 'gbnf';
  readonly text: string;
  /** What the text begins with already, so that the prompt has it. */
  readonly prefix?: string;
}

/** Compiled grammars that a model keeps, at most. */
const KEPT = 8;

type Module = typeof import('../grammar/webgguf_grammar.js');

let started: Promise<Module> | undefined;

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

/** The grammars of one model. @internal */
export class Grammars {
  readonly #handle: WasmHandle;
  readonly #warn: (warning: LoadWarning) => void;
  readonly #compiled = new Map<string, Compiled>();
  #vocabulary: Promise<Vocabulary> | undefined;

  constructor(handle: WasmHandle, warn: (warning: LoadWarning) => void) {
    this.#handle = handle;
    this.#warn = warn;
  }

  /** A matcher for one text. Rejects with `invalid_argument` for a wrong grammar, and with `download_failed`. */
  async matcher({ kind, text, prefix }: GrammarText): Promise<Matcher> {
    this.#vocabulary ??= this.#read();
    const vocabulary = await this.#vocabulary.catch((error: unknown) => {
      this.#vocabulary = undefined; // the next call may have more luck
      throw error;
    });
    const key = `${kind} ${text}`;
    const known = this.#compiled.get(key);
    const compiled = known ?? this.#compile(vocabulary, kind, text);
    this.#compiled.delete(key);
    this.#compiled.set(key, compiled); // the last one used is the last one
    const [oldest] = this.#compiled.keys();
    if (this.#compiled.size > KEPT && oldest !== undefined) this.#forget(oldest);
    return prefix ? this.#begun(compiled.matcher(), prefix) : compiled.matcher();
  }

  free(): void {
    for (const key of [...this.#compiled.keys()]) this.#forget(key);
    void this.#vocabulary?.then(
      (vocabulary) => vocabulary.free(),
      () => {},
    );
    this.#vocabulary = undefined;
  }

  async #read(): Promise<Vocabulary> {
    const module = await grammarModule();
    const { bytes, ends, kinds, endOfGeneration } = this.#handle.tokens();
    const tokenize = (part: string): Uint32Array => this.#handle.tokenizeInside(part);
    return named('the vocabulary', () => new module.Vocabulary(bytes, ends, kinds, endOfGeneration, tokenize));
  }

  #begun(matcher: Matcher, prefix: string): Matcher {
    for (const id of this.#handle.tokenizeInside(prefix)) {
      if (named('the grammar', () => matcher.commit(id))) continue;
      matcher.free();
      throw invalidArgument(`generate: no text that follows the grammar begins with ${show(prefix)}`);
    }
    return matcher;
  }

  /** Says what a schema asks for and the text need not follow. */
  #compile(vocabulary: Vocabulary, kind: GrammarText['kind'], text: string): Compiled {
    const compiled = named(`the ${kind.replace('_', ' ')}`, () => vocabulary.compile(kind, text));
    const notes = compiled.notes();
    if (notes.length > 0) {
      this.#warn({ code: 'schema', message: `a grammar cannot follow ${notes.join(', ')}: the text may differ there` });
    }
    return compiled;
  }

  #forget(key: string): void {
    this.#compiled.get(key)?.free();
    this.#compiled.delete(key);
  }
}

/** The module, started. @internal */
export async function grammarModule(): Promise<Module> {
  started ??= start();
  try {
    return await started;
  } catch (error) {
    started = undefined; // the next call may have more luck
    throw error;
  }
}

async function start(): Promise<Module> {
  const module = await later.grammar();
  await module.default({ module_or_path: await grammarFile() });
  return module;
}

/** The module throws strings. */
function named<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (typeof cause === 'string') throw invalidArgument(`generate: ${what} cannot be followed: ${cause}`);
    throw new WebggufError('internal', `generate: ${what} made llguidance fail: ${String(cause)}`, { cause });
  }
}
