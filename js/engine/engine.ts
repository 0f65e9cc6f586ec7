/**
 * What a model's engine does, wherever it runs: in this thread ({@link LocalEngine}) or in a worker. All calls are
 * asynchronous, their arguments are checked already, and arguments and results are plain data, which crosses to
 * another thread.
 */
import type { Begun, Said, ToHear, ToSay } from '../voice/reader.js';
import type { SoundPart } from '../voice/vocoder.js';
import type { GrammarText } from './grammar.js';
import type { GenerationResult, Piece, PromptProgress } from '../types/generate.js';
import type { ModelInfo, ModelState, PrefixCacheUse } from '../types/info.js';
import type { Evaluation } from '../types/read.js';
import type { Conversation, Medium } from '../templates/types.js';
import type { TensorEngine, TensorHandle, WasmGenerateOptions } from '../wasm/webgguf.js';

/** A checked prompt: text, a conversation, or ids as they are. @internal */
export type Prompt = string | Conversation | Uint32Array;

/** Options of `start`: checked options of `generate`. @internal */
export interface StartOptions extends Omit<WasmGenerateOptions, 'source'> {
  /** What the model's encoder reads: a text, or token ids. */
  readonly source?: string | Uint32Array;
  readonly onProgress?: ((progress: PromptProgress) => void) | undefined;
  readonly grammar?: GrammarText;
  /** Whether what is read of the prompt may be kept for later requests. */
  readonly prefixCache?: boolean;
  /** When the turn of the request began, as {@link now} says it. */
  readonly begun?: number;
}

/** Milliseconds on a clock that workers share. @internal */
export const now = (): number => performance.timeOrigin + performance.now();

/** A text that is put behind what was written, and the grammar that the further text follows. @internal */
export interface Inserted {
  readonly text: string;
  /** How it appears in what is written; default the same. */
  readonly shown?: string;
  readonly grammar?: GrammarText | undefined;
}

/** Writes one text at a time; the calls belong between `start` and `finish`. @internal */
export interface TextEngine {
  /** Encodes the prompt and begins. */
  start(prompt: Prompt, options: StartOptions): Promise<void>;
  /** The next piece; `undefined` at the end. */
  next(): Promise<Piece | undefined>;
  /**
   * Puts a text behind the first `kept` tokens that were written since the start or the last insertion. Gives that text
   * as a piece, and nothing where no room is left behind it. `settled`: waits for the pieces that were asked for ahead.
   */
  insert(inserted: Inserted, kept: number, settled?: () => Promise<unknown>): Promise<Piece | undefined>;
  /** Makes a running generation end soon, also within a long prompt: `next` then gives `undefined`. */
  cancel(): void;
  /** Ends the generation and gives its result. */
  finish(): Promise<GenerationResult>;
}

/** Options of `evaluate` without the signal. @internal */
export interface EvaluateCall {
  readonly logits: boolean;
  readonly adapters: StartOptions['adapters'];
}

/** Options of `embed` without the signal. @internal */
export interface EmbedCall {
  readonly truncate: boolean;
  readonly normalize: boolean;
  readonly dimensions: number | undefined;
  /** How many texts of the call were before these. */
  readonly first?: number | undefined;
}

/** Options of `rank` without the signal. @internal */
export interface RankCall extends Pick<EmbedCall, 'truncate' | 'first'> {}

/** A text whose special tokens are parsed, an image or a sound. @internal */
export type PromptPart = { readonly text: string } | Medium;

/** The ids and rows of a prompt's parts. @internal */
export interface EncodedParts {
  readonly ids: Uint32Array;
  /** For each image or sound its tiles `[rows, width]`, one after the other, with the overview last. */
  readonly media: readonly { readonly rows: number; readonly embeddings: readonly Float32Array[] }[];
  /** The position of the next token. */
  readonly positions: number;
}

/** A restored session. @internal */
export interface Restored {
  readonly engine: Engine;
  readonly notes: string;
}

