/**
 * One run of text: an async iterable that the model fills as it is read, and a promise of the result.
 */
import { fromWasm, invalidArgument } from './errors.js';
import type { GenerationResult, Piece } from './types.js';
import type { WasmModel } from './wasm/webgguf.js';

/** A generation or an evaluation while it uses the model. @internal */
export interface MutexHolder {
  /** It was told to stop and will. */
  readonly cancelled: boolean;
  /** Resolves when the holder has unlocked the mutex; never rejects. */
  readonly settled: Promise<void>;
}

/** Mutual exclusion: at most one generation or evaluation uses a model at a time. @internal */
export class Mutex {
  #holder: MutexHolder | undefined;

  get holder(): MutexHolder | undefined {
    return this.#holder;
  }

  /** Throws `invalid_argument` where the mutex is locked and its holder was not told to stop. */
  check(call: string): void {
    if (!this.#holder || this.#holder.cancelled) return;
    throw invalidArgument(
      `${call}: this model is busy with another generation or evaluation; wait for its end, or stop() the generation`,
    );
  }

  /** Waits for a holder that was told to stop, then locks. Throws like {@link check}. */
  async lock(call: string, holder: MutexHolder): Promise<void> {
    while (this.#holder) {
      this.check(call);
      await this.#holder.settled;
    }
    this.#holder = holder;
  }

  /** To be called before `settled` resolves, so that whoever waits for that finds the mutex free. */
  unlock(holder: MutexHolder): void {
    if (this.#holder === holder) this.#holder = undefined;
  }
}

/** What a generation needs from its model. @internal */
export interface Run {
  readonly mutex: Mutex;
  readonly signal: AbortSignal | undefined;
  /** Encodes the prompt and starts; throws `invalid_argument` where the model was freed meanwhile. */
  start(): WasmModel;
}

const NOTHING: GenerationResult = {
  text: '',
  ids: new Uint32Array(0),
  finishReason: 'abort',
  usage: { promptTokens: 0, completionTokens: 0, cachedTokens: 0, totalTokens: 0 },
  timings: { promptTokensPerSecond: 0, tokensPerSecond: 0, timeToFirstTokenMs: 0 },
};

/**
 * The text as it is written. Iterate it with `for await` to get it piece by piece, or `await` it to get the whole
 * result; both may be done, in this order or at once.
 *
 * Work starts with the first step of the iteration, or when the result is first asked for. Leaving the loop,
 * {@link stop} and a fired `signal` end the generation early, without throwing: the result then has
 * `finishReason: 'abort'`.
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
  readonly #queue: Piece[] = [];
  readonly #result: Promise<GenerationResult>;
  #resolve!: (result: GenerationResult) => void;
  #reject!: (error: unknown) => void;
  #model: WasmModel | undefined;
  #pulling: Promise<void> | undefined;
  #cancelled = false;
  #over = false;
  #draining = false;
  #failure: { error: unknown } | undefined;
  /** @internal */
  readonly settled: Promise<void>;

  /** @internal */
  constructor(run: Run) {
    this.#run = run;
    this.#result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.settled = this.#result.then(
      () => {},
      () => {},
    ); // also marks a rejection as seen
    run.signal?.addEventListener('abort', this.#abort, { once: true });
    if (run.signal?.aborted) this.#cancelled = true;
  }

  /**
   * How the generation went: what `await generation` gives, too. Resolves when it is over, also early. Asking for it
   * makes the text run to its end even if nobody iterates. Rejects with the error that the iteration throws; that is
   * never reported as unhandled.
   */
  get result(): Promise<GenerationResult> {
    if (!this.#draining) {
      this.#draining = true;
      void this.#drain();
    }
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

  /** @internal */
  get cancelled(): boolean {
    return this.#cancelled;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The next piece; `done` at the end. Throws a `WebggufError`, once. */
  async next(): Promise<IteratorResult<Piece, undefined>> {
    while (this.#queue.length === 0 && !this.#over) await this.#pull();
    const value = this.#cancelled ? undefined : this.#queue.shift();
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
   * free for the next call. Does nothing once the generation is over.
   */
  async stop(): Promise<void> {
    this.#cancelled = true;
    if (!this.#over) this.#model?.cancel();
    await this.#drain();
  }

  /** The signal fired, perhaps while nobody waits for a piece: the mutex must be unlocked all the same. */
  readonly #abort = (): void => {
    this.#cancelled = true;
    if (!this.#model || this.#over) return;
    this.#model.cancel();
    void this.#drain();
  };

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
      if (!this.#model) await this.#start();
      if (this.#over || !this.#model) return;
      const piece = this.#cancelled ? undefined : await this.#model.next();
      if (piece) this.#queue.push(piece);
      else this.#end(await this.#model.finish());
    } catch (error) {
      await this.#fail(fromWasm(error));
    }
  }

  async #start(): Promise<void> {
    if (!this.#cancelled) await this.#run.mutex.lock('generate', this);
    if (this.#cancelled) this.#end(NOTHING);
    else this.#model = this.#run.start();
  }

  #end(result: GenerationResult): void {
    this.#close();
    this.#resolve(this.#cancelled ? { ...result, finishReason: 'abort' } : result);
  }

  async #fail(error: unknown): Promise<void> {
    await this.#model?.finish().catch(() => {}); // the model may be beyond that; `error` says why
    this.#failure = { error };
    this.#close();
    this.#reject(error);
  }

  #close(): void {
    this.#over = true;
    this.#run.signal?.removeEventListener('abort', this.#abort);
    this.#run.mutex.unlock(this);
  }
}
