/**
 * What the Rust side (`src/web`) exports through wasm-bindgen, as this face uses it, written by
 * hand because the generated types say `any` where it matters. The code itself is generated: `dist/wasm/webgguf.js`.
 */
import type { Evaluation, GenerationResult, Message, ModelInfo, Piece, WasmInput } from '../types.js';

/** One part of a file, pulled piece by piece in file order. */
export interface ByteSource {
  /** Bytes of this part, where known before it is read. */
  readonly size?: number | undefined;
  /** How messages call it: a URL or file name. */
  readonly name: string;
  /** The next piece (at least one byte), or `undefined` at the end. */
  next(): Promise<Uint8Array | undefined>;
  /** Stops reading and frees what the source holds. May be called at any time, more than once. */
  cancel(): void;
}

export interface EngineLoadOptions {
  backend: 'auto' | 'webgpu' | 'cpu';
  contextLength?: number;
}

export interface EngineGenerateOptions {
  maxTokens?: number;
  temperature?: number;
  topK?: number;
  topP?: number;
  minP?: number;
  repetitionPenalty?: number;
  frequencyPenalty?: number;
  presencePenalty?: number;
  seed?: number;
  stop?: string[];
  ignoreEos?: boolean;
}

export default function init(options?: {
  module_or_path: WasmInput | Promise<WasmInput>;
}): Promise<unknown>;

export class Engine {
  private constructor();
  static load(
    sources: ByteSource[],
    options: EngineLoadOptions,
    onProgress: (stage: string, loaded: number, total: number) => void,
  ): Promise<Engine>;
  info(): ModelInfo;
  tokenize(text: string, addSpecial: boolean, parseSpecial: boolean): Uint32Array;
  detokenize(ids: Uint32Array, showSpecial: boolean): string;
  applyChatTemplate(messages: Message[], addGenerationPrompt: boolean): string;
  encodeMessages(messages: Message[], addGenerationPrompt: boolean): Uint32Array;
  start(ids: Uint32Array, options: EngineGenerateOptions): { promptTokens: number; cachedTokens: number };
  next(): Promise<Piece | undefined>;
  /** Makes a running generation end soon, also within a long prompt: `next` then gives `undefined`. */
  cancel(): void;
  finish(): Promise<GenerationResult>;
  evaluate(ids: Uint32Array, wantLogits: boolean): Promise<Evaluation>;
  reset(): void;
  free(): void;
  wasmMemoryBytes(): number;
}

export class VocabularyHandle {
  private constructor();
  static load(sources: ByteSource[]): Promise<VocabularyHandle>;
  tokenize(text: string, addSpecial: boolean, parseSpecial: boolean): Uint32Array;
  detokenize(ids: Uint32Array, showSpecial: boolean): string;
  applyChatTemplate(messages: Message[], addGenerationPrompt: boolean): string;
  free(): void;
}
