/**
 * OpenAI's realtime API over models of the page: an object that takes its events and gives them.
 */
import { checked, type Check, ofType, show } from '../../check.js';
import { invalidArgument } from '../../errors.js';
import type { Change } from '../activity.js';
import { isEars } from '../listen.js';
import { asFunction } from '../live.js';
import { RATE } from '../resample.js';
import { InputSound } from './input.js';
import { type Entry, itemOf, Items, wordsOf } from './items.js';
import { copyOf, type Outlet } from './output.js';
import { failureOf, Refusal, wrongValue } from './refusal.js';
import { ResponseRun } from './response.js';
import { asked, newSession, objectOf, updated } from './session.js';
import type {
  ChattingModel,
  Happening,
  RealtimeClientEvent,
  RealtimeItem,
  RealtimeOptions,
  RealtimeResponse,
  RealtimeServerEvent,
  RealtimeSession,
  ResponseRequest,
} from './types.js';
import { byChat, byTalking, isTalking, type Writer, type Written } from './writer.js';

type Type = RealtimeServerEvent['type'];
/** Events of a type: some have one shape for several types. */
type OfType<Event, T> = Event extends { type: infer Known } ? (T extends Known ? Event & { type: T } : never) : never;
type EventOf<T> = T extends 'event' ? RealtimeServerEvent : OfType<RealtimeServerEvent, T>;
type Listener = (event: never) => void;
type Fields = Record<string, unknown>;

const chatting: Check = (value) => {
  const model = value as RealtimeOptions['model'] | null;
  if (model && isTalking(model)) return undefined;
  return typeof model?.chat?.completions?.create === 'function' ? undefined : 'a model with chat.completions';
};
const speaking: Check = (value) =>
  typeof (value as { speak?: unknown } | null)?.speak === 'function' ? undefined : 'a model that speaks';
const CHECKS: Record<keyof RealtimeOptions, Check> = {
  ...{ model: chatting, ears: isEars, voice: speaking, language: ofType('string', 'a string') },
  session: ofType('object', 'an object'),
};

/**
 * Begins a realtime session: `send` takes the events that a client sends to OpenAI's server, `on` hears what the server
 * would send. `session.created` comes first, once the page's script is done.
 *
 * @throws {WebggufError} `invalid_argument`
 * @example
 * const realtime = createRealtime({ ears, model, voice });
 * realtime.on('response.output_audio_transcript.delta', ({ delta }) => show(delta));
 * realtime.send({ type: 'input_audio_buffer.append', audio });
 */
export function createRealtime(options: RealtimeOptions): Realtime {
  const wanted = checked('createRealtime', options, CHECKS);
  if (wanted.model === undefined) throw invalidArgument("createRealtime: option 'model' is missing");
  return new Realtime(wanted);
}

/** A session with the events of OpenAI's realtime API. */
export class Realtime {
  readonly #options: RealtimeOptions;
  readonly #writer: Writer;
  /** Whether the model hears sounds itself, and whether answers can have sound. */
  readonly #hears: boolean;
  readonly #hasVoice: boolean;
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #items = new Items();
  readonly #input = new InputSound();
  readonly #work = new AbortController();
  /** Names of no other session have this. */
  readonly #name = Math.random().toString(36).slice(2, 12);
  #names = 0;
  #session: RealtimeSession;
  #active: { readonly run: ResponseRun; readonly done: Promise<void> } | undefined;
  /** The item that a speech will become. */
  #speech: string | undefined;

