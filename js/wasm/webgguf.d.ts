/**
 * What the Rust side (`src/web`) exports through wasm-bindgen, as this package uses it. Written by hand, because the
 * generated types say `any` where it matters. The code itself is generated: `dist/wasm/webgguf.js`.
 */
import type { ChatTemplate } from '../templates/types.js';
import type { Matcher } from '../grammar/webgguf_grammar.js';
import type { SamplingOptions } from '../sampling.js';
import type { GenerationResult, Piece, Usage } from '../types/generate.js';
import type { Inspection, ModelInfo, SelfCheck } from '../types/info.js';
import type { Evaluation } from '../types/read.js';
import type { WasmInput } from '../types/source.js';

/** One part of a file, pulled piece by piece in file order. */
export interface ByteSource {
  /** Bytes of this part, where known before it is read. */
  readonly size?: number | undefined;
  /** How messages call it: a URL or file name. */
  readonly name: string;
  /**
   * The next piece (at least one byte), or `undefined` at the end. It is valid until the next one is asked for, since
   * that may be read into the same memory: who keeps a piece copies it.
   */
  next(): Promise<Uint8Array | undefined>;
  /**
   * Reads exactly `length` bytes at `offset`, also what `next` gave before and after the end, until `cancel`; several
   * reads may be under way. Absent where a source can be read once.
   */
  readonly read?: ((offset: number, length: number) => Promise<Uint8Array>) | undefined;
  /** Stops reading and frees what the source holds. May be called at any time, more than once. */
  cancel(): void;
}

export interface WasmLoadOptions {
  backend: 'auto' | 'webgpu' | 'cpu';
  contextLength?: number;
  /** Of a model that drafts tokens: the context length of the model that it drafts for. */
  draftContext?: number;
  precision?: 'auto' | 'exact' | 'fast';
  kvType?: 'f16' | 'q8_0' | 'q4_0';
  /** Whether prompts will hold images. */
  hasImages?: boolean;
  parallel?: number;
  /** Whether a block of the file that predicts the token after the next is to draft tokens: true unless given. */
  mtp?: boolean;
  pooling?: 'mean' | 'cls' | 'last';
  perLayerEmbeddings?: 'auto' | 'gpu' | 'host' | number;
  /** Variants that a check has found wrong before, by what names device and kernels. Without it nothing is checked. */
  selfCheck?: (key: string) => string[] | undefined;
  /** Chooses rows of tables: frees the handle, and gives the lines of its verdicts. `key` is that of `selfCheck`. */
  tune?: (model: DeviceHandle, key: string) => Promise<string>;
  /** Calls {@link giveRare}, where the model needs that. */
  rare?: () => Promise<void>;
  /** Starts threads for the CPU path, where the model comes to run there. */
  threads?: () => Promise<CpuThreads | undefined>;
}

/** What encoders have besides. */
export interface WasmEncoderOptions {
  /** Loads the encoder of sounds from a file that has one of images, too. */
  ofSounds?: boolean;
}

/** Threads besides the one that runs the model: see `engine/threads.ts`. */
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

/** What one of them runs. */
export class CpuThread {
  put(shape: Uint32Array, bytes: Uint8Array): void;
  multiply(number: number, group: number, x: Float32Array<ArrayBufferLike>): Float32Array;
}

export interface WasmGenerateOptions extends SamplingOptions {
  maxTokens?: number;
  stop?: string[];
  ignoreEos?: boolean;
  showSpecial?: readonly string[];
  /** [id, bias] */
  biases?: readonly (readonly [number, number])[];
  logprobs?: number;
  /** Default `automatic`. */
  draft?: 'automatic' | 'prompt' | 'model' | 'mtp' | 'off';
  prediction?: string;
  /** [number, scale] */
  adapters?: readonly (readonly [number, number])[];
}

/** What `start` says of the prompt. */
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

declare function init(options?: { module_or_path: WasmInput | Promise<WasmInput> }): Promise<unknown>;
declare namespace init {
  /** What was compiled. */
  const __wbindgen_wasm_module: WebAssembly.Module;
}
export default init;

/** Takes the shaders and grids of `rare.js`: the files of one behind the other, and the codes of all grids. */
export function giveRare(shaders: string, grids: Uint8Array): void;

