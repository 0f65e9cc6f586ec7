/**
 * Discrete Fourier transforms of rows.
 */
import { guarded, invalidArgument } from '../errors.js';
import { type FloatTensor, Tensor } from '../tensor/tensor.js';
import { at, floats, integer, known, ranked } from './checks.js';
import { ConvolutionOperations } from './convolution.js';
import { asF32, grid } from './dispatch.js';
import { bluestein, farRoots, roots } from './fourier-tables.js';
import * as shaders from './shaders.js';

/** Options of {@link FourierOperations.irfft}. */
export interface IrfftOptions {
  /** Elements of the result: 2 · (bins − 1) or one more. Default: 2 · (bins − 1) */
  length?: number | undefined;
}

/** Options of {@link FourierOperations.stft}. */
export interface StftOptions {
  /** f32 [n]: factors of each frame, such as a Hann window, as long as a frame. */
  window: Tensor;
  /** Elements from frame to frame. */
  hop: number;
}

/** Elements that one workgroup transforms in its memory. */
const LOCAL = 1024;

/** The longest transform of a power of two. */
const LONGEST = 2 ** 20;

/**
 * Transforms up to this length, longer than {@link LOCAL}, take two dispatches, longer ones three: of up to 128
 * elements a workgroup holds enough columns to read and write memory in runs of at least 64 bytes.
 */
const LONGEST_OF_TWO = 2 ** 16;

/** Tables for lengths that are no powers of two that are kept: they are as large as what they are for. */
const KEPT = 8;

/** Forms of x and y, by the numbers of `fft.wgsl`. */
const FORMS = { complex: 0, real: 1, half: 2 };

/** Transforms of all rows. @internal */
export interface Transform {
  /** Elements of a row of x, of its transform and of y; elements of x behind `length` are not read. */
  ofX: number;
  length: number;
  ofY: number;
  rows: number;
  load: keyof typeof FORMS;
  store: 'complex' | 'real';
  inverse: boolean;
  /** The shape of the result. */
  shape: number[];
  /** Rows that overlap in one of x, `hop` elements apart. */
  frames?: number;
  hop?: number;
  /** Elements that are not 0. Default: `length` */
  given?: number;
  /** Complex factors of x and of y. */
  before?: Tensor | undefined;
  after?: Tensor | undefined;
  scale: number;
}

/**
 * Transforms of the last axis; complex numbers are pairs in an axis behind it. X[k] = Σ x[i] · e^(−2π√−1 · i · k / N),
 * the inverse divided by N. Powers of two up to 2^20 take one dispatch up to 1,024, two up to 2^16 and three above;
 * other lengths, up to 2^19, are a convolution: two transforms of the next power of two of at least 2N − 1.
 */
export abstract class FourierOperations extends ConvolutionOperations {
  readonly #tables = new Map<string, Tensor>();
  readonly #chirps = new Map<string, [chirp: Tensor, spectrum: Tensor]>();

  /**
   * @param x [.., N, 2]: pairs of real and imaginary parts
   * @returns f32 [.., N, 2]
   * @throws {WebggufError} `invalid_argument` where the shape does not fit or N is too long
   */
  fft(x: Tensor): FloatTensor {
    return this.#complex('fft', x, false);
  }

  /** The inverse of {@link fft}, with the factor 1 / N. */
  ifft(x: Tensor): FloatTensor {
    return this.#complex('ifft', x, true);
  }

  /**
   * The transform of real numbers: its first half, which the other mirrors.
   *
   * @param x [.., N]
   * @returns f32 [.., ⌊N / 2⌋ + 1, 2]
   * @throws {WebggufError} `invalid_argument` where N is too long
   *
   * @example
   * const spectrum = gpu.rfft(gpu.tensor(samples)); // [bins, 2]
   */
  rfft(x: Tensor): FloatTensor {
    const shape = floats('rfft', 'x', x).shape;
    const length = lengthOf('rfft', x, shape.at(-1));
    const bins = Math.floor(length / 2) + 1;
    const work = { load: 'real', store: 'complex', inverse: false, scale: 1 } as const;
    const rows = x.size / length;
    return this.transform('rfft', x, {
      ...work,
      rows,
      ofX: length,
      length,
      ofY: bins,
      shape: [...shape.slice(0, -1), bins, 2],
    });
  }

