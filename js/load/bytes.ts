/**
 * Byte sources that need no network: memory, blobs, streams, and whatever reads a range.
 */
import { abortable } from '../cancel.js';
import { WebggufError, invalidArgument, isAbort } from '../errors.js';
import { show } from '../check.js';
import type { BytesLike } from '../types/source.js';
import type { ByteSource } from '../wasm/webgguf.js';

/** Largest piece that goes to WebAssembly at once: bounds the memory there, and is large enough to be quick. */
const PIECE = 4 << 20;

/** The bytes of a buffer or any view of one, not copied; `undefined` for anything else. @internal */
export function asBytes(value: unknown): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value;
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  const tag = Object.prototype.toString.call(value);
  const isBuffer = tag === '[object ArrayBuffer]' || tag === '[object SharedArrayBuffer]';
  return isBuffer ? new Uint8Array(value as ArrayBuffer) : undefined;
}

/** Bytes in memory, handed out as views. @internal */
export function fromBytes(bytes: Uint8Array, name: string): ByteSource {
  let offset = 0;
  return {
    name,
    size: bytes.length,
    next: async () => {
      if (offset >= bytes.length) return undefined;
      const piece = bytes.subarray(offset, offset + PIECE);
      offset += piece.length;
      return piece;
    },
    read: async (at, length) => bytes.subarray(at, at + length),
    cancel: () => {
      offset = bytes.length;
    },
  };
}

/** A blob or file, read in slices. @internal */
export function fromBlob(blob: Blob, signal: AbortSignal): ByteSource {
  const { size } = blob;
  const name = blob instanceof File ? blob.name : 'the blob';
  const read = (offset: number, length: number): Promise<ArrayBuffer> =>
    blob.slice(offset, offset + length).arrayBuffer();
  const stream = fromStream(blob.stream(), signal, { name, size, isNative: true });
  return { ...stream, read: (offset, length) => readWhole({ size, name, read }, offset, length) };
}

/** What {@link fromRanges} reads from. */
interface Ranges {
  size: number;
  name: string;
  read(offset: number, length: number): BytesLike | Promise<BytesLike>;
}

/** Ranged reads in file order, one piece ahead of the reader. @internal */
export function fromRanges(source: Ranges, signal: AbortSignal): ByteSource {
  const { size, name } = source;
  let offset = 0;
  let ahead: Promise<Uint8Array> | undefined;
  const readAhead = (): void => {
    ahead = offset < size ? readRange(source, offset, Math.min(PIECE, size - offset)) : undefined;
    ahead?.catch(() => {}); // reported by the `next` that waits for it, if there is one
  };
  return {
    name,
    size,
    next: async () => {
      signal.throwIfAborted();
      if (!ahead) readAhead();
      if (!ahead) return undefined;
      const piece = await abortable(ahead, signal);
      offset += piece.length;
      readAhead();
      return piece;
    },
    read: (at, length) => readWhole(source, at, length),
    cancel: () => {
      offset = size;
      ahead = undefined;
    },
  };
}

