/** What the crate `media` exports through wasm-bindgen. Errors are strings. */

export default function init(options: { module_or_path: unknown }): Promise<unknown>;

/** An image on its way to an encoder. */
export class Picture {
  /**
   * `rgba` `[height, width, 4]`. `numbers`: those of the encoder, then rows of an image at most, 1 for an image that is
   * stretched where its shape is another, and 1 where a row stands between its lines.
   */
  constructor(projector: string, numbers: Float64Array, width: number, height: number, rgba: Uint8Array);
  /**
   * Does a part of the work, a million multiplications at most. Once it returns true the image is resized and cut, as
   * all other methods need it.
   */
  step(): boolean;
  /** How many rows of a prompt become of it, before any step; throws for numbers that no encoder has. */
  outputs(): number;
  /** Columns and rows of tiles, 1 where an overview follows them, and how many tiles there are, that included. */
  grid(): Uint32Array;
  /** Makes a tile the one that the other methods tell of: its patches, and columns and rows that become of it. */
  select(tile: number): Uint32Array;
  /** A view of the module's memory, to be copied before the module is called again. */
  patches(): Float32Array;
  /** Where rows stand in the table of places, which rows become one, turns, breaks, and lengths of parts. */
  tables(): Tables;
  free(): void;
}

/** Tables of a tile or a piece; `numbers` are parts of a tile, or folds of a piece. */
export type Tables = [
  placeRows: Uint32Array,
  placeWeights: Float32Array,
  groupRows: Uint32Array,
  groupWeights: Float32Array,
  turns: Float32Array,
  breaks: Float32Array,
  numbers: Uint32Array,
];

/** The samples of a sound at 16 kHz, piece by piece. */
export class Samples {
  /** Of so many samples; throws for too many and for none, and for a rate that is not taken. */
  constructor(rate: number, count: number);
  /**
   * Of a RIFF WAVE file with so many bytes of samples, given its part `fmt `; `undefined` where it is none that is read
   * here. Throws as the constructor does.
   */
  static ofWave(header: Uint8Array, bytes: number): Samples | undefined;
  /** The next samples, none after the last ones, and what becomes of them; throws for one that is no number. */
  push(samples: Float32Array): Float32Array;
  /** The next whole moments of a file. */
  pushBytes(bytes: Uint8Array): Float32Array;
  free(): void;
}

/** A sound on its way to an encoder. */
export class Sound {
  /** Of `count` samples at 16 kHz. `numbers`: those of the encoder. */
  constructor(projector: string, numbers: Float64Array, count: number);
  /** The next samples. */
  push(samples: Float32Array): void;
  /**
   * Does a part of the work on all samples, a million multiplications at most. Once it returns true there is a
   * spectrogram, as `select` and what it tells of need it.
   */
  step(): boolean;
  /** How many pieces there are. */
  count(): number;
  /** How many rows of a prompt become of it. */
  outputs(): number;
  /**
   * Makes a piece the one that the other methods tell of: rows of the layers, rows that become of them, and for each
   * time that rows become others before the layers how many there are, and how many taps make the others.
   */
  select(piece: number): Uint32Array;
  /** A view of the module's memory, to be copied before the module is called again. */
  patches(): Float32Array;
  /**
   * The same as of a picture, turns being sines and cosines of distances, and at last these taps: rows that stand side
   * by side in another, as those that a convolution reads; 0xffffffff for none.
   */
  tables(): Tables;
  free(): void;
}
