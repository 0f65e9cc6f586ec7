/**
 * Grammars: a second WebAssembly module, `llguidance`, which is fetched when a text is first to follow one.
 */
import { show } from '../check.js';
import { WebggufError, invalidArgument } from '../errors.js';
import type { Grammar as Compiled, Matcher, Vocabulary } from '../grammar/webgguf_grammar.js';
import type { LoadWarning } from '../load/cache/warning.js';
import type { WasmModel as WasmHandle } from '../wasm/webgguf.js';
import { grammarFile } from '../wasm-file.js';
import { files } from './files.js';
import type { GrammarText } from './grammar.js';

/** Compiled grammars that a model keeps, at most. */
const KEPT = 8;

type Module = typeof import('../grammar/webgguf_grammar.js');

let started: Promise<Module> | undefined;

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
  const module = await files.grammar();
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
