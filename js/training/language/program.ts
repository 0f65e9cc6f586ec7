/**
 * What a model computes, as the WebAssembly gives it (`src/forward/export.rs`): operations over numbered activations.
 */
import { WebggufError } from '../../errors.js';
import type { Tensor } from '../../tensor/tensor.js';

/** A rotary embedding's angles. */
export interface RopeTable {
  /** Whether values i and i + dims/2 are a pair, else neighbours are. */
  readonly splitHalf: boolean;
  /** What cosines and sines are multiplied by. */
  readonly magnitude: number;
  /** Turns of each pair per position. */
  readonly turns: readonly number[];
}

/** A matrix in shards of its rows. */
export type Matrix = readonly Tensor[];

/** A product of an activation: some rows of a tensor of the file. */
export interface Product {
  /** The tensor's name. */
  readonly name: string;
  readonly y: number;
  /** Rows of the tensor, of which runs of `run`, from `first` on, `every` rows apart, are the rows of y. */
  readonly of: number;
  readonly first: number;
  readonly run: number;
  readonly every: number;
}

/** Stacked rows of the matrices of neighbouring products. */
export interface Stack {
  readonly matrix: Matrix;
  /** [rows] */
  readonly bias: Tensor | undefined;
}

/** An operation; x, y, … are activations. */
export type Op =
  | { readonly op: 'products'; readonly x: number; readonly products: Product[]; readonly stacks: Stack[] }
  | { readonly op: 'embed'; readonly y: number; readonly scale: number; readonly table: Matrix }
  | { readonly op: 'places'; readonly y: number; readonly table: Matrix }
  | ({ readonly op: 'norm'; readonly x: number; readonly y: number } & Norm)
  | { readonly op: 'rope'; readonly x: number; readonly headDim: number; readonly table: number }
  | ({ readonly op: 'attend' } & Attention)
  | {
      readonly op: 'gate';
      readonly gate: number;
      readonly up: number;
      readonly y: number;
      readonly at: number;
      readonly geglu: boolean;
    }
  | { readonly op: 'activate'; readonly x: number; readonly kind: number; readonly numbers: readonly number[] }
  | { readonly op: 'add'; readonly x: number; readonly to: number; readonly scale: number }
  | { readonly op: 'scale'; readonly x: number; readonly factor: number | Tensor }
  | { readonly op: 'softCap'; readonly x: number; readonly cap: number }
  | { readonly op: 'copy'; readonly x: number; readonly y: number }
  | { readonly op: 'combine'; readonly x: number; readonly with: number | Tensor; readonly subtract: boolean };

/** weight · normalised x + bias. */
export interface Norm {
  /** Whether the mean is subtracted. */
  readonly centred: boolean;
  /** Values that are normalised together. */
  readonly width: number;
  readonly eps: number;
  /** [width], or [width of x] where each part of x has weights of its own */
  readonly weight: Tensor | undefined;
  readonly bias: Tensor | undefined;
}

/** The shape of an attention. */
export interface Attention {
  readonly q: number;
  readonly k: number;
  readonly v: number;
  readonly y: number;
  readonly scale: number;
  /** 0 for none, as in `window` and `temperature`. */
  readonly softCap: number;
  /** Queries at position p are multiplied by 1 + temperature · ln(⌊p / span⌋ + 1). */
  readonly temperature: number;
  readonly headDim: number;
  readonly window: number;
  readonly span: number;
}

/** A program. */
export interface Program {
  /** Values of each activation. */
  readonly widths: readonly number[];
  readonly ropeTables: readonly RopeTable[];
  /** Token → residual stream. */
  readonly embed: readonly Op[];
  readonly layers: readonly (readonly Op[])[];
  /** Residual stream → logits. */
  readonly head: readonly Op[];
}

/** A matrix without the columns from `width` on, which the engine has filled with zeros. */
export type Fit = (matrix: Tensor, width: number) => Tensor;

/** Words one after the other. */
class Reader {
  readonly #words: DataView;
  readonly #names: Iterator<string>;
  readonly #weights: readonly Tensor[];
  readonly #fit: Fit;
  widths: readonly number[] = [];
  /** The weights of the operation that is being read. */
  weights = 0;
  #at = 0;

