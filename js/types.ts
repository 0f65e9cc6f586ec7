/**
 * The shapes that go in and come out of the public functions. No code here.
 */
import type { DownloadControl } from './load/patience.js';
import type { LoadWarning } from './load/cache/warning.js';
import type { ErrorCode } from './errors.js';
import type { SamplingOptions } from './sampling.js';
import type { Gpu } from './tensor/gpu.js';

/** Something that reads any part of a file on request; both functions may return a promise or the value. */
export interface RangedSource {
  /** Bytes of the whole file. */
  readonly size: number;
  /** For messages; a file name or URL. */
  readonly name?: string;
  /**
   * Reads `length` bytes from `offset`. May return fewer, but at least one; `offset + length` never passes `size`.
   */
  read(offset: number, length: number): BytesLike | Promise<BytesLike>;
}

/** Bytes that are in memory. */
export type BytesLike = ArrayBufferLike | ArrayBufferView;

/**
 * One file of a model.
 *
 * - a URL (`string`, relative to the page, or `URL`) or a `Request`: streamed and kept in the cache; a cut connection
 *   is resumed by range request where the server allows it
 * - a file on Hugging Face's hub: `hf:owner/repo/file.gguf`; or `owner/repo:Q4_K_M`, where the hub is asked which file
 *   that is, and `hf:owner/repo`, which takes Q4_K_M or else Q8_0. `owner/repo@revision` names one. The address of
 *   a file's page on the hub (`https://huggingface.co/owner/repo/blob/…`) means the file
 * - a `Response` whose body was not read yet
 * - a `Blob` or `File`, read in slices
 * - an `ArrayBuffer` or a view of one
 * - a `ReadableStream` of bytes
 * - `{ size, read(offset, length) }`
 */
export type SourcePart = string | URL | Request | Response | Blob | BytesLike | ReadableStream<unknown> | RangedSource;

/**
 * Where a GGUF comes from: one file, or an array with the files of a split GGUF in order (files named
 * `…-00001-of-0000N.gguf` may come in any order). Of a URL that ends so, the other parts are found by
 * themselves. Promises of these are fine: `load(fetch(url))`.
 */
export type Source = SourcePart | Promise<SourcePart> | readonly (SourcePart | Promise<SourcePart>)[];

/** Progress of loading. */
export interface Progress {
  /**
   * `download`: bytes read from the source and passed on; the first report above 0 comes once the header is accepted
   * and the device is open, before weights take memory: an older model can be freed then. `upload`: the GPU takes in
   * the last of them; `compile`: shaders become pipelines; `ready`: all done, reported once.
   */
  readonly stage: 'download' | 'upload' | 'compile' | 'tune' | 'ready';
  /** Bytes; steps in stage `compile`; in stage `tune` products that were measured. */
  readonly loaded: number;
  /** In the unit of `loaded`; `undefined` while the source does not say its size. */
  readonly total: number | undefined;
  /** `loaded / total` of this stage, 0 to 1; `undefined` with `total`. */
  readonly fraction: number | undefined;
}

/** How far the reading of a prompt is: see {@link GenerateOptions.onProgress}. */
export interface PromptProgress {
  /**
   * `encode`: its images and sounds become rows; those that the model has met before are not encoded again, and not
   * reported. `prefill`: the model reads it, and has read all of it in the last report, before the first piece of text.
   */
  readonly stage: 'encode' | 'prefill';
  /** Images and sounds that are done, with the share of the one that is not; in stage `prefill` tokens. */
  readonly loaded: number;
  /** Images and sounds of the prompt; in stage `prefill` its tokens, those that were read before included. */
  readonly total: number;
  /** `loaded / total`. */
  readonly fraction: number;
}

/** How the files of a model are found, kept and checked: options of {@link WasmModel.load}. */
export interface SourceOptions {
  /**
   * Whether files from servers are kept in the origin's private file system, so that the next load makes no request.
   * Default: yes, but for a `Request` with an `authorization` header or with `cache: 'no-store'`. `true` keeps these,
   * too; `false` neither reads nor stores; `revalidate` asks the server first whether a stored file has changed.
   */
  cache?: boolean | 'revalidate' | undefined;
  /** The name under which the model is kept, for URLs that change from time to time. Default: the URL. */
  cacheKey?: string | undefined;
  /**
   * The SHA-256 that the file must have, in hexadecimal; of a split file a list. Bytes are checked while they are
   * loaded, at about 150 MB/s; a stored file that was checked once is not checked again.
   */
  sha256?: string | readonly string[] | undefined;
  /**
   * How often in a row a request is made again: where a server is busy (HTTP status 408, 429 and 5xx) or a connection
   * breaks while a file comes. Between the tries are 0.5 s, then twice as long each time up to 8 s, or what
   * `Retry-After` says, at most 60 s. Integer from 0 to 100, default 5.
   */
  retries?: number | undefined;
  /** Milliseconds without a byte after which a connection counts as broken, at least 1. Default 30,000. */
  stallTimeout?: number | undefined;
  /**
   * Connections over which a file is fetched at once, 1 to 8, where its server gives ranges of it and says its version
   * (`ETag` or `Last-Modified`). Parts of 8 MiB come side by side and are put in order; so many may wait in memory.
   * `auto` (default): 1, and 4 once that one gives less than 10 MB/s. Always 1 where the browser says that the
   * connection is metered or that data is to be saved.
   */
  connections?: number | 'auto' | undefined;
  /** Pauses and resumes the download, see {@link DownloadControl}. */
  download?: DownloadControl | undefined;
  /**
   * Refuses a model with more bytes, all files together: before any is read where the source says its size, else once
   * so many have come. Default: no bound.
   */
  maxBytes?: number | undefined;
  /**
   * Bytes that all stored models of this origin may take. Where a new one needs room, those that were loaded longest
   * ago are deleted; a model that is larger by itself, or has no room beside models that are being downloaded, is not
   * kept, and the warning `cache_full` says so. Default: no bound but the browser's.
   */
  cacheLimit?: number | undefined;
  /** Address of Hugging Face's hub or of a mirror, for sources such as `owner/repo:Q4_K_M`. */
  hub?: string | undefined;
  /** Access token for gated repositories of the hub. It is sent to `hub` alone and is not stored. */
  token?: string | undefined;
  /**
   * Called where the model loads but its file is not kept or asks for something that is not done, and where it is
   * loaded again, since the GPU device was lost. Default: the console says so, once.
   */
  onWarning?: ((warning: LoadWarning) => void) | undefined;
}