/** What the headers of these parts say, and whether a GPU here can hold the model. */
export function inspect(
  sources: ByteSource[],
  options: Pick<WasmLoadOptions, 'contextLength' | 'draftContext' | 'kvType' | 'parallel' | 'perLayerEmbeddings'> & {
    backend?: WasmLoadOptions['backend'] | undefined;
  },
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
  /**
   * A text for a prompt: control tokens that are written in it are text for `encodePrompt`. `ofModel`: but for those
   * that mark thoughts and calls.
   */
  protect(text: string, ofModel: boolean): string;
  /** Parses special tokens; adds BOS where the file asks for it and the text does not begin with it. */
  encodePrompt(text: string): Uint32Array;
  /** The device of a model that writes text, for another to be loaded on; `undefined` on the CPU. */
  device(): DeviceHandle | undefined;
  /** From now on `draft`, which is used up, drafts tokens for this model and for the sessions that it makes. */
  useDraft(draft: WasmModel): void;
  /** `listener` hears how many tokens of the prompt are read, after each pass over it. It must not throw. */
  start(ids: Uint32Array, options: WasmGenerateOptions, listener?: (read: number) => void): StartedText;
  /** Makes the generation that was started follow a grammar, once its matcher is there. */
  constrain(matcher: Promise<Matcher>): void;
  tokens(): VocabularyTokens;
  /** Token ids of a text in the middle of another. */
  tokenizeInside(text: string): Uint32Array;
  /** Values of a row of a prompt. */
  rowWidth(): number;
  /**
   * The first of the ids of `count` rows in prompts. `digest`, 16 hexadecimal digits: the same always has the same ids,
   * also after `recover`. `columns`: rows side by side in an image. Works while a generation runs.
   */
  knowRows(digest: string, columns: number, count: number): number;
  /** The digests of rows that the next call of `next` reads and that nobody has added. */
  missingRows(): string[];
  /** Adds rows `[count, rowWidth]`, which are kept until the prompt that was started is read, or is given up. */
  addRows(digest: string, columns: number, rows: Float32Array): void;
  /** The position of a token that follows these ids. */
  countPositions(ids: Uint32Array): number;
  next(): Promise<Piece | undefined>;
  /** Makes the call that runs end soon, also within a long prompt: it then gives `undefined`. */
  cancel(): void;
  /** What of it needs no encoder, and without the time before `start`. */
  finish(): Promise<Omit<GenerationResult, 'usage'> & { usage: Omit<Usage, 'promptTokensDetails'> }>;
  /** `logits`: n ids × vocabulary numbers, which are filled and returned. `undefined` where it was cancelled. */
  evaluate(
    ids: Uint32Array,
    logits: Float32Array | undefined,
    adapters: readonly (readonly [number, number])[],
  ): Promise<Evaluation | undefined>;
  /** Makes the adapter in a GGUF file known by a number that no other has or had. Nothing may be running. */
  addAdapter(id: number, file: Uint8Array): Promise<void>;
  /** Texts that are on go on with it. False where there is none of this number. */
  removeAdapter(id: number): boolean;
  /** A tensor of `tensors`, on the device of both; `undefined` where it was cancelled. */
  hiddenStates(ids: Uint32Array, tensors: TensorEngine): Promise<TensorHandle | undefined>;
  /**
   * For training: tensors on the model's device, and what it computes, as `js/training/language/program.ts` reads it,
   * with its weights among these tensors. `shaders`: those of `TensorEngine.open`.
   */
  exportProgram(
    shaders: string,
  ): [engine: TensorEngine, words: Uint32Array, names: string, weights: readonly TensorHandle[]];
  /** Token ids of a text for `embed`. */
  encodeInput(text: string, truncate: boolean): Uint32Array;
  /** Token ids of a query and a document for `rank`. */
  encodePair(query: string, document: string, truncate: boolean): Uint32Array;
  /** The vectors of inputs, one after the other in `ids`, of these lengths; `undefined` where it was cancelled. */
  embed(
    ids: Uint32Array,
    lengths: Uint32Array,
    normalize: boolean,
    dimensions?: number,
  ): Promise<Float32Array | undefined>;
  /** The scores of such inputs. */
  rank(ids: Uint32Array, lengths: Uint32Array): Promise<Float32Array | undefined>;
  /**
   * Another session of the same model: with a copy of what this one has read, or empty; in any case with room for so
   * many tokens. No generation may be on.
   */
  another(withCache: boolean, tokens: number): Promise<WasmModel>;
  /**
   * Before `start`: where another session of the model has read more of `ids` with these adapters, this one gets a copy
   * of that.
   */
  adopt(ids: Uint32Array, adapters: readonly (readonly [number, number])[]): Promise<void>;
  /**
   * After the device was lost: this model and all its sessions go on with `fresh`, the same model loaded again, which
   * is used up. A generation that is on goes on with the next `next`.
   */
  recover(fresh: WasmModel): Promise<void>;
  /**
   * The head of what the session is saved as: all but its caches, and `notes`. No generation may be on. `text`: token
   * ids, where the caches may hold another text; what they have of these is saved, if it is half of them at least.
   */
  saveHead(notes: string, text?: Uint32Array): Promise<Uint8Array<ArrayBuffer>>;
  /** After `saveHead`, before anything else: a part of the caches, which follow it; `undefined` after the last. */
  readPart(number: number): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** Given the first 64 bytes of a saved session of `size` bytes: bytes of its head, and tokens in its caches. */
  checkSaved(start: Uint8Array, size: number): Uint32Array;
  /**
   * The session goes on with what the head says. Returns the notes, and how many bytes each part has but the last,
   * which may have fewer: `writePart` is to get all of them next. 0 where the caches are none of this session's, which
   * stays as it was. After an error it is empty.
   */
  restoreHead(head: Uint8Array, size: number): Promise<[notes: string, part: number]>;
  writePart(number: number, part: Uint8Array): Promise<void>;
  /** How many of these ids are cached, from the first on; nothing may be running. */
  commonPrefix(ids: Uint32Array): number;
  reset(): void;
  free(): void;
  wasmMemoryBytes(): number;
}

