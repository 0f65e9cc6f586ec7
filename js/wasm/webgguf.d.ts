/**
 * What the Rust side (`src/web`) exports through wasm-bindgen, as this package uses it. Written by hand, because the
 * generated types say `any` where it matters. The code itself is generated: `dist/wasm/webgguf.js`.
 */
import type { ChatTemplate } from '../templates/types.js';
import type { Matcher } from '../grammar/webgguf_grammar.js';
import type { SamplingOptions } from '../sampling.js';
import type { ChosenToken, GenerationResult, Piece, Usage } from '../types/generate.js';
import type { Inspection, ModelInfo, SelfCheck, SuggestedSampling } from '../types/info.js';
import type { Evaluation } from '../types/read.js';
import type { WasmInput } from '../types/source.js';

/** One part of a file, pulled piece by piece in file order. */
export interface ByteSource {
  /** Size of this part in bytes, if it is known before the part is read. */
  readonly size?: number | undefined;
  /** The name of the part in messages: a URL or file name. */
  readonly name: string;
  /**
   * The next piece (at least one byte), or `undefined` at the end. A piece is valid until the next call, which may read
   * into the same memory: a caller that keeps a piece copies it.
   */
  next(): Promise<Uint8Array | undefined>;
  /**
   * Reads exactly `length` bytes at `offset`, until `cancel`; also bytes that `next` gave before, and after the end.
   * Several reads may run at the same time. Absent if the source can be read only once.
   */
  readonly read?: ((offset: number, length: number) => Promise<Uint8Array>) | undefined;
  /** Stops reading and frees the resources of the source. May be called at any time, more than once. */
  cancel(): void;
}

export interface WasmLoadOptions {
  backend: 'auto' | 'webgpu' | 'cpu';
  contextLength?: number;
  /** For a draft model: the context length of the model that it drafts for. */
  draftContext?: number;
  precision?: 'auto' | 'exact' | 'fast';
  kvType?: 'f16' | 'q8_0' | 'q4_0';
  /** Whether prompts will hold images. */
  hasImages?: boolean;
  /** Most bytes of GPU memory for what was read of prompts; default 0. */
  prefixBytes?: number;
  parallel?: number;
  /** Number of the model's own sources, where a drafter's follow. */
  ownSources?: number;
  /** Whether the multi-token prediction block of the file drafts tokens. Default: true. */
  mtp?: boolean;
  pooling?: 'mean' | 'cls' | 'last';
  perLayerEmbeddings?: 'auto' | 'gpu' | 'host' | number;
  /**
   * Returns the kernel variants that an earlier self-check found to be wrong, or `undefined` if there was no check.
   * `key` names device and kernels; `isTuning`: whether `tune` will be called. Without the function nothing is checked.
   */
  selfCheck?: (key: string, isTuning: boolean) => string[] | undefined;
  /** Tunes kernels: frees the handle, and returns the verdicts, one in each line. `key` is as in `selfCheck`. */
  tune?: (model: DeviceHandle, key: string) => Promise<string>;
  /** Whether `tune` is only called on a GPU of a vendor on whose GPUs the tables were not measured. */
  tuneUnmeasured?: boolean;
  /** Calls {@link giveRare} or {@link giveDevice}, or links `families.js` or `encoders.js`, before that is needed. */
  fetch?: (name: 'rare' | 'device' | 'families' | 'encoders') => Promise<void>;
  /** Starts threads. It is called for a model that runs on the CPU. */
  threads?: () => Promise<CpuThreads | undefined>;
}

/** Programs of files with several: the encoder of sounds beside one of images, or what a model speaks with. */
export type EncoderPart = 'sounds' | 'flow' | 'next' | 'frames' | 'wave' | 'listen' | 'voice';

/** The threads beside the one that runs the model: see `engine/threads.ts`. */
export interface CpuThreads {
  count(): number;
  room(): number;
  put(thread: number, shape: Uint32Array, bytes: Uint8Array): void;
  ready(): Promise<void>;
  begin(number: number, group: number, x: Float32Array): void;
  state(): number;
  take(own: number, rows: number, out: Float32Array): void;
  free(): void;
}

