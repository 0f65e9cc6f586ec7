/** What a chat template is given. */

/** The template of a file, and the names of its special tokens; empty where there is none. */
export interface ChatTemplate {
  /** Jinja source; absent where the file has none. */
  readonly source?: string;
  /** For conversations with tools, where the file has one of its own. */
  readonly tools?: string;
  /** For a text that is to be spoken, where the file has one, named `tts`. */
  readonly speech?: string;
  readonly bos: string;
  readonly eos: string;
  readonly unknown: string;
  readonly padding: string;
}

/** A conversation, checked, as Hugging Face's `apply_chat_template` gets it. @internal */
export interface Conversation {
  readonly messages: readonly TemplateMessage[];
  readonly tools?: readonly object[];
  /** Default true. */
  readonly addGenerationPrompt?: boolean;
  /** Whether special tokens that stand in messages and tools are tokens. Default false: they are text. */
  readonly parseSpecial?: boolean;
  /** What the marks in messages stand for, in order: as the page has it, or its pixels or samples. */
  readonly media?: readonly Medium[];
  /** What the template has made of it already, with the marks; the messages are of no use then. */
  readonly text?: string;
  /** Whether it is a text that is to be spoken, which the file has a template for. */
  readonly isSpeech?: boolean;
  /** Further variables of the template. */
  readonly variables?: Readonly<Record<string, unknown>>;
}

/** An image, a video or a sound in a message. @internal */
export type Medium =
  | { readonly image: unknown }
  | { readonly video: unknown; readonly fps?: unknown; readonly maxFrames?: unknown }
  | { readonly audio: unknown };

/**
 * A part of a message's content, for templates that loop over parts; an image or a sound is its kind alone.
 * @internal
 */
export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' }
  | { readonly type: 'audio' };

/** A message whose content is one string, and whose calls have their arguments as objects. @internal */
export interface TemplateMessage {
  readonly role: string;
  /** Parts where the template wants them, see `content.ts`. */
  readonly content: string | readonly ContentPart[] | null;
  readonly [field: string]: unknown;
}
