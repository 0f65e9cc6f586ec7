/**
 * An encoder of images or sounds beside a model: these become rows of its prompts.
 */
import { settled } from '../cancel.js';
import { later } from '../engine/later.js';
import { Recovery, readOnce } from '../engine/recovery.js';
import { WebggufError, invalidArgument } from '../errors.js';
import { warner } from '../load/cache/warning.js';
import { withSources } from '../load/sources.js';
import { Verdicts } from '../tuning/verdicts.js';
import type { ModelInfo, Source, SourceOptions } from '../types.js';
import { giveRare } from '../wasm/give-rare.js';
import type { ByteSource, DeviceHandle, EncoderInfo, WasmEncoder, WasmModel } from '../wasm/webgguf.js';
import { wasmClasses } from '../wasm/instance.js';
import { digestOf, digestOfPart } from './digest.js';
import { type LayoutItem, layoutOf, layoutOfSound, type TileGrid } from './layout.js';
import { mediaModule } from './module.js';
import type { Pixels } from './pixels.js';
import { RATE, type Samples } from './samples.js';
import type { Picture, Sound } from './webgguf_media.js';

/** Rows of an image, at most, where its size is not fixed. */
const MOST_TOKENS = 1024;
/** What Gemma 4 takes where nobody says. */
const GEMMA4_TOKENS = 1120;
/** How long a picture is worked on without a pause, in milliseconds. */
const BUSY_MS = 16;
/** Images or sounds whose rows a model keeps, at most. */
const KEPT = 32;

/** How an encoder is loaded. @internal */
export interface EncoderOptions {
  readonly backend: 'auto' | 'webgpu' | 'cpu';
  readonly precision?: 'auto' | 'exact' | 'fast' | undefined;
  readonly maxImageTokens?: number | undefined;
  readonly resize?: 'pad' | 'stretch' | undefined;
  readonly keepEncoder?: boolean | undefined;
  readonly selfCheck?: boolean | undefined;
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
  readonly isSound?: true;
}

/** Is told which share of an image or a sound is encoded. @internal */
export type Report = (share: number) => void;

/** Who wants an image or a sound encoded. @internal */
export interface Asked {
  /** Rows, at most. */
  readonly most: number;
  readonly signal?: AbortSignal | undefined;
  readonly report?: Report | undefined;
}