/** A range with all its bytes, by as many reads as it takes. */
async function readWhole(source: Ranges, offset: number, length: number): Promise<Uint8Array> {
  const first = await readRange(source, offset, length);
  if (first.length === length) return first;
  const whole = new Uint8Array(length);
  whole.set(first);
  for (let at = first.length; at < length; ) {
    const piece = await readRange(source, offset + at, length - at);
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/** One ranged read, checked: at least one byte, at most `length`. */
async function readRange(source: Ranges, offset: number, length: number): Promise<Uint8Array> {
  const where = `${source.name}: reading ${length} bytes at ${offset} of ${source.size}`;
  let bytes: Uint8Array | undefined;
  try {
    bytes = asBytes(await source.read(offset, length));
  } catch (cause) {
    if (cause instanceof WebggufError || isAbort(cause)) throw cause;
    throw new WebggufError('download_failed', `${where} failed: ${String(cause)}`, { cause });
  }
  if (!bytes) throw invalidArgument(`${where}: read() must give an ArrayBuffer or a view`);
  if (bytes.length >= 1 && bytes.length <= length) return bytes;
  throw new WebggufError('download_failed', `${where} gave ${bytes.length} bytes`);
}

/** Bytes of the buffer that a stream is read into: with a larger one nothing is faster. */
const BUFFER = 1 << 20;

type Reader = Pick<ReadableStreamDefaultReader<unknown>, 'read' | 'cancel'>;

/** Reads a stream into one buffer, which each read takes away and gives back; nothing where the stream takes none. */
function readerWithBuffer(stream: ReadableStream<unknown>): Reader | undefined {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = stream.getReader({ mode: 'byob' });
  } catch {
    return undefined;
  }
  let buffer: ArrayBuffer | undefined;
  const read = async (): Promise<ReadableStreamReadResult<unknown>> => {
    const view = new Uint8Array(buffer ?? new ArrayBuffer(BUFFER));
    buffer = undefined;
    const chunk = await reader.read(view);
    buffer = chunk.value?.buffer;
    return chunk;
  };
  return { read, cancel: () => reader.cancel() };
}

/** Whether the browser made the body: bodies made by pages often do not end for a reader with a buffer. @internal */
export const isNative = ({ type }: Response): boolean => type !== 'default';

/** Readers that wait: in Chromium a read of a blob's stream never ends where nothing else holds the stream. */
const waiting = new Set<ChunkReader>();

/**
 * A stream of bytes of any chunking, in pieces of 1 byte to 4 MiB. A native one is read into the same buffer again and
 * again.
 * @internal
 */
export class ChunkReader {
  readonly #reader: Reader;
  readonly #name: string;
  #rest: Uint8Array = new Uint8Array(0);

  constructor(stream: ReadableStream<unknown>, name: string, isNative = false) {
    if (stream.locked) throw invalidArgument(`${name}: the stream is locked or was read already`);
    this.#reader = (isNative && readerWithBuffer(stream)) || stream.getReader();
    this.#name = name;
  }

  /** The next piece, or `undefined` at the end. */
  async next(): Promise<Uint8Array | undefined> {
    while (this.#rest.length === 0) {
      waiting.add(this);
      const { done, value } = await this.#reader.read().finally(() => waiting.delete(this));
      if (done) return undefined;
      const bytes = asBytes(value);
      if (!bytes) throw invalidArgument(`${this.#name}: the stream must carry bytes, found ${show(value)}`);
      this.#rest = bytes;
    }
    const piece = this.#rest.subarray(0, PIECE);
    this.#rest = this.#rest.subarray(PIECE);
    return piece;
  }

  /** Ends the stream; it may be over already. */
  cancel(): void {
    this.#rest = new Uint8Array(0);
    this.#reader.cancel().catch(() => {});
  }
}

/** A stream that cannot be asked again; `size` in bytes where known, and then checked. @internal */
export function fromStream(
  stream: ReadableStream<unknown>,
  signal: AbortSignal,
  about: { name: string; size?: number | undefined; isNative?: boolean },
): ByteSource {
  const { name, size } = about;
  const reader = new ChunkReader(stream, name, about.isNative);
  let received = 0;
  const failed = (what: string, cause?: unknown): WebggufError =>
    new WebggufError('download_failed', `${name}: ${what}, received ${received} of ${size ?? 'unknown'} bytes`, {
      cause,
    });
  const next = async (): Promise<Uint8Array | undefined> => {
    try {
      return await abortable(reader.next(), signal);
    } catch (cause) {
      if (signal.aborted || cause instanceof WebggufError || isAbort(cause)) throw cause;
      throw failed(`the stream broke (${String(cause)})`, cause);
    }
  };
  return {
    name,
    size,
    next: async () => {
      const piece = await next();
      received += piece?.length ?? 0;
      if (size !== undefined && received > size) throw failed('the body is longer than announced');
      if (!piece && size !== undefined && received < size) throw failed('the body is shorter than announced');
      return piece;
    },
    cancel: () => reader.cancel(),
  };
}