/** Options of {@link WasmModel.load}. */
export interface LoadOptions extends SourceOptions {
  /** Called at most every 50 ms per stage, and at the start and end of each. What it throws stops loading. */
  onProgress?: ((progress: Progress) => void) | undefined;
  /** Cancels loading at any point and frees everything; `load` then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Adapters (LoRA) of the model, in order: their numbers are 1, 2 and so on. Others come by `addAdapter`. */
  adapters?: readonly AdapterSource[] | undefined;
  /**
   * Tokens that prompt and answer share, 2 to what the model was trained for. Default: that, at most 4096. On the GPU
   * the KV cache begins with room for 4096 tokens and doubles when a text needs more.
   */
  contextLength?: number | undefined;
  /**
   * What keys and values are kept as: `f16` (default), or blocks of 32 with `q8_0`, a bit more than half the memory,
   * or `q4_0`, a bit more than a quarter. `q8_0` hardly changes a text; with `q4_0` small models lose some quality.
   */
  kvType?: 'f16' | 'q8_0' | 'q4_0' | undefined;
  /**
   * Requests whose texts are written at the same time, 1 to 4: each step reads the weights once for all of them. Each
   * takes a KV cache of `contextLength` tokens, so the memory of so many. More requests wait. Default 1. On the CPU
   * requests run one at a time whatever this says.
   */
  parallel?: number | undefined;
  /** `auto` (default) takes WebGPU and falls back to the CPU where there is no adapter, or only a software one. */
  backend?: 'auto' | 'webgpu' | 'cpu' | undefined;
  /**
   * Puts the model on the device of this `Gpu`, whatever its adapter is, instead of one of its own. Tensors then take
   * part in its results without leaving the GPU (`WasmModel.hiddenStates`), and a page of several models opens one
   * device. The device stays until the `Gpu` is destroyed and all models on it are freed.
   */
  gpu?: Gpu | undefined;
  /**
   * Runs the model in a worker of its own, so that the page's thread is free: nothing but text, ids and progress cross.
   * Sources are opened there; an `ArrayBuffer` is moved there and empty here afterwards. `free` ends the worker, so
   * that all of its memory goes back. Does not go with `gpu` and `hiddenStates`. Default false.
   */
  worker?: boolean | undefined;
  /**
   * How prompts are read. `auto` (default) rounds activations to 8 bits in blocks of 32, as llama.cpp does on a CPU, on
   * the GPUs where that was measured: NVIDIA's, about twice as fast; and to f16 where Chromium's experimental subgroup
   * matrices are switched on. `fast` rounds to 8 bits on every GPU whose browser has packed dot products. `exact` keeps
   * activations in f32 (the KV cache is what `kvType` says all the same). Tokens are generated without such rounding in
   * any case on the GPU; on the CPU, `auto` and `fast` round the activations of a token to 16 bits, which is three
   * times as fast.
   */
  precision?: 'auto' | 'exact' | 'fast' | undefined;
  /**
   * On the CPU: how many threads share the products of matrices, from 1 to 64. More than one needs a page that is
   * cross-origin isolated (headers `Cross-Origin-Opener-Policy: same-origin` and `Cross-Origin-Embedder-Policy:
   * require-corp`); elsewhere there is one, whatever this says: {@link ModelInfo.threads}. Each has a part of the
   * weights, in a worker of its own. Default: all cores up to 4, of more half, at most 8.
   */
  threads?: number | undefined;
  /**
   * Loads a model that writes text as an embedder: what becomes of the vectors of a text's tokens. Default: what the
   * file says; a file that says nothing writes text, unless its architecture cannot.
   */
  pooling?: 'mean' | 'cls' | 'last' | undefined;
  /**
   * The file with the encoder of images or sounds, `mmproj-….gguf`: where it comes from as the model itself does, or
   * `true` for the one beside the model in its repository on the hub. Messages may hold images or sounds then, see
   * {@link ModelInfo.media}.
   */
  mmproj?: Source | true | undefined;
  /**
   * A smaller model with the same vocabulary that drafts tokens, which this one then looks at several at a time: where
   * its file comes from, as for the model itself. It lies on the same device; texts stay what they are without it, see
   * {@link GenerateOptions.draft}. On the CPU it is not loaded. Files of Qwen 3.5 may have a block that drafts: it is
   * loaded on the GPU unless this is `false` or a model, or `parallel` is more than 1.
   */
  draft?: Source | false | undefined;
  /**
   * `false` frees the weights of the encoder after each prompt with images, and loads it again for the next image that
   * the model has not met: less memory, and some seconds more for such an image. Default true.
   */
  keepEncoder?: boolean | undefined;
  /** Rows of an image in a prompt, at most, for encoders that take images of any size. Default 1024. */
  maxImageTokens?: number | undefined;
  /**
   * What becomes of an image whose shape the encoder does not take: `pad` (default) puts it in the middle of black, as
   * llama.cpp does; `stretch` stretches it, as Hugging Face's processors of Gemma 3 and Qwen do.
   */
  resize?: 'pad' | 'stretch' | undefined;
  /**
   * Where the embeddings per layer of Gemma 4 E2B and E4B lie, about half of the file, of which each token needs one
   * row. `host`: the GPU holds the rows used last, up to 128 MiB of them, and the others are read from the source when
   * a token needs one, so a file must stay readable and a buffer as it is. A source that can be read once (a stream, a
   * response, a URL that is not cached) has them in JavaScript's memory. `gpu`: all on the GPU. A number: so many rows
   * on the GPU, at least 16. `auto` (default) is `host` where they take 64 MiB or more. Other models do not have them.
   */
  perLayerEmbeddings?: 'auto' | 'gpu' | 'host' | number | undefined;
  /**
   * At the first load on a device and browser the kernels that the model is to run are checked against the CPU, which
   * takes up to a second; the verdict is kept, and {@link ModelInfo.selfCheck} has it. `false` leaves that out.
   * Default true.
   */
  selfCheck?: boolean | undefined;
  /**
   * At the first load on a device and browser the rows of the kernels' tables that the device can run are timed on the
   * model's own matrices, for some seconds to half a minute, and the fastest ones are taken from then on: `info.tuning`
   * says which. It is for one token of text and for a chunk of 512 tokens of a prompt; what is measured to be no faster
   * as a whole stays as it is. Chosen kernels are checked as all others are. Of a model that writes text on the GPU.
   * Default false: what is fast on the GPUs that webgguf was measured on.
   */
  tune?: boolean | undefined;
}

