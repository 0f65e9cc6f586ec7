/**
 * The encoders of a file, of images, of sounds, or of both, and the rows that they have given to a model.
 */
import { WebggufError, invalidArgument } from '../errors.js';
import { chooseEncoder, fileRequest, hubName } from '../load/hub.js';
import { FIRST_ROW } from '../model/prompt.js';
import type { ModelInfo, Source, SourceOptions } from '../types.js';
import type { WasmModel } from '../wasm/webgguf.js';
import type { Asked, Content, Encoded, EncoderOptions, EncoderScope, TileRows } from './encoder.js';
import { Encoder } from './encoder.js';

/** @internal */
export class Encoders {
  /** What they take, and what they are. */
  readonly info: Required<Pick<ModelInfo, 'media' | 'encoders'>>;
  readonly #all: readonly Encoder[];
  readonly #given: GivenRows;

  private constructor(all: readonly Encoder[], given: GivenRows) {
    this.#all = all;
    this.#given = given;
    const media = { image: all.some((one) => !one.hears), audio: all.some((one) => one.hears) };
    this.info = { media, encoders: all.map(({ about }) => about) };
  }

  /** `width`: values of a row of the model's prompts. Rejects with `invalid_argument` for an encoder of another. */
  static async load(
    source: Source,
    options: EncoderOptions,
    from: SourceOptions,
    about: Omit<EncoderScope, 'dropped'>,
  ): Promise<Encoders> {
    const given = new GivenRows();
    const scope = { ...about, dropped: ({ tiles }: Encoded) => given.forget(tiles) };
    const first = await Encoder.load(source, options, from, scope);
    if (!first.hearsToo) return new Encoders([first], given);
    try {
      const second = await Encoder.load(source, { ...options, ofSounds: true }, from, scope);
      return new Encoders([first, second], given);
    } catch (error) {
      // A page that shows images only needs no other.
      if (error instanceof WebggufError && error.code === 'unsupported_architecture') {
        return new Encoders([first], given);
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
      const tile = tiles[item] as TileRows;
      const first = this.#given.give(handle, tile);
      const ids = Array.from({ length: tile.rows }, (_, at) => first + at);
      if (isSound) for (const id of ids) this.#given.sounds.add(id);
      return ids;
    });
  }

  /** How many of the ids of a prompt are rows. */
  rowsIn(ids: Uint32Array): { imageTokens: number; audioTokens: number } {
    const rows = ids.filter((id) => id >= FIRST_ROW);
    const { sounds } = this.#given;
    const audioTokens = this.info.media.image ? rows.filter((id) => sounds.has(id)).length : rows.length;
    return { imageTokens: rows.length - audioTokens, audioTokens };
  }

  /** Gives a model that was loaded again the rows that it had, with the same ids. */
  giveRows(handle: WasmModel): void {
    this.#given.giveAll(handle);
  }

  /** The images and sounds of a prompt are encoded: frees the weights, unless they are kept. */
  rest(): void {
    for (const encoder of this.#all) encoder.rest();
  }

  free(): void {
    for (const encoder of this.#all) encoder.free();
  }
}

/** Rows that a model was given. */
class GivenRows {
  /** The ids of those that are of sounds. */
  readonly sounds = new Set<number>();
  /** By their digests, in the order of their numbers. */
  readonly #rows = new Map<string, Pick<TileRows, 'columns' | 'values'>>();

  /** The id of the first row of a tile or a piece. */
  give(handle: WasmModel, { columns, values, digest }: TileRows): number {
    const first = handle.addRows(digest, columns, values);
    this.#rows.set(digest, { columns, values });
    return first;
  }

  giveAll(handle: WasmModel): void {
    for (const [digest, { columns, values }] of this.#rows) handle.addRows(digest, columns, values);
  }

  /** Of what was given long ago only the number of rows counts: whoever asks about it again gives its rows again. */
  forget(tiles: readonly TileRows[]): void {
    for (const { digest, columns, values } of tiles) {
      if (this.#rows.has(digest)) this.#rows.set(digest, { columns, values: zeros(values.length) });
    }
  }
}

/** One array for all: nobody writes into it. */
function zeros(length: number): Float32Array {
  if (nothing.length < length) nothing = new Float32Array(length);
  return nothing.subarray(0, length);
}

let nothing = new Float32Array(0);

/** The encoder beside a model in its repository on the hub. @internal */
export async function beside(model: unknown, from: SourceOptions, signal: AbortSignal): Promise<Source> {
  const name = typeof model === 'string' ? hubName(model) : undefined;
  if (!name) {
    const where = "beside a model that is named by its repository on the hub, such as 'owner/name:Q4_K_M'";
    throw invalidArgument(`option 'mmproj': true finds the file ${where}; else give its URL, File or Blob`);
  }
  return fileRequest(name, await chooseEncoder(name, from, signal), from);
}
