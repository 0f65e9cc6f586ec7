/**
 * What is known of a file before it is loaded, and of a model after. No code here.
 */
import type { ErrorCode } from '../errors.js';
import type { SamplingOptions } from '../sampling.js';

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
  /** Products that were measured; with quick tuning those for which there was a choice. */
  readonly problems: number;
  /** The problems for which another variant runs. */
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
  /** The file of the option `draft`; what `gpu` says is without a smaller model, and with a drafter that is a block. */
  readonly draft?: Inspection;
  /** The encoder of images, with the option `mmproj`; `gpu` does not include it. */
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
   * The usual quantisation with the most bits that leaves room for this context, by the number of weights alone:
   * `F16`, `Q8_0`, `Q6_K`, `Q5_K_M`, `Q4_K_M`, `Q3_K_M` or `Q2_K`. Absent if none does: take a smaller model.
   */
  readonly quantization?: string;
}

/** What the header of an encoder of images says. */
export interface InspectedEncoder {
  /** Bytes of header and tensors; its weights take about as much memory. */
  readonly fileBytes: number;
  /** As {@link ModelInfo.quantization}; this and the next only where its kind is known. */
  readonly quantization?: string;
  /** Number of weights. */
  readonly parameters?: number;
}

/**
 * Where the weights of a model are: `ready` on the GPU or in memory, `idle` in the browser's cache alone, since nobody
 * asked for `idleTimeout`; `loading` on their way back, for a request or after a lost device.
 */
export type ModelState = 'ready' | 'idle' | 'loading';

/** What the prefix cache in memory holds, see {@link WasmModel.prefixCache}. */
export interface PrefixCacheUse {
  /** Number of blocks, each of up to 256 tokens; texts that begin alike share blocks. */
  readonly blocks: number;
  /** Number of tokens in these blocks. */
  readonly tokens: number;
  /** Bytes, of GPU buffers or on the CPU of memory, at most {@link ModelInfo.prefixCacheBytes}. */
  readonly bytes: number;
  /** How often a request went on from a text in it, since the model was loaded onto this device. */
  readonly hits: number;
}

/** How a file suggests that something is chosen; what it does not say is absent. */
export type SuggestedSampling = Readonly<
  Pick<SamplingOptions, 'temperature' | 'topK' | 'topP' | 'minP' | 'repetitionPenalty'>
>;

/** Where the engine is that tabs share, see {@link LoadOptions.shared}. */
export interface SharedPlace {
  /**
   * `sharedWorker`: in a SharedWorker, which no tab's closing ends; `tab`: in a worker of one of the tabs, from which
   * it moves; `serviceWorker`: in the service worker of an extension.
   */
  readonly engineIn: 'sharedWorker' | 'tab' | 'serviceWorker';
  /** Why it is not in a SharedWorker: a sentence for people. */
  readonly reason?: string;
}

/** What a loaded model is and where it runs. */
export interface ModelInfo {
  /** `general.architecture` of the file: `llama`, `qwen2`, `qwen3`. */
  readonly architecture: string;
  /** `general.name` of the file, where it has one. */
  readonly name?: string;
  /** The file's own label, `general.file_type` such as `Q4_K_M`; without a label, its most used tensor type. */
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
   * The token that the answer begins behind, where the model has an encoder that reads a source (T5, MADLAD-400). Such
   * a model writes by `generate` alone, whose prompt is the source.
   */
  readonly decoderStartToken?: number;
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
  /** The template of the file for a text that is to be spoken, `tokenizer.chat_template.tts`, where it has one. */
  readonly speechTemplate?: string;
  /**
   * How the file suggests that tokens are chosen, `general.sampling.*`: options of `generate`, which does not use them
   * by itself; `speak` and `converse` do. A number that no request may have is left out.
   */
  readonly sampling?: SuggestedSampling;
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
  /**
   * Most bytes that the prefix cache takes as requests come, see {@link LoadOptions.prefixCache}: of GPU buffers,
   * beside {@link ModelInfo.gpuBytes}, or on the CPU of the WebAssembly's memory.
   */
  readonly prefixCacheBytes: number;
  /** Ids of the kernel variants chosen for this device, such as `mat_vec.q4_k.subgroup`. */
  readonly variants: readonly string[];
  /** GPU dispatches for one token of text; 0 on the CPU. */
  readonly dispatchesPerToken: number;
  /**
   * For an embedder: how the vectors of a text's tokens become one; `rank` where a classifier makes scores of them.
   * Such a model writes no text.
   */
  readonly pooling?: 'mean' | 'cls' | 'last' | 'rank';
  /** For an embedder: number of values of a vector. */
  readonly embeddingLength?: number;
  /** What prompts may hold besides text, where an encoder of it was loaded, see {@link LoadOptions.mmproj}. */
  readonly media?: { readonly image: boolean; readonly audio: boolean };
  /** The encoders that {@link LoadOptions.mmproj} has loaded, and whether their kernels compute what they should. */
  readonly encoders?: readonly { readonly projector: string; readonly selfCheck: SelfCheck }[];
  /** The vocoder that {@link LoadOptions.vocoder} has loaded, and samples per second of what it speaks. */
  readonly vocoder?: {
    readonly projector: string;
    readonly selfCheck: SelfCheck;
    readonly sampleRate: number;
    /** Which of several published models it is of, where the file says. */
    readonly variant?: string;
    /** How the file suggests that codes of speech are chosen, `clip.gen.audio.sampling.*`. */
    readonly sampling?: SuggestedSampling & { readonly repetitionWindow?: number };
  };
  /** What drafts tokens, see {@link LoadOptions.draft}: a smaller model or a drafter, also part of `gpuBytes`. */
  readonly draft?: Readonly<
    Pick<ModelInfo, 'architecture' | 'name' | 'quantization' | 'parameters' | 'contextLength' | 'gpuBytes'>
  >;
  /** With the option `shared`: where the engine of all tabs is now, as far as this tab has heard; it may change. */
  readonly shared?: SharedPlace;
  /** Threads that run it, on the CPU; 0 on the GPU. */
  readonly threads: number;
  /** Whether its kernels compute what they should on this device. */
  readonly selfCheck: SelfCheck;
  /** What the file lacks or asks for and is not done; `onWarning` has heard each, with the code `file`. */
  readonly warnings: readonly string[];
  /** Where kernels were tuned, see {@link LoadOptions.tune}: what was found. */
  readonly tuning?: Tuning;
}