/** Another kernel variant than the table's. */
export interface TunedChoice {
  /** Kernel, type and sizes of the matrix `[rows]x[columns]`, and of many rows of x about how many. */
  readonly problem: string;
  /** Row of the kernel's table that the table chooses. */
  readonly from: number;
  /** Row of the table that runs. */
  readonly to: number;
  /** How many times as fast it was. */
  readonly speedup: number;
}

/** What tuning has found. */
export interface Tuning {
  /**
   * `tuned`: some variants are faster than the table's and run in their place; `table`: none is; `partial`: time was up
   * before all had been measured, so the next load measures again; `remembered`: found at an earlier load or call;
   * `skipped`: on the CPU, and for embedders.
   */
  readonly verdict: 'tuned' | 'table' | 'partial' | 'remembered' | 'skipped';
  /** Products that were measured. */
  readonly problems: number;
  /** Those of them for which another variant runs. */
  readonly changed: readonly TunedChoice[];
  /** How long that took. */
  readonly milliseconds: number;
}

/** Whether the GPU computes what it should: drivers have bugs. */
export interface SelfCheck {
  /**
   * `passed`; `replaced`: some kernels computed wrong values, and plainer variants of them, which do not, run in their
   * place; `partial`: those that were checked are right, and time was up before the others, so the next load checks
   * again; `failed`: there are no others for those in `wrong`, so expect wrong text; `remembered`: checked at an
   * earlier load; `skipped`: on the CPU, for an embedder of texts, or as `selfCheck: false` says.
   */
  readonly verdict: 'passed' | 'partial' | 'replaced' | 'failed' | 'remembered' | 'skipped';
  /** Ids of the variants that others have replaced. */
  readonly replaced: readonly string[];
  /** Ids of the variants of a step that computes wrong values and run all the same. */
  readonly wrong: readonly string[];
  /** How many variants were checked at this load: fewer than all on slow devices, where time is limited. */
  readonly checked: number;
  /** How long that took. */
  readonly milliseconds: number;
}

/** What {@link WasmModel.inspect} finds out from the header of a file; one that webgguf does not run has a `reason`. */
export type Inspection = Inspected &
  (
    | {
        /** Whether webgguf runs it. */
        readonly supported: true;
        readonly reason?: undefined;
      }
    | {
        readonly supported: false;
        /** Why not: the error that {@link WasmModel.load} would throw. */
        readonly reason: { readonly code: ErrorCode; readonly message: string };
      }
  );

