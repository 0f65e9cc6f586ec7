/**
 * Encoders of images and sounds beside a model: these become rows of its prompts.
 */
import { settled } from '../cancel.js';
import { WebggufError, fromWasm, invalidArgument } from '../errors.js';
import { chooseEncoder, fileRequest, hubName } from '../load/hub.js';
import { withSources } from '../load/sources.js';
import type { Source, SourceOptions } from '../types.js';
import type { ByteSource, DeviceHandle, EncoderInfo, WasmEncoder, WasmModel } from '../wasm/webgguf.js';
import { wasmClasses } from '../wasm/instance.js';
import { type LayoutItem, layoutOf, layoutOfSound, type TileGrid } from './layout.js';
import { mediaModule } from './module.js';
import type { Pixels } from './pixels.js';
import { RATE, type Samples } from './samples.js';
import type { Picture, Sound } from './webgguf_media.js';

/** Rows of an image, at most, where its size is not fixed. */
const MOST_TOKENS = 1024;
/** What Gemma 4 takes where nobody says. */
const GEMMA4_TOKENS = 1120;
/** Images or sounds whose rows a model keeps, at most. */
const KEPT = 32;

/** How an encoder is loaded. @internal */
export interface EncoderOptions {
  readonly backend: 'auto' | 'webgpu' | 'cpu';
  readonly precision?: 'auto' | 'exact' | 'fast' | undefined;
  readonly maxImageTokens?: number | undefined;
  readonly resize?: 'pad' | 'stretch' | undefined;
  /** Of a file that has both, the encoder of sounds. */
  readonly ofSounds?: boolean;
}

/** The rows of a tile, or of a piece of a sound. @internal */
export interface TileRows {
  /** Side by side; 0 where they follow each other as tokens do. */
  readonly columns: number;
  /** All. */
  readonly rows: number;
  /** `[parts, rows, width of a part]`: those that enter as embeddings do, and those for deeper layers. */
  readonly values: Float32Array;
  readonly parts: number;
  /** What names them among all rows: 16 hexadecimal digits. */
  readonly digest: string;
}

/** What is encoded. @internal */
export type Content = { readonly image: Pixels } | { readonly audio: Samples };

/** An image or a sound in a prompt. @internal */
export interface Encoded {
  readonly layout: readonly LayoutItem[];
  readonly tiles: readonly TileRows[];
}

/** The encoders of a file. @internal */
export class Encoders {
  /** What they take. */
  readonly media: { readonly image: boolean; readonly audio: boolean };
  readonly #all: readonly Encoder[];

  private constructor(all: readonly Encoder[]) {
    this.#all = all;
    this.media = { image: all.some((one) => !one.hears), audio: all.some((one) => one.hears) };
  }

  /** `width`: values of a row of the model's prompts. Rejects with `invalid_argument` for an encoder of another. */
  static async load(
    source: Source,
    options: EncoderOptions,
    from: SourceOptions,
    scope: EncoderScope,
  ): Promise<Encoders> {
    const first = await Encoder.load(source, options, from, scope);
    if (!first.hearsToo) return new Encoders([first]);
    try {
      return new Encoders([first, await Encoder.load(source, { ...options, ofSounds: true }, from, scope)]);
    } catch (error) {
      // A page that shows images only needs no other.
      if (error instanceof WebggufError && error.code === 'unsupported_architecture') return new Encoders([first]);
      first.free();
      throw error;
    }
  }

  /** What an image or a sound becomes, of a kind that {@link media} has; a sound has `most` rows, at most. */
  encode(content: Content, most: number): Promise<Encoded> {
    const encoder = this.#all.find(({ hears }) => hears === 'audio' in content) as Encoder;
    return encoder.encode(content, most);
  }