/** What an encoder of images or sounds is. */
export interface EncoderInfo {
  readonly projector: string;
  /** Values of a row that it gives, those for deeper layers too. */
  readonly width: number;
  /** Parts of a row: one, and one for each of the deeper layers. */
  readonly parts: number;
  /** Patches of an image, at most. */
  readonly mostRows: number;
  /** Whether it reads sounds. */
  readonly hears: boolean;
  /** Whether its file has an encoder of sounds besides. */
  readonly hearsToo: boolean;
  /** Whether a row stands between the lines of an image. */
  readonly hasBreaks: boolean;
  /** As `Picture` or `Sound` of the module `media` takes them, without what the caller chooses. */
  readonly numbers: readonly number[];
  /** Name of the GPU; empty on the CPU. */
  readonly adapter: string;
  readonly selfCheck: SelfCheck;
}

/** An encoder of images or sounds. */
export class WasmEncoder {
  private constructor();
  static load(
    sources: ByteSource[],
    options: Pick<WasmLoadOptions, 'backend' | 'precision' | 'selfCheck' | 'rare'> & WasmEncoderOptions,
    onProgress: (stage: string, loaded: number, total: number) => void,
    device?: DeviceHandle,
  ): Promise<WasmEncoder>;
  info(): EncoderInfo;
  /**
   * Fills `values` with rows `[parts, outputs, width / parts]` of `counts`: patches and outputs and, for each time that
   * rows become others before the layers, rows before it and taps in `folds`; `false` where it was cancelled.
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

/** What a device is and can do. */
export interface DeviceFacts {
  /** Of the adapter, as the browser tells it. */
  readonly name: string;
  /** Of the adapter, such as `nvidia`. */
  readonly vendor: string;
  /** Of the adapter, such as `hopper`. */
  readonly architecture: string;
  /** Whether the adapter computes on the CPU. */
  readonly software: boolean;
  /** WebGPU features in use. */
  readonly features: readonly string[];
  /** Smallest and largest subgroup size; 0 where not known. */
  readonly subgroupSize: readonly [number, number];
  /** Whether WGSL has the packed 4×8-bit dot product. */
  readonly dot4: boolean;
  /** WebGPU limits of the device by their names. */
  readonly limits: Readonly<Record<string, number>>;
}

/**
 * A device for a model to be loaded on, which uses the handle up; or one with a model whose kernels are to be timed.
 * Verdicts are lines `problem=row`. What tables were asked is lines of a problem, `=`, the row that the table chooses,
 * a comma, and a mask of the rows that the device can run.
 */
export class DeviceHandle {
  private constructor();
  /** The browser's `GPUDevice`. */
  raw(): unknown;
  /**
   * Sets the verdicts of tensors. A line of what they are remembered by, version and adapter, and then what tables
   * were asked since the last call that had `listen`.
   */
  tuned(lines: string, listen: boolean): string;
  /** What tables are asked for decode of the model, or for many rows. */
  problems(many: boolean): string;
  /**
   * Makes the model's list of decode or of many rows under these verdicts; with `but` only what it has that it has not
   * under those. Its number and how many dispatches it has.
   */
  make(lines: string, but: string | undefined, many: boolean): Promise<Uint32Array>;
  /** Submits `count` dispatches from number `first` on, around and around. */
  submit(list: number, first: number, count: number): void;
  free(): void;
}

/** A device with tensors by number and operations by name (`src/tensor/op.rs`). */
export class TensorEngine {
  private constructor();
  /** `shaders`: those of `tensor/shaders.js`. */
  static open(shaders: string): Promise<TensorEngine>;
  facts(): DeviceFacts;
  /** Throws once the `Gpu` is destroyed. */
  device(): DeviceHandle;
  upload(bytes: Uint8Array, dtype: string, shape: number[]): TensorHandle;
  run(op: string, inputs: (number | undefined)[], options: object): TensorHandle[];
  /** The number of a shader with so many tensors: `names` of its `override` constants with commas between. */
  shader(label: string, code: string, names: string, inputs: number, outputs: number): number;
  /**
   * Runs the shader of that number: `outputs` as type (0 f32, 1 f16, 2 bf16, 3 u32, 4 i32), number of axes and lengths
   * of each, `words` as three counts of workgroups and the words of `params`.
   */
  dispatch(
    shader: number,
    constants: Float64Array,
    inputs: Uint32Array,
    outputs: Uint32Array,
    words: Uint32Array,
  ): TensorHandle[];
  read(id: number): Promise<Uint8Array>;
  /** Never throws for a tensor that is free already, nor on a device that was destroyed. */
  free_tensor(id: number): void;
  destroy(): void;
}
