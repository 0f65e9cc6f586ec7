/**
 * A text that is written for another thread, while others wait for the engine: it has its turn from the start to the
 * end, and goes on without being asked once somebody waits.
 */
import type { Engine, Inserted, Prompt, StartOptions } from '../engine/engine.js';
import type { Queue, Request } from '../model/queue.js';
import type { GenerationResult, Piece } from '../types/generate.js';
import type { Busy } from './busy.js';
import { UNREAD_MS } from './limits.js';

interface Waiter {
  resolve(piece: Piece | undefined): void;
  reject(error: unknown): void;
}

/** @internal */
export class Text implements Request {
  readonly #queue: Queue;
  readonly #busy: Busy;
  /** Ends what was announced of its start. */
  #begun = (): void => {};
  /** What writes it, once that is known. */
  engine: Engine | undefined;
  #starting: Promise<void> | undefined;
  #turn: 'none' | 'waiting' | 'held' = 'none';
  #isWriting = false;
  /** Others wait for the engine. */
  #hurries = false;
  /** The engine has no further piece. */
  #isOver = false;
  #failure: { readonly error: unknown } | undefined;
  /** Pieces that nobody has asked for, and calls for pieces that are not there. */
  readonly #pieces: Piece[] = [];
  readonly #waiters: Waiter[] = [];
  #pumping: Promise<void> | undefined;
  #result: Promise<GenerationResult> | undefined;

  constructor(queue: Queue, busy: Busy) {
    this.#queue = queue;
    this.#busy = busy;
  }

  /** Waits for the turn; `signal` ends the wait. */
  async enter(signal?: AbortSignal): Promise<void> {
    const onAbort = (): void => this.#queue.withdraw(this);
    signal?.throwIfAborted();
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#turn = 'waiting';
    try {
      const isTurn = await this.#queue.enter('generate', this);
      this.#turn = isTurn ? 'held' : 'none';
      if (!isTurn) throw new DOMException('the request was cancelled', 'AbortError');
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** Gives the turn back. */
  leave(): void {
    this.#turn = 'none';
    this.#begun();
    this.#queue.leave(this);
  }

  /** Whether its turn has come, and nothing was written yet. */
  get isReady(): boolean {
    return this.#turn === 'held' && !this.#starting;
  }

  start(engine: Engine, prompt: Prompt, options: StartOptions): Promise<void> {
    this.#starting = this.#start(engine, prompt, options);
    return this.#starting;
  }

  async #start(engine: Engine, prompt: Prompt, options: StartOptions): Promise<void> {
    if (this.#turn !== 'held') await this.enter();
    this.engine = engine;
    this.#begun = this.#busy.enter();
    try {
      await engine.start(prompt, options);
      if (!options.grammar) this.#begun(); // else it is compiled before the first piece
    } catch (error) {
      this.leave();
      throw error;
    }
    this.#isWriting = true;
    if (this.#hurries) this.#pump();
  }

  hurry(): void {
    if (this.#hurries) return;
    this.#hurries = true;
    this.#pump();
  }

  next(): Promise<Piece | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      this.#settle();
      this.#pump();
    });
  }

  async insert(inserted: Inserted, kept: number): Promise<Piece | undefined> {
    if (this.#result) return undefined;
    const settled = async (): Promise<void> => this.#pumping;
    const piece = await this.#busy.during(() => this.engine?.insert(inserted, kept, settled));
    if (!piece) return undefined;
    this.#pieces.length = 0;
    this.#isOver = false;
    this.#pump();
    return piece;
  }

  cancel(): void {
    if (this.#turn === 'waiting') this.#queue.withdraw(this);
    else if (this.#turn === 'held') this.engine?.cancel();
  }

  finish(): Promise<GenerationResult> {
    this.#result ??= this.#finish();
    return this.#result;
  }

  async #finish(): Promise<GenerationResult> {
    this.#isWriting = false;
    await this.#pumping;
    this.#isOver = true;
    this.#settle();
    try {
      return await (this.engine as Engine).finish();
    } finally {
      this.leave();
    }
  }

  /** Ends it, wherever it is: who asked for it has gone. */
  async abandon(): Promise<void> {
    if (this.#turn === 'none') return;
    this.cancel();
    await this.#starting?.catch(() => {});
    if (this.#turn === 'held') await this.finish().catch(() => {});
  }

  /** Gets pieces one after the other as long as somebody wants them. */
  #pump(): void {
    this.#pumping ??= this.#get().finally(() => {
      this.#pumping = undefined;
      if (this.#isWanted()) this.#pump();
    });
  }

  #isWanted(): boolean {
    return this.#isWriting && !this.#isOver && (this.#hurries || this.#waiters.length > this.#pieces.length);
  }

  async #get(): Promise<void> {
    while (this.#isWanted()) {
      try {
        const piece = await this.engine?.next();
        this.#begun();
        if (piece) this.#pieces.push(piece);
        else this.#isOver = true;
      } catch (error) {
        this.#failure = { error };
        this.#isOver = true;
      }
      this.#settle();
    }
    // A tab that is busy, or a page that does not read on, does not keep the others waiting.
    if (this.#isOver && this.#hurries) setTimeout(() => this.#isOver && this.finish().catch(() => {}), UNREAD_MS);
  }

  /** Gives pieces to those who wait for them; at the end nothing. */
  #settle(): void {
    while (this.#pieces.length > 0 && this.#waiters.length > 0) this.#waiters.shift()?.resolve(this.#pieces.shift());
    if (!this.#isOver || this.#pieces.length > 0) return;
    const failure = this.#failure;
    for (const waiter of this.#waiters.splice(0)) failure ? waiter.reject(failure.error) : waiter.resolve(undefined);
  }
}