  free(): void {
    for (const encoder of this.#all) encoder.free();
  }
}

class Encoder {
  readonly hears: boolean;
  readonly hearsToo: boolean;
  readonly #handle: WasmEncoder;
  readonly #info: EncoderInfo;
  readonly #numbers: Float64Array;
  readonly #known = new Map<string, Promise<Encoded>>();
  /** The end of what is being encoded: one at a time. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(handle: WasmEncoder, options: EncoderOptions) {
    this.#handle = handle;
    this.#info = handle.info();
    this.hears = this.#info.hears;
    this.hearsToo = this.#info.hearsToo;
    this.#numbers = this.hears ? Float64Array.from(this.#info.numbers) : this.#ofImages(options);
  }

  #ofImages(options: EncoderOptions): Float64Array {
    const { maxImageTokens = MOST_TOKENS, resize } = options;
    const { numbers, mostRows, projector, hasBreaks } = this.#info;
    const usual = projector === 'gemma4v' && !options.maxImageTokens ? GEMMA4_TOKENS : maxImageTokens;
    const [, , merge = 1] = numbers;
    const most = Math.max(1, Math.min(usual, Math.floor(mostRows / merge ** 2)));
    return Float64Array.of(...numbers, most, resize === 'stretch' ? 1 : 0, hasBreaks ? 1 : 0);
  }

  /** `width`: values of a row of the model's prompts. Rejects with `invalid_argument` for an encoder of another. */
  static async load(
    source: Source,
    options: EncoderOptions,
    from: SourceOptions,
    { scope, report, width, device }: EncoderScope,
  ): Promise<Encoder> {
    const { WasmEncoder: Handle } = await wasmClasses();
    const { backend, precision, ofSounds } = options;
    const start = async (sources: ByteSource[]): Promise<WasmEncoder> =>
      Handle.load(
        sources,
        { backend, ...(precision && { precision }), ...(ofSounds && { ofSounds }) },
        report,
        device?.(),
      );
    const handle = await withSources(source, from, {
      signal: scope,
      work: (sources) => settled(start(sources), scope),
      free: (made) => made.free(),
    });
    const encoder = new Encoder(handle, options);
    const found = encoder.#info.width;
    if (found === width) return encoder;
    encoder.free();
    throw invalidArgument(`option 'mmproj': rows of ${found} values, the model takes ${width}: it is of another model`);
  }

