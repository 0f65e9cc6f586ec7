/**
 * What the crate `grammar` exports through wasm-bindgen, as this package uses it. Errors are strings. The code itself
 * is generated: `dist/grammar/webgguf_grammar.js`.
 */
import type { WasmInput } from '../types/source.js';

export default function init(options: { module_or_path: WasmInput | Promise<WasmInput> }): Promise<unknown>;

/** The tokens of a model, for which it compiles grammars. */
export class Vocabulary {
  /**
   * @param bytes the bytes of all tokens
   * @param ends where the bytes of each token end
   * @param kinds for each token: 0 for text, 1 for a control token
   * @param endOfGeneration the tokens that end a text
   * @param tokenize the ids of a text in the middle of another
   */
  constructor(
    bytes: Uint8Array,
    ends: Uint32Array,
    kinds: Uint8Array,
    endOfGeneration: Uint32Array,
    tokenize: (text: string) => Uint32Array,
  );
  compile(kind: string, text: string): Grammar;
  free(): void;
}

/** A grammar, compiled for a vocabulary. */
export class Grammar {
  private constructor();
  /** A matcher for one text. */
  matcher(): Matcher;
  /** The parts of its schemas that the text need not follow. */
  notes(): string[];
  free(): void;
}

/** The state of one text in a grammar. The other WebAssembly module calls it. */
export class Matcher {
  private constructor();
  /** Takes a token. Returns whether the grammar allows it. */
  commit(id: number): boolean;
  /** A bit for each token: whether the grammar allows it next. Throws where that takes more work than it may. */
  mask(): Uint32Array;
  /** Takes the tokens that the grammar forces next, if there are any, and returns them. */
  commitForced(): Uint32Array;
  /** Whether the grammar allows no further token. */
  isStopped(): boolean;
  free(): void;
}
