/**
 * Sources on their way into a worker. What it can open by itself (addresses, blobs, buffers) is sent there, buffers by
 * moving them; of everything else it asks this thread for one piece after the other.
 *
 * Streams are not transferred: a transferred stream is pumped by its own thread all the same, which then copies each
 * chunk, and Safari knows no such streams.
 */
import { asBytes } from '../load/bytes.js';
import type { Channel, Handler } from './channel.js';
import { requestFor } from '../load/responses.js';
import { hubName } from '../load/hub.js';
import { openPart } from '../load/sources.js';
import type { LoadOptions } from '../types/load.js';
import type { RangedSource, Source, SourcePart } from '../types/source.js';
import type { ByteSource } from '../wasm/webgguf.js';

/** A part as it crosses. @internal */
export type WirePart =
  | { readonly kind: 'address'; readonly url: string; readonly init?: RequestInit }
  | { readonly kind: 'bytes'; readonly part: Blob | Uint8Array }
  | { readonly kind: 'ranged'; readonly index: number; readonly size: number; readonly name?: string }
  | { readonly kind: 'stream'; readonly index: number; readonly size?: number | undefined; readonly name: string };

/** A source as it crosses. @internal */
export interface WireSource {
  /** Whether an array was given. */
  readonly isList: boolean;
  readonly parts: WirePart[];
}

/** The options of a load as they cross; the page's functions do not. */
type SentOptions = Omit<LoadOptions, 'mmproj' | 'vocoder' | 'draft'> & {
  readonly mmproj?: WireSource | true;
  readonly vocoder?: WireSource | true;
  readonly draft?: WireSource | false;
};

/** A load as it crosses. @internal */
export interface SentLoad {
  readonly source: WireSource;
  readonly options: SentOptions;
}

/** The sources of one load that stay in this thread. @internal */
export class SourceHost {
  /** What the worker may ask for. */
  readonly handlers: Record<string, Handler>;
  readonly #ranged: RangedSource[] = [];
  readonly #streams: ByteSource[] = [];
  readonly #transfer: Transferable[] = [];
  readonly #signal: AbortSignal;

  /** @param signal ends all reads */
  constructor(signal: AbortSignal) {
    this.#signal = signal;
    this.handlers = {
      'source.read': ([index, offset, length]) => this.#read(index, offset, length),
      'source.next': ([index]) => this.#next(index),
      'source.cancel': ([index]) => this.#streams[index]?.cancel(),
    };
  }

