/**
 * Pausing downloads.
 */
import { abortable } from '../cancel.js';

/**
 * Pauses and resumes the downloads of the loads that it is given to, as option `download`. Its event `change` says
 * that {@link paused} is another.
 *
 * @example
 * const download = new DownloadControl();
 * const loading = WasmModel.load(url, { download });
 * button.onclick = () => (download.paused ? download.resume() : download.pause());
 * const model = await loading;
 */
export class DownloadControl extends EventTarget {
  #paused = false;

  /** Whether downloads wait. */
  get paused(): boolean {
    return this.#paused;
  }

  /**
   * No more is downloaded until `resume()`: connections end, what has come is stored, and a load waits. What is stored
   * already is read all the same, so a load that needs no download goes on.
   */
  pause(): void {
    this.#set(true);
  }

  /** Downloads go on where they were. */
  resume(): void {
    this.#set(false);
  }

  #set(paused: boolean): void {
    if (this.#paused === paused) return;
    this.#paused = paused;
    this.dispatchEvent(new Event('change'));
  }
}

/** Resolves once `control` is not paused. Rejects with the reason of `signal` when that fires. @internal */
export async function untilResumed(control: DownloadControl | undefined, signal: AbortSignal): Promise<void> {
  while (control?.paused) {
    let stop = (): void => {};
    const change = new Promise<void>((resolve) => {
      stop = resolve;
      control.addEventListener('change', stop);
    });
    await abortable(change, signal).finally(() => control.removeEventListener('change', stop));
  }
}
