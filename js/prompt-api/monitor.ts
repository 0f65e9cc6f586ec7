/**
 * `downloadprogress` events.
 */
import { knowItself, throughProxies } from '../proxies.js';
import type { Progress } from '../types/load.js';
import { Handlers } from './handlers.js';
import type { CreateMonitor } from './types.js';

/** `loaded` is a multiple of one over this, so that it gives away nothing of the file's size. */
const STEPS = 0x10000;

class Monitor extends EventTarget {
  readonly #handlers = new Handlers<ProgressEvent>(this);

  constructor() {
    super();
    knowItself(this);
  }

  get ondownloadprogress(): CreateMonitor['ondownloadprogress'] {
    return this.#handlers.get('downloadprogress');
  }

  set ondownloadprogress(handler: CreateMonitor['ondownloadprogress']) {
    this.#handlers.set('downloadprogress', handler);
  }
}
throughProxies(Monitor);

/** Reports to a page's `monitor`, if it has one. @internal */
export class DownloadReporter {
  readonly #monitor: Monitor | undefined;
  #last = -1;
  #isOver = false;

  /** Calls the page; what that throws goes on. */
  constructor(callback: ((monitor: CreateMonitor) => void) | undefined) {
    if (!callback) return;
    this.#monitor = new Monitor();
    callback(this.#monitor as CreateMonitor); // its events of this type are `ProgressEvent`s
  }

  /** For `load`. The end is reported by {@link report}, once the model is ready. */
  readonly onProgress = ({ stage, fraction }: Progress): void => {
    if (stage === 'download' && fraction !== undefined) this.report(Math.min(fraction, 1 - 1 / STEPS));
  };

  /** An event, where that is more than the last one was; then waits, so that the page can abort. */
  async report(fraction: number): Promise<void> {
    const loaded = Math.floor(fraction * STEPS) / STEPS;
    if (!this.#monitor || this.#isOver || loaded <= this.#last) return;
    this.#last = loaded;
    this.#monitor.dispatchEvent(progressEvent(loaded));
    await new Promise((resolve) => setTimeout(resolve));
  }

  /** No further events. */
  close(): void {
    this.#isOver = true;
  }
}

/** Node.js has no `ProgressEvent`. */
function progressEvent(loaded: number): Event {
  const values = { loaded, total: 1, lengthComputable: true };
  if (typeof ProgressEvent === 'function') return new ProgressEvent('downloadprogress', values);
  return Object.assign(new Event('downloadprogress'), values);
}
