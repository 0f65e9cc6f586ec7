/**
 * How tabs and the thread with their engine find each other: messages on a channel that all of them hear, and locks by
 * which each knows whether another one is still there.
 */
import type { LoadWarning } from '../load/cache/warning.js';
import type { Port } from '../engine/channel.js';
import type { ModelInfo, SharedPlace } from '../types/info.js';
import type { Progress } from '../types/load.js';

/**
 * What is said to all. `host` is the name of an engine, a new one each time that the model is loaded; `client` the name
 * of a connection to it.
 * @internal
 */
export type Said =
  /** A tab has the seat and loads the model: whatever engine there was is gone, or stands still. */
  | { readonly kind: 'loading'; readonly host: string }
  | { readonly kind: 'progress'; readonly progress: Progress }
  | { readonly kind: 'warning'; readonly warning: LoadWarning }
  /** The engine is there. */
  | { readonly kind: 'here'; readonly host: string }
  | { readonly kind: 'ask'; readonly client: string }
  | { readonly kind: 'answer'; readonly client: string; readonly host: string; readonly info: ModelInfo }
  /** Whether the engine, or the tab that has it, still does something. */
  | { readonly kind: 'beat' }
  | { readonly kind: 'alive'; readonly by: 'engine' | 'loading tab' | 'tab' }
  /** The last connection of an engine has ended. */
  | { readonly kind: 'empty'; readonly host: string };

/** What an engine is for, and where it is. @internal */
export interface Hosting {
  /** The model's: the channels and locks of all who share it have names that begin with it. */
  readonly name: string;
  readonly host: string;
  readonly place: SharedPlace;
}

/** The channel that all who share the model `name` hear. @internal */
export class Everyone {
  readonly #channel: BroadcastChannel;

  constructor(name: string, heard: (said: Said) => void) {
    this.#channel = new BroadcastChannel(name);
    this.#channel.onmessage = ({ data }: MessageEvent<Said>) => heard(data);
  }

  readonly say = (said: Said): void => this.#channel.postMessage(said);

  close(): void {
    this.#channel.close();
  }
}

/** The names of channels and locks of one model. @internal */
export const names = {
  connection: (name: string, host: string, client: string): string => `${name} ${host} ${client}`,
  /** Held by the tab that has the engine; the others wait for it. */
  seat: (name: string): string => `${name} seat`,
  /** Held while a tab takes the seat of one that stands still. */
  taking: (name: string): string => `${name} taking`,
  host: (name: string, host: string): string => `${name} host ${host}`,
  /** Held while the thread with the engine, or the one that loads it, has work that may hold it. */
  busy: (name: string, host: string): string => `${name} busy ${host}`,
  client: (name: string, client: string): string => `${name} client ${client}`,
};

/**
 * A channel between two ends as {@link Port}; what would be moved is copied. Nothing is sent once it is closed.
 * @internal
 */
export function portOf(channel: BroadcastChannel): Port {
  return {
    postMessage: (message) => {
      try {
        channel.postMessage(message);
      } catch (error) {
        if ((error as Error).name !== 'InvalidStateError') throw error;
      }
    },
    addEventListener: (type, listener) => channel.addEventListener(type, listener),
  };
}

/** Takes a lock that nobody else has, and resolves to what gives it back. @internal */
export function held(name: string): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const wait = (): Promise<void> => new Promise((release) => resolve(release));
    navigator.locks.request(name, wait).catch(reject);
  });
}

/**
 * Calls `gone` once nobody holds the lock any more; not after `signal` fires. All who wait are told at once: a tab that
 * is frozen keeps what it is given.
 * @internal
 */
export function onceFree(name: string, signal: AbortSignal, gone: () => void): void {
  navigator.locks.request(name, { signal, mode: 'shared' }, gone).catch(() => {});
}
