/**
 * A tab among those that share a model. Where it can, it lets a SharedWorker wait for the seat, a lock; else it waits
 * itself. Who has the seat loads the model, and all tabs connect to its engine. The lock is free again when its tab is
 * closed, crashes or is frozen, or its SharedWorker ends. From one that stands still a tab takes it, after beats
 * without an answer (`watch.ts`).
 */
import { WebggufError, invalidArgument } from '../errors.js';
import { type LoadWarning, warner } from '../load/cache/warning.js';
import type { SharedPlace } from '../types/info.js';
import type { Progress } from '../types/load.js';
import { TabAdapters } from './adapters.js';
import { seatNow } from './busy.js';
import { BEAT_MS, MOST_LOSSES, SETTLE_MS, TAKING_MS } from './limits.js';
import { asking, Link, type Opening } from './link.js';
import { Everyone, names, type Said } from './messages.js';
import { open } from './open.js';
import { Seat, type Wanted } from './seat.js';
import { SharedWorkerSeat } from './shared-worker.js';
import { Watch } from './watch.js';

const MOVED =
  'the engine that all tabs share moved: its tab or worker was closed or frozen, crashed or stood still; ask again';

/** What an answer under way ends with. @internal */
export const moved = (): WebggufError => new WebggufError('engine_moved', MOVED);

const lostWorker = (): WebggufError =>
  new WebggufError('worker_lost', 'the SharedWorker ended while it loaded the model, perhaps for lack of memory');

interface Waiter {
  resolve(link: Link): void;
  reject(error: unknown): void;
}

/** What the page hears. */
interface Listeners {
  readonly onProgress: ((progress: Progress) => void) | undefined;
  readonly onWarning: (warning: LoadWarning) => void;
}

/** @internal */
export class Tab {
  readonly adapters = new TabAdapters();
  readonly #wanted: Wanted;
  readonly #everyone: Everyone;
  readonly #listeners: Listeners;
  readonly #waiters = new Set<Waiter>();
  #link: Link | undefined;
  #asking: Promise<Omit<Opening, 'info'>> | undefined;
  /** While this tab waits for the seat or has it. */
  #standing: AbortController | undefined;
  #seat: Seat | undefined;
  /** Whether a SharedWorker waits for the seat, or has it, for this tab, or is about to. */
  #hasWorker = false;
  /** How often in a row the SharedWorker has ended before its engine was there. */
  #losses = 0;
  /** Engines that are gone or stand still. */
  readonly #left = new Set<string>();
  /** Calls that wait for the engine. */
  #calls = 0;
  #beats: ReturnType<typeof setInterval> | undefined;
  #watch = new Watch(0);
  #place: SharedPlace | undefined;
  #isReady = false;
  #isAsleep = false;
  readonly #closing = new AbortController();

  constructor({ source, options, name }: Wanted) {
    const {
      onProgress,
      onWarning,
      shared: _,
      worker: _worker,
      signal: _signal,
      adapters: _adapters,
      ...others
    } = options;
    this.#listeners = { onProgress, onWarning: warner(onWarning) };
    this.#everyone = new Everyone(name, (said) => this.#heard(said));
    const tellProgress = (progress: Progress): void => {
      this.#everyone.say({ kind: 'progress', progress });
      this.#report(progress);
    };
    const tellWarning = (warning: LoadWarning): void => {
      this.#everyone.say({ kind: 'warning', warning });
      onWarning?.(warning);
    };
    const told = { ...others, onProgress: tellProgress, ...(onWarning && { onWarning: tellWarning }) };
    this.#wanted = { source, name, options: told };
    this.#sleepWithThePage();
  }

