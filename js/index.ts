/**
 * webgguf: GGUF language models in the browser, on WebGPU.
 *
 * {@link WasmModel} loads a model and writes text; {@link Tokenizer} reads a vocabulary alone; {@link init} says
 * where the WebAssembly lies, if not beside this file. Every failure is a {@link WebggufError} with a code.
 */
export { WasmModel } from './model.js';
export { Tokenizer } from './tokenizer.js';
export { init, type InitOptions } from './wasm.js';
export { WebggufError, type ErrorCode } from './errors.js';
export type { Generation } from './generation.js';
export type {
  BytesLike, ChatTemplateOptions, DetokenizeOptions, Evaluation, GenerateOptions, GenerationResult, LoadOptions,
  Message, ModelInfo, Piece, Progress, RangedSource, Source, SourcePart, Timings, TokenIds, TokenizeOptions, Usage,
  WasmInput,
} from './types.js';