/** What a header says, whether webgguf runs the model or not. */
export interface Inspected {
  /** `general.architecture` of the file, where it says. */
  readonly architecture?: string;
  /** `general.name` of the file, where it says. */
  readonly name?: string;
  /** As {@link ModelInfo.quantization}; this and the next four only for a known architecture. */
  readonly quantization?: string;
  /** Number of weights. */
  readonly parameters?: number;
  /** Layers. */
  readonly layers?: number;
  /** The longest context that the model was trained for, in tokens. */
  readonly trainedContextLength?: number;
  /** Number of token ids. */
  readonly vocabularySize?: number;
  /** Bytes of header and tensors. */
  readonly fileBytes: number;
  /** All tensors in the order of the file; `shape` as the file has it, the length of a row first. */
  readonly tensors: readonly { name: string; type: string; shape: readonly number[]; bytes: number }[];
  /** What the file lacks or asks for and is not done, as {@link ModelInfo.warnings}. */
  readonly warnings: readonly string[];
  /** The smaller model of the option `draft`; what `gpu` says is without it. */
  readonly draft?: Inspection;
  /** Its encoder of images, with the option `mmproj`; what `gpu` says is without it. */
  readonly encoder?: InspectedEncoder;
  /** With the option `memoryBytes`: how to load the model within it; absent where `gpu` is. */
  readonly advice?: Advice;
  /** The model on this machine's GPU; absent where `load` would take the CPU, or where the model is not supported. */
  readonly gpu?: {
    /** The adapter as the browser names it. */
    readonly adapter: string;
    /** The context that was planned for, in tokens. */
    readonly contextLength: number;
    /** The type of the KV cache that was planned for. */
    readonly kvType: 'f16' | 'q8_0' | 'q4_0';
    /** Bytes of the weights. */
    readonly weightBytes: number;
    /** Bytes of the KV cache once it has grown to that context, and of everything else. */
    readonly sessionBytes: number;
    /** Whether the device gave all of that memory when it was asked for it. */
    readonly fits: boolean;
    /** Why not: `limit_exceeded` or `out_of_memory`. */
    readonly reason?: { code: ErrorCode; message: string };
  };
}

/** How a model is loaded within `memoryBytes`: `contextLength` and `kvType` are options of {@link WasmModel.load}. */
export interface Advice {
  /**
   * Whether the model takes no more than the budget, and the device gave the memory. Where it is false, `bytes` is what
   * this file would take all the same, and `quantization` names a file of the same model that fits, if there is one.
   */
  readonly fits: boolean;
  /**
   * Tokens of context: as many as fit, at most those asked for or, without that option, those that the model was
   * trained for.
   */
  readonly contextLength: number;
  /** The best type of the KV cache with which as much context fits as was asked for or, without that option, 4096. */
  readonly kvType: 'f16' | 'q8_0' | 'q4_0';
  /** Bytes at the peak: weights, encoder, draft model, the cache as it grows to that context, 100 MB for the page. */
  readonly bytes: number;
  /**
   * Of the usual quantisations the one with the most bits that leaves room for this context, by the number of weights
   * alone: `F16`, `Q8_0`, `Q6_K`, `Q5_K_M`, `Q4_K_M`, `Q3_K_M` or `Q2_K`. Absent where none does: take a smaller model.
   */
  readonly quantization?: string;
}

/** How a source is found and read, of the options of `load`. */
type FoundBy = 'cacheKey' | 'hub' | 'token' | 'retries' | 'stallTimeout' | 'maxBytes';

/** What the header of an encoder of images says. */
export interface InspectedEncoder {
  /** Bytes of header and tensors; its weights take about as much memory. */
  readonly fileBytes: number;
  /** As {@link ModelInfo.quantization}; this and the next only where its kind is known. */
  readonly quantization?: string;
  /** Number of weights. */
  readonly parameters?: number;
}

/** Options of {@link WasmModel.inspect}. */
export interface InspectOptions extends Pick<SourceOptions, FoundBy> {
  /** As {@link LoadOptions.backend}: where `load` would take the CPU, the result has no `gpu`. */
  backend?: LoadOptions['backend'];
  /** Tokens of context to plan for. Default: what the model was trained for, at most 4096. */
  contextLength?: number | undefined;
  /** As in {@link LoadOptions}. */
  kvType?: LoadOptions['kvType'];
  /** As {@link LoadOptions.parallel}: the memory of so many requests at once. */
  parallel?: LoadOptions['parallel'];
  /** As {@link LoadOptions.perLayerEmbeddings}. */
  perLayerEmbeddings?: LoadOptions['perLayerEmbeddings'];
  /** As {@link LoadOptions.mmproj}: the header of the encoder is read, too. */
  mmproj?: LoadOptions['mmproj'];
  /**
   * Bytes that page and model may take together, such as 1.2e9 on a phone that ends tabs near 1.5 GB: the result has
   * an {@link Advice}. A positive number.
   */
  memoryBytes?: number | undefined;
  /** As {@link LoadOptions.draft}: the header of the smaller model is read, too. */
  draft?: LoadOptions['draft'];
  /** Cancels. */
  signal?: AbortSignal | undefined;
}

