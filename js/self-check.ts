/**
 * Verdicts on kernels: what a check at the first load on a device has found, kept for later loads in a file of the
 * origin's private file system. Where there is none, every load checks.
 */
import type { LoadWarning } from './cache/warning.js';
import { openRoot, openWritable } from './cache/folder.js';
import type { ModelInfo } from './types.js';

const FILE = 'self-check.json';
/** Verdicts that are kept: of that many devices and sets of kernels. */
const MOST = 100;

/** Of one browser, by device and kernels: the variants that were wrong and have others in their place. */
interface Stored {
  readonly agent: string;
  readonly verdicts: Readonly<Record<string, readonly string[]>>;
}

/** The verdicts that one load looks into and adds to. @internal */
export class Verdicts {
  readonly #stored: Stored['verdicts'];
  #key: string | undefined;

  private constructor(stored: Stored['verdicts']) {
    this.#stored = stored;
  }

  static async read(): Promise<Verdicts> {
    return new Verdicts(await readStored().catch(() => ({})));
  }

  /** The variants that are known to be wrong; `undefined` where nothing is known. */
  readonly known = (key: string): string[] | undefined => {
    this.#key = key;
    const names: unknown = Object.hasOwn(this.#stored, key) ? this.#stored[key] : undefined;
    return Array.isArray(names) ? names.map(String) : undefined;
  };

  /** Keeps what a check has found, and says what is wrong. */
  async note({ adapter, selfCheck }: ModelInfo, warn: (warning: LoadWarning) => void): Promise<void> {
    const { verdict, replaced, wrong } = selfCheck;
    const names = (verdict === 'failed' ? wrong : replaced).join(', ');
    if (verdict === 'failed' || verdict === 'replaced') {
      const then = verdict === 'failed' ? "expect wrong text, and try backend: 'cpu'" : 'others run in their place';
      warn({ code: 'self_check', message: `these kernels compute wrong values on ${adapter}: ${names}; ${then}` });
    }
    if (this.#key !== undefined && (verdict === 'passed' || verdict === 'replaced')) {
      const verdicts = Object.entries({ ...this.#stored, [this.#key]: replaced }).slice(-MOST);
      await writeStored({ agent: navigator.userAgent, verdicts: Object.fromEntries(verdicts) }).catch(() => {});
    }
  }
}

async function readStored(): Promise<Stored['verdicts']> {
  const file = await (await openRoot()).getFileHandle(FILE);
  const stored = JSON.parse(await (await file.getFile()).text()) as Partial<Stored> | null;
  return (stored?.agent === navigator.userAgent && stored.verdicts) || {};
}

async function writeStored(stored: Stored): Promise<void> {
  const writable = await openWritable(await openRoot(), FILE);
  await writable.write(JSON.stringify(stored));
  await writable.close();
}