  /** The connection; waits until there is one. Rejects where this tab was to load the model and could not. */
  link(): Promise<Link> {
    if (this.#closing.signal.aborted) return Promise.reject(invalidArgument('the model was freed'));
    if (this.#link) return Promise.resolve(this.#link);
    return this.during(
      new Promise((resolve, reject) => {
        this.#waiters.add({ resolve, reject });
        this.#stand();
        void this.#ask();
      }),
    );
  }

  /** Looks after the engine as long as a call waits for it. */
  async during<T>(call: Promise<T>): Promise<T> {
    this.#calls += 1;
    this.#startBeats();
    try {
      return await call;
    } finally {
      this.#calls -= 1;
    }
  }

  #startBeats(): void {
    if (this.#beats !== undefined) return;
    this.#watch = new Watch(performance.now());
    this.#beats = setInterval(() => this.#beat(), BEAT_MS);
  }

  /** Where the engine is, as far as this tab has heard. */
  get place(): SharedPlace | undefined {
    return this.#place;
  }

  /** Leaves. A loaded engine of this tab goes on as long as others use it. */
  async close(): Promise<void> {
    const freed = invalidArgument('the model was freed');
    this.#closing.abort();
    this.#standing?.abort();
    for (const waiter of this.#take()) waiter.reject(freed);
    this.#leave(freed);
    clearInterval(this.#beats);
    // A load that was cancelled is not gone on with for others, which begin it again.
    if (this.#seat && !(this.#seat.isServing && (await this.#hasOthers()))) this.#seat.end();
    if (!this.#seat) this.#everyone.close();
  }

  async #hasOthers(): Promise<boolean> {
    const { pending = [] } = await navigator.locks.query();
    return pending.some(({ name }) => name === names.seat(this.#wanted.name));
  }

  #heard(said: Said): void {
    if (said.kind === 'beat') {
      const by = this.#seat?.isServing ? 'tab' : 'loading tab';
      if (this.#seat) this.#everyone.say({ kind: 'alive', by });
      return;
    }
    if (said.kind === 'ask') return; // the engine answers
    if (said.kind === 'alive' && said.by === 'tab') this.#watch.heardTab();
    else this.#watch.heardEngine();
    if (said.kind === 'progress') this.#hearProgress(said.progress);
    else if (said.kind === 'warning') this.#listeners.onWarning(said.warning);
    else if (said.kind === 'here') void this.#ask();
    else if (said.kind === 'loading') this.#leaveOthers(said.host);
    else if (said.kind === 'answer') void this.#connect(said);
    else if (said.kind === 'empty' && said.host === this.#seat?.host && this.#closing.signal.aborted) this.#seat.end();
  }

  #hearProgress(progress: Progress): void {
    try {
      this.#report(progress);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Tells the page once how the model is loaded, not again when it moves. */
  #report(progress: Progress): void {
    if (this.#isReady) return;
    this.#isReady = progress.stage === 'ready';
    this.#listeners.onProgress?.(progress);
  }

  /** Asks the engine, if there is one, for a connection. */
  async #ask(): Promise<void> {
    if (this.#link || this.#isAsleep || this.#closing.signal.aborted) return;
    this.#asking ??= asking(this.#wanted.name);
    const { client } = await this.#asking;
    if (!this.#link && !this.#closing.signal.aborted) this.#everyone.say({ kind: 'ask', client });
  }

  async #connect({ client, host, info }: Said & { kind: 'answer' }): Promise<void> {
    const opening = await this.#asking;
    if (this.#link || this.#isAsleep || opening?.client !== client || this.#left.has(host)) return;
    this.#asking = undefined;
    this.#hearProgress({ stage: 'ready', loaded: 1, total: 1, fraction: 1 });
    const link = Link.open(this.#wanted.name, host, { ...opening, info }, (gone) => {
      if (gone === this.#link) this.#leave(moved());
    });
    this.#link = link;
    this.#place = info.shared;
    this.#losses = 0;
    for (const waiter of this.#take()) waiter.resolve(link);
  }

  #take(): Waiter[] {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    return waiters;
  }

  #fail(error: unknown): void {
    for (const waiter of this.#take()) waiter.reject(error);
  }

  /** Ends the connection, or the question for one. */
  #leave(error: unknown): void {
    this.#link?.end(error);
    this.#link = undefined;
    void this.#asking?.then(({ release }) => release());
    this.#asking = undefined;
    if (this.#waiters.size > 0) void this.#ask();
  }

  /** There is a new engine: the one that there was has lost its seat. */
  #leaveOthers(host: string): void {
    if (!this.#link || this.#link.host === host) return;
    this.#left.add(this.#link.host);
    this.#leave(moved());
  }

  /** Waits for the seat. */
  #stand(): void {
    if (this.#standing || this.#isAsleep || this.#closing.signal.aborted) return;
    const standing = new AbortController();
    this.#standing = standing;
    void this.#compete(standing);
  }

  /** In a SharedWorker, else in this tab. */
  async #compete(standing: AbortController): Promise<void> {
    const { signal } = standing;
    this.#hasWorker = true;
    const worker = await SharedWorkerSeat.open(this.#wanted, signal);
    if (signal.aborted) return;
    if (typeof worker === 'string') {
      this.#hasWorker = false;
      void this.#request({ signal }, standing, worker);
      return;
    }
    let failed = false;
    try {
      const isLost = await worker.run(signal);
      this.#losses += isLost ? 1 : 0;
      if (this.#losses >= MOST_LOSSES) throw lostWorker();
    } catch (error) {
      failed = true;
      this.#losses = 0;
      this.#fail(error);
    }
    if (this.#standing === standing) this.#hasWorker = false;
    this.#standAgain(standing, failed);
  }

  /** What was waited for is over. */
  #standAgain(standing: AbortController, failed: boolean): void {
    if (this.#standing !== standing) return;
    this.#standing = undefined;
    if (!failed) this.#stand(); // else the next call does
  }

  /** @param reason why no SharedWorker waits for it */
  async #request(options: LockOptions, standing: AbortController, reason: string): Promise<void> {
    const { name } = this.#wanted;
    const seat = new Seat(open);
    const sit = async (): Promise<void> => {
      // A tab that was frozen when its turn came may have lost the seat already, and is told right after this.
      await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
      if (seat.isEnded || this.#isAsleep || this.#closing.signal.aborted) return;
      this.#seat = seat;
      this.#everyone.say({ kind: 'loading', host: seat.host });
      this.#leaveOthers(seat.host);
      await seat.run(this.#wanted, { engineIn: 'tab', reason });
    };
    let failed = false;
    try {
      await navigator.locks.request(names.seat(name), options, sit);
    } catch (error) {
      seat.end(); // which another tab has taken
      failed = (error as Error).name !== 'AbortError';
      if (failed) this.#fail(error);
    }
    if (this.#seat === seat) this.#seat = undefined;
    if (this.#closing.signal.aborted && !this.#seat) this.#everyone.close();
    this.#standAgain(standing, failed);
  }

  #beat(): void {
    if (this.#calls === 0 || this.#isAsleep) {
      clearInterval(this.#beats);
      this.#beats = undefined;
      return;
    }
    this.#watch.beat(performance.now());
    if (this.#watch.isSilent) void this.#look();
    this.#everyone.say({ kind: 'beat' });
  }

  /** Whether the seat is to be taken from a silent thread: now, and from which one. */
  async #look(): Promise<void> {
    if (!(await this.#isOver())) return;
    if (this.#seat?.isServing) this.#seat.end();
    else if (!this.#seat) this.#takeSeat();
  }

  async #isOver(): Promise<boolean> {
    const seat = await seatNow(this.#wanted.name);
    const isOneThread = this.#hasWorker || this.#seat !== undefined;
    return this.#calls > 0 && !this.#isAsleep && this.#watch.isOver(seat, isOneThread);
  }

  /** Takes the seat from a tab or SharedWorker that stands still; one tab at a time does. */
  #takeSeat(): void {
    const { name } = this.#wanted;
    const take = async (lock: Lock | null): Promise<void> => {
      // An answer may have come on another way than the lock.
      if (!lock || !(await this.#isOver())) return;
      this.#watch = new Watch(performance.now());
      this.#standing?.abort();
      const standing = new AbortController();
      this.#standing = standing;
      const reason = this.#hasWorker
        ? 'the SharedWorker stood still'
        : 'the engine was taken from a tab that stood still';
      this.#hasWorker = false;
      void this.#request({ steal: true }, standing, reason);
      await new Promise((resolve) => setTimeout(resolve, TAKING_MS));
    };
    navigator.locks.request(names.taking(name), { ifAvailable: true }, take).catch(() => {});
  }

  /** A page that is frozen, or kept for the way back, would keep the seat and answer nobody. */
  #sleepWithThePage(): void {
    const { signal } = this.#closing;
    const sleep = (): void => {
      this.#isAsleep = true;
      this.#seat?.end();
      this.#standing?.abort();
      this.#standing = undefined;
      this.#hasWorker = false;
    };
    /** An answer that a SharedWorker writes goes on, unless this was the last tab that is awake. */
    const freeze = (): void => {
      sleep();
      if (this.#place?.engineIn !== 'sharedWorker') this.#leave(moved());
    };
    const leave = (): void => {
      sleep();
      this.#leave(moved());
    };
    const wake = (): void => {
      this.#isAsleep = false;
      if (this.#calls > 0) this.#startBeats();
      this.#stand();
      void this.#ask();
    };
    const { document: page } = globalThis as { document?: Document };
    page?.addEventListener('freeze', freeze);
    page?.addEventListener('resume', wake, { signal });
    const { addEventListener: on } = globalThis as { addEventListener?: typeof addEventListener };
    if (!page) return;
    on?.('pagehide', ({ persisted }) => persisted && leave());
    on?.('pageshow', ({ persisted }) => persisted && wake(), { signal });
  }
}
