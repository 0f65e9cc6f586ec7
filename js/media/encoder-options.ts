/**
 * How an encoder or a vocoder is loaded, and what it reads. No code here.
 */
import type { EncoderPart } from '../wasm/webgguf.js';

/** How an encoder is loaded. @internal */
export interface EncoderOptions {
  readonly backend: 'auto' | 'webgpu' | 'cpu';
  readonly precision?: 'auto' | 'exact' | 'fast' | undefined;
  readonly maxImageTokens?: number | undefined;
  readonly resize?: 'pad' | 'stretch' | undefined;
  readonly keepEncoder?: boolean | undefined;
  readonly selfCheck?: boolean | undefined;
  /** Loads one of several programs of a file. */
  readonly part?: EncoderPart;
}

/** What a program reads: see `EncoderInput` of the WebAssembly. @internal */
export interface Input {
  /** Rows, rows of the result, then for each fold the rows before it and its taps. */
  readonly counts: Uint32Array;
  readonly patches: Float32Array;
  readonly placeRows?: Uint32Array;
  readonly placeWeights?: Float32Array;
  readonly groupRows?: Uint32Array;
  readonly groupWeights?: Float32Array;
  readonly turns?: Float32Array;
  readonly breaks?: Float32Array;
  readonly folds?: Uint32Array;
}
