/**
 * The remainder of a file over several connections: parts that are fetched at the same time and given in order.
 */
import type { NextPiece } from './rest.js';

/** Bytes of a part: each costs a request, and as many parts as there are connections may wait in memory. */
export const PART_BYTES = 8 << 20;

/** Bytes that are handed out at once. */
const PIECE = 4 << 20;

/** Opens the bytes from `at` to `until`, which is not part of it. */
type Open = (at: number, until: number, signal: AbortSignal) => Source;

/** What is used of a download. */
interface Source {
  nextOrPaused(): Promise<NextPiece>;
}

/** What parts are of. */
interface About {
  /** Bytes of the file. */
  readonly size: number;
  /** Parts that are fetched or wait at any time. */
  readonly most: number;
  readonly open: Open;
  /** Ends all. */
  readonly signal: AbortSignal;
}

/** One part, whose bytes wait here until their turn comes. */
class Part {
  /** What its bytes are copied to. */
  readonly memory: Uint8Array;
  /** Ends it. */
  readonly scope = new AbortController();
  /** Whether all its bytes have come. */
  isWhole = false;
  isPaused = false;
  /** What ended it early. */
  failure: { readonly error: unknown } | undefined;
  readonly #source: Source;
  readonly #changed: () => void;
  #filled = 0;
  #given = 0;

  constructor(open: (signal: AbortSignal) => Source, memory: Uint8Array, changed: () => void) {
    this.#source = open(this.scope.signal);
    this.memory = memory;
    this.#changed = changed;
  }

  /** Whether bytes wait. */
  get hasMore(): boolean {
    return this.#filled > this.#given;
  }

  /** The next bytes that have come. */
  take(): Uint8Array | undefined {
    if (!this.hasMore) return undefined;
    const piece = this.memory.subarray(this.#given, Math.min(this.#filled, this.#given + PIECE));
    this.#given += piece.length;
    return piece;
  }

  /** Fetches until the part is whole, or paused. */
  async fetch(): Promise<void> {
    this.isPaused = false;
    try {
      let piece: NextPiece;
      while ((piece = await this.#source.nextOrPaused()) instanceof Uint8Array) {
        this.memory.set(piece, this.#filled);
        this.#filled += piece.length;
        this.#changed();
      }
      if (piece) this.isPaused = true;
      else this.isWhole = true;
    } catch (error) {
      this.failure = { error };
    }
    this.#changed();
  }
}

/** The parts of a file from a byte on. @internal */
export class Parts {
  /** The first byte that comes this way. */
  readonly start: number;
  readonly #size: number;
  readonly #most: number;
  readonly #open: Open;
  /** Parts that are fetched or wait, in order. */
  readonly #parts: Part[] = [];
  /** Memory of parts that were read. */
  readonly #free: Uint8Array[] = [];
  /** Where the next part begins. */
  #at: number;
  #changed: () => void = () => {};

  /**
   * Begins with one part less than `most`, which are as many as are fetched or wait at any time: one connection brings
   * what lies before `start`.
   */
  constructor(start: number, { size, most, open, signal }: About) {
    this.start = start;
    this.#at = start;
    this.#size = size;
    this.#most = most;
    this.#open = open;
    signal.addEventListener('abort', () => this.cancel(signal.reason), { once: true });
    this.#fill(most - 1);
  }

  #fill(count: number): void {
    while (this.#parts.length < count && this.#at < this.#size) {
      const [at, until] = [this.#at, Math.min(this.#at + PART_BYTES, this.#size)];
      const part = new Part(
        (signal) => this.#open(at, until, signal),
        this.#free.pop() ?? new Uint8Array(PART_BYTES),
        () => this.#changed(),
      );
      this.#parts.push(part);
      void part.fetch();
      this.#at = until;
    }
  }

  /** Goes on after a pause. */
  resume(): void {
    for (const part of this.#parts) if (part.isPaused) void part.fetch();
  }

  /** Resolves once the server gives the first part, or that is paused. Rejects where it does not. */
  async given(): Promise<void> {
    const [first] = this.#parts;
    while (first && !first.hasMore && !first.isWhole && !first.isPaused) {
      if (first.failure) throw first.failure.error;
      await this.#change();
    }
  }

  /** The next piece in file order, `undefined` at the end, or that it is paused. Rejects with what ended its part. */
  async next(): Promise<NextPiece> {
    for (;;) {
      this.#fill(this.#most);
      const [part] = this.#parts;
      const piece = part?.take();
      if (piece || !part) return piece;
      if (part.failure) throw part.failure.error;
      if (part.isPaused) return 'paused';
      if (part.isWhole) {
        this.#parts.shift();
        this.#free.push(part.memory); // its last piece is not read any more
      } else await this.#change();
    }
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#changed = resolve;
    });
  }

  /** Ends all connections and forgets what waits. */
  cancel(reason?: unknown): void {
    for (const { scope } of this.#parts) scope.abort(reason);
    this.#parts.length = 0;
    this.#at = this.#size;
  }
}
