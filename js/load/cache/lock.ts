/**
 * Web Locks: one tab at a time writes a file, and the browser frees the lock of a tab that closes or crashes.
 */

/** A lock that is held. @internal */
export interface Held {
  /** Whether it was taken away: by `cache.delete`, in whatever tab. */
  readonly lost: boolean;
  /** Called when that happens. */
  onLost?: () => void;
  release(): void;
}

/** The lock, or `undefined` where somebody else holds it. @internal */
export function tryLock(name: string): Promise<Held | undefined> {
  return hold(name, { ifAvailable: true });
}

/** Waits for the lock; rejects once `signal` fires. @internal */
export async function waitForLock(name: string, signal: AbortSignal): Promise<Held> {
  return (await hold(name, { signal })) as Held;
}

/** Takes the lock whoever holds it. @internal */
export async function stealLock(name: string): Promise<Held> {
  return (await hold(name, { steal: true })) as Held;
}

function hold(name: string, options: LockOptions): Promise<Held | undefined> {
  return new Promise((resolve, reject) => {
    const held: Held & { lost: boolean } = { lost: false, release: () => {} };
    const whileHeld = (lock: Lock | null): Promise<void> | undefined => {
      if (!lock) return void resolve(undefined);
      return new Promise((release) => {
        held.release = release;
        resolve(held);
      });
    };
    navigator.locks.request(name, options, whileHeld).catch((error: unknown) => {
      held.lost = true;
      held.onLost?.();
      reject(error); // does nothing where the lock was held already
    });
  });
}
