/** What the crate `media` exports through wasm-bindgen. Errors are strings. */

export default function init(options: { module_or_path: unknown }): Promise<unknown>;

/** An image that is prepared for an encoder. */
export class Picture {
  /**
   * `rgba`: pixels `[height, width, 4]`. `numbers`: `EncoderInfo.numbers`, then the maximum number of rows of an image,
   * 1 to stretch an image to the encoder's shape, and 1 if a row stands between the lines of an image.
   */
  constructor(projector: string, numbers: Float64Array, width: number, height: number, rgba: Uint8Array);
  /**
   * Runs one step, of a million multiplications at most. Once it returns true, the tiles are ready, which the methods
   * below need.
   */
  step(): boolean;
  /** Number of prompt rows of the image, known before the first step. Throws for invalid numbers. */
  outputs(): number;
  /** Columns and rows of tiles, 1 if an overview follows them, and the number of tiles with the overview. */
  grid(): Uint32Array;
  /**
   * Selects a tile. Returns its number of patches, columns and rows of its output, its place on a canvas of all tiles,
   * then rows and taps for each time that rows become others before the layers.
   */
  select(tile: number): Uint32Array;
  /** These taps, 0xffffffff for padding. */
  folds(): Uint32Array;
  /**
   * Which rows a prompt has: the number of a tile, the overview last, in the high 16 bits, and the number of its row.
   * Empty where rows stand in a prompt as tiles give them. `whole`: of an overview that is the only tile.
   */
  order(whole: boolean): Uint32Array;
  /** A view of the module's memory, to be copied before the module is called again. */
  patches(): Float32Array;
  /** Tables of the selected tile: positions, merged rows, rotations, breaks, and lengths of its parts. */
  tables(): Tables;
  free(): void;
}

/** Tables of a tile or a piece. `numbers`: lengths of a tile's parts, or folds of a piece. */
export type Tables = [
  placeRows: Uint32Array,
  placeWeights: Float32Array,
  groupRows: Uint32Array,
  groupWeights: Float32Array,
  turns: Float32Array,
  breaks: Float32Array,
  numbers: Uint32Array,
];

/** Resamples a sound to 16 kHz, piece by piece. */
export class Samples {
  /** A sound of `count` samples. Throws for too many samples, for none, and for a sample rate out of range. */
  constructor(rate: number, count: number);
  /**
   * A RIFF WAVE file with `bytes` bytes of samples and this chunk `fmt `; `undefined` if the samples are compressed.
   * Throws as the constructor does.
   */
  static ofWave(header: Uint8Array, bytes: number): Samples | undefined;
  /** Takes the next samples, none at the end, and returns resampled ones. Throws for a sample that is NaN. */
  push(samples: Float32Array): Float32Array;
  /** Takes the next frames of a file, each a sample of every channel. */
  pushBytes(bytes: Uint8Array): Float32Array;
  free(): void;
}

/** A sound that arrives, for an encoder that keeps keys and values. */
export class ArrivingSound {
  /** A sound at 16 kHz. `numbers`: `EncoderInfo.numbers`. */
  constructor(numbers: Float64Array);
  /** Takes the next samples. Returns how many prompt rows have arrived and were not taken. */
  push(samples: Float32Array): number;
  /** Takes prompt rows that have arrived, `most` at most. Returns what `select` of a sound does. */
  take(most: number): Uint32Array;
  /** As of a sound. */
  patches(): Float32Array;
  /** As of a sound. */
  tables(): Tables;
  free(): void;
}

/** A sound that is prepared for an encoder. */
export class Sound {
  /** A sound of `count` samples at 16 kHz. `numbers`: `EncoderInfo.numbers`. */
  constructor(projector: string, numbers: Float64Array, count: number);
  /** Takes the next samples. */
  push(samples: Float32Array): void;
  /**
   * Runs one step on all samples, of a million multiplications at most. Once it returns true, the spectrogram is ready,
   * which `select` and the methods below it need.
   */
  step(): boolean;
  /** Number of pieces. */
  count(): number;
  /** Number of prompt rows of the sound. */
  outputs(): number;
  /**
   * Selects a piece. Returns the encoder's rows, the output rows, then for each convolution before the layers its rows
   * and its taps.
   */
  select(piece: number): Uint32Array;
  /** A view of the module's memory, to be copied before the module is called again. */
  patches(): Float32Array;
  /**
   * As of a picture; rotations are sines and cosines of distances. Last come the taps of convolutions: the rows that
   * stand side by side in an output row, 0xffffffff for padding.
   */
  tables(): Tables;
  free(): void;
}