  /** @internal */
  constructor(options: RealtimeOptions) {
    this.#options = options;
    const { name, architecture } = (options.model as { info?: { name?: string; architecture?: string } }).info ?? {};
    const talking = !options.voice && isTalking(options.model) ? options.model : undefined;
    this.#writer = talking ? byTalking(talking) : byChat(options.model as ChattingModel);
    [this.#hears, this.#hasVoice] = [talking !== undefined, (talking ?? options.voice) !== undefined];
    this.#session = newSession(this.#newId('sess'), name ?? architecture ?? 'local', this.#hasVoice);
    try {
      if (options.session) this.#session = updated(this.#session, options.session, this.#hasVoice);
    } catch (error) {
      throw error instanceof Refusal ? invalidArgument(`createRealtime: ${error.message}`) : error;
    }
    this.#input.listen(this.#session.audio.input.turn_detection);
    queueMicrotask(() => this.#emit({ type: 'session.created', session: this.#session }));
  }

  /** The session as it is set now. */
  get session(): RealtimeSession {
    return structuredClone(this.#session);
  }

  /** The items of the conversation. */
  get items(): RealtimeItem[] {
    return this.#items.all.map(({ item }) => copyOf(item));
  }

  /** Hears events of a type, or all as `event`. */
  on<T extends Type | 'event'>(type: T, listener: (event: EventOf<T>) => void): this {
    const known = this.#listeners.get(type) ?? new Set();
    this.#listeners.set(type, known.add(listener as Listener));
    return this;
  }

  /** Hears them no more. */
  off<T extends Type | 'event'>(type: T, listener: (event: EventOf<T>) => void): this {
    this.#listeners.get(type)?.delete(listener as Listener);
    return this;
  }

  /** Takes an event; what is wrong with it is an event `error`. What follows at once is heard within the call. */
  send(event: RealtimeClientEvent): void {
    if (this.#work.signal.aborted) throw invalidArgument('realtime: the session is closed');
    try {
      if (typeof event !== 'object' || event === null) throw wrongValue('event', 'an object', event);
      this.#take(event as unknown as Fields);
    } catch (error) {
      const { event_id: id = null } = (event ?? {}) as { event_id?: string | null };
      this.#refuse(error, id);
    }
  }

  /** Ends the session and the answer that is being given. */
  close(): void {
    this.#work.abort(new DOMException('the session was closed', 'AbortError'));
    this.#active?.run.cancel('client_cancelled');
    this.#listeners.clear();
  }

  #take(fields: Fields): void {
    const handlers: Record<string, (() => void) | undefined> = {
      'session.update': () => this.#update(fields.session),
      'input_audio_buffer.append': () => this.#append(fields.audio),
      'input_audio_buffer.commit': () => this.#commit(this.#newId('item'), this.#input.take()),
      'input_audio_buffer.clear': () => this.#clear(),
      'conversation.item.create': () => this.#create(fields.item, fields.previous_item_id),
      'conversation.item.retrieve': () => this.#retrieve(fields.item_id),
      'conversation.item.truncate': () => this.#truncate(fields),
      'conversation.item.delete': () => this.#delete(fields.item_id),
      'response.create': () => this.#respond(fields.response ?? {}),
      'response.cancel': () => this.#cancel(fields.response_id),
    };
    const { type } = fields;
    const handler = typeof type === 'string' && Object.hasOwn(handlers, type) ? handlers[type] : undefined;
    if (!handler) throw new Refusal('invalid_value', `there is no event of the type ${show(type)}`, 'type');
    handler();
  }

  #clear(): void {
    this.#input.clear(this.#session.audio.input.turn_detection);
    this.#speech = undefined;
    this.#emit({ type: 'input_audio_buffer.cleared' });
  }

  #retrieve(id: unknown): void {
    this.#emit({ type: 'conversation.item.retrieved', item: copyOf(this.#items.get(id).item) });
  }

  #truncate({ item_id: id, audio_end_ms: end, content_index = 0 }: Fields): void {
    const { item } = this.#items.truncate(id, end);
    const place = { item_id: item.id, content_index: content_index as number, audio_end_ms: end as number };
    this.#emit({ type: 'conversation.item.truncated', ...place });
  }

