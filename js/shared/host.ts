/**
 * The thread with the engine that tabs share: each connection has numbers of its own for engines, and all requests wait
 * for each other in one queue.
 */
import { adder, engineHandlers, type Served, servedBy } from '../engine/calls.js';
import { Channel, type Handler } from '../engine/channel.js';
import type { Engine } from '../engine/engine.js';
import { WebggufError } from '../errors.js';
import { Queue } from '../model/queue.js';
import { Busy } from './busy.js';
import { HostAdapters } from './host-adapters.js';
import { Everyone, type Hosting, held, names, onceFree, portOf, type Said } from './messages.js';
import { Text } from './text.js';

/** Calls during which no other request may run. */
const ALONE = [
  ...['evaluate', 'embed', 'rank', 'voice', 'say', 'another', 'save', 'restore', 'reset'],
  ...['addAdapter', 'removeAdapter'],
] as const;

/** Calls that read a text, a picture or a file of any size, which may hold the thread; so may the start of a text. */
const LONG = [
  ...['lane', 'count', 'encodeParts', 'tokenize', 'applyChatTemplate', 'embed', 'rank', 'voice', 'say'],
  ...['save', 'restore', 'addAdapter'],
] as const;

/** The root's number in each connection. */
const ROOT = 1;

/**
 * Lets tabs use `root`, and says so to all who share the model. Resolves to what ends that; the engine stays.
 * @internal
 */
export async function hostModel(root: Engine, { name, host, place }: Hosting): Promise<() => void> {
  const info = { ...root.info, shared: place };
  const release = await held(names.host(name, host));
  const queue = new Queue(root.info.parallel);
  const adapters = new HostAdapters(root);
  const busy = new Busy(name, host);
  const idle = root.info.backend === 'cpu' ? busy.enter() : () => {};
  const clients = new Map<string, Client>();
  const ending = new AbortController();
  const gone = (client: string): void => {
    void clients.get(client)?.end();
    clients.delete(client);
    if (clients.size === 0) everyone.say({ kind: 'empty', host });
  };
  const connect = (client: string): void => {
    if (!clients.has(client)) {
      clients.set(client, new Client({ root, queue, adapters, busy }, names.connection(name, host, client)));
      onceFree(names.client(name, client), ending.signal, () => gone(client));
    }
    everyone.say({ kind: 'answer', client, host, info });
  };
  const heard = (said: Said): void => {
    if (said.kind === 'ask') connect(said.client);
    else if (said.kind === 'beat') everyone.say({ kind: 'alive', by: 'engine' });
  };
  const everyone = new Everyone(name, heard);
  everyone.say({ kind: 'here', host });
  return () => {
    ending.abort();
    everyone.close();
    for (const client of clients.values()) void client.end();
    idle();
    release();
  };
}

/** What all connections use. */
interface Hosted {
  readonly root: Engine;
  readonly queue: Queue;
  readonly adapters: HostAdapters;
  readonly busy: Busy;
}

/** What one connection uses of the engine. */
class Client {
  readonly #queue: Queue;
  readonly #adapters: HostAdapters;
  readonly #busy: Busy;
  readonly #port: BroadcastChannel;
  readonly #channel: Channel;
  readonly #engines = new Map<number, Served>();
  readonly #texts = new Map<number, Text>();
  /** Engines of sessions, which are freed with the connection. */
  readonly #own = new Set<number>();
  #isEnded = false;

