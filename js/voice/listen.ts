/**
 * Listening: a microphone or another sound, where somebody speaks in it, and what is said.
 */
import { abortSignal, type Check, checked, integer, number, ofType, show } from '../check.js';
import { invalidArgument } from '../errors.js';
import { ACTIVITY_OPTIONS, type Change, VoiceActivity } from './activity.js';
import { EventQueue } from './events.js';
import { LiveWords } from './live.js';
import { WrittenWords, writesWhile } from './written.js';
import type { EarModel } from './ear.js';
import { openMicrophone, soundOf } from './microphone.js';
import { RATE, Resampler } from './resample.js';
import { Ring } from './ring.js';
import { untilAborted } from './until.js';
import type { Heard, HearingModel, ListenEvent, ListenOptions, SoundPiece, SoundStream } from './types.js';

/** Samples that are kept: 30 seconds. */
const KEPT = 30 * RATE;

/** @internal */
export const isEars: Check = (value) => {
  const isModel = typeof (value as Partial<HearingModel>)?.audio?.transcriptions?.create === 'function';
  return typeof value === 'function' || isModel ? undefined : 'a model with audio.transcriptions, or a function';
};
const callback = ofType('function', 'a function');
const text = ofType('string', 'a string');
const CHECKS: Record<keyof ListenOptions, Check> = {
  ...ACTIVITY_OPTIONS,
  ...{ model: isEars, language: text, prompt: text, every: number(0.2, 10, 'a number of seconds from 0.2 to 10') },
  ...{ onSpeech: callback, onSilence: callback, onPartial: callback, onFinal: callback, onLevel: callback },
  ...{ logprobs: integer(0, 20, 'an integer from 0 to 20'), signal: abortSignal },
};

/**
 * Listens to the microphone, a stream or pieces of a sound: says when somebody speaks and, with a model that hears,
 * what is said.
 *
 * @throws {WebggufError} `microphone_unavailable` where there is no microphone or it was refused; `feature_missing`
 * where there is no `AudioWorklet`; `invalid_argument`
 * @example
 * const listening = await listen({ microphone: true }, { model, onPartial: ({ text }) => show(text) });
 * for await (const event of listening) if (event.type === 'final') show(event.text);
 */
export async function listen(source: Heard, options: ListenOptions = {}): Promise<Listening> {
  const wanted = checked('listen', options, CHECKS);
  wanted.signal?.throwIfAborted();
  if (typeof source !== 'object' || source === null) {
    throw invalidArgument(`listen: expected a MediaStream, { microphone: true } or pieces, found ${show(source)}`);
  }
  const writer = wanted.model && writesWhile(wanted.model);
  if (wanted.logprobs !== undefined && !(await writer)) {
    throw invalidArgument("listen: option 'logprobs' takes a model that writes while it hears");
  }
  // A model that is loaded is known then; another one later.
  await Promise.race([writer, new Promise((wake) => setTimeout(wake))]);
  if (Symbol.asyncIterator in source) return new Listening(() => source, wanted, writer);
  const isOurs = 'microphone' in source;
  const stream = isOurs ? await openMicrophone(source.microphone) : source;
  if (wanted.signal?.aborted) stopTracks(stream, isOurs);
  wanted.signal?.throwIfAborted();
  if (typeof stream.getAudioTracks !== 'function') {
    throw invalidArgument(`listen: expected a MediaStream, { microphone: true } or pieces, found ${show(source)}`);
  }
  const listening = new Listening((signal) => soundOf(stream, signal), wanted, writer, stream);
  void listening.done.catch(() => {}).finally(() => stopTracks(stream, isOurs));
  return listening;
}

function stopTracks(stream: MediaStream, isOurs: boolean): void {
  if (isOurs) for (const track of stream.getTracks()) track.stop();
}

/** A sound that is listened to. Iterate it for its events, from then on; at most 64 wait for their reader. */
export class Listening implements AsyncIterable<ListenEvent> {
  /** Resolves once the sound is over and all of it is written down. Rejects with what ended it. */
  readonly done: Promise<void>;
  /** What is listened to, where it is a stream. */
  readonly stream: SoundStream | undefined;
  readonly #options: ListenOptions;
  readonly #queues = new Set<EventQueue<ListenEvent>>();
  readonly #ring = new Ring(KEPT);
  readonly #activity: VoiceActivity;
  #words: LiveWords | WrittenWords | undefined;
  /** Makes the words of a model that writes while it hears. */
  #writer: (() => WrittenWords) | undefined;
  /** Ends the sound, and the work on it. */
  readonly #hearing = new AbortController();
  readonly #working = new AbortController();