/** A loaded model. @internal */
export interface Engine extends TextEngine {
  /** Whether its worker was lost. */
  readonly isLost?: boolean;
  readonly state?: ModelState;
  readonly info: ModelInfo;
  tokenize(text: string, addSpecial: boolean, parseSpecial: boolean): Promise<Uint32Array>;
  detokenize(ids: Uint32Array, showSpecial: boolean): Promise<string>;
  applyChatTemplate(conversation: Conversation): Promise<string>;
  /** `logits`: with all logits. Rejects once `signal` fires and the passes under way are over. */
  evaluate(ids: Uint32Array, options: EvaluateCall, signal?: AbortSignal): Promise<Evaluation>;
  /**
   * Adds an adapter, given the bytes of a GGUF file, and returns its number. `scale`: its scale in texts whose options
   * name no adapters.
   */
  addAdapter(file: Uint8Array, scale: number): Promise<number>;
  /** Returns false if there is no such adapter. */
  removeAdapter(id: number): Promise<boolean>;
  /** A row for each input. Rejects once `signal` fires and the device is idle. */
  embed(inputs: readonly Prompt[], options: EmbedCall, signal?: AbortSignal): Promise<Float32Array[]>;
  /** A row of one score for each document. */
  rank(query: string, documents: readonly Prompt[], options: RankCall, signal?: AbortSignal): Promise<Float32Array[]>;
  /** A tensor of `tensors`, on the device of both. Only in this thread. */
  hiddenStates(ids: Uint32Array, tensors: TensorEngine, signal?: AbortSignal): Promise<TensorHandle>;
  /** Part of the sound that a vocoder makes of the hidden states of `ids` from the one at `first` on. */
  voice(ids: Uint32Array, first: number, part: SoundPart, signal?: AbortSignal): Promise<Float32Array>;
  /**
   * The first piece of what Pocket TTS or LFM3 is asked to say, or the next one: by its name, else of the last; or the
   * next token of what is heard.
   */
  say(asked: ToSay | ToHear | Begun | undefined, signal?: AbortSignal): Promise<Said>;
  /** The ids of texts, images and sounds in this order, the rows of the media, and the number of positions. */
  encodeParts(parts: readonly PromptPart[]): Promise<EncodedParts>;
  /** How many tokens a prompt has; `signal` ends downloads of its images and sounds. */
  count(prompt: Prompt, signal?: AbortSignal): Promise<number>;
  /**
   * The engine for a request with this prompt: among the model's idle engines the one with the longest common prefix,
   * if that is half of the prompt or more, else the one that is idle for longest. It is taken until `finish`, or until
   * `start` fails. `adapters`: the request's; what was read with others is not in common. `signal` ends downloads of
   * images and sounds.
   */
  lane(prompt: Prompt, adapters: StartOptions['adapters'], signal?: AbortSignal): Promise<Engine>;
  /** Another session on the same weights, with a copy of this one's KV cache or empty. */
  another(withCache: boolean): Promise<Engine>;
  /**
   * Saves the session with notes. `text`: among engines whose requests run together, the one with the longest common
   * prefix is saved.
   */
  save(notes: string, text?: Prompt): Promise<Blob>;
  /** Restores a saved session on the same weights. Returns it with its notes. */
  restore(saved: Blob): Promise<Restored>;
  /** In a worker: calls what training has there; the worker loads it from `script`. */
  train?<T>(script: string, method: string, args: unknown[]): Promise<T>;
  reset(): Promise<void>;
  wasmMemoryBytes(): Promise<number>;
  /** What the prefix cache in memory holds; zeros without one. */
  prefixCache(): Promise<PrefixCacheUse>;
  /** Nothing else may be running. The weights go with the last session. */
  free(): Promise<void>;
}

/** What the option `onProgress` of `generate` is told. An error that it throws ends the text. @internal */
export class PromptReport {
  readonly #onProgress: ((progress: PromptProgress) => void) | undefined;
  readonly #cancel: () => void;
  #thrown: { readonly error: unknown } | undefined;

  /** @param cancel ends the text */
  constructor(onProgress: ((progress: PromptProgress) => void) | undefined, cancel: () => void) {
    this.#onProgress = onProgress;
    this.#cancel = cancel;
  }

  readonly tell = (progress: PromptProgress): void => {
    if (this.#thrown) return;
    try {
      this.#onProgress?.(progress);
    } catch (error) {
      this.#thrown = { error };
      this.#cancel();
    }
  };

  /** Tells how many of `total` tokens the model has read, once for each number; `undefined` without a listener. */
  prefill(total: number): ((loaded: number) => void) | undefined {
    let last = -1;
    return (
      this.#onProgress &&
      ((loaded) => {
        if (loaded === last) return;
        last = loaded;
        this.tell({ stage: 'prefill', loaded, total, fraction: loaded / total });
      })
    );
  }

  /** Throws the error of `onProgress`. */
  check(): void {
    if (this.#thrown) throw this.#thrown.error;
  }
}