  /** What an image or a sound becomes; one that was met before is not encoded again. */
  async encode(content: Content, most: number): Promise<Encoded> {
    const digest = await digestOf(content, this.#numbers);
    const encode = (): Promise<Encoded> =>
      'image' in content ? this.#picture(content.image, digest) : this.#sound(content.audio, digest, most);
    const known = this.#known.get(digest) ?? this.#inTurn(encode);
    this.#known.delete(digest);
    this.#known.set(digest, known); // the last one used is the last one
    known.catch(() => this.#known.delete(digest));
    const [oldest] = this.#known.keys();
    if (this.#known.size > KEPT && oldest !== undefined) this.#known.delete(oldest);
    return known;
  }

  free(): void {
    this.#known.clear();
    this.#handle.free();
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }

  async #picture({ width, height, data }: Pixels, digest: string): Promise<Encoded> {
    const { Picture } = await mediaModule();
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    const { projector } = this.#info;
    const picture = named('image', () => new Picture(projector, this.#numbers, width, height, bytes));
    try {
      const tiles: TileRows[] = [];
      for (let tile = 0; tile < picture.count(); tile++) tiles.push(await this.#tile(picture, tile, digest));
      return { layout: layoutOf(projector, [...picture.grid()] as unknown as TileGrid), tiles };
    } finally {
      picture.free();
    }
  }

  async #tile(picture: Picture, tile: number, digest: string): Promise<TileRows> {
    const [count = 0, columns = 0, rows = 0] = named('image', () => picture.select(tile));
    if (count > this.#info.mostRows) {
      const most = this.#info.mostRows;
      throw new WebggufError('limit_exceeded', `image: ${count} patches, the encoder has room for ${most}`);
    }
    const tables = [picture.placeRows(), picture.placeWeights(), picture.groupRows(), picture.groupWeights()] as const;
    const counts = Uint32Array.of(count, rows);
    const others = [picture.turns(), picture.parts(), picture.breaks()] as const;
    const patches = picture.patches();
    const values = await this.#handle.encode(counts, patches, ...tables, ...others, new Uint32Array()).catch(rethrown);
    return this.#rows({ columns, rows }, values, digestOfPart(digest, tile));
  }

  async #sound({ samples }: Samples, digest: string, most: number): Promise<Encoded> {
    const { Sound: Kind } = await mediaModule();
    const { projector } = this.#info;
    const sound = named('audio', () => new Kind(projector, this.#numbers, samples));
    try {
      const tiles: TileRows[] = [];
      const [, , rows = 0] = sound.select(0);
      const all = rows * sound.count();
      if (all > most) {
        const seconds = Math.ceil(samples.length / RATE);
        const message = `audio: ${seconds} seconds take ${all} tokens, the context holds ${most}`;
        throw new WebggufError('context_full', message);
      }
      for (let piece = 0; piece < sound.count(); piece++) tiles.push(await this.#piece(sound, piece, digest));
      return { layout: layoutOfSound(projector, tiles.length), tiles };
    } finally {
      sound.free();
    }
  }

  async #piece(sound: Sound, piece: number, digest: string): Promise<TileRows> {
    const [frames = 0, count = 0, rows = 0] = sound.select(piece);
    const fold = sound.fold();
    const counts = Uint32Array.of(count, rows, frames, fold.length);
    const tables = [sound.placeRows(), sound.placeWeights(), sound.groupRows(), sound.groupWeights()] as const;
    const [floats, words] = [new Float32Array(), new Uint32Array()];
    const values = await this.#handle
      .encode(counts, sound.patches(), ...tables, floats, words, floats, fold)
      .catch(rethrown);
    return this.#rows({ columns: 0, rows }, values, digestOfPart(digest, piece));
  }

  #rows(sizes: Pick<TileRows, 'columns' | 'rows'>, values: Float32Array | undefined, digest: string): TileRows {
    if (!values) throw new DOMException('the image or sound is no longer wanted', 'AbortError');
    return { ...sizes, values, parts: this.#info.parts, digest };
  }
}

/** What loading takes besides options. @internal */
export interface EncoderScope {
  readonly scope: AbortSignal;
  readonly report: (stage: string, loaded: number, total: number) => void;
  readonly width: number;
  readonly device?: (() => DeviceHandle) | undefined;
}

/** The ids of an image or a sound in prompts of a model. @internal */
export function idsOf(handle: WasmModel, { layout, tiles }: Encoded): number[] {
  return layout.flatMap((item) => {
    if (typeof item === 'string') return [...handle.tokenize(item, false, true)];
    const { columns, rows, values, digest } = tiles[item] as TileRows;
    const first = handle.addRows(digest, columns, values);
    return Array.from({ length: rows }, (_, at) => first + at);
  });
}

/** Of a tile or a piece: the last two digits are its number. */
function digestOfPart(digest: string, number: number): string {
  return digest.slice(0, 14) + number.toString(16).padStart(2, '0');
}

/** Of the pixels or samples, and of what is made of them. */
async function digestOf(content: Content, numbers: Float64Array): Promise<string> {
  const held = 'image' in content ? content.image.data : content.audio.samples;
  const sizes = 'image' in content ? `${content.image.width} ${content.image.height}` : 'sound';
  const data = new Uint8Array(held.buffer, held.byteOffset, held.byteLength);
  const head = new TextEncoder().encode(`${sizes} ${numbers.join()}`);
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
function named<T>(what: 'image' | 'audio', work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (typeof cause === 'string') throw invalidArgument(`${what}: ${cause}`);
    throw new WebggufError('internal', `${what}: ${String(cause)}`, { cause });
  }
}

function rethrown(error: unknown): never {
  throw fromWasm(error);
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
