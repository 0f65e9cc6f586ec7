/**
 * The encoders of a file, of images, of sounds, or of both, and the ids of their rows in prompts.
 */
import { WebggufError, invalidArgument } from '../errors.js';
import { chooseEncoder, fileRequest, hubName } from '../load/hub.js';
import { FIRST_ROW } from '../model/prompt.js';
import type { ModelInfo } from '../types/info.js';
import type { Source, SourceOptions } from '../types/source.js';
import type { WasmModel } from '../wasm/webgguf.js';
import type { Asked, Content, Encoded, EncoderOptions, EncoderScope, RowsOfPrompt, TileRows } from './encoder.js';
import { Encoder } from './encoder.js';

/** Rows that are sounds: the ids from `first` to the one before `end`. */
interface SoundIds {
  readonly first: number;
  readonly end: number;
}

/** @internal */
export class Encoders {
  /** What they take, and what they are. */
  readonly info: Required<Pick<ModelInfo, 'media' | 'encoders'>>;
  readonly #all: readonly Encoder[];
  readonly #sounds: SoundIds[] = [];

  private constructor(all: readonly Encoder[]) {
    this.#all = all;
    const media = { image: all.some((one) => !one.hears), audio: all.some((one) => one.hears) };
    this.info = { media, encoders: all.map(({ about }) => about) };
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
      const second = await Encoder.load(source, { ...options, ofSounds: true }, from, scope);
      return new Encoders([first, second]);
    } catch (error) {
      // A page that shows images only needs no other.
      if (error instanceof WebggufError && error.code === 'unsupported_architecture') {
        return new Encoders([first]);
      }
      first.free();
      throw error;
    }
  }

  /** What an image or a sound becomes, of a kind that {@link info} has. */
  encode(content: Content, asked: Asked): Promise<Encoded> {
    const encoder = this.#all.find(({ hears }) => hears === 'audio' in content) as Encoder;
    return encoder.encode(content, asked);
  }

  /** The ids of an image or a sound in prompts of a model. */
  idsOf(handle: WasmModel, { layout, tiles, isSound }: Encoded): number[] {
    return layout.flatMap((item) => {
      if (typeof item === 'string') return [...handle.tokenize(item, false, true)];
      const { digest, columns, rows } = tiles[item] as TileRows;
      const first = handle.knowRows(digest, columns, rows);
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
    const audioTokens = this.info.media.image ? rows.filter((id) => this.#isSound(id)).length : rows.length;
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
      handle.addRows(digest, rows.columns, rows.values);
    }
  }

  /** The images and sounds of a prompt are encoded: frees the weights, unless they are kept, or with `all`. */
  rest(all = false): void {
    for (const encoder of this.#all) encoder.rest(all);
  }

  free(): void {
    for (const encoder of this.#all) encoder.free();
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