/** What a loaded model is and where it runs. */
export interface ModelInfo {
  /** `general.architecture` of the file: `llama`, `qwen2`, `qwen3`. */
  readonly architecture: string;
  /** `general.name` of the file, where it has one. */
  readonly name?: string;
  /** The file's own label, `general.file_type` in words such as `Q4_K_M`; without one, that of its most used type. */
  readonly quantization: string;
  /** Number of weights. */
  readonly parameters: number;
  /** Transformer layers. */
  readonly layers: number;
  /** Tokens that prompt and answer share in this instance. */
  readonly contextLength: number;
  /** What keys and values are kept as; absent for an embedder, which keeps none. */
  readonly kvType?: 'f16' | 'q8_0' | 'q4_0';
  /** Requests that run at the same time; absent for an embedder. 1 on the CPU: requests wait for each other. */
  readonly parallel?: number;
  /** Number of token ids. */
  readonly vocabularySize: number;
  /**
   * Whether the file brings a chat template. `generate` also takes messages without one where the vocabulary has
   * ChatML's tokens, `<|im_start|>` and `<|im_end|>`.
   */
  readonly hasChatTemplate: boolean;
  /** The chat template of the file, in Jinja. */
  readonly chatTemplate?: string;
  /**
   * How calls of tools are read: the name of the format that the chat template shows, such as `hermes`; `prompt` where
   * it knows no tools, and a system message tells of them; `false` where it lists tools and has no sign of a format
   * that is known, so that a call may stay in the text. Absent without a chat template.
   */
  readonly tools?: string | false;
  /** The template of the file for conversations with tools, where it has one of its own. */
  readonly toolTemplate?: string;
  /** The name of the token that ends a text, such as `</s>`; empty where the vocabulary has none. */
  readonly endOfText?: string;
  /** Where the model runs. */
  readonly backend: 'webgpu' | 'cpu';
  /** Why it is the CPU, though `backend` was `auto`: a sentence for people. */
  readonly backendReason?: string;
  /** The GPU adapter as the browser names it; empty on the CPU. */
  readonly adapter: string;
  /** WebGPU features in use, such as `shader-f16` and `subgroups`. */
  readonly features: readonly string[];
  /** Bytes of GPU buffers that this model holds after loading. */
  readonly gpuBytes: number;
  /** Ids of the kernel variants chosen for this device, such as `mat_vec.q4_k.subgroup`. */
  readonly variants: readonly string[];
  /** GPU dispatches for one token of text; 0 on the CPU. */
  readonly dispatchesPerToken: number;
  /**
   * Of an embedder: what becomes of the vectors of a text's tokens; `rank` where a classifier makes scores of them.
   * Such a model writes no text.
   */
  readonly pooling?: 'mean' | 'cls' | 'last' | 'rank';
  /** Of an embedder: values of a vector. */
  readonly embeddingLength?: number;
  /** What prompts may hold besides text, where an encoder of it was loaded, see {@link LoadOptions.mmproj}. */
  readonly media?: { readonly image: boolean; readonly audio: boolean };
  /** The encoders that {@link LoadOptions.mmproj} has loaded, and whether their kernels compute what they should. */
  readonly encoders?: readonly { readonly projector: string; readonly selfCheck: SelfCheck }[];
  /** The smaller model that drafts tokens, see {@link LoadOptions.draft}; its memory is part of `gpuBytes`. */
  readonly draft?: Readonly<
    Pick<ModelInfo, 'architecture' | 'name' | 'quantization' | 'parameters' | 'contextLength' | 'gpuBytes'>
  >;
  /** Threads that run it, on the CPU; 0 on the GPU. */
  readonly threads: number;
  /** Whether its kernels compute what they should on this device. */
  readonly selfCheck: SelfCheck;
  /** What the file lacks or asks for and is not done; `onWarning` has heard each, with the code `file`. */
  readonly warnings: readonly string[];
  /** With {@link LoadOptions.tune}: what was found. */
  readonly tuning?: Tuning;
}

/** One message of a conversation, as the OpenAI API has it. Further fields reach the model's template as they are. */
export interface Message {
  /** `system`, `user`, `assistant`, `tool`, or what else the model's template knows. */
  role: 'system' | 'user' | 'assistant' | 'tool' | (string & Record<never, never>);
  /** The text, in one string or in parts, which are joined by newlines; nothing beside `tool_calls`. */
  content?: string | readonly (TextPart | ImagePart | AudioPart)[] | null | undefined;
  /** Of the assistant: tools that it called. */
  tool_calls?: readonly ToolCall[] | undefined;
  /** Of a tool: the call that this is the result of. */
  tool_call_id?: string | undefined;
  /** Who speaks; of a tool its name. */
  name?: string | undefined;
  /** Of the assistant: what it thought before. Some templates write it into the prompt. */
  reasoning_content?: string | null | undefined;
}