/** The weights of one such thread, and its products. */
export class CpuThread {
  put(shape: Uint32Array, bytes: Uint8Array): void;
  multiply(number: number, group: number, x: Float32Array<ArrayBufferLike>): Float32Array;
}

export interface WasmGenerateOptions extends SamplingOptions {
  maxTokens?: number;
  stop?: string[];
  drySequenceBreakers?: readonly string[] | undefined;
  ignoreEos?: boolean;
  showSpecial?: readonly string[];
  /** [id, bias] */
  biases?: readonly (readonly [number, number])[];
  logprobs?: number;
  /** Default `automatic`. */
  draft?: 'automatic' | 'prompt' | 'model' | 'mtp' | 'off';
  prediction?: string;
  adapters?: readonly (readonly [number, number])[]; // [number, scale]
  /** The token ids of the source, for a model whose encoder reads one. */
  source?: readonly number[];
  /** Nothing of the text is kept for later ones; the prompt may end with a row. */
  isPrivate?: boolean;
  followsRow?: boolean;
}

/** The result of `start`: counts of the prompt's tokens. */
export interface StartedText {
  promptTokens: number;
  /** Tokens of the prompt that were in the KV cache. */
  cachedTokens: number;
}

/** The tokens of a model as `Vocabulary` of the module `grammar` takes them. */
export interface VocabularyTokens {
  /** The bytes of all tokens, one token after the other. */
  bytes: Uint8Array;
  /** Where the bytes of each token end. */
  ends: Uint32Array;
  /** For each token: 0 for text, 1 for a control token. */
  kinds: Uint8Array;
  /** The tokens that end a text. */
  endOfGeneration: Uint32Array;
}

declare function init(options?: { module_or_path: WasmInput | Promise<WasmInput> }): Promise<WebAssembly.Exports>;
declare namespace init {
  /** The compiled module. */
  const __wbindgen_wasm_module: WebAssembly.Module;
}
export default init;

/** Takes the shaders and grids of `rare.js`: all shader files in one text, and the codes of all grids. */
export function giveRare(shaders: string, grids: Uint8Array): void;
/** Takes `device.js`. */
export function giveDevice(shaders: string): void;

type OfInspection = 'contextLength' | 'draftContext' | 'fetch' | 'kvType' | 'parallel' | 'perLayerEmbeddings';
/** Reads the headers of these parts, and finds out whether a GPU here can hold the model. */
export function inspect(
  sources: ByteSource[],
  options: Pick<WasmLoadOptions, OfInspection | 'ownSources'> & { backend?: WasmLoadOptions['backend'] | undefined },
): Promise<Inspection>;

