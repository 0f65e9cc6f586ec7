/**
 * Noticing that a worker is gone: a browser says nothing when one ends without an error, such as for lack of memory.
 */
import type { Channel } from './channel.js';

/**
 * Lets the worker behind `channel` take a lock that it keeps as long as it lives, and calls `gone` once that is free.
 * `signal` ends the wait. Where there are no locks nothing is noticed.
 * @internal
 */
export async function whenGone(channel: Channel, signal: AbortSignal, gone: () => void): Promise<void> {
  const name = `webgguf worker ${Math.random()} ${performance.now()}`;
  if (!(await channel.call<boolean>('hold', [name])) || signal.aborted) return;
  navigator.locks.request(name, { signal }, gone).catch(() => {}); // the worker was ended
}