/** A call of a tool. */
export interface ToolCall {
  /** The name that its result answers to. */
  id: string;
  /** `function`. */
  type: 'function';
  /** `arguments`: JSON text. */
  function: { name: string; arguments: string };
}

/** A function that the model may call. */
export interface Tool {
  /** `function`. */
  type: 'function';
  /**
   * `parameters`: a JSON Schema, or a schema of zod, valibot or arktype that says how it is converted (Standard
   * Schema). `inputSchema`, as the AI SDK and MCP have it, and Anthropic's `input_schema` are other names for it.
   */
  function: {
    name: string;
    description?: string | undefined;
    parameters?: object | undefined;
    inputSchema?: object | undefined;
    input_schema?: object | undefined;
    strict?: boolean | null | undefined;
  };
}

/** An image in a message; the model must be loaded with {@link LoadOptions.mmproj}. */
export interface ImagePart {
  /** What kind of part it is. */
  readonly type: 'image';
  /** The image, or where it is. */
  readonly image: ImageSource;
}

/**
 * An image: a file (PNG, JPEG, WebP and what else the browser decodes) as `File`, `Blob`, bytes or URL, or what has
 * pixels: `ImageData`, `ImageBitmap`, a canvas, `<img>`, `<video>` (its frame) or `VideoFrame`.
 */
export type ImageSource =
  | Blob
  | Uint8Array
  | ArrayBuffer
  | string
  | URL
  | ImageData
  | CanvasImageSource
  | { readonly width: number; readonly height: number; readonly data: Uint8Array | Uint8ClampedArray };

/** A sound in a message; the model must be loaded with {@link LoadOptions.mmproj}. */
export interface AudioPart {
  /** What kind of part it is. */
  readonly type: 'audio';
  /** The sound, or where it is. */
  readonly audio: AudioSource;
}

/**
 * A sound: a file (WAV everywhere; MP3, Ogg and what else the browser decodes in a page) as `File`, `Blob`, bytes or
 * URL, an `AudioBuffer`, or samples of one channel.
 */
export type AudioSource =
  | Blob
  | Uint8Array
  | ArrayBuffer
  | string
  | URL
  // `AudioBuffer`, for which the library `webworker` of TypeScript has no name.
  | {
      readonly sampleRate: number;
      readonly numberOfChannels: number;
      readonly length: number;
      getChannelData(channel: number): Float32Array;
    }
  | { readonly samples: Float32Array; readonly sampleRate: number };

/** A text in a message. */
export interface TextPart {
  /** `text`. */
  type: 'text';
  /** The text. */
  text: string;
}

/** Options of {@link WasmModel.generate}. */
export interface GenerateOptions extends SamplingOptions {
  /**
   * Called while the prompt becomes ready: at the start of each of its images and sounds, and after each of their tiles
   * (`encode`); then while the model reads it, after each pass over it (`prefill`). What it throws ends the request.
   */
  onProgress?: ((progress: PromptProgress) => void) | undefined;
  /** Most tokens to write, 1 or more. Default: until the context is full. */
  maxTokens?: number | undefined;
  /** Strings that end the text, also where they cross token borders; they are not part of it. */
  stop?: string | readonly string[] | undefined;
  /**
   * For a prompt of messages: whether special tokens that are written in them are tokens. Default false: they are text.
   * In a prompt that is a string they always are tokens.
   */
  parseSpecial?: boolean | undefined;
  /**
   * For a prompt of messages: whether the model thinks before it answers, where its chat template can say so. Default:
   * what the template says; in a session, what that was told. With a prompt that is a string or ids, which no template
   * writes, it is refused.
   */
  enableThinking?: boolean | undefined;
  /** Go on after the end-of-text token, for measurements. */
  ignoreEos?: boolean | undefined;
  /** Control tokens whose names appear in the text, such as `[TOOL_CALLS]`; by default it leaves them all out. */
  showSpecial?: readonly string[] | undefined;
  /**
   * What the text must be: see {@link Grammar}. Tokens that it does not allow are never chosen, and the text ends where
   * it allows an end; with `finishReason: 'length'` it may be cut off before. The first call with a grammar fetches
   * `webgguf_grammar_bg.wasm`.
   */
  grammar?: Grammar | undefined;
  /** Numbers from -100 to 100 that are added to the logits of these token ids, at most 1024 of them. */
  logitBias?: Readonly<Record<number, number>> | undefined;
  /**
   * Also give the log-probability of each token, and the so many most likely tokens in its place, 0 to 20: see
   * {@link Piece.tokens}.
   */
  logprobs?: number | undefined;
  /**
   * Tokens that the model looks at several at a time, since the text so far foretells them (`'prompt'`), since the
   * smaller model of {@link LoadOptions.draft} has written them (`'model'`), or since a block of the file that predicts
   * the token after the next has (`'mtp'`), as long as some are right; `false`, never. By default as long as that takes
   * less time, by the smaller model or the block where there is one. The text is the same in any case. There are none
   * on the CPU, with `grammar` or `logprobs`, in models with embeddings per layer, or while other requests run; by the
   * smaller model or the block none after images, nor past its own context length.
   */
  draft?: 'prompt' | 'model' | 'mtp' | false | undefined;
  /** A text that much of the answer may be like, such as the file that it changes: drafts come from there, too. */
  prediction?: string | undefined;
  /**
   * The adapters that prompt and answer are read and written with, instead of those that `load` was given with their
   * scales; an empty array: none. Requests with different ones run together.
   */
  adapters?: readonly AdapterUse[] | undefined;
  /** Ends the text early: the loop and the result reject with its reason; `generation.partial` is what was written. */
  signal?: AbortSignal | undefined;
}

