/**
 * An encoder of images beside a model: images become rows of its prompts.
 */
import { settled } from '../cancel.js';
import { Recovery, readOnce } from '../engine/recovery.js';
import { WebggufError, invalidArgument } from '../errors.js';
import { warner } from '../load/cache/warning.js';
import { chooseEncoder, fileRequest, hubName } from '../load/hub.js';
import { withSources } from '../load/sources.js';
import type { Source, SourceOptions } from '../types.js';
import type { ByteSource, DeviceHandle, EncoderInfo, WasmEncoder, WasmModel } from '../wasm/webgguf.js';
import { wasmClasses } from '../wasm/instance.js';
import { type LayoutItem, layoutOf, type TileGrid } from './layout.js';
import { mediaModule } from './module.js';
import type { Pixels } from './pixels.js';
import type { Picture } from './webgguf_media.js';

/** Rows of an image, at most, where its size is not fixed. */
const MOST_TOKENS = 1024;
/** What Gemma 4 takes where nobody says. */
const GEMMA4_TOKENS = 1120;
/** Images whose rows a model keeps, at most. */
const KEPT = 32;

/** How an encoder is loaded. @internal */
export interface EncoderOptions {
  readonly backend: 'auto' | 'webgpu' | 'cpu';
  readonly precision?: 'auto' | 'exact' | 'fast' | undefined;
  readonly maxImageTokens?: number | undefined;
  readonly resize?: 'pad' | 'stretch' | undefined;
  readonly keepEncoder?: boolean | undefined;
}

/** The rows of a tile. @internal */
export interface TileRows {
  /** Side by side. */
  readonly columns: number;
  /** All. */
  readonly rows: number;
  /** `[parts, rows, width of a part]`: those that enter as embeddings do, and those for deeper layers. */
  readonly values: Float32Array;
  readonly parts: number;
  /** What names them among all rows: 16 hexadecimal digits. */
  readonly digest: string;
}

/** An image in a prompt. @internal */
export interface Encoded {
  readonly layout: readonly LayoutItem[];
  readonly tiles: readonly TileRows[];
}

/** Is told which share of an image is encoded. */
type Report = (share: number) => void;

/** Who wants an image encoded. */
interface Asked {
  readonly signal: AbortSignal | undefined;
  readonly report: Report;
}

/** @internal */
export class ImageEncoder {
  /** Nothing while its weights are not kept. */
  #handle: WasmEncoder | undefined;
  readonly #recovery: Recovery;
  /** Loads it again, where its weights are not kept. */
  readonly #again: ((signal?: AbortSignal) => Promise<WasmEncoder>) | undefined;
  readonly #info: EncoderInfo;
  readonly #numbers: Float64Array;
  readonly #known = new Map<string, Promise<Encoded>>();
  /** Rows that the model was given, by their digests, in the order of their numbers. */
  readonly #given = new Map<string, Pick<TileRows, 'columns' | 'values'>>();
  /** The end of the image that is being encoded: one at a time. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(handle: WasmEncoder, { recovery, again }: Reloading, options: EncoderOptions) {
    this.#handle = handle;
    this.#recovery = recovery;
    this.#again = options.keepEncoder === false ? again : undefined;
    this.#info = handle.info();
    const { maxImageTokens = MOST_TOKENS, resize } = options;
    const { numbers, mostRows, projector, hasBreaks } = this.#info;
    const usual = projector === 'gemma4v' && !options.maxImageTokens ? GEMMA4_TOKENS : maxImageTokens;
    const [, , merge = 1] = numbers;
    const most = Math.max(1, Math.min(usual, Math.floor(mostRows / merge ** 2)));
    this.#numbers = Float64Array.of(...numbers, most, resize === 'stretch' ? 1 : 0, hasBreaks ? 1 : 0);
  }

  /** `width`: values of a row of the model's prompts. Rejects with `invalid_argument` for an encoder of another. */
  static async load(
    source: Source,
    options: EncoderOptions,
    from: SourceOptions,
    { scope, report, width, device }: EncoderScope,
  ): Promise<ImageEncoder> {
    const { WasmEncoder: Handle } = await wasmClasses();
    const { backend, precision } = options;
    const open = (signal: AbortSignal, tell: typeof report): Promise<WasmEncoder> => {
      const start = async (sources: ByteSource[]): Promise<WasmEncoder> =>
        Handle.load(sources, { backend, ...(precision && { precision }) }, tell, device?.());
      return withSources(source, from, {
        signal,
        work: (sources) => settled(start(sources), signal),
        free: (made) => made.free(),
      });
    };
    const why = device ? 'its encoder is not loaded again, since the page opened the device' : await readOnce(source);
    const again = (signal: AbortSignal = new AbortController().signal) => open(signal, () => signal.throwIfAborted());
    if (why && options.keepEncoder === false) throw invalidArgument(`option 'keepEncoder': ${why}`);
    const handle = await open(scope, report);
    const encoder = new ImageEncoder(handle, { recovery: recoveryOf(why ?? again, from), again }, options);
    const found = encoder.#info.width;
    if (found === width) {
      encoder.rest();
      return encoder;
    }
    encoder.free();
    throw invalidArgument(`option 'mmproj': rows of ${found} values, the model takes ${width}: it is of another model`);
  }