  constructor({ root, queue, adapters, busy }: Hosted, connection: string) {
    this.#queue = queue;
    this.#adapters = adapters;
    this.#busy = busy;
    this.#port = new BroadcastChannel(connection);
    const add = adder(this.#engines);
    add(root);
    const handlers = engineHandlers(this.#engines, add, () => {});
    const announced = this.#announced({ ...handlers, ...this.#adapterHandlers() });
    this.#channel = new Channel(portOf(this.#port), this.#shared(announced));
  }

  /** Ends the texts of the connection, and frees its sessions and adapters. */
  async end(): Promise<void> {
    this.#isEnded = true;
    this.#port.close();
    await Promise.all([...this.#texts.values()].map((text) => text.abandon()));
    for (const number of this.#own) await this.#free(number).catch(() => {});
    if (this.#adapters.isUsedBy(this)) await this.#alone(() => this.#adapters.leave(this)).catch(() => {});
  }

  /** By the names that all tabs call adapters. */
  #adapterHandlers(): Record<string, Handler> {
    return {
      addAdapter: ([, file, key]) => !this.#isEnded && this.#adapters.add(this, file, key),
      removeAdapter: ([, key]) => this.#adapters.remove(this, key),
    };
  }

  /** The same calls, before which all are told that this thread may be busy. */
  #announced(handlers: Record<string, Handler>): Record<string, Handler> {
    const long = LONG.map((method): [string, Handler] => [
      method,
      (...call) => this.#busy.during(() => handlers[method]?.(...call)),
    ]);
    return { ...handlers, ...Object.fromEntries(long) };
  }

  /** The same calls, each of which waits for its turn. */
  #shared(handlers: Record<string, Handler>): Record<string, Handler> {
    const alone = ALONE.map((method): [string, Handler] => [
      method,
      (args, signal) => this.#alone(() => handlers[method]?.(args, signal), signal),
    ]);
    const note = async (method: 'another' | 'restore', ...call: Parameters<Handler>): Promise<unknown> => {
      const made = await this.#alone(() => handlers[method]?.(...call), call[1]);
      const number = typeof made === 'number' ? made : (made as { engine: number }).engine;
      if (number !== ROOT) this.#own.add(number);
      return made;
    };
    return {
      ...handlers,
      ...Object.fromEntries(alone),
      train: () => refuse('train'),
      another: (...call) => note('another', ...call),
      restore: (...call) => note('restore', ...call),
      lane: (...call) => this.#lane(handlers, ...call),
      ...this.#textHandlers(),
      free: ([number]) => (number === ROOT ? undefined : this.#free(number)),
    };
  }

  /** What writes a text, from its start to its end. */
  #textHandlers(): Record<string, Handler> {
    const text = (number: number): Text => this.#texts.get(number) ?? this.#newText(number);
    return {
      start: ([number, prompt, { onProgress, ...options }]) => {
        const tell = (it: unknown): void => void this.#channel.call('reading', [number, it]).catch(() => {});
        const known = this.#texts.get(number);
        const written = known?.isReady ? known : this.#newText(number);
        return written.start(servedBy(this.#engines, number).engine, prompt, {
          ...options,
          ...(onProgress && { onProgress: tell }),
        });
      },
      next: ([number]) => text(number).next(),
      insert: ([number, inserted, kept]) => text(number).insert(inserted, kept),
      finish: ([number]) => text(number).finish(),
      cancel: ([number]) => text(number).cancel(),
    };
  }

  #newText(number: number): Text {
    const text = new Text(this.#queue, this.#busy);
    this.#texts.set(number, text);
    return text;
  }

  async #lane(handlers: Record<string, Handler>, args: unknown[], signal: AbortSignal): Promise<unknown> {
    const text = new Text(this.#queue, this.#busy);
    await text.enter(signal);
    try {
      const number = (await handlers.lane?.(args, signal)) as number;
      text.engine = servedBy(this.#engines, number).engine;
      this.#texts.set(number, text);
      return number;
    } catch (error) {
      text.leave();
      throw error;
    }
  }

  async #free(number: number): Promise<void> {
    this.#own.delete(number);
    const found = this.#engines.get(number);
    this.#engines.delete(number);
    this.#texts.delete(number);
    await this.#alone(() => found?.engine.free());
  }

  async #alone<T>(work: () => T, signal?: AbortSignal): Promise<Awaited<T>> {
    const request = { alone: true };
    const onAbort = (): void => this.#queue.withdraw(request);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      const isTurn = await this.#queue.enter('shared', request);
      if (!isTurn) throw new DOMException('the request was cancelled', 'AbortError');
      return await work();
    } finally {
      signal?.removeEventListener('abort', onAbort);
      this.#queue.leave(request);
    }
  }
}

function refuse(method: string): never {
  const why = 'it would change the model of all tabs: load it without shared';
  throw new WebggufError('feature_missing', `${method}: not with a model that tabs share, since ${why}`);
}
