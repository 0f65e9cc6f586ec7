/**
 * A conversation by voice: a microphone becomes words, a model answers, and a voice says the answer sentence by
 * sentence while it is written. Whoever speaks meanwhile interrupts it, and the history keeps what was said.
 */
import { abortSignal, type Check, checked, ofType, show } from '../check.js';
import { invalidArgument } from '../errors.js';
import { EventQueue } from './events.js';
import { isEars, type Listening, listen } from './listen.js';
import type { Ears, Heard, ListenOptions } from './types.js';
import { asVoice, isVoice, type Mouth, type Voice } from './voices.js';
import { complete, spokenPart } from './said.js';

/** A turn of the conversation. */
export interface Turn {
  /** Who spoke. */
  readonly role: 'system' | 'user' | 'assistant';
  /** What was said; of an answer that was interrupted, what was heard of it. */
  readonly content: string;
}

/** A model that answers: a `WasmModel`, or a function of the turns. */
export type Answers =
  | {
      generate(
        messages: readonly Turn[],
        options: { signal?: AbortSignal | undefined; maxTokens?: number | undefined },
      ): AsyncIterable<{ readonly text: string }>;
    }
  | ((turns: readonly Turn[], options: { signal: AbortSignal }) => AsyncIterable<string>);

/** What a conversation is doing. */
export type ConversationState = 'listening' | 'hearing' | 'thinking' | 'speaking' | 'over';

/** How long an answer took, in milliseconds since the user's speech was found to be over; each has all before in it. */
export interface AnswerTimes {
  /** Until the words of the user were there; 0 for {@link Conversation.say}. */
  readonly words: number;
  /** Until the model had written the first piece of its answer. */
  readonly token: number;
  /** Until the first sound of the answer was there. */
  readonly sound: number;
}

/** What a conversation tells. */
export type ConversationEvent =
  | { /** It does something else now. */ readonly type: 'state'; readonly state: ConversationState }
  | { /** Words of the user, who still speaks. */ readonly type: 'hearing'; readonly text: string }
  | { /** The user has said something. */ readonly type: 'user'; readonly text: string }
  | { /** The answer so far, as it is written. */ readonly type: 'answer'; readonly text: string }
  | { /** A sentence that is being said, for captions. */ readonly type: 'saying'; readonly text: string }
  | {
      /** The first sound of an answer is there: how long each stage took. */
      readonly type: 'times';
      readonly times: AnswerTimes;
    }
  | {
      /** The answer as the history keeps it. */ readonly type: 'assistant';
      readonly text: string;
      readonly interrupted: boolean;
    };

/** Who takes part. */
export interface ConversationOptions
  extends Pick<ListenOptions, 'silence' | 'threshold' | 'padding' | 'every' | 'onLevel'> {
  /** Who writes down what is heard. */
  readonly ears: Ears;
  /** Who answers. */
  readonly model: Answers;
  /** Who says the answer: a model that speaks, with the player that plays it; without it the browser's own voice. */
  readonly voice?: Voice | undefined;
  /** What is listened to. Default: the microphone. */
  readonly source?: Heard | undefined;
  /** The language that is spoken, such as `en`. Default `en`. */
  readonly language?: string | undefined;
  /** What the model is told before everything else. */
  readonly system?: string | undefined;
  /** Called with all that happens; what it throws ends the conversation. */
  readonly onEvent?: ((event: ConversationEvent) => void) | undefined;
  /** Ends it. */
  readonly signal?: AbortSignal | undefined;
}

const text = ofType('string', 'a string');
const anything: Check = () => undefined;
const answering: Check = (value) => {
  const isModel = typeof (value as { generate?: unknown } | null)?.generate === 'function';
  return isModel || typeof value === 'function' ? undefined : 'a model that writes, or a function';
};
const CHECKS: Record<keyof ConversationOptions, Check> = {
  ...{ ears: isEars, model: answering, voice: isVoice, source: anything, language: text, system: text },
  ...{ silence: anything, threshold: anything, padding: anything, every: anything, onLevel: anything },
  ...{ onEvent: ofType('function', 'a function'), signal: abortSignal },
};

/**
 * Begins a conversation. Call it after a click: browsers ask for the microphone, and let sound begin with a gesture.
 *
 * @throws {WebggufError} `microphone_unavailable`; `feature_missing` where nothing can speak; `invalid_argument`
 * @example
 * const talk = await createConversation({ ears, model, voice: { model: voice, player: await createPlayer() } });
 * for await (const event of talk) if (event.type === 'saying') show(event.text);
 */
export async function createConversation(options: ConversationOptions): Promise<Conversation> {
  const wanted = checked('createConversation', options, CHECKS);
  for (const name of ['ears', 'model'] as const) {
    if (wanted[name] === undefined) throw invalidArgument(`createConversation: option '${name}' is missing`);
  }
  wanted.signal?.throwIfAborted();
  const conversation = new Conversation(wanted);
  await conversation.begin();
  return conversation;
}

/** When a speech ended, and milliseconds since then. */
interface Stages {
  readonly since: number;
  readonly words: number;
  token?: number;
}

/** A conversation by voice. Iterate it for its events from then on; at most 64 wait for their reader. */
export class Conversation implements AsyncIterable<ConversationEvent> {
  readonly #options: ConversationOptions;
  readonly #voice: Mouth;
  readonly #turns: Turn[] = [];
  readonly #queues = new Set<EventQueue<ConversationEvent>>();
  readonly #scope = new AbortController();
  #listening: Listening | undefined;
  #state: ConversationState = 'listening';
  /** The answer that is being written or said. */
  #answer: { readonly controller: AbortController; readonly done: Promise<void> } | undefined;
  #done: Promise<void> = Promise.resolve();
  /** When the speeches ended whose words are not there yet. */
  readonly #ends: number[] = [];
  /** The stages of the answer that has no sound yet. */
  #stages: Stages | undefined;