/** A loaded model; the public class of this name wraps it. */
export class WasmModel {
  private constructor();
  static load(
    sources: ByteSource[],
    options: WasmLoadOptions,
    onProgress: (stage: string, loaded: number, total: number) => void,
    device?: DeviceHandle,
  ): Promise<WasmModel>;
  info(): ModelInfo;
  tokenize(text: string, addSpecial: boolean, parseSpecial: boolean): Uint32Array;
  detokenize(ids: Uint32Array, showSpecial: boolean): string;
  chatTemplate(): ChatTemplate;
  /** Names of control tokens become text for `encodePrompt`, but with `ofModel` marks of thoughts and calls. */
  protect(text: string, ofModel: boolean): string;
  /** Parses special tokens; adds BOS if the file asks for it and the text does not begin with it. */
  encodePrompt(text: string): Uint32Array;
  /** The device of a model that writes text, for loading another model on it; `undefined` on the CPU. */
  device(): DeviceHandle | undefined;
  /** Makes `draft`, which is used up, the draft model of this model and of its later sessions. */
  useDraft(draft: WasmModel): void;
  /** After each pass over the prompt `listener` gets the number of tokens that are read. It must not throw. */
  start(ids: Uint32Array, options: WasmGenerateOptions, listener?: (read: number) => void): StartedText;
  /** Makes the started generation follow a grammar, once its matcher is compiled. */
  constrain(matcher: Promise<Matcher>): void;
  tokens(): VocabularyTokens;
  /** Token ids of a text in the middle of another. */
  tokenizeInside(text: string): Uint32Array;
  /** Number of values of a prompt row. Throws `invalid_argument` for an embedder of texts alone. */
  rowWidth(): number;
  /**
   * The id of the first of `count` rows in prompts: always the same of a `digest`, 16 hexadecimal digits. `columns`:
   * rows side by side in an image; `canvas`: where that lies among others. Works while a generation runs.
   */
  knowRows(digest: string, columns: number, count: number, canvas?: number): number;
  /** The digests of rows that the next call of `next` reads and that were not added yet. */
  missingRows(): string[];
  /** Adds rows `[count, rowWidth]`, kept until the started prompt is read, the generation or `embed` ends. */
  addRows(digest: string, columns: number, rows: Float32Array, canvas?: number): void;
  /** The position of a token that follows these ids. */
  countPositions(ids: Uint32Array): number;
  next(): Promise<Piece | undefined>;
  /** Makes the running call end soon, also within a long prompt: it then gives `undefined`. */
  cancel(): void;
  /** Ends the generation. The result has no counts of image and sound rows, and no time before `start`. */
  finish(): Promise<Omit<GenerationResult, 'usage'> & { usage: Omit<Usage, 'promptTokensDetails'> }>;
  /** `logits`: an array `[ids, vocabulary]` that is filled and returned. `undefined` if the call was cancelled. */
  evaluate(
    ids: Uint32Array,
    logits: Float32Array | undefined,
    adapters: readonly (readonly [number, number])[],
  ): Promise<Evaluation | undefined>;
  /** Registers the adapter in a GGUF file under a number that was never used. Nothing may be running. */
  addAdapter(id: number, file: Uint8Array): Promise<void>;
  /** Removes an adapter; false if none has this number. Running generations keep it. */
  removeAdapter(id: number): boolean;
  /** The last layer's hidden states as a tensor of `tensors`, on the device of both; `undefined` if cancelled. */
  hiddenStates(ids: Uint32Array, tensors: TensorEngine): Promise<TensorHandle | undefined>;
  /** The last layer's hidden states behind the output norm, `[ids, hidden]`; `undefined` if cancelled. */
  normedStates(ids: Uint32Array): Promise<Float32Array | undefined>;
  /** Reads what is new of `ids`; the last one's state behind the output norm, `[hidden]`; `undefined` if cancelled. */
  nextState(ids: Uint32Array): Promise<Float32Array | undefined>;
  /** The likeliest token behind `tokens`, the last of `ids`, with rows of a sound; `null` ends; `top` as `logprobs`. */
  hear(ids: Uint32Array, tokens: Uint32Array, rows: Float32Array, top?: number): Promise<number | ChosenToken[] | null>;
  /** The tokens by which words lag behind a sound, of a model that writes while it hears. */
  delay(): number | undefined;
  /**
   * For training: a tensor engine on the model's device, the model's program as `js/training/language/program.ts` reads
   * it, and its weights as tensors. `shaders`: as for `TensorEngine.open`.
   */
  exportProgram(
    shaders: string,
  ): [engine: TensorEngine, words: Uint32Array, names: string, weights: readonly TensorHandle[]];
  /** Token ids of a text for `embed`. */
  encodeInput(text: string, truncate: boolean): Uint32Array;
  /** Token ids of a query and a document for `rank`. */
  encodePair(query: string, document: string, truncate: boolean): Uint32Array;
  /** The vectors of inputs, which follow each other in `ids` with these `lengths`; `undefined` if cancelled. */
  embed(ids: Uint32Array, lengths: Uint32Array, normalize: boolean, kept?: number): Promise<Float32Array | undefined>;
  /** The scores of inputs, which are given as for `embed`. */
  rank(ids: Uint32Array, lengths: Uint32Array): Promise<Float32Array | undefined>;
  /** Another session, with a copy of this one's KV cache or empty, and room for `tokens`. Nothing may be running. */
  another(withCache: boolean, tokens: number): Promise<WasmModel>;
  /** Before `start`: keeps what `ids` would make this session lose, and copies what is kept or others have of `ids`. */
  adopt(ids: Uint32Array, adapters: readonly (readonly [number, number])[], takes: boolean): Promise<void>;
  /** After a lost device this model, its sessions and what they write go on with `fresh`, which is used up by that. */
  recover(fresh: WasmModel): Promise<void>;
  /**
   * The head of the saved session: its state without its caches, and `notes`. No generation may be running. `text`:
   * token ids. Of the caches, the common prefix with these ids is saved, if it has half of them or more.
   */
  saveHead(notes: string, text?: Uint32Array): Promise<Uint8Array<ArrayBuffer>>;
  /** Right after `saveHead`: a part of the caches, which follow the head; `undefined` after the last part. */
  readPart(number: number): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** From the first 64 bytes of a saved session of `size` bytes: the size of its head, and tokens in its caches. */
  checkSaved(start: Uint8Array, size: number): Uint32Array;
  /**
   * Restores the session from a head. Returns the notes and the size of the parts, of which the last may be smaller:
   * `writePart` has to get all of them next. The size is 0 if the caches have another layout than this session's; then
   * the session does not change. After an error it is empty.
   */
  restoreHead(head: Uint8Array, size: number): Promise<[notes: string, part: number]>;
  writePart(number: number, part: Uint8Array): Promise<void>;
  /** Number of these ids that are cached as these adapters, by default none, read them. Nothing may be running. */
  commonPrefix(ids: Uint32Array, adapters?: readonly (readonly [number, number])[]): number;
  /** Blocks, tokens, hits, and lower and upper half of the bytes of the prefix cache; `undefined` during a call. */
  prefixes(): Uint32Array | undefined;
  reset(): void;
  free(): void;
  wasmMemoryBytes(): number;
}

