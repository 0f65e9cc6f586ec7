/**
 * How much of the context a conversation takes, and what is dropped where it is full.
 */
import { nextTurn } from '../model/conversation.js';
import type { WasmModel } from '../model/model.js';
import { conversationText } from '../openai/prepare.js';
import type { Session } from '../model/session.js';
import type { TextWithMedia } from '../model/prompt.js';
import type { Message } from '../types/chat.js';
import { quotaExceeded } from './errors.js';
import type { CallableTool } from './input.js';

/** Tokens that are kept free for an answer, as long as there is something to drop. */
const ROOM = 256;

/** Counts and cuts conversations. @internal */
export class Context {
  readonly #model: WasmModel;
  readonly #session: Session;
  readonly #tools: readonly CallableTool[];

  constructor(model: WasmModel, session: Session, tools: readonly CallableTool[]) {
    this.#model = model;
    this.#session = session;
    this.#tools = tools;
  }

  /** Tokens that the model takes in all. */
  get window(): number {
    return this.#model.info.contextLength;
  }

  /** The text that the model reads, without the beginning of an answer. */
  async text(messages: readonly Message[]): Promise<string | TextWithMedia> {
    const tools = this.#tools.map(({ tool }) => tool);
    return conversationText(this.#model, messages, tools);
  }

  /** Tokens of a conversation; where the template refuses it, of what is said in it. */
  async count(messages: readonly Message[]): Promise<number> {
    if (messages.length === 0) return 0;
    const said = messages.map(({ content }) => (typeof content === 'string' ? content : '')).join('\n');
    const text = await this.text(messages).catch(() => said);
    return text === '' ? 0 : this.#session.count(text);
  }

  /** Tokens that `added` takes after `messages`, which take `usage`. A system prompt stands for itself. */
  async measure(added: readonly Message[], messages: readonly Message[], usage: number): Promise<number> {
    if (messages.length === 0 || added[0]?.role === 'system') return this.count(added);
    return Math.max(0, (await this.count([...messages, ...added])) - usage);
  }

  /**
   * The messages without the oldest turns, as far as `added` and an answer need their room; the first `initial` stay.
   *
   * @throws {DOMException} `QuotaExceededError` where `added` does not fit beside these
   */
  async fit(messages: readonly Message[], initial: number, added: readonly Message[]): Promise<readonly Message[]> {
    const room = Math.min(ROOM, Math.floor(this.window / 4));
    let kept = messages;
    let count = await this.count([...kept, ...added]);
    while (count + room > this.window) {
      const next = withoutOldestTurn(kept, initial);
      if (!next) break;
      kept = next;
      count = await this.count([...kept, ...added]);
    }
    if (count >= this.window) throw quotaExceeded(count, this.window);
    return kept;
  }

  /**
   * The messages without the oldest turns, as far as they take more than the window; the last turn stays. A template
   * may write more around an answer than the window had room for: that is cut when it is read.
   */
  async bounded(messages: readonly Message[], initial: number): Promise<Bounded> {
    let kept = messages;
    let count = await this.count(kept);
    while (count > this.window && nextTurn(kept, initial) > 0) {
      kept = withoutOldestTurn(kept, initial) ?? kept;
      count = await this.count(kept);
    }
    return { messages: kept, usage: Math.min(count, this.window) };
  }
}

/** A conversation and its tokens. @internal */
export interface Bounded {
  readonly messages: readonly Message[];
  readonly usage: number;
}

/** Without the first message that may go, and all up to the next one of the user; `undefined` where none may. */
function withoutOldestTurn(messages: readonly Message[], initial: number): Message[] | undefined {
  if (messages.length <= initial) return undefined;
  const next = nextTurn(messages, initial);
  return [...messages.slice(0, initial), ...(next < 0 ? [] : messages.slice(next))];
}
