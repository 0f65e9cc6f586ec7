/**
 * One run of text: an async iterable that the model fills as it is read, and a promise of the result.
 */
import { type Inserted, now, type TextEngine } from '../engine/engine.js';
import { fromWasm } from '../errors.js';
import { knowItself, throughProxies } from '../proxies.js';
import type { Queue } from './queue.js';
import type { ChosenToken, GenerateOptions, GenerationResult, Piece } from '../types/generate.js';

/** The model is a generation's. @internal */
export interface Turn {
  /** When that began, see {@link now}. */
  readonly begun: number;
  /** Fires once the text is not wanted any more. */
  readonly ending: AbortSignal;
}

/** Asked after each piece: a text that is put behind it, by which the model goes on. @internal */
export type Steer = (piece: Piece) => Inserted | undefined;

/** What steers the text that is asked for with some options. @internal */
export const steers = new WeakMap<GenerateOptions, Steer>();

/** What a generation needs from its model. @internal */
export interface Run {
  readonly queue: Queue;
  readonly signal: AbortSignal | undefined;
  /** Texts of the same owner are written one after the other. */
  readonly owner?: object;
  /** Encodes the prompt and starts on an engine. */
  start(turn: Turn): Promise<TextEngine>;
  readonly steer?: Steer | undefined;
  /** In its place, once the prompt is known. */
  steering?(): Promise<Steer | undefined>;
  /** Takes note of the result before the next request has its turn. */
  done?(result: GenerationResult): void;
}

const NOTHING: GenerationResult = {
  text: '',
  ids: new Uint32Array(0),
  finishReason: 'abort',
  usage: {
    promptTokens: 0,
    completionTokens: 0,
    cachedTokens: 0,
    promptTokensDetails: { cachedTokens: 0, imageTokens: 0, audioTokens: 0 },
    totalTokens: 0,
    acceptedDraftTokens: 0,
    rejectedDraftTokens: 0,
  },
  timings: { promptTokensPerSecond: 0, tokensPerSecond: 0, timeToFirstTokenMs: 0 },
};

/**
 * The text as it is written. Iterate it with `for await` to get it piece by piece, or `await` it to get the whole
 * result; both may be done, in this order or at once.
 *
 * Work starts at the call, up to the first piece of text. It goes on as pieces are read, and to the end once the result
 * is asked for or another request waits for the model. Leaving the loop and {@link stop} end the generation early,
 * without throwing: the result then has `finishReason: 'abort'`. Once `signal` fires, the loop and the result reject
 * with its reason, as platform APIs do. What was written before stays readable as {@link partial}.
 *
 * Since it can be awaited, an async function that returns a generation gives its caller the result, after the end.
 * Return `{ generation }` to hand on the generation itself.
 *
 * @example
 * for await (const piece of model.generate(prompt)) out.textContent += piece.text; // as it is written
 * const { text, finishReason } = await model.generate(prompt); // all at once
 */
export class Generation implements AsyncIterableIterator<Piece>, PromiseLike<GenerationResult> {
  readonly #run: Run;
  readonly #pieces: Piece[] = [];
  readonly #tokens: ChosenToken[] = [];
  readonly #result: Promise<GenerationResult>;
  #resolve!: (result: GenerationResult) => void;
  #reject!: (error: unknown) => void;
  #engine: TextEngine | undefined;
  #pulling: Promise<void> | undefined;
  #partial = '';
  /** The text up to what was put in last, and the tokens since then. */
  #before = '';
  #kept = 0;
  #steer: Steer | undefined;
  #cancelled = false;
  readonly #ending = new AbortController();
  /** The signal fired before anything else ended the generation. */
  #aborted = false;
  #over = false;
  #draining = false;
  #failure: { error: unknown } | undefined;