  /**
   * A source to be sent, and what is to be moved with it.
   *
   * @throws {WebggufError} `invalid_argument`, `download_failed`: as `openSources`
   */
  async send(source: Source): Promise<{ source: WireSource; transfer: Transferable[] }> {
    const isList = Array.isArray(source);
    const given: SourcePart[] = await Promise.all(isList ? source : [source]);
    const parts: WirePart[] = [];
    for (const part of given) parts.push(await this.#wire(part));
    return { source: { isList, parts }, transfer: this.#transfer };
  }

  /** A load to be sent, without what stays here, and what is to be moved with it. */
  async sendLoad(source: Source, options: LoadOptions): Promise<{ load: SentLoad; transfer: Transferable[] }> {
    const { signal: _, onProgress: _progress, onWarning: _warning, download: _download, gpu: _gpu, ...rest } = options;
    const { mmproj, vocoder, draft, worker: _worker, shared: _shared, ...others } = rest;
    const { source: sent, transfer } = await this.send(source);
    const sendFile = async (file: Source | true) => (file === true ? file : (await this.send(file)).source);
    const sentOptions = {
      ...others,
      ...(mmproj && { mmproj: await sendFile(mmproj) }),
      ...(vocoder && { vocoder: await sendFile(vocoder) }),
      ...(draft !== undefined && { draft: draft ? (await this.send(draft)).source : (false as const) }),
    };
    return { load: { source: sent, options: sentOptions }, transfer };
  }

  /** Frees what the sources hold. */
  cancel(): void {
    for (const source of this.#streams) source.cancel();
  }

  async #wire(part: SourcePart): Promise<WirePart> {
    if (typeof part === 'string' && hubName(part)) return { kind: 'address', url: part };
    if (typeof part === 'string' || part instanceof URL) return { kind: 'address', url: requestFor(part).url };
    if (part instanceof Request) return { kind: 'address', url: part.url, init: await initOf(requestFor(part)) };
    if (part instanceof Blob) return { kind: 'bytes', part };
    const bytes = asBytes(part);
    if (bytes) return this.#wireBytes(bytes);
    if (isRanged(part)) {
      openPart(part, this.#signal); // checks it
      const index = this.#ranged.push(part) - 1;
      return { kind: 'ranged', index, size: part.size, ...(part.name !== undefined && { name: part.name }) };
    }
    const source = openPart(part, this.#signal);
    const index = this.#streams.push(source) - 1;
    return { kind: 'stream', index, size: source.size, name: source.name };
  }

  /** A whole buffer is moved. A view of some of one is read in pieces: the buffer does not change. */
  #wireBytes(bytes: Uint8Array): WirePart {
    const { buffer } = bytes;
    if (!(buffer instanceof ArrayBuffer)) return { kind: 'bytes', part: bytes };
    if (bytes.length === buffer.byteLength) {
      this.#transfer.push(buffer);
      return { kind: 'bytes', part: bytes };
    }
    const read = (offset: number, length: number): Uint8Array => bytes.subarray(offset, offset + length);
    const index = this.#ranged.push({ size: bytes.length, read }) - 1;
    return { kind: 'ranged', index, size: bytes.length, name: 'the buffer' };
  }

  /** A copy of what `read` gives, which is the caller's. */
  async #read(index: number, offset: number, length: number): Promise<unknown> {
    const found = await this.#ranged[index]?.read(offset, length);
    return asBytes(found)?.slice() ?? typeof found;
  }

  /** A copy of the next piece of a stream. */
  async #next(index: number): Promise<Uint8Array | undefined> {
    return (await this.#streams[index]?.next())?.slice();
  }
}

/** The other end: the load that was sent, to be done in the worker. @internal */
export function receivedLoad(
  { source, options }: SentLoad,
  channel: Channel,
): { readonly source: Source; readonly options: LoadOptions } {
  const { mmproj, vocoder, draft, ...others } = options;
  const file = (sent: WireSource | true): Source | true => (sent === true ? sent : receivedSource(sent, channel));
  return {
    source: receivedSource(source, channel),
    options: {
      ...others,
      ...(mmproj && { mmproj: file(mmproj) }),
      ...(vocoder && { vocoder: file(vocoder) }),
      ...(draft !== undefined && { draft: draft ? receivedSource(draft, channel) : false }),
    },
  };
}

function receivedSource({ isList, parts }: WireSource, channel: Channel): Source {
  const received = parts.map((part) => receivedPart(part, channel));
  return isList ? received : (received[0] as SourcePart);
}

function receivedPart(part: WirePart, channel: Channel): SourcePart {
  switch (part.kind) {
    case 'address':
      return part.init ? new Request(part.url, part.init) : part.url;
    case 'bytes':
      return part.part;
    case 'ranged': {
      const read = (offset: number, length: number): Promise<Uint8Array> =>
        channel.call('source.read', [part.index, offset, length]);
      return { size: part.size, read, ...(part.name !== undefined && { name: part.name }) };
    }
    case 'stream':
      return remoteStream(part, channel) as unknown as SourcePart;
  }
}

/** A stream of the other thread, one piece ahead of its reader. */
function remoteStream({ index, size, name }: WirePart & { kind: 'stream' }, channel: Channel): ByteSource {
  const ask = (): Promise<Uint8Array | undefined> => {
    const piece = channel.call<Uint8Array | undefined>('source.next', [index]);
    piece.catch(() => {}); // reported by the `next` that waits for it, if there is one
    return piece;
  };
  let ahead: Promise<Uint8Array | undefined> | undefined;
  return {
    name,
    size,
    next: async () => {
      const piece = await (ahead ?? ask());
      ahead = piece && ask();
      return piece;
    },
    cancel: () => void channel.call('source.cancel', [index]).catch(() => {}),
  };
}

function isRanged(part: unknown): part is RangedSource {
  return typeof (part as Partial<RangedSource> | null)?.read === 'function';
}

/** What makes the same request again in another thread. */
async function initOf(request: Request): Promise<RequestInit> {
  const { method, credentials, cache, redirect, referrerPolicy, integrity, mode } = request;
  const body = request.body === undefined || request.body ? await request.clone().arrayBuffer() : undefined;
  return {
    ...{ method, credentials, cache, redirect, referrerPolicy, integrity },
    headers: [...request.headers],
    // A page that was navigated to is no mode that may be asked for.
    ...(mode !== 'navigate' && { mode }),
    ...(body?.byteLength && { body }),
  };
}
