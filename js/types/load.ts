/**
 * What is given to load a model, to look into its header, and to load its tokenizer. No code here.
 */
import type { Gpu } from '../tensor/gpu.js';
import type { GenerateOptions } from './generate.js';
import type { ModelInfo } from './info.js';
import type { FoundBy, Source, SourceOptions } from './source.js';

/** Progress of loading. */
export interface Progress {
  /**
   * `download`: bytes read from the source and passed on; the first report above 0 comes once the header is accepted
   * and the device is open, before weights take memory: an older model can be freed then. `upload`: the GPU takes in
   * the last of them; `compile`: shaders become pipelines; `ready`: all done, reported once.
   */
  readonly stage: 'download' | 'upload' | 'compile' | 'tune' | 'ready';
  /** Bytes; steps in stage `compile`; in stage `tune` what was measured. */
  readonly loaded: number;
  /** In the unit of `loaded`; `undefined` while the source does not say its size. */
  readonly total: number | undefined;
  /** `loaded / total` of this stage, 0 to 1; `undefined` with `total`. */
  readonly fraction: number | undefined;
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
   * Requests whose texts are written at the same time, 1 to 8: each step reads the weights once for all of them. Each
   * takes a KV cache of `contextLength` tokens, with its memory. More requests wait. Default 1. On the CPU
   * requests run one at a time whatever this says.
   */
  parallel?: number | undefined;
  /**
   * Milliseconds without a request after which the model gives all its memory on the GPU back. The next request loads
   * the weights again, from the browser's cache where the model came from an address, and reads its conversation again;
   * sessions stay. `model.state` says where the weights are. Default: never. Without effect on the CPU. Refused for
   * what can be read once, such as a buffer, and on a device of the page's own (`gpu`).
   */
  idleTimeout?: number | undefined;
  /**
   * Where what the model has read of prompts is kept, so that a prompt that begins alike is not read again; the least
   * used goes first. `memoryBytes`: in memory of the GPU, beside {@link ModelInfo.gpuBytes}, or on the CPU of the
   * WebAssembly, once another prompt takes the place of one of 128 tokens or more. Default: a 32nd of
   * `navigator.deviceMemory`, at most 512 MiB, or 128 MiB where the browser does not say. `diskBytes`: in the origin's
   * private file system, for the next visit and for other tabs, of prompts of 256 tokens and more; without adapters,
   * images and sounds, while no other request runs, and only where the model reads prompts more slowly than the disk.
   * The prompts' ids are stored there, too; `cache.clear()` deletes all. Default: nothing is on disk. `false`: nothing
   * is kept but the KV cache.
   */
  prefixCache?: false | { readonly memoryBytes?: number; readonly diskBytes?: number } | undefined;
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
   * All tabs of the origin that load this model with the same options use one engine: the weights are on the GPU once.
   * It runs in a SharedWorker where that has WebGPU, so that no tab's closing ends it; else in a worker of one of the
   * tabs: when that tab is closed, crashes or stands still, another one loads the model, and an answer under way ends
   * with `engine_moved`. {@link ModelInfo.shared} says where it is, and why. The source is an address, a name on the
   * hub or a `File`. Adapters are of the tab that gives them. Does not go with `gpu`, `hiddenStates` and training.
   * Default false.
   */
  shared?: boolean | undefined;
  /**
   * How prompts are read. `auto` (default) rounds activations to 8 bits in blocks of 32, as llama.cpp does on a CPU, on
   * the GPUs where that was measured: NVIDIA's, about twice as fast; and to f16 where Chromium's experimental subgroup
   * matrices are switched on. `fast` rounds to 8 bits on every GPU whose browser has packed dot products, else to f16
   * where it has `shader-f16`. `exact` keeps activations in f32 (the KV cache is what `kvType` says all the same).
   * Tokens are generated without such rounding in any case on the GPU; on the CPU, `auto` and `fast` round the
   * activations of a token to 16 bits, which is three times as fast.
   */
  precision?: 'auto' | 'exact' | 'fast' | undefined;
  /**
   * On the CPU: how many threads share the products of matrices, from 1 to 64. More than one needs a page that is
   * cross-origin isolated (headers `Cross-Origin-Opener-Policy: same-origin` and `Cross-Origin-Embedder-Policy:
   * require-corp`); elsewhere there is one, whatever this says: {@link ModelInfo.threads}. Each has a part of the
   * weights, in a worker of its own; encoders and vocoders have as many of their own. Default: all cores up to 4, of
   * more half, at most 8.
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
   * The file with the vocoder of a model that speaks: where it comes from as the model itself does, or `true` for the
   * `mmproj-….gguf` beside the model in its repository on the hub. Then `speak` speaks.
   */
  vocoder?: Source | true | undefined;
  /**
   * A smaller model with the same vocabulary that drafts tokens, which this one then looks at several at a time: where
   * its file comes from, as for the model itself. It lies on the same device; texts stay what they are without it, see
   * {@link GenerateOptions.draft}. Or a drafter that was made for this model, of architecture `eagle3`,
   * `gemma4-assistant` or `dflash`: it becomes a block of the model. On the CPU neither is loaded. Files of Qwen 3.5
   * may have a block that drafts: it is loaded on the GPU unless this is `false` or a model, or `parallel` is more than
   * 1.
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
   * response, a URL that is not cached) has them in JavaScript's memory. `gpu`: all on the GPU. A number of rows: these
   * on the GPU, at least 16. `auto` (default) is `host` where they take 64 MiB or more and no drafter is given. Other
   * models do not have them.
   */
  perLayerEmbeddings?: 'auto' | 'gpu' | 'host' | number | undefined;
  /**
   * At the first load on a device and browser the kernels that the model is to run are checked against the CPU, which
   * takes up to a second; the verdict is kept, and {@link ModelInfo.selfCheck} has it. `false` leaves that out.
   * Default true.
   */
  selfCheck?: boolean | undefined;
  /**
   * Which kernels are fastest depends on the GPU, and webgguf was measured on few of them: at the first load on a
   * device and browser some are timed on the model's own matrices, and the faster ones are taken from then on.
   * `info.tuning` says which. It is for one token of text and for a chunk of a prompt; chosen kernels are checked as
   * all others are. Of a model that writes text on the GPU.
   *
   * `'quick'` compares the kernels that are fastest on the measured GPUs with those that every GPU runs, which takes
   * about a second; prompts may then be read with activations of 8 bits, unless `precision` is `'exact'`. `true` times
   * every kernel that the device can run, for some seconds to half a minute. `false` times nothing. Default: `'quick'`
   * on GPUs that were not measured, `false` on others.
   */
  tune?: boolean | 'quick' | undefined;
}

