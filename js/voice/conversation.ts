/**
 * A conversation by voice: what is heard gets an answer that is said while it is written. Whoever speaks meanwhile
 * interrupts it, and the history keeps what was said.
 */
import { abortSignal, type Check, checked, ofType, show } from '../check.js';
import { invalidArgument, type WebggufError } from '../errors.js';
import type { Answer, Answerer, Telling } from './answerer.js';
import { cascade } from './cascade.js';
import { EventQueue } from './events.js';
import { isEars, type Listening, listen } from './listen.js';
import { oneModel } from './one-model.js';
import type { Player } from './player.js';
import type { Answers, Ears, Heard, ListenOptions, SoundPiece, TalkingModel, Turn } from './types.js';
import { isVoice, type Voice } from './voices.js';

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
  | {
      /** The user has said something; the text is empty where nobody writes it down. */ readonly type: 'user';
      readonly text: string;
    }
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
  /** Who writes down what is heard. With `player` the words are for captions alone, and `ears` may be left out. */
  readonly ears?: Ears | undefined;
  /** Who answers; with `player` a model that hears and speaks itself. */
  readonly model: Answers | TalkingModel;
  /** Who says the answer: a model that speaks, with the player that plays it; without it the browser's own voice. */
  readonly voice?: Voice | undefined;
  /** Plays the sound of a model that hears and speaks itself, in place of `voice`. */
  readonly player?: Pick<Player, 'push' | 'stop' | 'room' | 'ended'> | undefined;
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
const has = (value: unknown, method: string): boolean =>
  typeof (value as Record<string, unknown> | null | undefined)?.[method] === 'function';
const answering: Check = (value) =>
  typeof value === 'function' || has(value, 'generate') || has(value, 'converse')
    ? undefined
    : 'a model that writes, or a function';