/** Properties of an encoder of images or sounds. */
export interface EncoderInfo {
  readonly projector: string;
  /** What the file says: which of several published models it is of, how codes of speech are chosen. */
  readonly variant?: string;
  readonly sampling: SuggestedSampling & { readonly repetitionWindow?: number };
  /** Number of values of a row that the encoder gives, including those for deeper layers. */
  readonly width: number;
  /** Number of parts of a row: one, and one for each of the deeper layers. */
  readonly parts: number;
  /** Maximum number of patches of an image. */
  readonly mostRows: number;
  /** Whether this is an encoder of sounds, and whether the file has one, too. */
  readonly hears: boolean;
  readonly hearsToo: boolean;
  /** Whether a row stands between the lines of an image. */
  readonly hasBreaks: boolean;
  /** Arguments for `Picture` or `Sound` of the module `media`, without those that the caller chooses. */
  readonly numbers: readonly number[];
  /** Name of the GPU; empty on the CPU. */
  readonly adapter: string;
  readonly selfCheck: SelfCheck;
}

export class WasmEncoder {
  private constructor();
  static load(
    sources: ByteSource[],
    options: Pick<WasmLoadOptions, 'backend' | 'precision' | 'selfCheck' | 'fetch'> & { part?: EncoderPart },
    onProgress: (stage: string, loaded: number, total: number) => void,
    device?: DeviceHandle,
  ): Promise<WasmEncoder>;
  info(): EncoderInfo;
  /**
   * Fills `values` with rows `[parts, outputs, width / parts]`; `false` if the call was cancelled. `counts`: patches,
   * outputs, then for each convolution before the layers its rows and taps in `folds`.
   */
  encode(
    counts: Uint32Array,
    patches: Float32Array,
    placeRows: Uint32Array,
    placeWeights: Float32Array,
    groupRows: Uint32Array,
    groupWeights: Float32Array,
    turns: Float32Array,
    parts: Uint32Array,
    breaks: Float32Array,
    folds: Uint32Array,
    values: Float32Array,
  ): Promise<boolean>;
  goOn(): void; // the next rows follow the ones before, for an encoder that keeps keys and values
  cancel(): void;
  free(): void;
}