  /**
   * The inverse of {@link rfft}. The imaginary part of bin 0, and of the last one of an even length, is taken as 0.
   *
   * @param x [.., bins, 2]
   * @returns f32 [.., length]
   * @throws {WebggufError} `invalid_argument` where the shape or the length does not fit
   */
  irfft(x: Tensor, options?: IrfftOptions): FloatTensor {
    const shape = pairs('irfft', x);
    const bins = at(shape, shape.length - 2);
    const { length = 2 * (bins - 1) } = known('irfft', options, ['length']);
    lengthOf('irfft', x, integer('irfft', 'length', length, 1));
    if (Math.floor(length / 2) + 1 !== bins) {
      const wanted = Math.floor(length / 2) + 1;
      throw invalidArgument(`irfft: x is ${x}, of ${bins} bins; a length of ${length} has ${wanted}`);
    }
    const work = { load: 'half', store: 'real', inverse: true, scale: 1 / length } as const;
    const rows = x.size / bins / 2;
    return this.transform('irfft', x, {
      ...work,
      rows,
      ofX: bins,
      length,
      ofY: length,
      shape: [...shape.slice(0, -2), length],
    });
  }

  /**
   * Transforms of short frames, one for each step along the signal: a spectrogram is the size of its elements. The
   * frames are never stored.
   *
   * @param x [.., L]; frames begin at 0, hop, .. as long as they are whole
   * @returns f32 [.., ⌊(L − n) / hop⌋ + 1, ⌊n / 2⌋ + 1, 2]
   * @throws {WebggufError} `invalid_argument` where the signal is shorter than the window
   */
  stft(x: Tensor, options: StftOptions): FloatTensor {
    const { window, hop } = known('stft', options, ['window', 'hop']);
    const shape = floats('stft', 'x', x).shape;
    const [ofX, length] = [
      lengthOf('stft', x, shape.at(-1), true),
      at(ranked('stft', 'window', window, ['n']).shape, 0),
    ];
    lengthOf('stft', window, length);
    integer('stft', 'hop', hop, 1);
    if (ofX < length) throw invalidArgument(`stft: x is ${x}, ${ofX} elements; the window has ${length}`);
    const [frames, bins] = [Math.floor((ofX - length) / hop) + 1, Math.floor(length / 2) + 1];
    return this.scope(() => {
      const column = this.reshape(asF32(this, window), [length, 1]);
      const before = this.concat([column, this.scale(column, 0)], { axis: 1 });
      const work = { load: 'real', store: 'complex', inverse: false, scale: 1, frames, hop, before } as const;
      const rows = (x.size / ofX) * frames;
      return this.transform('stft', x, {
        ...work,
        rows,
        ofX,
        length,
        ofY: bins,
        shape: [...shape.slice(0, -1), frames, bins, 2],
      });
    });
  }