  /** @internal */
  constructor(
    sound: (signal: AbortSignal) => AsyncIterable<SoundPiece>,
    options: ListenOptions,
    writer?: Promise<EarModel | undefined>,
    stream?: MediaStream,
  ) {
    [this.stream, this.#options] = [stream, options];
    const { model: ears, every = 1, language, prompt, logprobs, signal } = options;
    this.#activity = new VoiceActivity(options);
    const fail = (error: unknown): void => this.#working.abort(error);
    const emit = (event: ListenEvent): void => this.#emit(event);
    const asked = { ...(language !== undefined && { language }), ...(prompt !== undefined && { prompt }) };
    const { signal: working } = this.#working;
    const live = ears && { ears, every, asked, logprobs, signal: working, emit, fail };
    this.#words = live && new LiveWords(this.#ring, live);
    void writer?.then((model) => {
      if (live && model) this.#writer = () => new WrittenWords(this.#ring, live, model);
    });
    working.addEventListener('abort', () => this.#hearing.abort());
    const abort = (): void => this.#working.abort(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    this.done = this.#run(sound(this.#hearing.signal))
      .catch((error: unknown) => {
        if (!working.aborted) this.#working.abort(error);
      })
      .then(() => this.#end())
      .finally(() => signal?.removeEventListener('abort', abort));
    this.done.catch(() => {}); // whoever asks gets it
  }

  /** Whether somebody speaks now. */
  get isSpeech(): boolean {
    return this.#activity.isSpeech;
  }

  /** Ends it; a speech that is under way is written down. Resolves as {@link done}. */
  async stop(): Promise<void> {
    this.#hearing.abort();
    await this.done;
  }

  /** The events from now on. */
  [Symbol.asyncIterator](): AsyncIterableIterator<ListenEvent> {
    const queue = new EventQueue<ListenEvent>(() => this.#queues.delete(queue));
    this.#queues.add(queue);
    void this.done.then(
      () => queue.end({}),
      (error: unknown) => queue.end({ error }),
    );
    return queue;
  }

  #end(): void {
    const { signal } = this.#working;
    signal.throwIfAborted();
  }

  async #run(sound: AsyncIterable<SoundPiece>): Promise<void> {
    const iterator = sound[Symbol.asyncIterator]();
    const { signal } = this.#hearing;
    const over: IteratorResult<SoundPiece> = { done: true, value: undefined };
    let resampler: { readonly rate: number; readonly of: Resampler } | undefined;
    try {
      while (!signal.aborted) {
        const { done, value } = await untilAborted(iterator.next(), signal, over);
        if (done) break;
        const { samples, sampleRate: rate } = pieceOf(value);
        if (resampler?.rate !== rate) resampler = { rate, of: new Resampler(rate, RATE) };
        this.#hear(samples, resampler.of.push(samples));
      }
    } finally {
      void iterator.return?.(undefined)?.catch(() => {});
    }
    this.#hear(new Float32Array(0), resampler?.of.end() ?? new Float32Array(0));
    for (const change of this.#activity.end()) this.#change(change);
    await untilAborted(Promise.resolve(this.#words?.settled()), this.#working.signal, undefined);
  }

  #hear(samples: Float32Array, sound: Float32Array): void {
    this.#working.signal.throwIfAborted();
    if (samples.length > 0) this.#options.onLevel?.(levelOf(samples));
    this.#ring.push(sound);
    for (const change of this.#activity.push(sound)) this.#change(change);
    this.#words?.grow();
  }

  #change(change: Change): void {
    const start = change.start / RATE;
    if (change.type === 'speech') {
      // The speeches before are written down by what has begun them.
      if (this.#writer && this.#words instanceof LiveWords && !this.#words.isBusy) this.#words = this.#writer();
      this.#emit({ type: 'speech', start });
      this.#words?.begin(change.start);
      return;
    }
    const end = Math.min(change.end, this.#ring.end);
    const sound = { samples: this.#ring.slice(Math.min(change.start, end), end), sampleRate: RATE };
    this.#emit({ type: 'silence', start, end: end / RATE, speech: change.speech, sound });
    this.#words?.over(end);
  }

  #emit(event: ListenEvent): void {
    const { onSpeech, onSilence, onPartial, onFinal } = this.#options;
    if (event.type === 'speech') onSpeech?.(event);
    else if (event.type === 'silence') onSilence?.(event);
    else if (event.type === 'partial') onPartial?.(event);
    else onFinal?.(event);
    for (const queue of this.#queues) queue.push(event, 'partial');
  }
}

function pieceOf(piece: SoundPiece): SoundPiece {
  if (piece?.samples instanceof Float32Array) return piece;
  throw invalidArgument(`listen: expected pieces { samples, sampleRate }, found ${show(piece)}`);
}

/** @internal */
export function levelOf(samples: Float32Array): number {
  const sum = samples.reduce((all, sample) => all + sample * sample, 0);
  return Math.min(1, Math.sqrt(sum / Math.max(1, samples.length)));
}