/** An adapter in a text. */
export interface AdapterUse {
  /** What {@link WasmModel.addAdapter} gave. */
  readonly id: number;
  /** How much of it, any number; default 1. With 0 it is not used. */
  readonly scale?: number | undefined;
}

/** Options of {@link WasmModel.addAdapter}: where the bytes come from, and a signal that ends reading them. */
export interface AdapterOptions extends SourceOptions {
  /**
   * `adapter_config.json`, for PEFT's safetensors that are no URL beside it. `sha256` is the digest of the weights; a
   * list of two has that of the configuration, too.
   */
  config?: Source | undefined;
  /** Ends reading; `addAdapter` then rejects with its reason. */
  signal?: AbortSignal | undefined;
}

/** An adapter that {@link WasmModel.load} adds. */
export interface AdapterSource {
  /** A GGUF file with an adapter (LoRA) or a control vector, or PEFT's safetensors. */
  readonly source: Source;
  /** As {@link AdapterOptions.config}. */
  readonly config?: Source | undefined;
  /** How much of it is used where a request names no adapters, default 1. */
  readonly scale?: number | undefined;
}

/**
 * What a text must be. One of:
 *
 * - `{ jsonSchema }`: JSON that a JSON Schema (draft 2020-12, as an object or its text) describes; or a schema of zod,
 *   valibot or arktype that says how it is converted (Standard Schema)
 * - `{ json: true }`: a JSON object
 * - `{ regex }`: a regular expression in Rust's syntax that the whole text matches, without anchors
 * - `{ choice }`: one of some texts
 * - `{ lark }`: a grammar in llguidance's variant of Lark
 * - `{ gbnf }`: a grammar in llama.cpp's notation
 *
 * A schema or grammar that cannot be followed is refused with `invalid_argument`, which says why.
 */
export type Grammar =
  | { readonly jsonSchema: object | boolean | string }
  | { readonly json: true }
  | { readonly regex: string }
  | { readonly choice: readonly string[] }
  | { readonly lark: string }
  | { readonly gbnf: string };

/** A token and how likely it was. */
export interface TokenProbability {
  /** Its id. */
  readonly id: number;
  /** Its text; a token that is part of a character has U+FFFD there. */
  readonly text: string;
  /** The bytes of its text. */
  readonly bytes: Uint8Array;
  /**
   * Natural log-probability by the model's own logits, before bias, penalties, filters, temperature and grammar, as
   * OpenAI and llama.cpp give it.
   */
  readonly logprob: number;
}

/** A token that was chosen, and those that were most likely in its place. */
export interface ChosenToken extends TokenProbability {
  /** As many as `logprobs` asks for, the most likely first. */
  readonly top: readonly TokenProbability[];
}

/** Options of {@link WasmModel.session}. */
export interface SessionOptions extends Omit<ChatTemplateOptions, 'addGenerationPrompt'> {
  /**
   * Functions that the model may call. A call is part of the answer's text, with the control tokens around it, such as
   * `[TOOL_CALLS]`; the session neither reads nor runs it, which `chat.completions` and `runTools` do. A template that
   * knows no tools ignores them.
   */
  tools?: readonly Tool[] | undefined;
  /** The system prompt. */
  system?: string | undefined;
  /** A conversation to go on with, after the system prompt. */
  messages?: readonly Message[] | undefined;
  /**
   * Where the conversation leaves no room for an answer (of `maxTokens`, else of a quarter of the context): `error`
   * (default) throws `context_full` where it does not fit at all; `truncate` drops the oldest turns, whole ones, and
   * keeps the system prompt.
   */
  overflow?: 'truncate' | 'error' | undefined;
}

/** A piece of text as it is written. */
export interface Piece {
  /** Text that is final; whole characters only. May be empty while a character or a stop string is incomplete. */
  readonly text: string;
  /** The tokens made since the last piece. */
  readonly ids: Uint32Array;
  /** Of each of `ids`, with the option `logprobs`. */
  readonly tokens?: readonly ChosenToken[];
}

/** How a generation went. */
export interface GenerationResult {
  /** All text, without the stop string. */
  readonly text: string;
  /** All tokens of the answer. */
  readonly ids: Uint32Array;
  /** Of each of `ids`, with the option `logprobs`. */
  readonly tokens?: readonly ChosenToken[];
  /** `stop`: end of text or a stop string; `length`: `maxTokens` or the context; `abort`: cancelled. */
  readonly finishReason: 'stop' | 'length' | 'abort';
  /** Counts of tokens. */
  readonly usage: Usage;
  /** How fast it was. */
  readonly timings: Timings;
}

