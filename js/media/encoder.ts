/**
 * An encoder of images or sounds beside a model: these become rows of its prompts.
 */
import { settled } from '../cancel.js';
import { files } from '../engine/files.js';
import { Recovery, readOnce } from '../engine/recovery.js';
import { WebggufError, invalidArgument } from '../errors.js';
import { warner } from '../load/cache/warning.js';
import { withSources } from '../load/sources.js';
import { Verdicts } from '../tuning/verdicts.js';
import type { ModelInfo } from '../types/info.js';
import type { Source, SourceOptions } from '../types/source.js';
import { giveNeeded, type NeededFiles } from '../wasm/give-needed.js';
import type { ByteSource, EncoderInfo, WasmEncoder, WasmModel } from '../wasm/webgguf.js';
import { wasmClasses } from '../wasm/instance.js';
import { commonOf, digestOf, digestOfPart } from './digest.js';
import type { EncoderOptions, EncoderScope, Input, TileRows } from './encoder-options.js';
import { assembled } from './assembled.js';
import { FAMILIES, type LayoutItem, layoutOf, layoutOfFrame, layoutOfSound, numbersOfFrames } from './layout.js';
import { mediaModule, named } from './module.js';
import type { Frames } from '../video/frames.js';
import type { Pixels } from './header.js';
import { checkRows } from './room.js';
import { RATE, type Samples } from './samples.js';
import { inParts, inSteps, oneByOne } from './steps.js';
import type { ArrivingSound, Picture, Sound } from './webgguf_media.js';

export type { EncoderOptions, EncoderScope, Input, TileRows } from './encoder-options.js';

/** Rows of an image, at most, where its size is not fixed. */
const MOST_TOKENS = 1024;
/** Samples that are handed over without a pause. */
const PIECE = 1 << 20;
/** Bytes of rows of images and sounds that are kept, at most, unless one has more. */
const KEPT_BYTES = 128 << 20;

/** The rows of the images and sounds of a prompt, by their digests. @internal */
export type RowsOfPrompt = ReadonlyMap<string, TileRows>;

/** What is encoded. @internal */
export type Content = { readonly image: Pixels } | { readonly video: Frames } | { readonly audio: Samples };
/** What an encoder reads at once. @internal */
export type Medium = Exclude<Content, { readonly video: Frames }>;

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
  /** Whether the image is a frame of a video: it has fewer rows, and is not cut into tiles. */
  readonly isFrame?: boolean | undefined;
  readonly number?: number | undefined; // images, videos and sounds before it in the prompt
}

