/**
 * Lost GPU devices: a crashed GPU process, a laptop that slept. What failed with `device_lost` is done again once the
 * model is loaded again, which happens at most once in a minute. An idle model gives its device away by itself, and is
 * loaded again in the same way, as often as that happens.
 */
import { asBytes } from '../load/bytes.js';
import type { LoadWarning } from '../load/cache/warning.js';
import { WebggufError, fromWasm } from '../errors.js';
import type { ModelState } from '../types/info.js';
import type { Source, SourcePart } from '../types/source.js';
import type { WasmModel as WasmHandle } from '../wasm/webgguf.js';

/** Milliseconds within which a second loss is an error: a third one would follow. */
const MINUTE = 60_000;

/** Loads the model again; the signal ends that. @internal */
export type Reload = (signal: AbortSignal | undefined) => Promise<WasmHandle>;

/** The recovery of a model and its sessions. @internal */
export class Recovery {
  readonly #reload: Reload | string;
  /** Tells the page. */
  readonly warn: (warning: LoadWarning) => void;
  /** Hears when {@link state} changes. */
  onState: (state: ModelState) => void = () => {};
  #state: ModelState = 'ready';
  #last = -Infinity;
  /** How often the model was loaded again, and the loading that is under way. */
  #times = 0;
  #recovering: Promise<void> | undefined;
  /** Adapters by number, with their scales in texts whose options name no adapters. */
  readonly adapters = new Map<number, { readonly file: Blob; readonly scale: number }>();
  #adapters = 0;

  /** @param reload or why the model cannot be loaded again */
  constructor(reload: Reload | string, warn: (warning: LoadWarning) => void) {
    this.#reload = reload;
    this.warn = warn;
  }

  /**
   * Does `work`. Where the device is lost, `handle` and all others of its model go on with a new one, and `work` is
   * done again; where `signal` fires meanwhile, at once, to say so.
   */
  async during<T>(handle: WasmHandle, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    for (;;) {
      const times = this.#times;
      try {
        return await work();
      } catch (error) {
        if (signal?.aborted) throw fromWasm(error);
        if (isLoss(fromWasm(error)) && (this.#recovering || this.#times !== times)) {
          await this.#recovering; // of another request of the model
          continue;
        }
        const reload = this.#awaken(error) ?? this.check(error);
        const recovered = this.#recover(handle, reload, signal);
        this.#recovering = recovered.catch(() => {}).finally(() => (this.#recovering = undefined));
        await recovered.catch((cause: Error) => {
          if (!signal?.aborted) throw refused(error, `the model could not be loaded again: ${cause.message}`);
        });
      }
    }
  }

  get state(): ModelState {
    return this.#state;
  }

  /** Why the model cannot be loaded again, if so. */
  get isFinal(): string | undefined {
    return typeof this.#reload === 'string' ? this.#reload : undefined;
  }

  /** The device is given away: its loss is no fault. */
  rest(): void {
    this.#become('idle');
  }

  #become(state: ModelState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.onState(state);
  }

  /** How to load an idle model, which has lost its device as it was meant to. */
  #awaken(error: unknown): Reload | undefined {
    const isAsleep = this.#state === 'idle' && isLoss(fromWasm(error));
    return isAsleep && typeof this.#reload !== 'string' ? this.#reload : undefined;
  }

  /** A number that no adapter has or had. */
  nextAdapter(): number {
    return (this.#adapters += 1);
  }

  /** Numbers and scales for texts whose options name no adapters. */
  scales(): (readonly [number, number])[] {
    return [...this.adapters].map(([id, { scale }]) => [id, scale] as const).filter(([, scale]) => scale !== 0);
  }

  async #recover(handle: WasmHandle, reload: Reload, signal: AbortSignal | undefined): Promise<void> {
    const withAdapters = async (fresh: WasmHandle): Promise<WasmHandle> => {
      try {
        for (const [id, { file }] of this.adapters) {
          await fresh.addAdapter(id, new Uint8Array(await file.arrayBuffer()));
          signal?.throwIfAborted();
        }
        return fresh;
      } catch (error) {
        fresh.free();
        throw error;
      }
    };
    const wasIdle = this.#state === 'idle';
    this.#become('loading');
    try {
      await handle.recover(await withAdapters(await reload(signal)));
    } catch (error) {
      this.#last = -Infinity;
      this.#become(wasIdle ? 'idle' : 'ready');
      throw error;
    }
    if (!wasIdle) this.#last = performance.now();
    this.#become('ready');
    this.#times += 1;
  }

  /** Throws `error` unless the model is to be loaded again, of which the page is told. */
  check(error: unknown): Reload {
    const lost = fromWasm(error);
    if (!isLoss(lost)) throw lost;
    const reload = this.#reload;
    if (typeof reload === 'string') throw refused(lost, reload);
    const now = performance.now();
    if (now - this.#last < MINUTE) throw refused(lost, 'it was lost before, less than a minute ago');
    this.#last = now;
    this.warn({ code: 'device_lost', message: `${lost.message}; the model is loaded again` });
    return reload;
  }
}

function isLoss(error: unknown): error is WebggufError {
  return error instanceof WebggufError && error.code === 'device_lost';
}

function refused(lost: unknown, why: string): WebggufError {
  return new WebggufError('device_lost', `${(lost as Error).message}; ${why}`, { cause: lost });
}

/** Why a source cannot be read a second time; `undefined` where it can. @internal */
export async function readOnce(source: Source): Promise<string | undefined> {
  const parts: SourcePart[] = await Promise.all([await source].flat());
  const found = parts.map(kindReadOnce).find((kind) => kind !== undefined);
  return found && `the model is not loaded again, since ${found}`;
}

function kindReadOnce(part: SourcePart): string | undefined {
  if (asBytes(part)) return 'it came from a buffer, which is not kept';
  const isAgain = typeof part === 'string' || [URL, Blob, Request].some((kind) => part instanceof kind);
  // What is no source at all is refused when it is opened.
  const hasRead = typeof part === 'object' && part !== null && 'read' in part;
  return isAgain || hasRead ? undefined : 'it came from a stream, which can be read once';
}
