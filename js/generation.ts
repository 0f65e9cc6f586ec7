/**
 * One run of text: an async iterable that the engine fills as it is read, with a promise of the result.
 */
import { fromEngine, invalidArgument } from './errors.js';
import type { GenerationResult, Piece } from './types.js';
import type { Engine } from './wasm/webgguf.js';

/** Something that has the engine for itself until `settled`. @internal */
export interface Turn {
  /** It was told to end and will. */
  readonly cancelled: boolean;
  /** Resolves when the engine is free again; never rejects. */
  readonly settled: Promise<void>;
}

/** Sees to it that one thing at a time uses the engine. @internal */
export class Turns {
  #current: Turn | undefined;

  get current(): Turn | undefined {
    return this.#current;
  }

  /** Throws `invalid_argument` while another turn is on that nobody has cancelled. */
  check(call: string): void {
    if (!this.#current || this.#current.cancelled) return;
    throw invalidArgument(`${call}: a generation is running on this model; cancel it or wait for its end`);
  }

  /** Waits for a cancelled turn to end, then takes the engine. */
  async take(call: string, turn: Turn): Promise<void> {
    while (this.#current) {
      this.check(call);
      await this.#current.settled;
    }
    this.#current = turn;
  }

  /** Gives the engine back; before `settled` resolves, so that whoever waits for that finds it free. */
  end(turn: Turn): void {
    if (this.#current === turn) this.#current = undefined;
  }
}

/** What a generation needs from its model. @internal */
export interface Run {
  readonly turns: Turns;
  readonly signal: AbortSignal | undefined;
  /** Starts the run; throws `invalid_argument` where the model was freed meanwhile. */
  start(): Engine;
}

const NOTHING: GenerationResult = {
  text: '',
  ids: new Uint32Array(0),
  finishReason: 'abort',
  usage: { promptTokens: 0, completionTokens: 0, cachedTokens: 0, totalTokens: 0 },
  timings: { promptTokensPerSecond: 0, tokensPerSecond: 0, timeToFirstTokenMs: 0 },
};

/**
 * The text as it is written. Iterate it once, or only wait for `result`.
 *
 * Work starts with the first step of the iteration or the first look at `result`. Leaving the loop cancels. A fired
 * `signal` ends the iteration without throwing; `result` then has `finishReason: 'abort'`.
 */
export class Generation implements AsyncIterableIterator<Piece> {
  readonly #run: Run;
  readonly #queue: Piece[] = [];
  readonly #result: Promise<GenerationResult>;
  #resolve!: (result: GenerationResult) => void;
  #reject!: (error: unknown) => void;
  #engine: Engine | undefined;
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
   * How the generation went; resolves when it is over, also by cancelling.
   * Looking at it makes the text run to its end even if nobody iterates. Rejects with the error that the iteration
   * throws; that is never reported as unhandled.
   */
  get result(): Promise<GenerationResult> {
    if (!this.#draining) {
      this.#draining = true;
      void this.#drain();
    }
    return this.#result;
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

  /** Cancels; resolves when the model is free for the next call. `for await` calls it when the loop is left. */
  async return(): Promise<IteratorResult<Piece, undefined>> {
    await this.cancel();
    return { done: true, value: undefined };
  }

  /** Cancels; resolves when the model is free for the next call. @internal */
  async cancel(): Promise<void> {
    this.#cancelled = true;
    if (!this.#over) this.#engine?.cancel();
    await this.#drain();
  }

  /** The signal fired, perhaps while nobody waits for a piece: the engine must be given back all the same. */
  readonly #abort = (): void => {
    this.#cancelled = true;
    if (!this.#engine || this.#over) return;
    this.#engine.cancel();
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
      if (!this.#engine) await this.#start();
      if (this.#over || !this.#engine) return;
      const piece = this.#cancelled ? undefined : await this.#engine.next();
      if (piece) this.#queue.push(piece);
      else this.#end(await this.#engine.finish());
    } catch (error) {
      await this.#fail(fromEngine(error));
    }
  }

  async #start(): Promise<void> {
    if (!this.#cancelled) await this.#run.turns.take('generate', this);
    if (this.#cancelled) this.#end(NOTHING);
    else this.#engine = this.#run.start();
  }

  #end(result: GenerationResult): void {
    this.#close();
    this.#resolve(this.#cancelled ? { ...result, finishReason: 'abort' } : result);
  }

  async #fail(error: unknown): Promise<void> {
    await this.#engine?.finish().catch(() => {}); // the engine may be beyond that; `error` says why
    this.#failure = { error };
    this.#close();
    this.#reject(error);
  }

  #close(): void {
    this.#over = true;
    this.#run.signal?.removeEventListener('abort', this.#abort);
    this.#run.turns.end(this);
  }
}