  /** What an image becomes; one that was met before is not encoded again. */
  async encode(pixels: Pixels, signal?: AbortSignal, report: Report = () => {}): Promise<Encoded> {
    signal?.throwIfAborted();
    const digest = await digestOf(pixels, this.#numbers);
    const begun = this.#known.get(digest);
    const known = begun ?? this.#inTurn(() => this.#encode(pixels, digest, { signal, report }));
    this.#known.delete(digest);
    this.#known.set(digest, known); // the last one used is the last one
    known.catch(() => this.#known.get(digest) === known && this.#known.delete(digest));
    const [[oldest, dropped]] = this.#known as unknown as [[string, Promise<Encoded>]];
    if (this.#known.size > KEPT && this.#known.delete(oldest)) {
      dropped.then(({ tiles }) => this.#forget(tiles)).catch(() => {}); // whoever asked for it has the error
    }
    if (!begun) return known;
    // Another request for the same image may have been stopped.
    return known.catch((error) => {
      if ((error as Error).name !== 'AbortError' || signal?.aborted) throw error;
      return this.encode(pixels, signal, report);
    });
  }

  /** The ids of an image in prompts of a model. */
  idsOf(handle: WasmModel, { layout, tiles }: Encoded): number[] {
    return layout.flatMap((item) => {
      if (typeof item === 'string') return [...handle.tokenize(item, false, true)];
      const { columns, rows, values, digest } = tiles[item] as TileRows;
      const first = handle.addRows(digest, columns, values);
      this.#given.set(digest, { columns, values });
      return Array.from({ length: rows }, (_, at) => first + at);
    });
  }

  /** Gives a model that was loaded again the rows that it had, with the same ids. */
  giveRows(handle: WasmModel): void {
    for (const [digest, { columns, values }] of this.#given) handle.addRows(digest, columns, values);
  }

  /** Of images of long ago only the number of rows counts: whoever asks about one again gives its rows again. */
  #forget(tiles: readonly TileRows[]): void {
    for (const { digest, columns, values } of tiles) {
      if (this.#given.has(digest)) this.#given.set(digest, { columns, values: zeros(values.length) });
    }
  }

  /** The images of a prompt are encoded: frees the weights, unless they are kept. */
  rest(): void {
    if (this.#again) void this.#inTurn(async () => this.#drop());
  }

  free(): void {
    this.#known.clear();
    this.#drop();
  }

  #drop(): void {
    this.#handle?.free();
    this.#handle = undefined;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }

  /** Does `work`, and again where the device of the encoder was lost; until `signal` fires. */
  async #kept<T>(work: (handle: WasmEncoder) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const cancel = (): void => this.#handle?.cancel();
    const recover = async (fresh: WasmEncoder): Promise<void> => {
      this.#drop();
      this.#handle = fresh;
    };
    signal?.addEventListener('abort', cancel);
    try {
      const held = { recover } as unknown as WasmModel;
      return await this.#recovery.during(held, () => work(this.#handle as WasmEncoder), signal);
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  }

  async #encode({ width, height, data }: Pixels, digest: string, { signal, report }: Asked): Promise<Encoded> {
    this.#handle ??= await this.#again?.(signal);
    const { Picture } = await mediaModule();
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    const { projector } = this.#info;
    const picture = named(() => new Picture(projector, this.#numbers, width, height, bytes));
    try {
      const tiles: TileRows[] = [];
      for (let tile = 0; tile < picture.count(); tile++) {
        // On the CPU a tile is encoded without a pause: messages to this thread, such as that to end, come in between.
        await new Promise((resolve) => setTimeout(resolve));
        signal?.throwIfAborted();
        report(tile / picture.count());
        tiles.push(await this.#tile(picture, tile, digest, signal));
      }
      report(1);
      return { layout: layoutOf(projector, [...picture.grid()] as unknown as TileGrid), tiles };
    } finally {
      picture.free();
    }
  }

  async #tile(picture: Picture, tile: number, digest: string, signal?: AbortSignal): Promise<TileRows> {
    const [count = 0, columns = 0, rows = 0] = named(() => picture.select(tile));
    if (count > this.#info.mostRows) {
      const most = this.#info.mostRows;
      throw new WebggufError('limit_exceeded', `image: ${count} patches, the encoder has room for ${most}`);
    }
    const tables = [picture.placeRows(), picture.placeWeights(), picture.groupRows(), picture.groupWeights()] as const;
    const counts = Uint32Array.of(count, rows);
    const others = [picture.turns(), picture.parts(), picture.breaks()] as const;
    const values = await this.#kept((handle) => {
      return handle.encode(counts, picture.patches(), ...tables, ...others);
    }, signal);
    if (!values) throw new DOMException('the image is no longer wanted', 'AbortError');
    const { parts } = this.#info;
    return { columns, rows, values, parts, digest: digest.slice(0, 14) + tile.toString(16).padStart(2, '0') };
  }
}

/** How an encoder is loaded again. */
interface Reloading {
  readonly recovery: Recovery;
  readonly again: (signal?: AbortSignal) => Promise<WasmEncoder>;
}

/** A model's recovery, for a handle that another one takes the place of. */
function recoveryOf(reload: string | ((signal?: AbortSignal) => Promise<WasmEncoder>), from: SourceOptions): Recovery {
  return new Recovery(reload as ConstructorParameters<typeof Recovery>[0], warner(from.onWarning));
}

/** One array for all: nobody writes into it. */
function zeros(length: number): Float32Array {
  if (nothing.length < length) nothing = new Float32Array(length);
  return nothing.subarray(0, length);
}

let nothing = new Float32Array(0);

/** What loading takes besides options. @internal */
export interface EncoderScope {
  readonly scope: AbortSignal;
  readonly report: (stage: string, loaded: number, total: number) => void;
  readonly width: number;
  readonly device?: (() => DeviceHandle) | undefined;
}

/** Of the pixels, and of what is made of them. */
async function digestOf({ width, height, data }: Pixels, numbers: Float64Array): Promise<string> {
  const head = new TextEncoder().encode(`${width} ${height} ${numbers.join()}`);
  const bytes = new Uint8Array(head.length + data.length);
  bytes.set(head);
  bytes.set(data, head.length);
  const subtle = (globalThis.crypto as Partial<Crypto> | undefined)?.subtle;
  if (!subtle) return plainDigest(bytes);
  const digest = new Uint8Array(await subtle.digest('SHA-256', bytes));
  return [...digest.subarray(0, 8)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Where a page is no secure context: two sums of Fowler, Noll and Vo's kind. */
function plainDigest(bytes: Uint8Array): string {
  let [first, second] = [0x811c9dc5, 0x9e3779b9];
  for (const byte of bytes) {
    first = Math.imul(first ^ byte, 0x01000193);
    second = Math.imul(second ^ byte, 0x85ebca6b);
  }
  return [first, second].map((sum) => (sum >>> 0).toString(16).padStart(8, '0')).join('');
}

/** The module throws strings. */
function named<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (typeof cause === 'string') throw invalidArgument(`image: ${cause}`);
    throw new WebggufError('internal', `image: ${String(cause)}`, { cause });
  }
}

/** The encoder beside a model in its repository on the hub. @internal */
export async function beside(model: unknown, from: SourceOptions, signal: AbortSignal): Promise<Source> {
  const name = typeof model === 'string' ? hubName(model) : undefined;
  if (!name) {
    const where = "beside a model that is named by its repository on the hub, such as 'owner/name:Q4_K_M'";
    throw invalidArgument(`option 'mmproj': true finds the file ${where}; else give its URL, File or Blob`);
  }
  return fileRequest(name, await chooseEncoder(name, from, signal), from);
}