  #delete(id: unknown): void {
    const { item } = this.#items.get(id);
    this.#items.delete(item.id);
    this.#emit({ type: 'conversation.item.deleted', item_id: item.id });
  }

  #update(update: unknown): void {
    this.#session = updated(this.#session, update, this.#hasVoice);
    const { input } = (update as { audio?: { input?: Fields } } | undefined)?.audio ?? {};
    if (input && 'turn_detection' in input) this.#input.listen(this.#session.audio.input.turn_detection);
    this.#emit({ type: 'session.updated', session: this.#session });
  }

  #append(audio: unknown): void {
    if (typeof audio !== 'string') throw wrongValue('audio', 'a string of base64', audio);
    this.#mustHear('audio');
    for (const change of this.#input.append(audio)) this.#change(change);
  }

  #mustHear(param: string): void {
    if (this.#options.ears || this.#hears) return;
    throw new Refusal('invalid_value', "there are no 'ears' that hear sound", param);
  }

  #change(change: Change): void {
    const turns = this.#session.audio.input.turn_detection;
    const milliseconds = (sample: number): number => Math.round((1000 * sample) / RATE);
    const item_id = this.#speech ?? this.#newId('item');
    if (change.type === 'speech') {
      this.#speech = item_id;
      const start = milliseconds(change.start);
      this.#emit({ type: 'input_audio_buffer.speech_started', item_id, audio_start_ms: start });
      if (turns?.interrupt_response !== false) this.#active?.run.cancel('turn_detected');
      return;
    }
    this.#speech = undefined;
    this.#emit({ type: 'input_audio_buffer.speech_stopped', item_id, audio_end_ms: milliseconds(change.end) });
    const entry = this.#commit(item_id, this.#input.take(change.start, change.end));
    if (turns?.create_response !== false) void this.#answer(entry);
  }

  /** Answers a turn once its words are there, if somebody writes them down; a cough has none. */
  async #answer(entry: Entry): Promise<void> {
    await entry.heard;
    if (this.#active?.run.signal.aborted) await this.#active.done;
    if (this.#work.signal.aborted || (this.#options.ears && wordsOf(entry.item) === '')) return;
    try {
      this.#respond({});
    } catch (error) {
      this.#refuse(error, null);
    }
  }

  #commit(id: string, samples: Float32Array): Entry {
    const parts = { id, object: 'realtime.item', status: 'completed' } as const;
    const entry: Entry = { item: { ...parts, type: 'message', role: 'user', content: [{ type: 'input_audio' }] } };
    this.#emit({ type: 'input_audio_buffer.committed', item_id: id, previous_item_id: this.#items.last });
    this.#add(entry);
    this.#emitDone(entry.item);
    this.#listen(entry, new Map([[0, samples]]));
    return entry;
  }

  /** Keeps the sounds of an item for a model that hears them, and has them written down. */
  #listen(entry: Entry, sounds: Map<number, Float32Array>): void {
    if (this.#hears) entry.sounds = sounds;
    if (!this.#options.ears) return;
    const words = Array.from(sounds, ([at, samples]) => this.#hear(entry.item, at, samples));
    entry.heard = Promise.all(words).then(() => {});
  }

  /** Writes down a sound of an item; never rejects. */
  async #hear(item: RealtimeItem, content_index: number, samples: Float32Array): Promise<void> {
    const { signal } = this.#work;
    const place = { item_id: item.id, content_index };
    const { language = this.#language, prompt } = this.#session.audio.input.transcription ?? {};
    try {
      const hear = asFunction(this.#options.ears as NonNullable<RealtimeOptions['ears']>);
      const text = await hear(samples, { language, ...(prompt !== undefined && { prompt }), signal });
      const part = item.type === 'message' ? item.content[content_index] : undefined;
      const transcript = text.trim();
      if (part?.type === 'input_audio') part.transcript = transcript;
      const usage = { type: 'duration', seconds: samples.length / RATE } as const;
      this.#emit({
        type: 'conversation.item.input_audio_transcription.completed',
        ...{ ...place, transcript, usage },
      });
    } catch (error) {
      const failed = { ...place, error: failureOf(error) };
      this.#emit({ type: 'conversation.item.input_audio_transcription.failed', ...failed });
    }
  }

  get #language(): string {
    return this.#options.language ?? 'en';
  }

  #create(given: unknown, behind: unknown): void {
    const { item, sounds } = itemOf(given, this.#newId('item'));
    if (sounds.length > 0) this.#mustHear('item.content');
    const samples = sounds.map((sound) => InputSound.samplesOf(sound));
    if (behind != null && typeof behind !== 'string') throw wrongValue('previous_item_id', 'a name', behind);
    const entry: Entry = { item };
    this.#add(entry, behind ?? undefined);
    this.#emitDone(item);
    const places = (item.type === 'message' ? item.content : []).flatMap((part, at) =>
      part.type === 'input_audio' && part.transcript === undefined ? [at] : [],
    );
    if (samples.length > 0) this.#listen(entry, new Map(samples.map((sound, at) => [places[at] as number, sound])));
  }

  #add(entry: Entry, behind?: string): void {
    const previous_item_id = this.#items.add(entry, behind);
    const told = { item: copyOf(entry.item), previous_item_id };
    this.#emit({ type: 'conversation.item.added', ...told });
    this.#emit({ type: 'conversation.item.created', ...told });
  }

  #emitDone(item: RealtimeItem): void {
    const all = this.#items.all;
    const at = all.findIndex((entry) => entry.item === item);
    const previous_item_id = all[at - 1]?.item.id ?? null;
    if (at >= 0) this.#emit({ type: 'conversation.item.done', item: copyOf(item), previous_item_id });
  }

  #respond(given: unknown): void {
    const request = objectOf('response', given) as ResponseRequest;
    if (this.#active) {
      const { id } = this.#active.run.response;
      throw new Refusal('conversation_already_has_active_response', `the response '${id}' is still being given`);
    }
    const session = { ...this.#session, ...asked(request, 'response', this.#hasVoice) };
    const isPart = request.conversation !== 'none';
    const input = request.input && this.#inputOf(request.input);
    const response: RealtimeResponse = {
      ...{ id: this.#newId('resp'), object: 'realtime.response', status: 'in_progress', output: [] },
      ...{ output_modalities: session.output_modalities, metadata: request.metadata ?? null },
    };
    const run = new ResponseRun(response, session, this.#outlet(isPart));
    this.#emit({ type: 'response.created', response: { ...response, output: [] } });
    const before = [...this.#items.all];
    const write = async (): Promise<AsyncIterable<Written>> => {
      const entries = input ?? this.#items.read.filter((entry) => before.includes(entry));
      await Promise.all(entries.map(({ heard }) => heard));
      run.signal.throwIfAborted();
      return this.#writer(session, entries, run.signal);
    };
    const done = run.run(write, () => !input && session.truncation !== 'disabled' && this.#items.forget());
    this.#active = { run, done };
  }

  /** What `input` of a response names or has. */
  #inputOf(given: unknown): Entry[] {
    if (!Array.isArray(given)) throw wrongValue('response.input', 'an array', given);
    return given.map((item: Fields | null) => {
      if (item?.type === 'item_reference') return this.#items.get(item.id);
      const made = itemOf(item, this.#newId('item'));
      if (made.sounds.length === 0) return { item: made.item };
      throw new Refusal('invalid_value', 'response.input: sounds are items of the conversation', 'response.input');
    });
  }

  #outlet(isPart: boolean): Outlet {
    const { voice } = this.#options;
    return {
      ...{ voice, language: this.#session.audio.input.transcription?.language ?? this.#language },
      newId: (kind) => this.#newId(kind),
      emit: (event) => {
        if (event.type === 'response.done') this.#active = undefined;
        this.#emit(event);
      },
      added: (entry) => {
        if (isPart) this.#add(entry);
      },
      done: (item) => this.#emitDone(item),
    };
  }

  #cancel(id: unknown): void {
    const { run } = this.#active ?? {};
    if (!run || (id != null && id !== run.response.id)) {
      throw new Refusal('response_cancel_not_active', 'there is no response that is being given', 'response_id');
    }
    run.cancel('client_cancelled');
  }

  #refuse(error: unknown, event_id: string | null): void {
    const { code, param } = error instanceof Refusal ? error : { code: 'invalid_value', param: null };
    const message = error instanceof Error ? error.message : String(error);
    this.#emit({ type: 'error', error: { type: 'invalid_request_error', code, message, param, event_id } });
  }

  #newId(kind: string): string {
    this.#names += 1;
    return `${kind}_${this.#name}${this.#names.toString(36).padStart(4, '0')}`;
  }

  #emit(happening: Happening): void {
    if (this.#work.signal.aborted) return;
    const event = { event_id: this.#newId('event'), ...happening } as RealtimeServerEvent;
    for (const type of [event.type, 'event']) {
      for (const listener of [...(this.#listeners.get(type) ?? [])]) {
        try {
          listener(event as never);
        } catch (error) {
          // Another listener hears it nevertheless.
          queueMicrotask(() => {
            throw error;
          });
        }
      }
    }
  }
}
