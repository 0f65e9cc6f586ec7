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

/** The lock, or `undefined` if it is held already. @internal */
export function tryLock(name: string): Promise<Held | undefined> {
  return hold(name, { ifAvailable: true });
}

/** Waits for the lock; rejects once `signal` fires. @internal */
export async function waitForLock(name: string, signal: AbortSignal): Promise<Held> {
  return (await hold(name, { signal })) as Held;
}

/** Takes the lock from its holder. @internal */
export async function stealLock(name: string): Promise<Held> {
  return (await hold(name, { steal: true })) as Held;
}

/**
 * Asks whether who holds a lock is awake: a tab that stands still keeps its locks, and answers nothing.
 * @internal
 */
export class Pulse {
  readonly #channel: BroadcastChannel;

  /** @param onAnswer called when the holder answers */
  constructor(name: string, onAnswer: () => void) {
    this.#channel = openChannel(name, (said) => said === 'here' && onAnswer());
  }

  ask(): void {
    this.#channel.postMessage('awake?');
  }

  end(): void {
    this.#channel.close();
  }
}

function openChannel(name: string, hear: (said: unknown, channel: BroadcastChannel) => void): BroadcastChannel {
  const channel = new BroadcastChannel(name);
  channel.onmessage = ({ data }) => hear(data, channel);
  (channel as { unref?: () => void }).unref?.(); // Node.js would wait for it
  return channel;
}

function hold(name: string, options: LockOptions): Promise<Held | undefined> {
  return new Promise((resolve, reject) => {
    const held: Held & { lost: boolean } = { lost: false, release: () => {} };
    const whileHeld = (lock: Lock | null): Promise<void> | undefined => {
      if (!lock) return void resolve(undefined);
      const channel = openChannel(name, (said) => said === 'awake?' && channel.postMessage('here'));
      return new Promise<void>((release) => {
        held.release = release;
        resolve(held);
      }).finally(() => channel.close());
    };
    navigator.locks.request(name, options, whileHeld).catch((error: unknown) => {
      held.lost = true;
      held.onLost?.();
      reject(error); // does nothing where the lock was held already
    });
  });
}