/** Counts of tokens. */
export interface Usage {
  /** Tokens of the prompt, template included. */
  readonly promptTokens: number;
  /** Tokens of the answer. */
  readonly completionTokens: number;
  /** Tokens of the prompt that were in the KV cache already. */
  readonly cachedTokens: number;
  /** What the tokens of the prompt are. */
  readonly promptTokensDetails: PromptTokensDetails;
  /** `promptTokens + completionTokens`. */
  readonly totalTokens: number;
  /** Tokens of the answer that were drafted: see {@link GenerateOptions.draft}. */
  readonly acceptedDraftTokens: number;
  /** Drafted tokens that were no part of the answer. */
  readonly rejectedDraftTokens: number;
}

/** What the tokens of a prompt are. A row of an image or a sound takes the place of a token, and counts as one. */
export interface PromptTokensDetails {
  /** As {@link Usage.cachedTokens}, text and rows alike. */
  readonly cachedTokens: number;
  /** Rows of images, without the tokens that the model wants around and between them. */
  readonly imageTokens: number;
  /** Rows of sounds, likewise. */
  readonly audioTokens: number;
}

/** How fast a generation was. */
export interface Timings {
  /** Tokens of the prompt, without cached ones, per second of reading them; encoding images and sounds is no part. */
  readonly promptTokensPerSecond: number;
  /** Tokens of the answer per second, from the first to the last. */
  readonly tokensPerSecond: number;
  /**
   * Milliseconds to the first token from when the model was free for the request, so without the wait for requests
   * before it; with what the prompt takes: fetching, decoding and encoding its images and sounds, and reading it. 0
   * where there was no token.
   */
  readonly timeToFirstTokenMs: number;
}

/** What {@link WasmModel.evaluate} finds, for n ids and a vocabulary of v. */
export interface Evaluation {
  /** Shape [n]: the most likely token after `ids[0..i]`. */
  readonly top1: Uint32Array;
  /** Shape [n - 1]: natural log-probability of `ids[i + 1]` after `ids[0..i]`. */
  readonly logprobs: Float32Array;
  /** Shape [n, v], row-major, on request: the logits after `ids[0..i]`. */
  readonly logits?: Float32Array;
}

/** Options of {@link WasmModel.evaluate}. */
export interface EvaluateOptions {
  /** Also return all logits, n × `info.vocabularySize` floats. Default false. */
  logits?: boolean | undefined;
  /** As those of `generate`. */
  adapters?: readonly AdapterUse[] | undefined;
  /** Ends the call early, which then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** Options of {@link WasmModel.embed}. */
export interface EmbedOptions {
  /** Divide each vector by its length, so that the dot product of two is their cosine. Default true. */
  normalize?: boolean | undefined;
  /** Keep the first so many values of each vector, before that: for models trained so (Matryoshka). Default: all. */
  dimensions?: number | undefined;
  /** Cut texts that are longer than the context. Default false: they are an error. */
  truncate?: boolean | undefined;
  /** Ends the call early, which then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** Options of {@link WasmModel.rank}. */
export interface RankOptions {
  /** Cut documents that do not fit the context with the query. Default false: they are an error. */
  truncate?: boolean | undefined;
  /** Ends the call early, which then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** Options of {@link Tokenizer.load}. */
export interface TokenizerOptions extends Pick<SourceOptions, FoundBy> {
  /** Cancels. */
  signal?: AbortSignal | undefined;
}

/** Options of `tokenize`. */
export interface TokenizeOptions {
  /** Add the BOS and EOS tokens that the model's file asks for. Default false. */
  addSpecial?: boolean | undefined;
  /** Read text such as `<|im_end|>` as the special token of that name. Default false: it is plain text. */
  parseSpecial?: boolean | undefined;
}

/** Options of `detokenize`. */
export interface DetokenizeOptions {
  /** Write special tokens by their names. Default false: they are left out. */
  showSpecial?: boolean | undefined;
}

/** Options of `applyChatTemplate`. */
export interface ChatTemplateOptions {
  /** End with the opening of the assistant's turn. Default true. */
  addGenerationPrompt?: boolean | undefined;
  /** Functions that the model may call. A template that knows none ignores them. */
  tools?: readonly Tool[] | undefined;
  /**
   * Whether the model thinks first: variable `enable_thinking` of the template, and what else it may read in its place
   * (`thinking`, `reasoning`, `thinking_budget`). Default: what the template says.
   */
  enableThinking?: boolean | undefined;
  /** Further variables of the template. */
  chatTemplateKwargs?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Whether special tokens such as `<|im_end|>` that are written in messages and tools are tokens. Where they are,
   * whoever wrote a message, a tool's result or a document can speak as the system. Default false: they are text. For
   * `applyChatTemplate` the default is true, since its text is what Hugging Face's function of this name gives; with
   * false they get the mark U+FDD1 behind their first character, which `generate` takes out of its prompt again.
   */
  parseSpecial?: boolean | undefined;
}

/** Anything that lists token ids. */
export type TokenIds = Uint32Array | readonly number[];

/** Where `webgguf_bg.wasm` comes from. */
export type WasmInput = string | URL | Request | Response | BufferSource | WebAssembly.Module;