  /** @internal */
  constructor(options: ConversationOptions) {
    this.#options = options;
    const { system, language = 'en' } = options;
    this.#voice = asVoice(options.voice, language, (said) => {
      this.#emit({ type: 'saying', text: said });
      this.#sounds();
    });
    if (system !== undefined) this.#turns.push({ role: 'system', content: system });
  }

  /** Opens the microphone. @internal */
  async begin(): Promise<void> {
    const { ears, source = { microphone: true }, language, signal } = this.#options;
    const { silence, threshold, padding, every, onLevel } = this.#options;
    const scope = this.#scope.signal;
    this.#listening = await listen(source, {
      ...{ model: ears, language, silence, threshold, padding, every, onLevel },
      signal: signal ? AbortSignal.any([signal, scope]) : scope,
      onSpeech: () => this.#hears(),
      onSilence: () => this.#ends.push(performance.now()),
      onPartial: (event) => this.#emit({ type: 'hearing', text: event.text }),
      onFinal: ({ text: words }) =>
        void this.#heard(words, this.#ends.shift()).catch((error: unknown) => this.#scope.abort(error)),
    });
    this.#done = this.#listening.done.then(() => this.#answer?.done).finally(() => this.#end());
    this.#done.catch(() => {}); // whoever asks gets it
  }

  /** All turns so far: what was said, and no more. */
  get turns(): readonly Turn[] {
    return [...this.#turns];
  }

  /** What it is doing. */
  get state(): ConversationState {
    return this.#state;
  }

  /** Resolves once the sound that is listened to is over and was answered. Rejects with what ended it. */
  get done(): Promise<void> {
    return this.#done;
  }

  /** What is said as if the user had spoken it, such as text from a field. */
  async say(words: string): Promise<void> {
    if (typeof words !== 'string') throw invalidArgument(`say: expected a string, found ${show(words)}`);
    this.#scope.signal.throwIfAborted();
    await this.#heard(words);
    await this.#answer?.done;
  }

  /** Ends the answer that is being said; the history keeps what was heard of it. */
  async interrupt(): Promise<void> {
    this.#answer?.controller.abort();
    await this.#answer?.done;
  }

  /** Ends the conversation and gives the microphone back. */
  async stop(): Promise<void> {
    await this.interrupt();
    await this.#listening?.stop();
    await this.#done;
  }

  /** The events from now on. */
  [Symbol.asyncIterator](): AsyncIterableIterator<ConversationEvent> {
    const queue = new EventQueue<ConversationEvent>(() => this.#queues.delete(queue));
    this.#queues.add(queue);
    void this.#done.then(
      () => queue.end({}),
      (error: unknown) => queue.end({ error }),
    );
    return queue;
  }

  /** Somebody speaks: whatever is said ends. */
  #hears(): void {
    this.#answer?.controller.abort();
    this.#become('hearing');
  }

  /** `end`: when the speech ended. */
  async #heard(words: string, end?: number): Promise<void> {
    const now = performance.now();
    const stages = { since: end ?? now, words: now - (end ?? now) };
    await this.interrupt();
    // A cough has no words.
    if (words.trim() === '') return this.#become('listening');
    this.#turns.push({ role: 'user', content: words.trim() });
    this.#emit({ type: 'user', text: words.trim() });
    const controller = new AbortController();
    this.#stages = stages;
    const done = this.#reply(controller.signal);
    done.catch((error: unknown) => this.#scope.abort(error));
    this.#answer = { controller, done };
  }

  /** Writes the answer, and says each sentence once it is whole. */
  async #reply(signal: AbortSignal): Promise<void> {
    this.#become('thinking');
    const speech = this.#voice.begin(signal);
    let [written, given] = ['', 0];
    try {
      for await (const piece of this.#written(signal)) {
        written += piece;
        if (this.#stages && piece !== '') this.#stages.token ??= performance.now() - this.#stages.since;
        this.#emit({ type: 'answer', text: written });
        for (const sentence of complete(written.slice(given), this.#options.language ?? 'en')) {
          given += sentence.length;
          this.#become('speaking');
          await speech.say(sentence);
        }
      }
      if (!signal.aborted && written.slice(given).trim()) await speech.say(written.slice(given));
      this.#become('speaking');
      await speech.ended();
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    const content = signal.aborted ? spokenPart(await speech.stop()) : written.trim();
    if (content !== '') this.#turns.push({ role: 'assistant', content });
    this.#emit({ type: 'assistant', text: content, interrupted: signal.aborted });
    if (!signal.aborted) this.#become('listening');
  }

  async *#written(signal: AbortSignal): AsyncGenerator<string> {
    const { model } = this.#options;
    const turns = [...this.#turns];
    if (typeof model === 'function') yield* model(turns, { signal });
    else for await (const piece of model.generate(turns, { signal })) yield piece.text;
  }

  /** A sentence is about to be heard: the first one of an answer ends its stages. */
  #sounds(): void {
    if (!this.#stages) return;
    const { since, words, token = words } = this.#stages;
    this.#stages = undefined;
    this.#emit({ type: 'times', times: { words, token, sound: performance.now() - since } });
  }

  #end(): void {
    this.#answer?.controller.abort();
    this.#scope.abort();
    this.#become('over');
  }

  #become(state: ConversationState): void {
    if (this.#state === state || this.#state === 'over') return;
    this.#state = state;
    this.#emit({ type: 'state', state });
  }

  #emit(event: ConversationEvent): void {
    this.#options.onEvent?.(event);
    for (const queue of this.#queues) queue.push(event, 'answer');
  }
}
