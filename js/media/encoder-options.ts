/**
 * How an encoder or a vocoder is loaded, and what it reads. No code here.
 */
import type { DeviceHandle, EncoderPart, WasmLoadOptions } from '../wasm/webgguf.js';

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

/** The rows of a tile, or of a piece of a sound. @internal */
export interface TileRows {
  /** Side by side; 0 where they follow each other as tokens do. */
  readonly columns: number;
  /** All. */
  readonly rows: number;
  readonly canvas?: number; // where it lies among the other tiles
  /** `[parts, rows, width of a part]`: those that enter as embeddings do, and those for deeper layers. */
  readonly values: Float32Array;
  readonly parts: number;
  /** What names them among all rows: 16 hexadecimal digits. */
  readonly digest: string;
}

/** What loading takes besides options. @internal */
export interface EncoderScope {
  readonly scope: AbortSignal;
  readonly report: (stage: string, loaded: number, total: number) => void;
  /** Values of a row of the model's prompts; `undefined` for a vocoder, which makes none. */
  readonly width?: number | undefined;
  readonly device?: (() => DeviceHandle) | undefined;
  /** What starts threads for an encoder that runs on the CPU, until the signal is aborted. */
  readonly threads?: ((signal: AbortSignal) => WasmLoadOptions['threads']) | undefined;
}
