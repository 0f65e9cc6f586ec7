/**
 * webgguf: GGUF language models in the browser, on WebGPU.
 *
 * {@link WasmModel}, or `Model` for short, loads a model and writes text; {@link Tokenizer} reads a vocabulary alone;
 * {@link Gpu} computes with tensors. {@link cache} lists and deletes the models that are stored. {@link init} says
 * where the WebAssembly lies, if not beside this file. Every failure is a {@link WebggufError} with a code.
 *
 * @module webgguf
 */
export { WasmModel, WasmModel as Model } from './model/model.js';
export { Session } from './model/session.js';
export { Tokenizer } from './model/tokenizer.js';
export { Gpu } from './tensor/gpu.js';
export { Tensor } from './tensor/tensor.js';
export { Expression } from './tensor/expression.js';
export { cache, type CacheEstimate } from './load/cache/cache.js';
export { DownloadControl } from './load/patience.js';
export type { CachedModel } from './load/cache/models.js';
export type { LoadWarning } from './load/cache/warning.js';
export { init, type InitOptions } from './wasm/instance.js';
export { WebggufError, type ErrorCode } from './errors.js';
export type { Generation } from './model/generation.js';
export type { SamplingOptions } from './sampling.js';
export type {
  Advice,
  BytesLike,
  ChatTemplateOptions,
  ChosenToken,
  DetokenizeOptions,
  EmbedContent,
  EmbedInput,
  EmbedOptions,
  EmbedTask,
  AdapterOptions,
  AdapterSource,
  AdapterUse,
  EvaluateOptions,
  Evaluation,
  GenerateOptions,
  SourcePrompt,
  GenerationResult,
  Grammar,
  InspectOptions,
  Inspected,
  InspectedEncoder,
  Inspection,
  LoadOptions,
  Message,
  ModelInfo,
  SelfCheck,
  SharedPlace,
  Piece,
  PrefixCacheUse,
  Progress,
  PromptProgress,
  RangedSource,
  RankOptions,
  SessionOptions,
  Source,
  SourceOptions,
  SourcePart,
  TextPart,
  AudioPart,
  AudioSource,
  ImagePart,
  ImageSource,
  VideoImage,
  VideoPart,
  VideoSource,
  Timings,
  TokenIds,
  TokenizeOptions,
  Tool,
  ToolCall,
  TokenProbability,
  TokenizerOptions,
  TunedChoice,
  Tuning,
  Usage,
  WasmInput,
} from './types.js';
export type { Completions } from './openai/completions.js';
export type { Embeddings } from './openai/embeddings.js';
export type { ChatStream } from './openai/stream.js';
export type { PageTool, RunToolsOptions, ToolRun } from './openai/run-tools.js';
export type {
  ChatChunk,
  ChatCompletion,
  ChatMessage,
  ChatRequest,
  ContentPart,
  CustomTool,
  CustomToolCall,
  EmbeddingContent,
  EmbeddingRequest,
  EmbeddingResponse,
} from './openai/types.js';
export type { DeviceFacts } from './tensor/gpu.js';
export type { TuneOptions, TunedProduct } from './tuning/gpu.js';
export type { FloatTensor } from './tensor/tensor.js';
export type { DataOf, DType, FloatDType, PlainDType, QuantisedDType, TensorData } from './tensor/dtypes.js';
export type { ElementwiseOptions, FuseOptions, Operand } from './tensor/gpu-elementwise.js';
export type { GateOptions, GateUpOptions, MatmulOptions, NormedOptions, ProjectOptions } from './tensor/gpu-matrix.js';
export type { AxisOptions } from './tensor/gpu-movement.js';
export type {
  CumsumOptions,
  NormAndSum,
  NormOptions,
  ReduceOptions,
  SoftmaxOptions,
  TopK,
} from './tensor/gpu-rows.js';
export type {
  AttentionDecodeOptions,
  AttentionOptions,
  HeadLayout,
  KvWriteOptions,
  RopeFrequencies,
  RopeOptions,
  RopeTableOptions,
  SelectiveScan,
  SelectiveScanInputs,
  SinkhornOptions,
  YarnOptions,
} from './tensor/gpu-model.js';
