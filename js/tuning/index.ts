/**
 * Which rows of the kernels' tables are fastest for a model on this device: its own dispatches are timed under each row
 * that the device can run.
 */
import { type Clock, type Runner, race } from './race.js';
import { clockOf } from './clock.js';
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

/** Dispatches of one submit, at most. */
const MOST_AT_ONCE = 64;

/** What has not been tuned. @internal */
export const NOT_TUNED: Tuning = { verdict: 'skipped', problems: 0, changed: [], milliseconds: 0 };

interface Measured extends Pick<Tuning, 'problems' | 'changed'> {
  /** Time was up before all problems had been measured. */
  readonly isPartial?: boolean;
}

/** The tuning of one load. @internal */
export class ModelTuning {
  #report = NOT_TUNED;
  readonly #known: (key: string) => unknown;
  readonly #progress: Report;
  /** What the page's callback threw: Rust takes any failure of tuning for a reason to keep the tables. */
  #thrown: { readonly error: unknown } | undefined;

  /** @param known what an earlier load has kept */
  constructor(known: (key: string) => unknown, progress: Report) {
    this.#known = known;
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
      const { problems, changed, isPartial } = known ?? (await this.#measure(model));
      const measured = isPartial ? 'partial' : changed.length > 0 ? 'tuned' : 'table';
      const verdict = known ? 'remembered' : measured;
      this.#report = { verdict, problems, changed, milliseconds: performance.now() - start };
      return linesOf(changed);
    } finally {
      model.free();
    }
  };

  /** What a check has found before: nothing, where kernels are yet to be chosen. */
  checked(known: (key: string) => string[] | undefined): (key: string) => string[] | undefined {
    return (key) => (keptTuning(this.#known(key)) ? known(key) : undefined);
  }

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

  async #measure(model: DeviceHandle): Promise<Measured> {
    const clock = clockOf(model.raw());
    const deadline = performance.now() + BUDGET_MS;
    const halves = [false, true].map((many) => ({ many, problems: problemsOf(model.problems(many)) }));
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
        if (await isFasterWhole(model, clock, faster, many)) changed.push(...faster);
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

/** Whether decode, or a chunk of prefill, is faster with these choices than without, as a whole. */
async function isFasterWhole(
  model: DeviceHandle,
  clock: Clock,
  changed: readonly TunedChoice[],
  many: boolean,
): Promise<boolean> {
  if (changed.length === 0) return false;
  const runners = await runnersOf(model, [{ lines: '' }, { lines: linesOf(changed) }], many);
  return (await race(runners, clock, { below: 1, whole: true })).winner === 1;
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

/** As Rust takes them. @internal */
export const linesOf = (changed: readonly TunedChoice[]): string =>
  changed.map(({ problem, to }) => `${problem}=${to}`).join('\n');

/** What was kept, if it is what tuning keeps: the file may hold anything. @internal */
export function keptTuning(kept: unknown): Measured | undefined {
  const { problems, changed } = (kept ?? {}) as Partial<Tuning>;
  const isChoice = (of: Partial<TunedChoice> | null): boolean =>
    typeof of?.problem === 'string' &&
    !of.problem.includes('\n') &&
    [of.from, of.to].every((row) => Number.isInteger(row)) &&
    typeof of.speedup === 'number';
  return typeof problems === 'number' && Array.isArray(changed) && changed.every(isChoice)
    ? { problems, changed }
    : undefined;
}
