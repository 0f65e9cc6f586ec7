/**
 * What was found out about a device once and is kept for later, in a file of the origin's private file system: which
 * kernels compute wrong values, and which are fastest. Where there is no such file system, every load finds out anew.
 */
import type { LoadWarning } from '../load/cache/warning.js';
import { openRoot, openWritable } from '../load/cache/folder.js';
import type { ModelInfo, TunedChoice, Tuning } from '../types/info.js';

const FILE = 'verdicts.json';
/** Verdicts that are kept: of that many devices and sets of kernels. */
const MOST = 100;

/** The verdicts of one browser, by their subject. The file may hold anything: whatever reads an entry checks it. */
interface Stored {
  readonly agent: string;
  readonly verdicts: Readonly<Record<string, unknown>>;
}

/** What is kept of a device. @internal */
export async function keptVerdicts(): Promise<Stored['verdicts']> {
  try {
    const file = await (await openRoot()).getFileHandle(FILE);
    const stored = JSON.parse(await (await file.getFile()).text()) as Partial<Stored> | null;
    return (stored?.agent === navigator.userAgent && stored.verdicts) || {};
  } catch {
    return {};
  }
}

/** Keeps a verdict, if that is possible. @internal */
export async function keepVerdict(key: string, verdict: unknown): Promise<void> {
  // Others may have been kept since the file was read.
  const { [key]: _, ...others } = await keptVerdicts();
  const verdicts = Object.fromEntries(Object.entries({ ...others, [key]: verdict }).slice(-MOST));
  try {
    const writable = await openWritable(await openRoot(), FILE);
    await writable.write(JSON.stringify({ agent: navigator.userAgent, verdicts } satisfies Stored));
    await writable.close();
  } catch {
    // It is found out anew.
  }
}

/** What tuning has measured. @internal */
export interface Measured extends Pick<Tuning, 'problems' | 'changed'> {
  /** Time was up before all problems had been measured. */
  readonly isPartial?: boolean;
}

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

/** What is kept for a device and the kernels of a model. */
interface Verdict {
  /** The variants that were wrong and have others in their place. */
  readonly wrong: readonly string[];
  readonly tuning?: Tuning | undefined;
}

/** The verdicts that one load looks into and adds to. @internal */
export class Verdicts {
  readonly #kept: Stored['verdicts'];
  /** What the load does about its kernels: those that tuning has chosen were checked, too, or were not. */
  readonly #kind: string;
  #key = '';

  private constructor(kept: Stored['verdicts'], kind: string) {
    this.#kept = kept;
    this.#kind = kind;
  }

  static async read(kind: string): Promise<Verdicts> {
    return new Verdicts(await keptVerdicts(), kind);
  }

  /** What is kept; nothing in it is certain. */
  readonly find = (key: string): Partial<Verdict> => {
    this.#key = `${this.#kind} ${key}`;
    return Object.hasOwn(this.#kept, this.#key) ? Object(this.#kept[this.#key]) : {};
  };

  /**
   * The variants that are known to be wrong; `undefined` where nothing is known, or where other kernels may be about to
   * be chosen.
   */
  readonly known = (key: string, isTuning = false): string[] | undefined => {
    const { wrong, tuning }: { wrong?: unknown; tuning?: unknown } = this.find(key);
    if (isTuning && !keptTuning(tuning)) return undefined;
    return Array.isArray(wrong) ? wrong.map(String) : undefined;
  };

  /** Keeps what was found, and says what is wrong. */
  async note(
    { adapter, selfCheck }: Pick<ModelInfo, 'adapter' | 'selfCheck'>,
    tuning: Tuning | undefined,
    warn: (warning: LoadWarning) => void,
  ): Promise<void> {
    const { verdict, replaced, wrong } = selfCheck;
    const names = (verdict === 'failed' ? wrong : replaced).join(', ');
    if (verdict === 'failed' || verdict === 'replaced') {
      const then = verdict === 'failed' ? "expect wrong text, and try backend: 'cpu'" : 'others run in their place';
      warn({ code: 'self_check', message: `these kernels compute wrong values on ${adapter}: ${names}; ${then}` });
    }
    // What ran out of time is found out anew at the next load.
    const whole = tuning?.verdict === 'partial' ? undefined : tuning;
    const isTuned = whole?.verdict === 'tuned' || whole?.verdict === 'table';
    if (verdict === 'passed' || verdict === 'replaced' || (verdict === 'skipped' && isTuned)) {
      await keepVerdict(this.#key, { wrong: replaced, tuning: whole } satisfies Verdict);
    }
  }
}