/** Options of {@link WasmModel.addAdapter}: where the bytes come from, and a signal that ends reading them. */
export interface AdapterOptions extends SourceOptions {
  /**
   * `adapter_config.json`, for PEFT's safetensors that are no URL beside it. `sha256` is the digest of the weights; a
   * list of two has the digest of the configuration, too.
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

/** Options of {@link WasmModel.inspect}. */
export interface InspectOptions extends Pick<SourceOptions, FoundBy> {
  /** As {@link LoadOptions.backend}: where `load` would take the CPU, the result has no `gpu`. */
  backend?: LoadOptions['backend'];
  /** Tokens of context to plan for. Default: what the model was trained for, at most 4096. */
  contextLength?: number | undefined;
  /** As in {@link LoadOptions}. */
  kvType?: LoadOptions['kvType'];
  /** As {@link LoadOptions.parallel}: plans the memory for that number of requests at once. */
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
  /** As {@link LoadOptions.draft}: the header of its file is read, too. */
  draft?: LoadOptions['draft'];
  /** Cancels. */
  signal?: AbortSignal | undefined;
}

/** Options of {@link Tokenizer.load}. */
export interface TokenizerOptions extends Pick<SourceOptions, FoundBy> {
  /** Cancels. */
  signal?: AbortSignal | undefined;
}