const playing: Check = (value) => (has(value, 'push') ? undefined : 'a player');
const CHECKS: Record<keyof ConversationOptions, Check> = {
  ...{ ears: isEars, model: answering, voice: isVoice, player: playing, source: anything },
  ...{ language: text, system: text },
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
 *
 * @example
 * const talk = await createConversation({ model: lfm3, player: await createPlayer() });
 */
export async function createConversation(options: ConversationOptions): Promise<Conversation> {
  const wanted = checked('createConversation', options, CHECKS);
  const { player, voice, model } = wanted;
  for (const name of player ? (['model'] as const) : (['ears', 'model'] as const)) {
    if (wanted[name] === undefined) throw invalidArgument(`createConversation: option '${name}' is missing`);
  }
  if (player && voice) throw invalidArgument("createConversation: 'player' and 'voice' exclude each other");
  if (player && !has(model, 'converse')) {
    throw invalidArgument("createConversation: option 'player' is for a model that hears and speaks itself");
  }
  if (!player && typeof model !== 'function' && !has(model, 'generate')) {
    throw invalidArgument('createConversation: the model writes and speaks at once, without a player it cannot');
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

/** A speech that was heard. */
interface Speech {
  /** When it was over. */
  readonly end: number;
  readonly sound?: SoundPiece | undefined;
}

/** A conversation by voice. Iterate it for its events from then on; at most 64 wait for their reader. */
export class Conversation implements AsyncIterable<ConversationEvent> {
  readonly #options: ConversationOptions;
  readonly #answerer: Answerer;
  readonly #turns: Turn[] = [];
  /** The first turn behind the system's for which the model's context has room. */
  #first: number;
  readonly #queues = new Set<EventQueue<ConversationEvent>>();
  readonly #scope = new AbortController();
  #listening: Listening | undefined;
  #state: ConversationState = 'listening';
  /** The answer that is being written or said. */
  #answer: { readonly controller: AbortController; readonly done: Promise<void> } | undefined;
  #done: Promise<void> = Promise.resolve();
  /** The speeches whose words are not there yet: when each ended, and its sound where the model hears it itself. */
  readonly #speeches: Speech[] = [];
  /** The stages of the answer that has no sound yet. */
  #stages: Stages | undefined;

  /** @internal */
  constructor(options: ConversationOptions) {
    this.#options = options;
    const { system, model, voice, player, language = 'en' } = options;
    const tell: Telling = {
      written: (text) => this.#writes(text),
      saying: (text) => this.#says(text),
      sounds: () => this.#sounds(),
    };
    this.#answerer = player
      ? oneModel({ model: model as TalkingModel, player, language }, tell)
      : cascade({ model: model as Answers, voice, language }, tell);
    if (system !== undefined) this.#turns.push({ role: 'system', content: system });
    this.#first = this.#turns.length;
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
      onSilence: ({ sound }) => this.#silence(sound),
      onPartial: (event) => this.#emit({ type: 'hearing', text: event.text }),
      onFinal: ({ text: words }) =>
        void this.#heard(words, this.#speeches.shift()).catch((error: unknown) => this.#scope.abort(error)),
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

  /** A speech is over: its words follow, unless nobody writes them down. */
  #silence(sound: SoundPiece): void {
    const { ears, player } = this.#options;
    const speech = { end: performance.now(), sound: player && sound };
    if (ears) this.#speeches.push(speech);
    else void this.#heard('', speech).catch((error: unknown) => this.#scope.abort(error));
  }

  /** `speech`: where the words are from; what is typed has none. */
  async #heard(words: string, speech?: Speech): Promise<void> {
    const now = performance.now();
    const { end = now, sound } = speech ?? {};
    const stages = { since: end, words: now - end };
    await this.interrupt();
    const content = words.trim();
    // A cough has no words.
    if (content === '' && (this.#options.ears || !sound)) return this.#become('listening');
    this.#turns.push({ role: 'user', content, ...(sound && { sound }) });
    this.#emit({ type: 'user', text: content });
    const controller = new AbortController();
    this.#stages = stages;
    const done = this.#reply(controller.signal);
    done.catch((error: unknown) => this.#scope.abort(error));
    this.#answer = { controller, done };
  }

  /** Gives an answer to the turns, and keeps of it what was heard. */
  async #reply(signal: AbortSignal): Promise<void> {
    this.#become('thinking');
    let answer = this.#begin(signal);
    const give = async (): Promise<string> => {
      try {
        return await answer.give();
      } catch (error) {
        if (signal.aborted) return '';
        if ((error as Partial<WebggufError> | null)?.code !== 'context_full' || !this.#forget()) throw error;
        answer = this.#begin(signal);
        return give();
      }
    };
    const written = await give();
    const content = signal.aborted ? await answer.stop() : written;
    if (content !== '') this.#turns.push({ role: 'assistant', content });
    this.#emit({ type: 'assistant', text: content, interrupted: signal.aborted });
    if (!signal.aborted) this.#become('listening');
  }

  #begin(signal: AbortSignal): Answer {
    const isRead = ({ role }: Turn, at: number): boolean => role === 'system' || at >= this.#first;
    return this.#answerer.begin(this.#turns.filter(isRead), signal);
  }

  /** Leaves the oldest turns, up to the user's next one, out of what the model reads; false where no other is left. */
  #forget(): boolean {
    const next = this.#turns.findIndex(({ role }, at) => role === 'user' && at > this.#first);
    if (next < 0) return false;
    // Sounds that are not read again would fill the memory.
    for (const [at, { role, content }] of this.#turns.slice(0, next).entries()) this.#turns[at] = { role, content };
    this.#first = next;
    return true;
  }

  #writes(text: string): void {
    if (this.#stages && text !== '') this.#stages.token ??= performance.now() - this.#stages.since;
    this.#emit({ type: 'answer', text });
  }

  #says(text: string): void {
    this.#become('speaking');
    this.#emit({ type: 'saying', text });
  }

  /** Sound is there: the first one of an answer ends its stages. */
  #sounds(): void {
    this.#become('speaking');
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