  #complex(call: string, x: Tensor, inverse: boolean): FloatTensor {
    const shape = pairs(call, x);
    const length = lengthOf(call, x, shape.at(-2));
    const work = { load: 'complex', store: 'complex', inverse, scale: inverse ? 1 / length : 1 } as const;
    return this.transform(call, x, {
      ...work,
      rows: x.size / length / 2,
      ofX: length,
      length,
      ofY: length,
      shape: [...shape],
    });
  }

  /** Transforms rows of any length. @internal */
  protected transform(call: string, x: Tensor, work: Transform): FloatTensor {
    return this.scope(() => {
      const plain = asF32(this, x);
      const { length, ofY, rows, scale, inverse } = work;
      if ((length & (length - 1)) === 0) return this.#powerOfTwo(call, plain, work);
      const whole = 2 ** Math.ceil(Math.log2(2 * length - 1));
      const [chirp, spectrum] = this.#chirp(length, whole, inverse);
      const before = work.before ? this.#product(work.before, chirp) : chirp;
      const after = work.after ? this.#product(work.after, chirp) : chirp;
      const middle = { rows, length: whole, ofY: whole, store: 'complex', shape: [rows, whole, 2], scale: 1 } as const;
      const given = work.given ?? length;
      // Bins behind the first half of x mirror it about `length`, not about the power of two.
      const first = { ...work, ...middle, shape: [...middle.shape], inverse: false, before, after: spectrum, given };
      const product = this.#powerOfTwo(call, plain, { ...first, mirror: length });
      const back = { ...work, load: 'complex', rows, ofX: whole, length: whole, ofY, frames: 1, hop: 0 } as const;
      const last = { ...back, given: whole, inverse: true, before: undefined, after, scale: scale / whole };
      return this.#powerOfTwo(call, product, last);
    });
  }

  /** Transforms rows of a power of two; x is f32. */
  #powerOfTwo(call: string, x: Tensor, work: Transform & { mirror?: number }): FloatTensor {
    const { length, rows, ofX, ofY, frames = 1, hop = 0, given = length, before, after, scale, store, shape } = work;
    const whole = { length: work.mirror ?? length, given, frames, hop, of_x: ofX };
    const factors = factorsOf(length);
    const last = factors.pop() as number;
    let [source, rest, parts] = [x, length, rows];
    for (const n of factors) {
      const isFirst = rest === length;
      const columns = rest / n;
      const stepped = { load_step: columns, load_fold: columns, load_skip: 1, load_far: 0, store_step: columns };
      const next = this.#dispatch(call, source, n, {
        inverse: work.inverse,
        load: isFirst ? work.load : 'complex',
        store: 'complex',
        shape: [rows, length, 2],
        before: isFirst ? before : undefined,
        after: undefined,
        far: rest,
        params: {
          ...(isFirst ? whole : partOf(rest)),
          ...stepped,
          store_skip: 1,
          columns,
          transforms: parts * columns,
          of_y: rest,
          scale: 1,
        },
      });
      if (!isFirst) source.free();
      [source, rest, parts] = [next, columns, parts * n];
    }
    const columns = length / last;
    const isWhole = factors.length === 0;
    const first = factors[0] ?? 1;
    const y = this.#dispatch(call, source, last, {
      inverse: work.inverse,
      load: isWhole ? work.load : 'complex',
      store,
      shape,
      before: isWhole ? before : undefined,
      after,
      isLast: !isWhole,
      params: {
        ...(isWhole ? whole : partOf(length)),
        columns,
        transforms: rows * columns,
        load_step: 1,
        load_fold: first,
        load_skip: length / first,
        load_far: last,
        store_step: columns,
        store_skip: 1,
        of_y: ofY,
        scale,
      },
    });
    if (!isWhole) source.free();
    return y;
  }

  /** One dispatch of transforms of `n`; all but the last have `far`, the length of which they are the first part. */
  #dispatch(call: string, x: Tensor, n: number, work: Part): FloatTensor {
    const { params, shape, far, before, after, isLast = false } = work;
    const isBetween = far !== undefined;
    const table = this.#table(`${n}`, () => roots(n));
    return this.dispatch(call, shaders.fft, {
      inputs: { x, table, far: isBetween ? this.#table(`far ${far}`, () => farRoots(far)) : table, before, after },
      shape,
      params,
      constants: {
        N: n,
        INVERSE: work.inverse,
        LOAD: FORMS[work.load],
        STORE: FORMS[work.store],
        BEFORE: before !== undefined,
        AFTER: after !== undefined,
        BETWEEN: isBetween,
        LOAD_ACROSS: isBetween,
        STORE_ACROSS: isBetween || isLast,
      },
      workgroups: grid(Math.ceil((params.transforms as number) / (LOCAL / n))),
    });
  }

  /** Products of complex factors; there may be more of `b` than of `a`. */
  #product(a: Tensor, b: Tensor): Tensor {
    const count = Math.min(at(a.shape, 0), at(b.shape, 0));
    const [[re, im], [c, d]] = [a, b].map((pairs) =>
      [0, 1].map((part) => this.narrow(this.narrow(pairs, 0, 0, count), 1, part, 1)),
    ) as [Tensor[], Tensor[]];
    const inputs = [re, im, c, d] as [Tensor, Tensor, Tensor, Tensor];
    const real = this.fuse(inputs, (a, b, c, d) => a.mul(c).sub(b.mul(d)));
    const imaginary = this.fuse(inputs, (a, b, c, d) => a.mul(d).add(b.mul(c)));
    return this.concat([real, imaginary], { axis: 1 });
  }

  /** A table of pairs, which lives as long as this Gpu. */
  #table(key: string, make: () => Float32Array): Tensor {
    const found = this.#tables.get(key);
    if (found) return found;
    const made = this.#upload(make());
    this.#tables.set(key, made);
    return made;
  }

  #chirp(n: number, m: number, inverse: boolean): [chirp: Tensor, spectrum: Tensor] {
    const key = `${n} ${inverse}`;
    const made = bluestein.bind(undefined, n, m, inverse);
    const kept =
      this.#chirps.get(key) ?? ([...Object.values(made())].map((values) => this.#upload(values)) as [Tensor, Tensor]);
    // The last used stands last.
    this.#chirps.delete(key);
    this.#chirps.set(key, kept);
    const [[oldest, tensors]] = this.#chirps as unknown as [[string, Tensor[]]];
    if (this.#chirps.size > KEPT) {
      this.#chirps.delete(oldest);
      this.free(tensors);
    }
    return kept;
  }

  /** Pairs outside of all scopes. */
  #upload(values: Float32Array): Tensor {
    const bytes = new Uint8Array(values.buffer);
    return new Tensor(
      this,
      guarded(() => this.engine.upload(bytes, 'f32', [values.length / 2, 2])),
    );
  }
}

