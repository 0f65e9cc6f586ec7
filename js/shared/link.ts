/**
 * One end of a connection of a tab to the engine of all tabs.
 */
import { Channel, type Handler } from '../engine/channel.js';
import { WorkerEngine } from '../engine/in-worker.js';
import type { ModelInfo } from '../types/info.js';
import { held, names, onceFree, portOf } from './messages.js';

/** A connection, which its engine belongs to. @internal */
export class Link {
  readonly host: string;
  readonly info: ModelInfo;
  /** The loaded model. */
  readonly root: WorkerEngine;
  readonly #port: BroadcastChannel;
  readonly #channel: Channel;
  readonly #alive = new AbortController();
  readonly #release: () => void;

  private constructor(name: string, host: string, { client, info, release }: Opening) {
    this.host = host;
    this.info = info;
    this.#release = release;
    this.#port = new BroadcastChannel(names.connection(name, host, client));
    const readers: ConstructorParameters<typeof WorkerEngine>[0]['readers'] = new Map();
    const reading: Handler = ([number, progress]) => readers.get(number)?.(progress);
    this.#channel = new Channel(portOf(this.#port), { reading });
    const { signal } = this.#alive;
    const end = (error: unknown): void => this.end(error);
    const connection = { channel: this.#channel, readers, lost: NEVER, ended: signal, end };
    this.root = new WorkerEngine(connection, 1, info);
  }

  /** @param gone called where the engine is gone */
  static open(name: string, host: string, opening: Opening, gone: (link: Link) => void): Link {
    const link = new Link(name, host, opening);
    onceFree(names.host(name, host), link.#alive.signal, () => gone(link));
    return link;
  }

  /** Adds an adapter that all tabs call `key`, and gives its number in the engine. */
  addAdapter(file: Blob, key: string): Promise<number> {
    return this.#channel.call('addAdapter', [1, file, key]);
  }

  removeAdapter(key: string): Promise<void> {
    return this.#channel.call('removeAdapter', [1, key]);
  }

  /** Ends the connection: calls that wait for an answer reject with `error`. */
  end(error: unknown): void {
    if (this.#alive.signal.aborted) return;
    this.#alive.abort();
    this.#channel.close(error);
    this.#port.close();
    this.#release();
  }
}

const NEVER = new AbortController().signal;

/** What a connection is made of. @internal */
export interface Opening {
  readonly client: string;
  readonly info: ModelInfo;
  /** Gives back the lock by which the other end knows that this one is there. */
  readonly release: () => void;
}

/** A tab that asks for a connection. @internal */
export async function asking(name: string): Promise<Omit<Opening, 'info'>> {
  const client = crypto.randomUUID();
  return { client, release: await held(names.client(name, client)) };
}