export class VocabularyHandle {
  private constructor();
  static load(sources: ByteSource[]): Promise<VocabularyHandle>;
  tokenize(text: string, addSpecial: boolean, parseSpecial: boolean): Uint32Array;
  detokenize(ids: Uint32Array, showSpecial: boolean): string;
  protect(text: string, ofModel: boolean): string;
  chatTemplate(): ChatTemplate;
  free(): void;
}

/** A tensor by its number. */
export interface TensorHandle {
  readonly id: number;
  readonly dtype: string;
  readonly shape: number[];
}

/** Properties of a device. */
export interface DeviceFacts {
  /** Name of the adapter, from the browser. */
  readonly name: string;
  /** Vendor of the adapter, such as `nvidia`. */
  readonly vendor: string;
  /** Architecture of the adapter, such as `hopper`. */
  readonly architecture: string;
  /** Whether the adapter computes on the CPU. */
  readonly software: boolean;
  /** WebGPU features in use. */
  readonly features: readonly string[];
  /** Smallest and largest subgroup size; 0 if unknown. */
  readonly subgroupSize: readonly [number, number];
  /** Whether WGSL has the packed 4×8-bit dot product. */
  readonly dot4: boolean;
  /** WebGPU limits of the device by their names. */
  readonly limits: Readonly<Record<string, number>>;
}

/**
 * A device for loading a model on it, which uses the handle up; or a device with a model whose kernels are tuned.
 * Verdicts are lines `problem=row`; problems `problem=row,mask`: the table's row, and a mask of rows that can run.
 */
export class DeviceHandle {
  private constructor();
  /** The browser's `GPUDevice`. */
  raw(): unknown;
  /** Sets the verdicts for tensors; returns the line under which they are stored, then the problems since `listen`. */
  tuned(lines: string, listen: boolean): string;
  /** The problems of the model's decode, or of many rows; `asMeasured` with the rows that measured GPUs take. */
  problems(many: boolean, asMeasured: boolean): string;
  /** Number of the model's layers. */
  layers(): number;
  /**
   * Makes the model's command list of decode or of many rows under the verdicts `lines`; with `but` only the dispatches
   * that differ from the list under the verdicts `but`. Returns the list's number and its number of dispatches.
   */
  make(lines: string, but: string | undefined, many: boolean): Promise<Uint32Array>;
  /** Submits `count` dispatches from number `first` on; after the last one the first follows. */
  submit(list: number, first: number, count: number): void;
  free(): void;
}

/** A device with tensors by number and operations by name (`src/tensor/op.rs`). */
export class TensorEngine {
  private constructor();
  /** `shaders`: the text of `tensor/shaders.js`. */
  static open(shaders: string): Promise<TensorEngine>;
  facts(): DeviceFacts;
  /** Throws once the `Gpu` is destroyed. */
  device(): DeviceHandle;
  upload(bytes: Uint8Array, dtype: string, shape: number[]): TensorHandle;
  run(op: string, inputs: (number | undefined)[], options: object): TensorHandle[];
  /** Registers a shader and returns its number. `names`: its `override` constants, separated by commas. */
  shader(label: string, code: string, names: string, inputs: number, outputs: number): number;
  /**
   * Runs the shader with this number. `outputs`: for each output its type (0 f32, 1 f16, 2 bf16, 3 u32, 4 i32), its
   * number of axes and their lengths. `words`: three counts of workgroups, then the words of `params`.
   */
  dispatch(
    shader: number,
    constants: Float64Array,
    inputs: Uint32Array,
    outputs: Uint32Array,
    words: Uint32Array,
  ): TensorHandle[];
  read(id: number): Promise<Uint8Array>;
  /** Does nothing for a tensor that is freed already, and on a destroyed device. */
  free_tensor(id: number): void;
  destroy(): void;
}