/** @internal */
export class Encoder {
  readonly hears: boolean;
  readonly hearsToo: boolean;
  /** Nothing while its weights are not kept. */
  #handle: WasmEncoder | undefined;
  readonly #recovery: Recovery;
  /** Loads it again. */
  readonly #again: (signal?: AbortSignal) => Promise<WasmEncoder>;
  readonly #seesToo: boolean;
  /** Whether its weights stay after each use. */
  readonly #isKept: boolean;
  readonly #info: EncoderInfo;
  readonly #numbers: Float64Array;
  readonly #numbersOfFrames: Float64Array;
  readonly #known = new Map<string, Promise<Encoded>>();
  /** The rows of encoded images and sounds, by the digests of their parts. */
  readonly #rows = new Map<string, TileRows>();
  #isFreed = false;
  /** The end of what is being encoded: one at a time. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(handle: WasmEncoder, reloading: Reloading, options: EncoderOptions) {
    this.#handle = handle;
    this.#recovery = reloading.recovery;
    this.#again = reloading.again;
    this.#seesToo = options.part === 'sounds';
    this.#isKept = options.keepEncoder !== false;
    this.#info = handle.info();
    this.hears = this.#info.hears;
    this.hearsToo = this.#info.hearsToo;
    this.#numbers = this.hears ? Float64Array.from(this.#info.numbers) : this.#ofImages(options);
    this.#numbersOfFrames = numbersOfFrames(this.#info.projector, this.#numbers);
  }

  #ofImages(options: EncoderOptions): Float64Array {
    const { numbers, mostRows, projector, hasBreaks } = this.#info;
    const { maxImageTokens = FAMILIES[projector]?.rows ?? MOST_TOKENS, resize } = options;
    const [, , merge = 1] = numbers;
    const most = Math.max(1, Math.min(maxImageTokens, Math.floor(mostRows / merge ** 2)));
    return Float64Array.of(...numbers, most, resize === 'stretch' ? 1 : 0, hasBreaks ? 1 : 0);
  }

  /** `width`: values of a row of the model's prompts. Rejects with `invalid_argument` for an encoder of another. */
  static async load(
    source: Source,
    options: EncoderOptions,
    from: SourceOptions,
    about: EncoderScope,
  ): Promise<Encoder> {
    const { scope, report, width, device, threads: threadsOf } = about;
    const fetch = (name: keyof NeededFiles): Promise<void> => giveNeeded(name, files);
    const [{ WasmEncoder: Handle }] = await Promise.all([wasmClasses(), fetch('encoders')]);
    const { backend, precision, part, selfCheck } = options;
    const given = { backend, fetch, ...(precision && { precision }), ...(part && { part }) };
    const open = (signal: AbortSignal, tell: typeof report): Promise<WasmEncoder> => {
      const start = async (sources: ByteSource[]): Promise<WasmEncoder> => {
        const verdicts = selfCheck && backend !== 'cpu' ? await Verdicts.read('checked') : undefined;
        const threads = threadsOf?.(signal);
        const hooks = { ...(verdicts && { selfCheck: verdicts.known }), ...(threads && { threads }) };
        const handle = await Handle.load(sources, { ...given, ...hooks }, tell, device?.());
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
    const encoder = new Encoder(handle, { recovery: recoveryOf(why ?? again, from), again }, options);
    const found = encoder.#info.width;
    if (width === undefined || found === width) {
      encoder.rest();
      return encoder;
    }
    encoder.free();
    throw invalidArgument(`option 'mmproj': rows of ${found} values, the model takes ${width}: it is of another model`);
  }

  /** What `info` says of it. */
  get about(): NonNullable<ModelInfo['encoders']>[number] {
    return { projector: this.#info.projector, selfCheck: this.#info.selfCheck };
  }

  /** The sizes of its rows and passes. */
  get info(): EncoderInfo {
    return this.#info;
  }

  /** What a vocoder makes of rows. */
  spectra(rows: number, values: Float32Array, signal?: AbortSignal): Promise<Float32Array> {
    return this.run({ counts: Uint32Array.of(rows, rows), patches: values }, signal);
  }

  /** What a program makes of rows. */
  run(input: Input, signal?: AbortSignal): Promise<Float32Array> {
    const [words, none] = [new Uint32Array(), new Float32Array()];
    const { counts, patches, placeRows = words, placeWeights = none, groupRows = words, groupWeights = none } = input;
    const { turns = none, breaks = none, folds = words } = input;
    const tables = [placeRows, placeWeights, groupRows, groupWeights] as const;
    const encode = (handle: WasmEncoder, into: Float32Array): Promise<boolean> =>
      handle.encode(counts, patches, ...tables, turns, words, breaks, folds, into);
    return this.#inTurn(async () => {
      await this.#wake(signal);
      return (await this.#filled({ columns: 0, rows: counts[1] as number }, '', signal, encode)).values;
    });
  }

  /** Loads the weights again where they were freed. */
  async #wake(signal: AbortSignal | undefined): Promise<void> {
    this.#check();
    this.#handle ??= await this.#again(signal);
    if (this.#isFreed) this.#drop();
  }

  /** What an image or a sound becomes; one that was met before is not encoded again. */
  async encode(content: Medium, asked: Asked): Promise<Encoded> {
    asked.signal?.throwIfAborted();
    const digest = await digestOf(content, asked.isFrame ? [...this.#numbersOfFrames, 1] : [...this.#numbers]);
    const encode = async (): Promise<Encoded> => {
      await this.#wake(asked.signal);
      if ('image' in content) return this.#picture(content.image, digest, asked);
      return this.#sound(content.audio, digest, asked);
    };
    const begun = this.#known.get(digest);
    const known = begun ?? this.#inTurn(encode);
    this.#known.delete(digest);
    this.#known.set(digest, known); // the last one used is the last one
    if (!begun) {
      known.then(
        (encoded) => this.#keep(digest, known, encoded),
        () => this.#known.get(digest) === known && this.#known.delete(digest),
      );
      return known;
    }
    // Another request for the same one may have been stopped, or had less room.
    return known.catch((error) => {
      const isOther = (error as Error).name === 'AbortError' || (error as WebggufError).code === 'context_full';
      if (!isOther || asked.signal?.aborted) throw error;
      return this.encode(content, asked);
    });
  }

  /** The rows of a part that was encoded, while they are kept. */
  rowsOf(digest: string): TileRows | undefined {
    return this.#rows.get(digest);
  }

  /** Keeps what was encoded, in place of what was asked for longest ago. */
  #keep(digest: string, known: Promise<Encoded>, { tiles }: Encoded): void {
    if (this.#known.get(digest) !== known) return; // freed meanwhile
    for (const tile of tiles) this.#rows.set(tile.digest, tile);
    const bytes = (): number => [...this.#rows.values()].reduce((sum, { values }) => sum + values.byteLength, 0);
    for (const oldest of this.#known.keys()) {
      if (oldest === digest || bytes() <= KEPT_BYTES) break;
      this.#known.delete(oldest);
      for (const part of this.#rows.keys()) if (part.startsWith(commonOf(oldest))) this.#rows.delete(part);
    }
  }

  /** The images and sounds of a prompt are encoded: frees the weights, unless they are kept, or with `all`. */
  rest(all = false): void {
    if (!this.#isKept || (all && this.#recovery.isFinal === undefined)) void this.#inTurn(async () => this.#drop());
  }

  free(): void {
    this.#isFreed = true;
    this.#known.clear();
    this.#rows.clear();
    this.#drop();
  }

  #drop(): void {
    this.#handle?.free();
    this.#handle = undefined;
  }

  #check(): void {
    if (this.#isFreed) throw invalidArgument('the model was freed');
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
      if (this.#isFreed) fresh.free();
      else this.#handle = fresh;
    };
    signal?.addEventListener('abort', cancel);
    try {
      const held = { recover } as unknown as WasmModel;
      const now = async (): Promise<T> => {
        this.#check();
        return work(this.#handle as WasmEncoder);
      };
      return await this.#recovery.during(held, now, signal);
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  }

  async #picture({ width, height, data }: Pixels, digest: string, asked: Asked): Promise<Encoded> {
    const { Picture } = await mediaModule();
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    const { projector } = this.#info;
    const numbers = asked.isFrame ? this.#numbersOfFrames : this.#numbers;
    const picture = named('image', () => new Picture(projector, numbers, width, height, bytes));
    try {
      const rowsOfAll = named('image', () => picture.outputs());
      if (!asked.isFrame) checkRows(`image: ${width} × ${height} pixels`, rowsOfAll, asked);
      await inSteps(() => named('image', () => picture.step()), asked.signal);
      const [columns = 0, rows = 0, overview = 0, count = 0] = picture.grid();
      const encode = (tile: number): Promise<TileRows> => this.#tile(picture, tile, digest, asked.signal);
      const { isFrame = false } = asked;
      const order = picture.order(isFrame);
      if (order.length > 0) return await assembled({ projector, count, order }, asked, encode);
      // The last tile is the whole image.
      const tiles = await (isFrame ? oneByOne(1, asked, () => encode(count - 1)) : oneByOne(count, asked, encode));
      return { layout: isFrame ? layoutOfFrame(projector) : layoutOf(projector, [columns, rows, overview]), tiles };
    } finally {
      picture.free();
    }
  }

  async #tile(picture: Picture, tile: number, digest: string, signal?: AbortSignal): Promise<TileRows> {
    const [count = 0, columns = 0, rows = 0, canvas = 0, ...folds] = named('image', () => picture.select(tile));
    const most = this.#info.mostRows;
    const full = `image: ${count} patches, the encoder has room for ${most}`;
    if (count > most) throw new WebggufError('limit_exceeded', full);
    const [placeRows, placeWeights, groupRows, groupWeights, turns, breaks, parts] = picture.tables();
    const tables = [placeRows, placeWeights, groupRows, groupWeights] as const;
    const counts = Uint32Array.of(count, rows, ...folds);
    const fold = picture.folds();
    return this.#filled({ columns, rows, canvas }, digestOfPart(digest, tile), signal, (handle, values) => {
      return handle.encode(counts, picture.patches(), ...tables, turns, parts, breaks, fold, values);
    });
  }

  async #sound({ samples }: Samples, digest: string, asked: Asked): Promise<Encoded> {
    const { Sound: Kind } = await mediaModule();
    const sound = new Kind(this.#info.projector, this.#numbers, samples.length);
    try {
      checkRows(`audio: ${Math.ceil(samples.length / RATE)} seconds`, sound.outputs(), asked);
      await inParts(samples.length, PIECE, (from, to) => sound.push(samples.subarray(from, to)), asked.signal);
      await inSteps(() => named('audio', () => sound.step()), asked.signal);
      const tiles = await oneByOne(sound.count(), asked, (piece) => this.#piece(sound, piece, digest, asked.signal));
      return { layout: layoutOfSound(this.#info.projector, tiles.length, this.#seesToo), tiles, isSound: true };
    } finally {
      sound.free();
    }
  }

  #piece(sound: Sound, piece: number, digest: string, signal?: AbortSignal): Promise<TileRows> {
    return this.#heard(sound, sound.select(piece), digestOfPart(digest, piece), signal);
  }

  /**
   * The rows that were taken of a sound that arrives; `goesOn`: others of it were encoded before. Rejects with
   * `device_lost` where these were lost meanwhile.
   */
  arrived(sound: ArrivingSound, counts: Uint32Array, goesOn: boolean, signal?: AbortSignal): Promise<Float32Array> {
    return this.#inTurn(async () => {
      await this.#wake(signal);
      return (await this.#heard(sound, counts, '', signal, goesOn)).values;
    });
  }

  #heard(
    sound: Pick<Sound, 'tables' | 'patches'>,
    counts: Uint32Array,
    digest: string,
    signal: AbortSignal | undefined,
    goesOn = false,
  ): Promise<TileRows> {
    const [placeRows, placeWeights, groupRows, groupWeights, turns, breaks, fold] = sound.tables();
    const tables = [placeRows, placeWeights, groupRows, groupWeights, turns, new Uint32Array(), breaks, fold] as const;
    const before = this.#handle;
    return this.#filled({ columns: 0, rows: counts[1] as number }, digest, signal, async (handle, values) => {
      if (goesOn && handle !== before) {
        throw new WebggufError('device_lost', 'audio: what was heard is lost with the device: begin again');
      }
      if (goesOn) handle.goOn();
      return handle.encode(counts, sound.patches(), ...tables, values);
    });
  }

  /** The rows that `encode` writes into the array that it is given. */
  async #filled(
    sizes: Pick<TileRows, 'columns' | 'rows' | 'canvas'>,
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

/** How an encoder is loaded again. */
interface Reloading {
  readonly recovery: Recovery;
  readonly again: (signal?: AbortSignal) => Promise<WasmEncoder>;
}

/** A model's recovery, for a handle that another one takes the place of. */
function recoveryOf(reload: string | ((signal?: AbortSignal) => Promise<WasmEncoder>), from: SourceOptions): Recovery {
  return new Recovery(reload as ConstructorParameters<typeof Recovery>[0], warner(from.onWarning));
}
