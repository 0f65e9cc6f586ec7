/**
 * Which rows of the kernels' tables are fastest for a model on this device: its own dispatches are timed under each row
 * that the device can run.
 */
import { type Clock, type Runner, type Terms, race } from './race.js';
import { clockOf } from './clock.js';
import { type Measured, keptTuning } from './verdicts.js';
import type { ModelInfo, TunedChoice, Tuning } from '../types/info.js';
import type { DeviceHandle } from '../wasm/webgguf.js';

type Report = (stage: string, loaded: number, total: number) => void;

/** What a table was asked: the row that it chooses, and all that the device can run. @internal */
export interface Problem {
  readonly name: string;
  readonly chosen: number;
  readonly rows: readonly number[];
}

/** Milliseconds after which problems that were not measured keep the table's rows. */
const BUDGET_MS = 30_000;

/** Milliseconds of the GPU for each of the two races of quick tuning. */
const QUICK_BUDGET_MS = 400;

/** Dispatches of one submit, at most. */
const MOST_AT_ONCE = 64;

/** What has not been tuned. @internal */
export const NOT_TUNED: Tuning = { verdict: 'skipped', problems: 0, changed: [], milliseconds: 0 };

/** The tuning of one load. @internal */
export class ModelTuning {
  #report = NOT_TUNED;
  readonly #known: (key: string) => unknown;
  readonly #progress: Report;
  readonly #isQuick: boolean;
  /** What the page's callback threw: Rust takes any failure of tuning for a reason to keep the tables. */
  #thrown: { readonly error: unknown } | undefined;