/** A dispatch of a transform. */
interface Part extends Pick<Transform, 'load' | 'store' | 'inverse' | 'shape' | 'before' | 'after'> {
  params: Record<string, number>;
  far?: number;
  isLast?: boolean;
}

/** Lengths of the transforms whose product a power of two is, as equal as can be. */
function factorsOf(length: number): number[] {
  const count = length <= LOCAL ? 1 : length <= LONGEST_OF_TWO ? 2 : 3;
  const bits = Math.log2(length);
  return Array.from({ length: count }, (_, i) => 2 ** Math.ceil((bits - i) / count));
}

/** `params` of rows of `length` pairs that an earlier dispatch has made. */
const partOf = (length: number) => ({ length, given: length, frames: 1, hop: 0, of_x: length });

/** The shape of x, whose last axis has pairs. */
function pairs(call: string, x: Tensor): readonly number[] {
  const { shape } = floats(call, 'x', x);
  if (shape.length >= 2 && shape.at(-1) === 2) return shape;
  throw invalidArgument(`${call}: x is ${x}; the last axis of [.., N, 2] has a real and an imaginary part`);
}

/** A length that can be transformed. @internal */
export function lengthOf(call: string, x: Tensor, length: number | undefined, isAny = false): number {
  if (length === undefined) throw invalidArgument(`${call}: x is ${x}; it has no axis`);
  if (isAny) return length;
  const isPower = (length & (length - 1)) === 0;
  const most = isPower ? LONGEST : LONGEST / 2;
  if (length <= most) return length;
  const which = isPower ? 'powers of two' : 'other lengths';
  throw invalidArgument(`${call}: x is ${x}; ${length} elements are too many, ${which} go up to ${most}`);
}
