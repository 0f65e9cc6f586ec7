/**
 * What a model computes, as the WebAssembly gives it (`src/forward/export.rs`): operations over numbered activations.
 */
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
  /** Rows of the tensor, of which runs of `run`, from `first` on, `every` rows apart, are those of y. */
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
  | { readonly op: 'products'; readonly x: number; readonly products: readonly Product[]; readonly stacks: Stack[] }
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
  | { readonly op: 'scale'; readonly x: number; readonly factor: number }
  | { readonly op: 'scaleBy'; readonly x: number; readonly factor: Tensor }
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
  readonly heads: number;
  readonly kvHeads: number;
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

/** Numbers one after the other. */
class Reader {
  readonly #numbers: Float64Array;
  readonly #names: Iterator<string>;
  readonly #weights: readonly Tensor[];
  readonly #fit: Fit;
  widths: readonly number[] = [];
  #at = 0;

  constructor(numbers: Float64Array, names: string, weights: readonly Tensor[], fit: Fit) {
    this.#numbers = numbers;
    this.#names = names.split('\n').values();
    this.#weights = weights;
    this.#fit = fit;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#numbers.length;
  }

  next(): number {
    this.#at += 1;
    return this.#numbers[this.#at - 1] as number;
  }

  flag(): boolean {
    return this.next() === 1;
  }

  many(count: number): number[] {
    return Array.from({ length: count }, () => this.next());
  }

  name(): string {
    return this.#names.next().value as string;
  }

  weight(): Tensor | undefined {
    return this.#weights[this.next() - 1];
  }

  /** A matrix whose rows are as wide as an activation. */
  matrix(activation: number): Matrix {
    const width = this.widths[activation] as number;
    return Array.from({ length: this.next() }, () => this.#fit(this.weight() as Tensor, width));
  }
}

/** The operations by their codes, each with how it is read. */
const READ: Record<number, (from: Reader) => Op> = {
  1: (from) => {
    const [x, count, stacks] = from.many(3) as [number, number, number];
    const products = Array.from({ length: count }, () => {
      const [y, of, first, run, every] = from.many(5) as [number, number, number, number, number];
      return { name: from.name(), y, of, first, run, every };
    });
    const stack = (): Stack => ({ matrix: from.matrix(x), bias: from.weight() });
    return { op: 'products', x, products, stacks: Array.from({ length: stacks }, stack) };
  },
  2: (from) => {
    const [y, scale] = [from.next(), from.next()];
    return { op: 'embed', y, scale, table: from.matrix(y) };
  },
  3: (from) => {
    const y = from.next();
    return { op: 'places', y, table: from.matrix(y) };
  },
  4: (from) => ({
    op: 'norm',
    ...{ x: from.next(), y: from.next(), centred: from.flag(), width: from.next(), eps: from.next() },
    ...{ weight: from.weight(), bias: from.weight() },
  }),
  5: (from) => ({ op: 'rope', x: from.next(), headDim: from.next(), table: from.next() }),
  6: (from) => ({
    op: 'attend',
    ...{ q: from.next(), k: from.next(), v: from.next(), y: from.next() },
    ...{ scale: from.next(), softCap: from.next(), temperature: from.next() },
    ...{ heads: from.next(), kvHeads: from.next(), headDim: from.next(), window: from.next(), span: from.next() },
  }),
  7: (from) => ({
    op: 'gate',
    ...{ gate: from.next(), up: from.next(), y: from.next(), at: from.next(), geglu: from.flag() },
  }),
  8: (from) => ({ op: 'activate', x: from.next(), kind: from.next(), numbers: from.many(4) }),
  9: (from) => ({ op: 'add', x: from.next(), to: from.next(), scale: from.next() }),
  10: (from) => ({ op: 'scale', x: from.next(), factor: from.next() }),
  11: (from) => ({ op: 'scaleBy', x: from.next(), factor: from.weight() as Tensor }),
  12: (from) => ({ op: 'softCap', x: from.next(), cap: from.next() }),
  13: (from) => ({ op: 'copy', x: from.next(), y: from.next() }),
  14: (from) => ({ op: 'combine', x: from.next(), with: from.next(), subtract: from.flag() }),
  15: (from) => {
    const [x, subtract] = [from.next(), from.flag()];
    return { op: 'combine', x, with: from.weight() as Tensor, subtract };
  },
};

/** The program that these numbers, names of tensors and weights say. */
export function programOf(numbers: Float64Array, names: string, weights: readonly Tensor[], fit: Fit): Program {
  const from = new Reader(numbers, names, weights, fit);
  const [activations, tables] = [from.next(), from.next()];
  from.widths = from.many(activations);
  const ropeTables = Array.from({ length: tables }, () => ({
    ...{ splitHalf: from.flag(), magnitude: from.next(), turns: from.many(from.next()) },
  }));
  const parts: Op[][] = [[]];
  while (!from.isAtEnd) {
    const read = READ[from.next()];
    if (read) parts.at(-1)?.push(read(from));
    else parts.push([]);
  }
  // Each part has an end.
  parts.pop();
  const [embed, head] = [parts.shift() ?? [], parts.pop() ?? []];
  return { widths: from.widths, ropeTables, embed, layers: parts, head };
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

/** Of operations in order: the activations that they need from before, and those that they write. */
export function borderOf(ops: readonly Op[]): { needs: number[]; writes: number[] } {
  const [needs, writes] = [new Set<number>(), new Set<number>()];
  for (const op of ops) {
    for (const x of readsOf(op)) if (!writes.has(x)) needs.add(x);
    for (const y of writesOf(op)) writes.add(y);
  }
  return { needs: [...needs], writes: [...writes] };
}
