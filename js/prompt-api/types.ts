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

export type LanguageModelMessageType = 'text' | 'image' | 'audio' | 'tool-call' | 'tool-response';

/** What goes in, or comes out. Models here read and write text, and call tools. */
export interface LanguageModelExpected {
  type: LanguageModelMessageType;
  /** Language tags, such as `en` or `pt-BR`. */
  languages?: readonly string[] | undefined;
}

/** A function that the model may call. */
export interface LanguageModelTool {
  name: string;
  description: string;
  /** A JSON Schema of an object. */
  inputSchema: object;
  /** Gets the arguments, an object. What it throws is told to the model. */
  // biome-ignore lint/suspicious/noExplicitAny: as the draft has it
  execute(...args: any[]): Promise<string> | string;
}

export interface LanguageModelMessageContent {
  type: LanguageModelMessageType;
  /** Of `text`: a string. */
  value: unknown;
}

export interface LanguageModelMessage {
  /** `system` comes first or not at all. */
  role: 'system' | 'user' | 'assistant';
  content: string | readonly LanguageModelMessageContent[];
  /** Of the last message, the assistant's: the answer begins with it. The result is what follows. */
  prefix?: boolean | undefined;
}

/** A text is a message of the user. */
export type LanguageModelPrompt = string | readonly LanguageModelMessage[];

export interface LanguageModelCreateCoreOptions {
  /** Default `balanced`. */
  samplingMode?: LanguageModelSamplingMode | undefined;
  /** In place of `samplingMode`: keep only the so many most likely tokens, 1 to 128. */
  topK?: number | undefined;
  /** In place of `samplingMode`: 0 to 2. */
  temperature?: number | undefined;
  expectedInputs?: readonly LanguageModelExpected[] | undefined;
  expectedOutputs?: readonly LanguageModelExpected[] | undefined;
  tools?: readonly LanguageModelTool[] | undefined;
}

export interface LanguageModelCreateOptions extends LanguageModelCreateCoreOptions {
  /** Ends the creation, and later destroys the session. */
  signal?: AbortSignal | undefined;
  /** Gets an event target, which gets `downloadprogress` events: `loaded` goes from 0 to 1. */
  monitor?: ((monitor: CreateMonitor) => void) | undefined;
  /** What the conversation begins with; it stays when the context overflows. */
  initialPrompts?: readonly LanguageModelMessage[] | undefined;
}

export interface LanguageModelPromptOptions {
  /** A JSON Schema or a regular expression that the answer follows. */
  responseConstraint?: object | undefined;
  /** Whether the model is not told about the constraint. Default false. */
  omitResponseConstraintInput?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

export interface LanguageModelSignalOptions {
  signal?: AbortSignal | undefined;
}

export interface LanguageModelParams {
  readonly defaultTopK: number;
  readonly maxTopK: number;
  readonly defaultTemperature: number;
  readonly maxTemperature: number;
}

/** Tells how far a download is. */
export interface CreateMonitor extends EventTarget {
  ondownloadprogress: ((event: ProgressEvent) => unknown) | null;
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
