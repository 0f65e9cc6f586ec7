/** What the crate `media` exports through wasm-bindgen. Errors are strings. */

export default function init(options: { module_or_path: unknown }): Promise<unknown>;

/** Throws for an image of this size that is not taken, before it is decoded. */
export function checkSize(width: number, height: number): void;

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
  /** How many tiles there are, an overview included. */
  count(): number;
  /** How many rows of a prompt become of them. */
  outputs(): number;
  /** Columns and rows of tiles, and 1 where an overview follows them. */
  grid(): Uint32Array;
  /** Makes a tile the one that the other methods tell of: its patches, and columns and rows that become of it. */
  select(tile: number): Uint32Array;
  /** A view of the module's memory, to be copied before the module is called again. */
  patches(): Float32Array;
  turns(): Float32Array;
  parts(): Uint32Array;
  breaks(): Float32Array;
  placeRows(): Uint32Array;
  placeWeights(): Float32Array;
  groupRows(): Uint32Array;
  groupWeights(): Float32Array;
  free(): void;
}

/** The samples at 16 kHz; throws for too many and for none. */
export function resample(samples: Float32Array, rate: number): Float32Array;

/** The samples of a RIFF WAVE file at 16 kHz; `undefined` where it is none that is read here. */
export function readWave(bytes: Uint8Array): Float32Array | undefined;

/** A sound on its way to an encoder. */
export class Sound {
  /** `samples` at 16 kHz. `numbers`: those of the encoder. */
  constructor(projector: string, numbers: Float64Array, samples: Float32Array);
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
  /** These taps: rows that stand side by side in another, as those that a convolution reads; 0xffffffff for none. */
  fold(): Uint32Array;
  /** Sines and cosines of distances. */
  turns(): Float32Array;
  placeRows(): Uint32Array;
  placeWeights(): Float32Array;
  groupRows(): Uint32Array;
  groupWeights(): Float32Array;
  free(): void;
}
