/**
 * Which of several ways to compute the same is the fastest, in spite of noise: all run in turn, several times.
 */

/** A way to compute something: dispatches that can be run around and around. @internal */
export interface Runner {
  /** Dispatches once around; one of none has no turn. */
  readonly length: number;
  /** Submits `count` of them, from number `first` on. */
  submit(first: number, count: number): void;
}

/** Times what is submitted. @internal */
export interface Clock {
  /** Milliseconds that `submit` keeps the GPU busy. */
  time(submit: () => void): Promise<number>;
}

/** What a winner must show. @internal */
export interface Terms {
  /** The part of the first one's time below which another one wins. */
  readonly below: number;
  /**
   * The part of once around that runs at least, however slow the device is: whole lists are compared as they are, and
   * of dispatches of one kind some will do.
   */
  readonly least: number;
  /** Milliseconds of the GPU that the rounds may take together, but for one of them; else there are five. */
  readonly budgetMs?: number;
}

/** What a run should take at least, in milliseconds: a browser's clocks have steps of 0.1 ms. */
const LEAST_MS = 10;
/** Dispatches of a run, at most. */
const MOST_DISPATCHES = 4096;
/** Rounds in which every runner has its turn. */
const ROUNDS = 5;
/** What counts where one product is measured. */
const ONE_PRODUCT: Terms = { below: 0.95, least: 0 };
/** A runner that takes this many times as long as the first one, once, has no turn in the rounds. */
const HOPELESS = 1.6;

/** How a race came out: the winner's number, and how many times as fast as the first it is. @internal */
export interface Outcome {
  readonly winner: number;
  readonly speedup: number;
}

/**
 * Lets runners race against the first of them. It wins unless another one is faster by 5 % in every single round: what
 * a clock that jumps or a busy machine adds hits one run or another, not the same runner five times. All run equally
 * many times around, since their dispatches are to read the same bytes.
 *
 * @internal
 */
export async function race(runners: readonly Runner[], clock: Clock, terms = ONE_PRODUCT): Promise<Outcome> {
  const [first] = runners;
  if (!first || first.length === 0) return { winner: 0, speedup: 1 };
  const around = Math.max(await timesAround(first, clock), terms.least);
  const run = (runner: Runner): Promise<number> => {
    const count = Math.max(1, Math.round(around * runner.length));
    return clock.time(() => runner.submit(0, count));
  };
  const warm: number[] = [];
  for (const runner of runners) {
    if (runner.length > 0) runner.submit(0, 1); // compiles
    warm.push(runner.length > 0 ? await run(runner) : Infinity);
  }
  const racing = runners.map((_, number) => number).filter((n) => n === 0 || time(warm, n) < HOPELESS * time(warm, 0));
  const times = runners.map((): number[] => []);
  const ofRound = racing.reduce((sum, n) => sum + time(warm, n), 0);
  const rounds = Math.min(ROUNDS, Math.max(1, Math.floor((terms.budgetMs ?? Infinity) / ofRound)));
  for (let round = 0; round < rounds && racing.length > 1; round += 1) {
    // The first runner of one round is the last one of another.
    for (const number of [...racing.slice(round % racing.length), ...racing.slice(0, round % racing.length)]) {
      times[number]?.push(await run(runners[number] as Runner));
    }
  }
  const table = times[0] as number[];
  const winners = racing.filter(
    (n) => n > 0 && table.every((ms, round) => (times[n]?.[round] ?? ms) < terms.below * ms),
  );
  const winner = winners.reduce((best, n) => (median(times[n]) < median(times[best]) ? n : best), 0);
  return { winner, speedup: winner === 0 ? 1 : median(table) / median(times[winner]) };
}

/** How often a runner is to go around, so that this takes long enough; a part of once on a slow device. */
async function timesAround(runner: Runner, clock: Clock): Promise<number> {
  let count = 1;
  runner.submit(0, 1); // compiles
  for (let ms = await clock.time(() => runner.submit(0, 1)); ms < LEAST_MS && count < MOST_DISPATCHES; ) {
    const wanted = Math.ceil((count * 1.2 * LEAST_MS) / Math.max(ms, 0.1));
    count = Math.min(Math.max(wanted, 2 * count), 8 * count, MOST_DISPATCHES);
    ms = await clock.time(() => runner.submit(0, count));
  }
  // Whole turns, so that every matrix is read equally often.
  return count < runner.length ? count / runner.length : Math.ceil(count / runner.length);
}

const time = (times: readonly number[], number: number): number => times[number] ?? 0;

function median(times: readonly number[] | undefined): number {
  const sorted = [...(times ?? [])].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Infinity;
}