  /** @internal */
  constructor(run: Run) {
    knowItself(this);
    this.#run = run;
    this.#result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#result.catch(() => {}); // a caller that awaits the result gets it all the same
    run.signal?.addEventListener('abort', this.#abort, { once: true });
    if (run.signal?.aborted) this.#abort();
    void this.#pull();
  }

  /** The text as far as it is written. It stays after an error, and after `signal` has fired. */
  get partial(): string {
    return this.#partial;
  }

  /**
   * How the generation went: what `await generation` gives, too. Resolves when it is over, also early. Asking for it
   * makes the text run to its end even without an iteration. Rejects with the error that the iteration throws, or with
   * the reason of `signal`; that is never reported as unhandled.
   */
  get result(): Promise<GenerationResult> {
    this.hurry();
    return this.#result;
  }

  /** `await generation` is `await generation.result`. */
  // biome-ignore lint/suspicious/noThenProperty: awaiting a generation without `.result` is what people write
  then<A = GenerationResult, B = never>(
    onResult?: ((result: GenerationResult) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.result.then(onResult, onError);
  }

  /** Writes on without being asked for pieces, which wait for an iteration. @internal */
  hurry(): void {
    if (this.#draining) return;
    this.#draining = true;
    void this.#drain();
  }

  /** The pieces as they are written. */
  [Symbol.asyncIterator](): this {
    return this;
  }

  /** @internal */
  get owner(): object | undefined {
    return this.#run.owner;
  }

  /** The next piece; `done` at the end. Throws a `WebggufError` or the reason of `signal`, once. */
  async next(): Promise<IteratorResult<Piece, undefined>> {
    while (!this.#over && (this.#cancelled || this.#pieces.length === 0)) await this.#pull();
    const value = this.#cancelled ? undefined : this.#pieces.shift();
    if (value) return { done: false, value };
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure) throw failure.error;
    return { done: true, value: undefined };
  }

  /** What `for await` calls when the loop is left: stops, and resolves when the model is free for the next call. */
  async return(): Promise<IteratorResult<Piece, undefined>> {
    await this.stop();
    return { done: true, value: undefined };
  }

  /**
   * Ends the text early: the iteration ends without throwing, and `finishReason` is `abort`. Resolves when the model is
   * free for the next call. Does nothing once the generation is over or `signal` has fired.
   */
  async stop(): Promise<void> {
    this.#cancel();
    await this.#drain();
  }

  /** The signal fired, perhaps between two pieces: other requests must get the model all the same. */
  readonly #abort = (): void => {
    this.#aborted = !this.#cancelled;
    this.#cancel();
    if (this.#engine) void this.#drain();
  };

  #cancel(): void {
    this.#cancelled = true;
    this.#run.queue.withdraw(this);
    this.#ending.abort();
    if (!this.#over) this.#engine?.cancel();
  }

  async #drain(): Promise<void> {
    while (!this.#over) await this.#pull();
  }

  /** One step, shared by all who wait for it. Never rejects. */
  #pull(): Promise<void> {
    this.#pulling ??= this.#step().finally(() => {
      this.#pulling = undefined;
    });
    return this.#pulling;
  }

  async #step(): Promise<void> {
    try {
      if (!this.#engine) await this.#start();
      if (this.#over || !this.#engine) return;
      const piece = this.#cancelled ? undefined : await this.#engine.next();
      if (piece) await this.#taken(piece, this.#engine);
      else this.#end(await this.#engine.finish());
    } catch (error) {
      await this.#fail(fromWasm(error));
    }
  }

  async #taken(piece: Piece, engine: TextEngine): Promise<void> {
    this.#take(piece);
    this.#kept += piece.ids.length;
    const inserted = this.#steer?.(piece);
    const put = inserted && (await engine.insert(inserted, this.#kept));
    if (!put) return;
    this.#take(put);
    this.#before = this.#partial;
    this.#kept = 0;
  }

  #take(piece: Piece): void {
    this.#pieces.push(piece);
    this.#partial += piece.text;
    if (piece.tokens) this.#tokens.push(...piece.tokens);
  }

  async #start(): Promise<void> {
    const isTurn = !this.#cancelled && (await this.#run.queue.enter('generate', this));
    if (!isTurn || this.#cancelled) return this.#end(NOTHING);
    try {
      this.#engine = await this.#run.start({ begun: now(), ending: this.#ending.signal });
      this.#steer = this.#run.steer ?? (await this.#run.steering?.());
    } catch (error) {
      if (!this.#cancelled) throw error;
      this.#end(NOTHING);
    }
  }

  #end(result: GenerationResult): void {
    const whole: GenerationResult = {
      ...result,
      ...(this.#before && { text: this.#before + result.text }),
      ...(this.#tokens.length > 0 && { tokens: this.#tokens }),
      ...(this.#cancelled && { finishReason: 'abort' }),
    };
    this.#partial = whole.text;
    this.#run.done?.(whole);
    if (this.#aborted) {
      this.#refuse(this.#run.signal?.reason);
      return;
    }
    this.#close();
    this.#resolve(whole);
  }

  async #fail(error: unknown): Promise<void> {
    await this.#engine?.finish().catch(() => {}); // the model may be beyond that; `error` says why
    this.#refuse(error);
  }

  #refuse(error: unknown): void {
    this.#failure = { error };
    this.#close();
    this.#reject(error);
  }

  #close(): void {
    this.#over = true;
    this.#run.signal?.removeEventListener('abort', this.#abort);
    this.#run.queue.leave(this);
  }
}
throughProxies(Generation);
