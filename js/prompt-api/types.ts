/**
 * The shapes of the Prompt API, https://webmachinelearning.github.io/prompt-api, as far as they are taken here. No code
 * here.
 */

/** Whether a model can be created: after a download, while one runs, or at once. */
export type Availability = 'unavailable' | 'downloadable' | 'downloading' | 'available';

/** How much answers to one prompt differ. `most-predictable` always takes the likeliest token. */
export type LanguageModelSamplingMode =
  | 'most-predictable'
  | 'predictable'
  | 'slightly-predictable'
  | 'balanced'
  | 'slightly-creative'
  | 'creative'
  | 'most-creative';

/** Kinds of what goes in or comes out. */
export type LanguageModelMessageType = 'text' | 'image' | 'audio' | 'tool-call' | 'tool-response';

/**
 * What goes in, or comes out. Models here read text, images where they see and sounds where they hear; they write text,
 * and call tools.
 */
export interface LanguageModelExpected {
  /** The kind. */
  type: LanguageModelMessageType;
  /** Language tags, such as `en` or `pt-BR`. */
  languages?: readonly string[] | undefined;
}

/** A function that the model may call. */
export interface LanguageModelTool {
  /** By which the model calls it. */
  name: string;
  /** What it is for, as the model is told. */
  description: string;
  /** A JSON Schema of an object. */
  inputSchema: object;
  /** Gets the arguments, an object. What it throws is told to the model. */
  // biome-ignore lint/suspicious/noExplicitAny: as the draft has it
  execute(...args: any[]): Promise<string> | string;
}

/** A part of a message. */
export interface LanguageModelMessageContent {
  /** The kind of the content. */
  type: LanguageModelMessageType;
  /**
   * For `text`: a string. For `image`: what `createImageBitmap` takes (a `Blob`, `ImageData`, `ImageBitmap`, canvas,
   * `<img>`, `<video>`, `VideoFrame`), or the bytes of a file. For `audio`: an `AudioBuffer`, or a file as a `Blob` or
   * its bytes.
   */
  value: unknown;
}

/** A message of a conversation. */
export interface LanguageModelMessage {
  /** `system` comes first or not at all. */
  role: 'system' | 'user' | 'assistant';
  /** The text, or parts. */
  content: string | readonly LanguageModelMessageContent[];
  /** On the last message, which is the assistant's: the answer begins with it. The result is the text that follows. */
  prefix?: boolean | undefined;
}

/** A text is a message of the user. */
export type LanguageModelPrompt = string | readonly LanguageModelMessage[];

/** What `availability` and `create` take. */
export interface LanguageModelCreateCoreOptions {
  /** Default `balanced`. */
  samplingMode?: LanguageModelSamplingMode | undefined;
  /** In place of `samplingMode`: number of the most likely tokens to keep, 1 to 128. */
  topK?: number | undefined;
  /** In place of `samplingMode`: 0 to 2. */
  temperature?: number | undefined;
  /** What prompts will be made of. */
  expectedInputs?: readonly LanguageModelExpected[] | undefined;
  /** What answers shall be made of. */
  expectedOutputs?: readonly LanguageModelExpected[] | undefined;
  /** Functions that the model may call. */
  tools?: readonly LanguageModelTool[] | undefined;
}

/** What `create` takes. */
export interface LanguageModelCreateOptions extends LanguageModelCreateCoreOptions {
  /** Ends the creation, and later destroys the session. */
  signal?: AbortSignal | undefined;
  /** Gets an event target, which gets `downloadprogress` events: `loaded` goes from 0 to 1. */
  monitor?: ((monitor: CreateMonitor) => void) | undefined;
  /** What the conversation begins with; it stays when the context overflows. */
  initialPrompts?: readonly LanguageModelMessage[] | undefined;
}

/** What `prompt` and `promptStreaming` take. */
export interface LanguageModelPromptOptions {
  /** A JSON Schema or a regular expression that the answer follows. */
  responseConstraint?: object | undefined;
  /** Whether the model is not told about the constraint. Default false. */
  omitResponseConstraintInput?: boolean | undefined;
  /** Ends the answer. */
  signal?: AbortSignal | undefined;
}

/** What calls take that can only be ended. */
export interface LanguageModelSignalOptions {
  /** Ends the call. */
  signal?: AbortSignal | undefined;
}

/** The ranges of the options of sampling. */
export interface LanguageModelParams {
  /** `topK` where none is given. */
  readonly defaultTopK: number;
  /** The largest `topK`. */
  readonly maxTopK: number;
  /** `temperature` where none is given. */
  readonly defaultTemperature: number;
  /** The highest `temperature`. */
  readonly maxTemperature: number;
}

/** Tells how far a download is. */
export interface CreateMonitor extends EventTarget {
  /** Gets the `downloadprogress` events. */
  ondownloadprogress: ((event: ProgressEvent) => unknown) | null;
  /** As of every event target. */
  addEventListener(
    type: 'downloadprogress',
    listener: ((event: ProgressEvent) => unknown) | null,
    options?: AddEventListenerOptions | boolean,
  ): void;
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: AddEventListenerOptions | boolean,
  ): void;
}
