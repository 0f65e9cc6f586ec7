/**
 * What the answers to requests need of a model: {@link WasmModel} has all of it.
 */
import type { Engine } from '../engine/engine.js';
import type { LoadWarning } from '../load/cache/warning.js';
import type { Generation } from '../model/generation.js';
import type { ChatTemplateOptions, Message } from '../types/chat.js';
import type { GenerateOptions } from '../types/generate.js';
import type { ModelInfo } from '../types/info.js';
import type { DetokenizeOptions, EmbedInput, EmbedOptions, TokenIds, TokenizeOptions } from '../types/read.js';

/** A model that answers requests, such as a `WasmModel`. */
export interface ChatModel {
  /** What is known of the model. */
  readonly info: ModelInfo;
  /** Tells the page of something that it may want to change. @internal */
  readonly warn?: ((warning: LoadWarning) => void) | undefined;
  /** Writes text after a prompt. */
  generate(prompt: string | readonly Message[] | TokenIds, options?: GenerateOptions): Generation;
  /** A vector for each text. */
  embed(texts: readonly EmbedInput[], options?: EmbedOptions): Promise<Float32Array[]>;
  /** How many tokens inputs of `embed` have together. @internal */
  countInputs?(inputs: readonly EmbedInput[], options: EmbedOptions): Promise<number>;
  /** Text to token ids. */
  tokenize(text: string, options?: TokenizeOptions): Promise<Uint32Array>;
  /** Token ids to text. */
  detokenize(ids: TokenIds, options?: DetokenizeOptions): Promise<string>;
  /** Does `work` with the engine. @internal */
  withEngine?<T>(call: string, work: (engine: Engine) => Promise<T>): Promise<T>;
  /** Messages as the chat template writes them, with marks for images and sounds. @internal */
  textWithMarks(messages: readonly Message[], options: ChatTemplateOptions): Promise<string>;
  /** A text for a prompt in which names of control tokens are text. @internal */
  protectedText(text: string, ofModel: boolean): Promise<string>;
}
