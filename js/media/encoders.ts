/**
 * The encoders of a file, of images, of sounds, or of both, and the ids of their rows in prompts.
 */
import { WebggufError, invalidArgument } from '../errors.js';
import { warner } from '../load/cache/warning.js';
import { chooseEncoder, fileRequest, hubName } from '../load/hub.js';
import { FIRST_ROW } from '../model/prompt.js';
import type { ModelInfo } from '../types/info.js';
import type { LoadOptions } from '../types/load.js';
import type { Source, SourceOptions } from '../types/source.js';
import type { Lfm3 } from '../voice/lfm3.js';
import type { Pocket } from '../voice/pocket.js';
import type { Vocoder } from '../voice/vocoder.js';
import type { WasmModel } from '../wasm/webgguf.js';
import type { Asked, Encoded, EncoderOptions, EncoderScope, Medium, RowsOfPrompt, TileRows } from './encoder.js';
import { Encoder } from './encoder.js';

/** What loading takes besides options. `vocoder` fetches the code of vocoders. */
interface Scope extends EncoderScope {
  readonly vocoder: () => Promise<{ readonly Vocoder: typeof Vocoder }>;
}

/** Rows that are sounds: the ids from `first` to the one before `end`. */
interface SoundIds {
  readonly first: number;
  readonly end: number;
}

/** @internal */
export class Encoders {
  /** What they take, and what they are. */
  readonly info: Pick<ModelInfo, 'media' | 'encoders' | 'vocoder'>;
  readonly vocoder: Vocoder | Pocket | Lfm3 | undefined;
  readonly #all: readonly Encoder[];
  readonly #sounds: SoundIds[] = [];

  private constructor(all: readonly Encoder[], vocoder: Vocoder | Pocket | Lfm3 | undefined) {
    this.#all = all;
    this.vocoder = vocoder;
    const media = { image: all.some((one) => !one.hears), audio: all.some((one) => one.hears) };
    this.info = {
      ...(all.length > 0 && { media, encoders: all.map(({ about }) => about) }),
      ...(vocoder && { vocoder: { ...vocoder.about, sampleRate: vocoder.sampleRate } }),
    };
  }

  /** Loads the files beside the model `source` that the options name. */
  static async open(source: Source, from: SourceOptions, options: LoadOptions, scope: Scope): Promise<Encoders> {
    const { backend = 'auto', selfCheck = true, precision, mmproj, keepEncoder, maxImageTokens, resize } = options;
    const { vocoder: voice } = options;
    const ofEncoder = { backend, precision, keepEncoder, maxImageTokens, resize, selfCheck };
    const place = async (of: 'mmproj' | 'vocoder', file: Source | true): Promise<Source> =>
      file === true ? await beside(await source, from, scope.scope, of) : file;
    const all = mmproj === undefined ? [] : await encodersOf(await place('mmproj', mmproj), ofEncoder, from, scope);
    try {
      const ofVoice = { backend, keepEncoder, selfCheck, precision: 'exact' } as const;
      const vocoder =
        voice === undefined ? undefined : await vocoderOf(await place('vocoder', voice), ofVoice, from, scope);
      return new Encoders(all, vocoder);
    } catch (error) {
      for (const encoder of all) encoder.free();
      throw error;
    }
  }

  /** What an image or a sound becomes, of a kind that {@link info} has. */
  encode(content: Medium, asked: Asked): Promise<Encoded> {
    const encoder = this.#all.find(({ hears }) => hears === 'audio' in content) as Encoder;
    return encoder.encode(content, asked);
  }

  /** The one that hears. */
  get ears(): Encoder | undefined {
    return this.#all.find(({ hears }) => hears);
  }

  /** The ids of an image or a sound in prompts of a model, in which `number` others come before it. */
  idsOf(handle: WasmModel, { layout, tiles, isSound }: Encoded, number = 0): number[] {
    return layout.flatMap((item) => {
      if (typeof item === 'string') return [...handle.tokenize(item.replace('_id>N<', `_id>${number}<`), false, true)];
      const { digest, columns, rows, canvas } = tiles[item] as TileRows;
      const first = handle.knowRows(digest, columns, rows, canvas);
      if (isSound && !this.#isSound(first)) this.#sounds.push({ first, end: first + rows });
      return Array.from({ length: rows }, (_, at) => first + at);
    });
  }

  #isSound(id: number): boolean {
    return this.#sounds.some(({ first, end }) => id >= first && id < end);
  }

  /** How many of the ids of a prompt are rows. */
  rowsIn(ids: Uint32Array): { imageTokens: number; audioTokens: number } {
    const rows = ids.filter((id) => id >= FIRST_ROW);
    const audioTokens = this.info.media?.image ? rows.filter((id) => this.#isSound(id)).length : rows.length;
    return { imageTokens: rows.length - audioTokens, audioTokens };
  }

  /**
   * Gives the model the rows that it is about to read. They leave it once it has read them, and come again where its
   * device is lost. `own`: the rows of the request; others may still be known from before.
   */
  giveRows(handle: WasmModel, own: RowsOfPrompt): void {
    for (const digest of handle.missingRows()) {
      const known = this.#all.map((encoder) => encoder.rowsOf(digest)).find((rows) => rows !== undefined);
      const rows = own.get(digest) ?? known;
      if (!rows) throw invalidArgument('generate: these rows are kept no more');
      handle.addRows(digest, rows.columns, rows.values, rows.canvas);
    }
  }

  /** The images and sounds of a prompt are encoded: frees the weights, unless they are kept, or with `all`. */
  rest(all = false): void {
    for (const encoder of this.#all) encoder.rest(all);
    this.vocoder?.rest(all);
  }

  free(): void {
    for (const encoder of this.#all) encoder.free();
    this.vocoder?.free();
  }
}

/** The encoders of a file: one, or one of images and one of sounds. */
async function encodersOf(
  source: Source,
  options: EncoderOptions,
  from: SourceOptions,
  scope: EncoderScope,
): Promise<Encoder[]> {
  const first = await Encoder.load(source, options, from, scope);
  if (!first.hearsToo) return [first];
  try {
    return [first, await Encoder.load(source, { ...options, part: 'sounds' }, from, scope)];
  } catch (error) {
    if (!(error instanceof WebggufError) || error.code !== 'unsupported_architecture') {
      first.free();
      throw error;
    }
    // A page that shows images only needs no other.
    const message = `option 'mmproj': images are read, sounds are not: ${error.message}`;
    warner(from.onWarning)({ code: 'file', message });
    return [first];
  }
}

/** The vocoder of a file, whose code is fetched for it. */
async function vocoderOf(
  source: Source,
  options: EncoderOptions,
  from: SourceOptions,
  scope: Scope,
): Promise<Vocoder | Pocket | Lfm3> {
  const { Vocoder } = await scope.vocoder();
  return Vocoder.load(source, options, from, scope);
}

/** The encoder beside a model in its repository on the hub. @internal */
export async function beside(
  model: unknown,
  from: SourceOptions,
  signal: AbortSignal,
  option = 'mmproj',
): Promise<Source> {
  const name = typeof model === 'string' ? hubName(model) : undefined;
  if (!name) {
    const where = "beside a model that is named by its repository on the hub, such as 'owner/name:Q4_K_M'";
    throw invalidArgument(`option '${option}': true finds the file ${where}; else give its URL, File or Blob`);
  }
  return fileRequest(name, await chooseEncoder(name, from, signal), from);
}