  constructor(words: Uint32Array, names: string, weights: readonly Tensor[], fit: Fit) {
    this.#words = new DataView(words.buffer, words.byteOffset, words.byteLength);
    this.#names = names.split('\n').values();
    this.#weights = weights;
    this.#fit = fit;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#words.byteLength;
  }

  next(): number {
    this.#at += 4;
    return this.#words.getUint32(this.#at - 4, true);
  }

  float(): number {
    this.#at += 4;
    return this.#words.getFloat32(this.#at - 4, true);
  }

  /** A fraction of 64 bits. */
  fraction(): number {
    return (this.next() + this.next() / 2 ** 32) / 2 ** 32;
  }

  many(count: number, read = (): number => this.next()): number[] {
    return Array.from({ length: count }, read);
  }

  name(): string {
    return this.#names.next().value as string;
  }

  weight(): Tensor | undefined {
    return this.#weights[this.next() - 1];
  }

  /** The weights of an operation that are vectors. */
  vectors(): (Tensor | undefined)[] {
    return Array.from({ length: this.weights }, () => this.weight());
  }

  /** A matrix whose rows are as wide as an activation. */
  matrix(activation: number): Matrix {
    const width = this.widths[activation] as number;
    const shards = this.next();
    if (shards === 0) throw noGradients('embeddings that stay on the host');
    return Array.from({ length: shards }, () => this.#fit(this.weight() as Tensor, width));
  }

  /** A rope table. */
  table(): RopeTable {
    const [splitHalf, magnitude] = [this.next() === 1, this.float()];
    return { splitHalf, magnitude, turns: this.many(this.next(), () => this.fraction()) };
  }
}

/** What is read of any operation but products: activations, the last of which is written, numbers, and weights. */
interface Parts {
  readonly of: readonly number[];
  readonly numbers: readonly number[];
  readonly from: Reader;
}

/** The operations by their codes: how many activations they read, and what they are. */
const READ: Record<number, [reads: number, op: (parts: Parts) => Op]> = {
  3: [0, ({ of: [y = 0], numbers: [scale = 1], from }) => ({ op: 'embed', y, scale, table: from.matrix(y) })],
  4: [0, ({ of: [y = 0], from }) => ({ op: 'places', y, table: from.matrix(y) })],
  5: [1, normOf],
  6: [1, ({ of: [x = 0], numbers: [headDim = 0, table = 0] }) => ({ op: 'rope', x, headDim, table })],
  7: [3, attentionOf],
  8: [
    2,
    ({ of: [gate = 0, up = 0, y = 0], numbers: [at = 0, kind] }) => ({
      op: 'gate',
      gate,
      up,
      y,
      at,
      geglu: kind === 1,
    }),
  ],
  9: [1, ({ of: [x = 0], numbers: [kind = 0, ...numbers] }) => ({ op: 'activate', x, kind, numbers })],
  10: [2, ({ of: [x = 0, to = 0], numbers: [scale = 1] }) => ({ op: 'add', x, to, scale })],
  11: [1, ({ of: [x = 0], numbers: [factor = 1], from }) => ({ op: 'scale', x, factor: from.vectors()[0] ?? factor })],
  12: [1, ({ of: [x = 0], numbers: [cap = 1] }) => ({ op: 'softCap', x, cap })],
  13: [1, ({ of: [x = 0, y = 0] }) => ({ op: 'copy', x, y })],
  14: [2, ({ of: [x = 0, other = 0], numbers }) => ({ op: 'combine', x, with: other, subtract: numbers[0] === 1 })],
  15: [
    1,
    ({ of: [x = 0], numbers, from }) => {
      return { op: 'combine', x, with: from.vectors()[0] as Tensor, subtract: numbers[0] === 1 };
    },
  ],
};

function normOf({ of: [x = 0, y = 0], numbers: [centred, width = 0, eps = 0], from }: Parts): Op {
  const [weight, bias] = from.vectors();
  return { op: 'norm', x, y, centred: centred === 1, width, eps, weight, bias };
}

function attentionOf({ of: [q = 0, k = 0, v = 0, y = 0], numbers }: Parts): Op {
  const [scale = 1, softCap = 0, temperature = 0, headDim = 0, window = 0, span = 1] = numbers;
  return { op: 'attend', q, k, v, y, scale, softCap, temperature, headDim, window, span };
}

/** Codes of a product, and of the matrices of those before. */
const [PRODUCT, STACK] = [1, 2];

/** What has no lowering, by the codes of its operations; the program ends there. */
const UNLOWERED: Record<number, string> = {
  16: 'experts',
  17: 'recurrent layers',
  18: 'gated heads',
  19: 'keys and values of other layers',
  20: 'attention sinks',
  21: 'encoders',
  22: 'residual streams',
  23: 'matrices that the file has rotated',
};

/** The error for a model with operations that have no lowering. */
export function noGradients(what: string): WebggufError {
  return new WebggufError('unsupported_architecture', `training: there are no gradients for ${what}`);
}

/** Numbers of an operation. */
const NUMBERS = 8;

/**
 * The program that these words, names of tensors and weights say.
 *
 * @throws {WebggufError} `unsupported_architecture` for operations that have no lowering
 */
export function programOf(words: Uint32Array, names: string, weights: readonly Tensor[], fit: Fit): Program {
  const from = new Reader(words, names, weights, fit);
  const [activations, tables] = [from.next(), from.next()];
  from.widths = from.many(activations);
  const ropeTables = Array.from({ length: tables }, () => from.table());
  const parts: Op[][] = [[]];
  while (!from.isAtEnd) {
    const ops = parts.at(-1) as Op[];
    const code = from.next();
    if (code === PRODUCT) readProduct(from, ops);
    else if (code === STACK) readStack(from, ops);
    else if (code === 0) parts.push([]);
    else ops.push(readOp(from, code));
  }
  // Each part has an end.
  parts.pop();
  const [embed, head] = [parts.shift() ?? [], parts.pop() ?? []];
  return { widths: from.widths, ropeTables, embed, layers: parts, head };
}

function readOp(from: Reader, code: number): Op {
  const unlowered = UNLOWERED[code];
  if (unlowered) throw noGradients(unlowered);
  const [reads, op] = READ[code] as (typeof READ)[number];
  const of = from.many(reads + 1);
  const numbers = from.many(NUMBERS, () => from.float());
  from.weights = from.next();
  return op({ of, numbers, from });
}

/** Adds a product to the products of the same activation before it, which have no matrices yet. */
function readProduct(from: Reader, ops: Op[]): void {
  const [x, y, of, first, run, every] = from.many(6) as [number, number, number, number, number, number];
  const product: Product = { name: from.name(), y, of, first, run, every };
  const last = ops.at(-1);
  if (last?.op === 'products' && last.stacks.length === 0) last.products.push(product);
  else ops.push({ op: 'products', x, products: [product], stacks: [] });
}

function readStack(from: Reader, ops: Op[]): void {
  const last = ops.at(-1) as Op & { op: 'products' };
  last.stacks.push({ matrix: from.matrix(last.x), bias: from.weight() });
}

/** The activations that an operation reads. */
export function readsOf(op: Op): number[] {
  switch (op.op) {
    case 'embed':
    case 'places':
      return [];
    case 'attend':
      return [op.q, op.k, op.v];
    case 'gate':
      return [op.gate, op.up];
    case 'add':
      return [op.x, op.to];
    case 'combine':
      return typeof op.with === 'number' ? [op.x, op.with] : [op.x];
    default:
      return [op.x];
  }
}

/** The activations that an operation writes. */
export function writesOf(op: Op): number[] {
  switch (op.op) {
    case 'products':
      return op.products.map(({ y }) => y);
    case 'add':
      return [op.to];
    case 'embed':
    case 'places':
    case 'norm':
    case 'attend':
    case 'gate':
    case 'copy':
      return [op.y];
    default:
      return [op.x];
  }
}

/** The activations that operations need from before, and the activations that they write. */
export function borderOf(ops: readonly Op[]): { needs: number[]; writes: number[] } {
  const [needs, writes] = [new Set<number>(), new Set<number>()];
  for (const op of ops) {
    for (const x of readsOf(op)) if (!writes.has(x)) needs.add(x);
    for (const y of writesOf(op)) writes.add(y);
  }
  return { needs: [...needs], writes: [...writes] };
}