  /**
   * @param known what an earlier load has kept
   * @param isQuick whether only the choice of measured GPUs races with the tables'
   */
  constructor(known: (key: string) => unknown, progress: Report, isQuick: boolean) {
    this.#known = known;
    this.#isQuick = isQuick;
    this.#progress = (...said) => {
      try {
        progress(...said);
      } catch (error) {
        this.#thrown = { error };
        throw error;
      }
    };
  }

  /** For Rust: the lines of the verdicts. */
  readonly choose = async (model: DeviceHandle, key: string): Promise<string> => {
    const start = performance.now();
    try {
      const known = keptTuning(this.#known(key));
      const { problems, changed, isPartial } =
        known ?? (await (this.#isQuick ? this.#measureQuickly(model) : this.#measure(model)));
      const measured = isPartial ? 'partial' : changed.length > 0 ? 'tuned' : 'table';
      const verdict = known ? 'remembered' : measured;
      this.#report = { verdict, problems, changed, milliseconds: performance.now() - start };
      return linesOf(changed);
    } finally {
      model.free();
    }
  };

  /** Ends a load that the page has stopped. */
  check(): void {
    if (this.#thrown) throw this.#thrown.error;
  }

  /** What was found, once the model is loaded: kernels that a check refused do not run. */
  found({ selfCheck: { verdict } }: ModelInfo): Tuning {
    const isSound = verdict !== 'replaced' && verdict !== 'failed';
    return isSound || this.#report.changed.length === 0
      ? this.#report
      : { ...this.#report, verdict: 'table', changed: [] };
  }

  /** Lets the rows that tables choose on measured GPUs race with those chosen here, for decode and for prefill. */
  async #measureQuickly(model: DeviceHandle): Promise<Measured> {
    const clock = clockOf(model.raw());
    const changed: TunedChoice[] = [];
    let problems = 0;
    try {
      for (const many of [false, true]) {
        this.#progress('tune', Number(many), 2);
        const [here = [], there = []] = [false, true].map((asMeasured) => problemsOf(model.problems(many, asMeasured)));
        const candidates = candidatesOf(here, there);
        problems += candidates.length;
        const { isFaster, speedup } = await raceWhole(model, clock, candidates, many, {
          below: 0.95,
          least: many ? 1 / model.layers() : 1,
          budgetMs: QUICK_BUDGET_MS,
        });
        if (isFaster) changed.push(...candidates.map((choice) => ({ ...choice, speedup })));
      }
      this.#progress('tune', 2, 2);
      return { problems, changed };
    } finally {
      clock.free();
    }
  }

  async #measure(model: DeviceHandle): Promise<Measured> {
    const clock = clockOf(model.raw());
    const deadline = performance.now() + BUDGET_MS;
    const halves = [false, true].map((many) => ({ many, problems: problemsOf(model.problems(many, false)) }));
    const total = halves.reduce((sum, { problems }) => sum + problems.length, 0);
    const changed: TunedChoice[] = [];
    let done = 0;
    try {
      for (const { many, problems } of halves) {
        const faster: TunedChoice[] = [];
        for (const problem of problems) {
          this.#progress('tune', done, total);
          if (performance.now() > deadline) continue;
          faster.push(...(await choice(model, clock, problem, many)));
          done += 1;
        }
        if ((await raceWhole(model, clock, faster, many)).isFaster) changed.push(...faster);
      }
      this.#progress('tune', total, total);
      return { problems: done, changed, isPartial: done < total };
    } finally {
      clock.free();
    }
  }
}

/** What is to be made: lists of decode or of many rows under verdicts, with `but` without what is there under those. */
interface Wanted {
  readonly lines: string;
  readonly but?: string;
}

/** Lists of the model's dispatches, compiled all at once. */
async function runnersOf(model: DeviceHandle, wanted: readonly Wanted[], many: boolean): Promise<Runner[]> {
  const made = await Promise.all(wanted.map(({ lines, but }) => model.make(lines, but, many)));
  return made.map(([list = 0, length = 0]) => ({
    length,
    submit: (first, count) => {
      // A driver ends what holds the GPU for too long.
      for (let at = 0; at < count; at += MOST_AT_ONCE) {
        model.submit(list, first + at, Math.min(MOST_AT_ONCE, count - at));
      }
    },
  }));
}

/** The row that is faster than the table's, if there is one. */
async function choice(
  model: DeviceHandle,
  clock: Clock,
  { name, chosen, rows }: Problem,
  many: boolean,
): Promise<TunedChoice[]> {
  const others = rows.filter((row) => row !== chosen);
  const line = (row: number): string => `${name}=${row}`;
  const table = { lines: '', but: line(others[0] as number) };
  const runners = await runnersOf(model, [table, ...others.map((row) => ({ lines: line(row), but: '' }))], many);
  const { winner, speedup } = await race(runners, clock);
  const to = others[winner - 1];
  return to === undefined ? [] : [{ problem: name, from: chosen, to, speedup }];
}

/** Whether decode, or a chunk of prefill, is faster with these choices than without, and how many times as fast. */
async function raceWhole(
  model: DeviceHandle,
  clock: Clock,
  changed: readonly Pick<TunedChoice, 'problem' | 'to'>[],
  many: boolean,
  terms: Terms = { below: 1, least: 1 },
): Promise<{ isFaster: boolean; speedup: number }> {
  if (changed.length === 0) return { isFaster: false, speedup: 1 };
  const runners = await runnersOf(model, [{ lines: '' }, { lines: linesOf(changed) }], many);
  const { winner, speedup } = await race(runners, clock, terms);
  return { isFaster: winner === 1, speedup };
}

/** Problems among these lines of Rust that leave a choice. @internal */
export function problemsOf(lines: string): Problem[] {
  const problems = lines
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const at = line.lastIndexOf('=');
      const [chosen = 0, mask = 0] = line
        .slice(at + 1)
        .split(',')
        .map(Number);
      const rows = Array.from({ length: 32 }, (_, row) => row).filter((row) => (mask >>> row) & 1);
      return { name: line.slice(0, at), chosen, rows };
    });
  return problems.filter(({ rows }) => rows.length > 1);
}

/** Where `there` chooses another row than `here`, and this device can run that row. @internal */
export function candidatesOf(here: readonly Problem[], there: readonly Problem[]): Omit<TunedChoice, 'speedup'>[] {
  return here.flatMap(({ name: problem, chosen: from, rows }) => {
    const to = there.find(({ name }) => name === problem)?.chosen ?? from;
    return to !== from && rows.includes(to) ? [{ problem, from, to }] : [];
  });
}

/** As Rust takes them. @internal */
export const linesOf = (changed: readonly Pick<TunedChoice, 'problem' | 'to'>[]): string =>
  changed.map(({ problem, to }) => `${problem}=${to}`).join('\n');