/** @internal */
export class Encoder {
  readonly hears: boolean;
  readonly hearsToo: boolean;
  /** Nothing while its weights are not kept. */
  #handle: WasmEncoder | undefined;
  readonly #recovery: Recovery;
  /** Loads it again, where its weights are not kept. */
  readonly #again: ((signal?: AbortSignal) => Promise<WasmEncoder>) | undefined;
  readonly #dropped: (encoded: Encoded) => void;
  readonly #info: EncoderInfo;
  readonly #numbers: Float64Array;
  readonly #known = new Map<string, Promise<Encoded>>();
  /** The end of what is being encoded: one at a time. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(handle: WasmEncoder, reloading: Reloading, options: EncoderOptions, scope: EncoderScope) {
    this.#handle = handle;
    this.#recovery = reloading.recovery;
    this.#again = options.keepEncoder === false ? reloading.again : undefined;
    this.#dropped = scope.dropped;
    this.#info = handle.info();
    this.hears = this.#info.hears;
    this.hearsToo = this.#info.hearsToo;
    this.#numbers = this.hears ? Float64Array.from(this.#info.numbers) : this.#ofImages(options);
  }

  #ofImages(options: EncoderOptions): Float64Array {
    const { maxImageTokens = MOST_TOKENS, resize } = options;
    const { numbers, mostRows, projector, hasBreaks } = this.#info;
    const usual = projector.startsWith('gemma4') && !options.maxImageTokens ? GEMMA4_TOKENS : maxImageTokens;
    const [, , merge = 1] = numbers;
    const most = Math.max(1, Math.min(usual, Math.floor(mostRows / merge ** 2)));
    return Float64Array.of(...numbers, most, resize === 'stretch' ? 1 : 0, hasBreaks ? 1 : 0);
  }

  /** `width`: values of a row of the model's prompts. Rejects with `invalid_argument` for an encoder of another. */
  static async load(
    source: Source,
    options: EncoderOptions,
    from: SourceOptions,
    about: EncoderScope,
  ): Promise<Encoder> {
    const { scope, report, width, device } = about;
    const { WasmEncoder: Handle } = await wasmClasses();
    const { backend, precision, ofSounds, selfCheck } = options;
    const rare = (): Promise<void> => giveRare(later.rare);
    const given = { backend, rare, ...(precision && { precision }), ...(ofSounds && { ofSounds }) };
    const open = (signal: AbortSignal, tell: typeof report): Promise<WasmEncoder> => {
      const start = async (sources: ByteSource[]): Promise<WasmEncoder> => {
        const verdicts = selfCheck && backend !== 'cpu' ? await Verdicts.read('checked') : undefined;
        const checked = { ...given, ...(verdicts && { selfCheck: verdicts.known }) };
        const handle = await Handle.load(sources, checked, tell, device?.());
        await verdicts?.note(handle.info(), undefined, warner(from.onWarning));
        return handle;
      };
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
    const encoder = new Encoder(handle, { recovery: recoveryOf(why ?? again, from), again }, options, about);
    const found = encoder.#info.width;
    if (found === width) {
      encoder.rest();
      return encoder;
    }
    encoder.free();
    throw invalidArgument(`option 'mmproj': rows of ${found} values, the model takes ${width}: it is of another model`);
  }

  /** What `info` says of it. */
  get about(): NonNullable<ModelInfo['encoders']>[number] {
    const { projector, selfCheck } = this.#info;
    return { projector, selfCheck };
  }

  /** What an image or a sound becomes; one that was met before is not encoded again. */
  async encode(content: Content, asked: Asked): Promise<Encoded> {
    asked.signal?.throwIfAborted();
    const digest = await digestOf(content, this.#numbers);
    const encode = async (): Promise<Encoded> => {
      this.#handle ??= await this.#again?.(asked.signal);
      if ('image' in content) return this.#picture(content.image, digest, asked);
      return this.#sound(content.audio, digest, asked);
    };
    const begun = this.#known.get(digest);
    const known = begun ?? this.#inTurn(encode);
    this.#known.delete(digest);
    this.#known.set(digest, known); // the last one used is the last one
    known.catch(() => this.#known.get(digest) === known && this.#known.delete(digest));
    const [[oldest, dropped]] = this.#known as unknown as [[string, Promise<Encoded>]];
    if (this.#known.size > KEPT && this.#known.delete(oldest)) {
      dropped.then(this.#dropped).catch(() => {}); // whoever asked for it has the error
    }
    if (!begun) return known;
    // Another request for the same one may have been stopped, or had less room.
    return known.catch((error) => {
      const isOther = (error as Error).name === 'AbortError' || (error as WebggufError).code === 'context_full';
      if (!isOther || asked.signal?.aborted) throw error;
      return this.encode(content, asked);
    });
  }

  /** The images and sounds of a prompt are encoded: frees the weights, unless they are kept. */
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

  async #picture({ width, height, data }: Pixels, digest: string, asked: Asked): Promise<Encoded> {
    const { Picture } = await mediaModule();
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    const { projector } = this.#info;
    const picture = named('image', () => new Picture(projector, this.#numbers, width, height, bytes));
    try {
      await inSteps(() => named('image', () => picture.step()), asked.signal);
      checkRows(`image: ${width} × ${height} pixels`, picture.outputs(), asked);
      const tiles = await parts(picture.count(), asked, (tile) => this.#tile(picture, tile, digest, asked.signal));
      return { layout: layoutOf(projector, [...picture.grid()] as unknown as TileGrid), tiles };
    } finally {
      picture.free();
    }
  }

  async #tile(picture: Picture, tile: number, digest: string, signal?: AbortSignal): Promise<TileRows> {
    const [count = 0, columns = 0, rows = 0] = named('image', () => picture.select(tile));
    if (count > this.#info.mostRows) {
      const most = this.#info.mostRows;
      throw new WebggufError('limit_exceeded', `image: ${count} patches, the encoder has room for ${most}`);
    }
    const tables = [picture.placeRows(), picture.placeWeights(), picture.groupRows(), picture.groupWeights()] as const;
    const counts = Uint32Array.of(count, rows);
    const others = [picture.turns(), picture.parts(), picture.breaks()] as const;
    return this.#filled({ columns, rows }, digestOfPart(digest, tile), signal, (handle, values) => {
      return handle.encode(counts, picture.patches(), ...tables, ...others, new Uint32Array(), values);
    });
  }

  async #sound({ samples }: Samples, digest: string, asked: Asked): Promise<Encoded> {
    const { Sound: Kind } = await mediaModule();
    const { projector } = this.#info;
    const sound = named('audio', () => new Kind(projector, this.#numbers, samples));
    try {
      checkRows(`audio: ${Math.ceil(samples.length / RATE)} seconds`, sound.outputs(), asked);
      const tiles = await parts(sound.count(), asked, (piece) => this.#piece(sound, piece, digest, asked.signal));
      return { layout: layoutOfSound(projector, tiles.length), tiles, isSound: true };
    } finally {
      sound.free();
    }
  }

  async #piece(sound: Sound, piece: number, digest: string, signal?: AbortSignal): Promise<TileRows> {
    const counts = sound.select(piece);
    const [, rows = 0] = counts;
    const fold = sound.fold();
    const tables = [sound.placeRows(), sound.placeWeights(), sound.groupRows(), sound.groupWeights()] as const;
    const words = new Uint32Array();
    const turns = sound.turns();
    return this.#filled({ columns: 0, rows }, digestOfPart(digest, piece), signal, (handle, values) => {
      return handle.encode(counts, sound.patches(), ...tables, turns, words, new Float32Array(), fold, values);
    });
  }

  /** The rows that `encode` writes into the array that it is given. */
  async #filled(
    sizes: Pick<TileRows, 'columns' | 'rows'>,
    digest: string,
    signal: AbortSignal | undefined,
    encode: (handle: WasmEncoder, values: Float32Array) => Promise<boolean>,
  ): Promise<TileRows> {
    const { width, parts } = this.#info;
    const values = new Float32Array(sizes.rows * width);
    const isDone = await this.#kept((handle) => encode(handle, values), signal);
    if (!isDone) throw new DOMException('the image or sound is no longer wanted', 'AbortError');
    return { ...sizes, values, parts, digest };
  }
}

/** Nothing is encoded that has no room. */
function checkRows(what: string, rows: number, { most }: Asked): void {
  if (rows <= most) return;
  throw new WebggufError('context_full', `${what} take ${rows} tokens, the context has room for ${most}`);
}

/** Lets the page do something else. */
function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

/** Steps until the work is done, with a pause before the page would notice. */
async function inSteps(step: () => boolean, signal: AbortSignal | undefined): Promise<void> {
  let start = performance.now();
  while (!step()) {
    if (performance.now() - start < BUSY_MS) continue;
    await pause();
    signal?.throwIfAborted();
    start = performance.now();
  }
}

/** Encodes the tiles of an image or the pieces of a sound one after the other. */
async function parts(
  count: number,
  { signal, report }: Asked,
  encode: (part: number) => Promise<TileRows>,
): Promise<TileRows[]> {
  const found: TileRows[] = [];
  for (let part = 0; part < count; part++) {
    // On the CPU a part is encoded without a pause: a message that cancels the request is read in between.
    await pause();
    signal?.throwIfAborted();
    report?.(part / count);
    found.push(await encode(part));
  }
  report?.(1);
  return found;
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

/** What loading takes besides options. @internal */
export interface EncoderScope {
  readonly scope: AbortSignal;
  readonly report: (stage: string, loaded: number, total: number) => void;
  readonly width: number;
  readonly device?: (() => DeviceHandle) | undefined;
  /** Is told of an image or a sound whose rows are kept no more. */
  readonly dropped: (encoded: Encoded) => void;
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
