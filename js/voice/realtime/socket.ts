/**
 * A class like `WebSocket` whose server is in the page: what expects a socket to OpenAI's realtime API, such as the
 * client of the package `openai`, runs on it as it is.
 */
import { createRealtime, type Realtime } from './realtime.js';
import type { RealtimeClientEvent, RealtimeOptions } from './types.js';

/** A class with the shape of `WebSocket`. */
export type RealtimeSocketClass = new (url?: string | URL, protocols?: string | string[]) => RealtimeSocket;

/** A socket whose messages are events as JSON. */
export interface RealtimeSocket extends EventTarget {
  /** 0: it opens; 1: it is open; 3: it is closed. */
  readonly readyState: number;
  /** What it was opened with; nothing is sent there. */
  readonly url: string;
  /** The session. */
  readonly realtime: Realtime;
  /** Takes an event as JSON. */
  send(data: string): void;
  /** Ends the session. */
  close(code?: number, reason?: string): void;
}

const [CONNECTING, OPEN, CLOSING, CLOSED] = [0, 1, 2, 3];

class Socket extends EventTarget implements RealtimeSocket {
  static readonly CONNECTING = CONNECTING;
  static readonly OPEN = OPEN;
  static readonly CLOSING = CLOSING;
  static readonly CLOSED = CLOSED;
  readonly CONNECTING = CONNECTING;
  readonly OPEN = OPEN;
  readonly CLOSING = CLOSING;
  readonly CLOSED = CLOSED;
  readonly url: string;
  readonly protocol = 'realtime';
  readonly extensions = '';
  readonly bufferedAmount = 0;
  binaryType = 'blob';
  onopen: ((event: Event) => void) | null = null;
  onmessage: ((event: Event) => void) | null = null;
  onclose: ((event: Event) => void) | null = null;
  onerror: ((event: Event) => void) | null = null;
  readyState = CONNECTING;
  readonly realtime: Realtime;

  constructor(options: RealtimeOptions, url: string | URL) {
    super();
    this.url = String(url);
    this.realtime = createRealtime(options);
    const held: unknown[] = [];
    this.realtime.on('event', (event) => {
      if (this.readyState === OPEN) this.#message(event);
      else held.push(event);
    });
    // Who opens it first says what it listens to.
    setTimeout(() => {
      if (this.readyState !== CONNECTING) return;
      this.readyState = OPEN;
      this.#tell('open', {});
      for (const event of held.splice(0)) this.#message(event);
    });
  }

  send(data: string): void {
    if (this.readyState === CONNECTING) throw new DOMException('the socket is not open yet', 'InvalidStateError');
    if (this.readyState !== OPEN) return;
    // As from a server, nothing is heard within the call.
    queueMicrotask(() => {
      if (this.readyState === OPEN) this.realtime.send(eventOf(data));
    });
  }

  close(code = 1000, reason = ''): void {
    if (this.readyState === CLOSED) return;
    this.readyState = CLOSED;
    this.realtime.close();
    setTimeout(() => this.#tell('close', { code, reason, wasClean: true }));
  }

  #message(event: unknown): void {
    this.#tell('message', { data: JSON.stringify(event) });
  }

  #tell(type: 'open' | 'message' | 'close', fields: object): void {
    const event = Object.assign(new Event(type), fields);
    this.dispatchEvent(event);
    this[`on${type}`]?.(event);
  }
}

function eventOf(data: string): RealtimeClientEvent {
  try {
    return JSON.parse(String(data));
  } catch {
    return undefined as unknown as RealtimeClientEvent; // which is refused
  }
}

/**
 * A class like `WebSocket`; each of its sockets is a session of its own.
 *
 * @throws {WebggufError} `invalid_argument`, once one is opened
 * @example
 * globalThis.WebSocket = realtimeSocket({ ears, model, voice });
 * const client = new OpenAIRealtimeWebSocket({ model: 'local' }, openai);
 */
export function realtimeSocket(options: RealtimeOptions): RealtimeSocketClass {
  return class extends Socket {
    constructor(url: string | URL = 'wss://webgguf/v1/realtime') {
      super(options, url);
    }
  };
}
