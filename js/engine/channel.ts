/**
 * Calls between two threads: numbered messages with a reply each. Errors keep their class, code and message.
 */
import { type ErrorCode, WebggufError } from '../errors.js';

/** What a worker, its own global scope and a message port have in common. @internal */
export interface Port {
  postMessage(message: unknown, transfer: Transferable[]): void;
  addEventListener(type: 'message', listener: (event: MessageEvent) => void): void;
}

/** A function that the other side may call; the signal fires when the caller gives up. @internal */
// biome-ignore lint/suspicious/noExplicitAny: the caller knows the types, see Engine
export type Handler = (args: any[], signal: AbortSignal) => unknown;

type Message =
  | { readonly call: number; readonly method: string; readonly args: unknown[] }
  | { readonly cancel: number }
  | { readonly reply: number; readonly value?: unknown; readonly error?: WireError };

/** An error as it crosses. */
type WireError = { readonly code: ErrorCode; readonly message: string } | { readonly thrown: unknown };

interface Pending {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** Options of {@link Channel.call}. @internal */
export interface CallOptions {
  /** Moved to the other side rather than copied. */
  readonly transfer?: Transferable[];
  /** Tells the other side when it fires; the call is settled by the reply all the same. */
  readonly signal?: AbortSignal | undefined;
}

/** One end of a connection. @internal */
export class Channel {
  readonly #port: Port;
  readonly #handlers: Record<string, Handler>;
  readonly #pending = new Map<number, Pending>();
  /** Calls from the other side that are not answered yet. */
  readonly #running = new Map<number, AbortController>();
  #calls = 0;
  #closed: { readonly error: unknown } | undefined;

  constructor(port: Port, handlers: Record<string, Handler>) {
    this.#port = port;
    this.#handlers = handlers;
    port.addEventListener('message', ({ data }: MessageEvent<Message>) => this.#receive(data));
  }

  /** Calls `method` of the other side. Rejects with what that throws, and with the reason of {@link close}. */
  call<T>(method: string, args: unknown[] = [], { transfer = [], signal }: CallOptions = {}): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#closed) throw this.#closed.error;
      const call = (this.#calls += 1);
      const cancel = (): void => this.#port.postMessage({ cancel: call }, []);
      this.#post({ call, method, args }, transfer);
      const settle = (): void => {
        this.#pending.delete(call);
        signal?.removeEventListener('abort', cancel);
      };
      this.#pending.set(call, {
        resolve: (value) => (settle(), resolve(value as T)),
        reject: (error) => (settle(), reject(error)),
      });
      signal?.addEventListener('abort', cancel, { once: true });
      if (signal?.aborted) cancel();
    });
  }

  /** Messages and options may be proxies, as Vue makes them, which do not cross: then copies of them do. */
  #post(message: Message, transfer: Transferable[]): void {
    try {
      this.#port.postMessage(message, transfer);
    } catch (error) {
      if ((error as Error).name !== 'DataCloneError') throw error;
      this.#port.postMessage(plain(message), transfer);
    }
  }

  /** Ends the connection: all calls without a reply, and all later ones, reject with `error`. */
  close(error: unknown): void {
    this.#closed ??= { error };
    for (const { reject } of [...this.#pending.values()]) reject(error);
  }

  #receive(message: Message): void {
    if ('cancel' in message) this.#running.get(message.cancel)?.abort();
    else if ('method' in message) void this.#answer(message);
    else if (!('reply' in message))
      return; // the first message of a worker: its script has run
    else if ('error' in message) this.#pending.get(message.reply)?.reject(fromWire(message.error as WireError));
    else this.#pending.get(message.reply)?.resolve(message.value);
  }

  async #answer({ call, method, args }: { call: number; method: string; args: unknown[] }): Promise<void> {
    const controller = new AbortController();
    this.#running.set(call, controller);
    try {
      const value = await this.#handlers[method]?.(args, controller.signal);
      this.#port.postMessage({ reply: call, value }, buffersOf(value));
    } catch (error) {
      this.#reject(call, error);
    } finally {
      this.#running.delete(call);
    }
  }

  #reject(reply: number, error: unknown): void {
    try {
      this.#port.postMessage({ reply, error: toWire(error) }, []);
    } catch {
      // What was thrown cannot be copied: functions, for example.
      this.#port.postMessage({ reply, error: { thrown: new Error(String(error)) } }, []);
    }
  }
}

/**
 * The buffers of a result that is an array of numbers or holds some: its maker does not need them, so they move.
 */
function buffersOf(value: unknown): Transferable[] {
  if (typeof value !== 'object' || value === null) return [];
  const parts: unknown[] = ArrayBuffer.isView(value) ? [value] : Object.values(value);
  const views = parts.filter((part) => ArrayBuffer.isView(part));
  return [...new Set(views.map(({ buffer }) => buffer))].filter((buffer) => buffer instanceof ArrayBuffer);
}

/** Arrays and plain objects anew; all else as it is. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, plain(part)]));
}

function toWire(error: unknown): WireError {
  // By name, since training in a worker has a class of its own.
  const { name, code, message } = (error ?? {}) as WebggufError;
  return name === 'WebggufError' ? { code, message } : { thrown: error };
}

function fromWire(error: WireError): unknown {
  return 'thrown' in error ? error.thrown : new WebggufError(error.code, error.message);
}
