/**
 * A program over the tokens of a batch, as tensor operations.
 */
import { shaped } from '../../compute/dispatch.js';
import type { Tensor } from '../../tensor/tensor.js';
import type { Gpu } from '../gpu.js';
import { activated } from './activations.js';
import type { Attention, Matrix, Norm, Op, Product, Program } from './program.js';
import type { Rule } from '../tape.js';
import type { AdapterPair } from './trainable.js';

/** Adapters by the names of tensors, and what they are multiplied by. */
export interface Adapters {
  readonly pairs: Readonly<Record<string, AdapterPair>>;
  readonly scale: number;
}

/** Rotations of positions, and those back: f32 [length, pairs, 2] each. */
export type RopeTables = readonly [there: Tensor, back: Tensor];

/** The axes of positions and heads. */
const SWAPPED = [0, 2, 1, 3];

/** What all operations over a batch share. */
export interface Setting {
  readonly gpu: Gpu;
  readonly program: Program;
  readonly batch: number;
  /** Tokens of a row. */
  readonly length: number;
  /** u32 [batch · length] */
  readonly ids: Tensor<'u32'>;
  /** u32 [batch · length]: of each token in its row. */
  readonly places: Tensor<'u32'> | undefined;
  /** f32 [batch, 1, length, length]: hides tokens of other examples. */
  readonly mask: Tensor | undefined;
  /** Rotations for each of the program's tables. */
  readonly ropeTables: readonly RopeTables[];
  /** What queries are multiplied by, f32 [length, 1, 1], by the attention's temperature and span. */
  readonly temperatures: ReadonlyMap<string, Tensor>;
  readonly adapters: Adapters;
}

/** The name of an attention's factors of queries. */
export const temperatureKey = ({ temperature, span }: Attention): string => `${temperature} ${span}`;

/** The tensors that layers read beside activations and weights. */
export const tablesOf = ({ mask, ropeTables, temperatures }: Setting): Tensor[] => [
  ...(mask ? [mask] : []),
  ...ropeTables.flat(),
  ...temperatures.values(),
];

/** The same setting with other handles of these tensors. */
export function withTables(setting: Setting, tables: readonly Tensor[]): Setting {
  const rest = [...tables];
  const mask = setting.mask && rest.shift();
  const ropeTables = setting.ropeTables.map(() => rest.splice(0, 2) as unknown as RopeTables);
  const temperatures = new Map([...setting.temperatures.keys()].map((key, at) => [key, rest[at] as Tensor]));
  return { ...setting, mask, ropeTables, temperatures };
}

/** Activations by number, of as many values as [batch · length, width] has, in any shape. */
export type Activations = Map<number, Tensor>;

/** Runs operations in order on activations, which it writes. */
export function run(setting: Setting, ops: readonly Op[], activations: Activations): void {
  for (const op of ops) new Step(setting, activations).run(op);
}

/** One operation. */
class Step {
  readonly #setting: Setting;
  readonly #gpu: Gpu;
  readonly #values: Activations;

  constructor(setting: Setting, activations: Activations) {
    this.#setting = setting;
    this.#gpu = setting.gpu;
    this.#values = activations;
  }

  run(op: Op): void {
    const [gpu, values] = [this.#gpu, this.#values];
    switch (op.op) {
      case 'products':
        this.#products(op);
        return;
      case 'embed':
        this.#set(op.y, scaled(gpu, rowsOf(gpu, op.table, this.#setting.ids), op.scale));
        return;
      case 'places':
        this.#set(op.y, rowsOf(gpu, op.table, this.#setting.places as Tensor<'u32'>));
        return;
      case 'norm':
        this.#set(op.y, this.#norm(op.x, op));
        return;
      case 'rope':
        this.#rope(op);
        return;
      case 'attend':
        this.#set(op.y, this.#attend(op));
        return;
      case 'gate':
        this.#set(op.y, this.#gate(op));
        return;
      case 'activate':
        this.#set(op.x, activated(gpu, this.#get(op.x), op.kind, op.numbers));
        return;
      case 'add':
        this.#set(op.to, this.#add(op));
        return;
      case 'copy':
        // No operation writes in place.
        this.#set(op.y, values.get(op.x) as Tensor);
        return;
      default:
        this.#set(
          op.x,
          changed(gpu, this.#rows(op.x), op, (x) => this.#rows(x)),
        );
    }
  }

  /** In whatever shape it is. */
  #get(x: number): Tensor {
    return this.#values.get(x) as Tensor;
  }

  /** As [batch · length, width]. */
  #rows(x: number): Tensor {
    return this.#shaped(x, [this.#tokens, this.#width(x)]);
  }

  /** As [batch, length, heads, dim]. */
  #heads(x: number, dim: number): Tensor {
    const { batch, length } = this.#setting;
    return this.#shaped(x, [batch, length, this.#width(x) / dim, dim]);
  }

  /** What is there in another shape stays in that, for the next who reads it. */
  #shaped(x: number, shape: readonly number[]): Tensor {
    const made = shaped(this.#gpu, this.#get(x), shape);
    this.#values.set(x, made);
    return made;
  }

  #set(y: number, tensor: Tensor): void {
    this.#values.set(y, tensor);
  }

  #width(x: number): number {
    return this.#setting.program.widths[x] as number;
  }

  get #tokens(): number {
    return this.#setting.batch * this.#setting.length;
  }

  /** Products of one x, with what adapters add to them. */
  #products({ x, products, stacks }: Op & { op: 'products' }): void {
    const [gpu, input] = [this.#gpu, this.#rows(x)];
    const { pairs } = this.#setting.adapters;
    const inner = this.#inner(input, products);
    /** What an adapter adds to a tensor of which several products have rows. */
    const shared = new Map<string, Tensor>();
    const adapted = (product: Product, base: Tensor): Tensor => {
      const { name } = product;
      const low = inner.get(name);
      if (!low) return base;
      const { b } = pairs[name] as AdapterPair;
      if (product.run === product.of) return gpu.matmul(low, b, { transposeB: true, residual: base });
      const whole = shared.get(name) ?? gpu.matmul(low, b, { transposeB: true });
      shared.set(name, whole);
      return gpu.add(base, partOf(gpu, whole, product, this.#width(product.y)));
    };
    const rest = [...products];
    for (const { matrix, bias } of stacks) {
      const own: Product[] = [];
      for (let rows = rowsIn(matrix); rows > 0; rows -= this.#width((own.at(-1) as Product).y)) {
        own.push(rest.shift() as Product);
      }
      const whole = productWith(gpu, input, matrix, bias);
      const parts = gpu.split(
        whole,
        own.map(({ y }) => this.#width(y)),
      );
      own.forEach((product, at) => this.#set(product.y, adapted(product, parts[at] as Tensor)));
    }
  }

  /** scale · A·x of the adapters of these products, by name: all from one product, as A below A. */
  #inner(input: Tensor, products: readonly Product[]): Map<string, Tensor> {
    const gpu = this.#gpu;
    const { pairs, scale } = this.#setting.adapters;
    const names = [...new Set(products.map(({ name }) => name))].filter((name) => Object.hasOwn(pairs, name));
    if (names.length === 0) return new Map();
    const matrices = names.map((name) => (pairs[name] as AdapterPair).a);
    const all = matrices.length === 1 ? (matrices[0] as Tensor) : gpu.concat(matrices);
    const low = gpu.scale(gpu.matmul(input, all, { transposeB: true }), scale);
    const parts = gpu.split(
      low,
      matrices.map(({ shape }) => shape[0] as number),
    );
    return new Map(names.map((name, at) => [name, parts[at] as Tensor]));
  }

  #norm(x: number, { centred, width, eps, weight, bias }: Norm): Tensor {
    const gpu = this.#gpu;
    const all = this.#width(x);
    const input = all === width ? this.#rows(x) : this.#heads(x, width);
    const isGrouped = weight !== undefined && weight.size !== width;
    const norm = centred ? gpu.layerNorm : gpu.rmsNorm;
    const y = norm.call(gpu, input, isGrouped ? undefined : weight, { eps, bias }) as Tensor;
    return isGrouped ? gpu.mul(shaped(gpu, y, [this.#tokens, all]), weight) : y;
  }

  #rope({ x, headDim, table }: Op & { op: 'rope' }): void {
    const { program, ropeTables } = this.#setting;
    const of = program.ropeTables[table];
    if (!of || of.turns.length === 0) return;
    const [gpu, heads] = [this.#gpu, this.#heads(x, headDim)];
    const pairing = of.splitHalf ? 'splitHalf' : 'interleaved';
    const [there, back] = (ropeTables[table] as RopeTables).map(
      (made) => ({ table: made, layout: 'bshd', pairing }) as const,
    );
    const rule: Rule = ({ save }) => {
      const kept = { ...back, table: save(back?.table as Tensor) };
      return (dy) => ({ x: gpu.rope(dy as Tensor, kept) });
    };
    this.#set(
      x,
      gpu.custom('rope', { x: heads }, () => gpu.rope(heads, there), rule),
    );
  }

  #attend(op: Attention): Tensor {
    const { length, mask, temperatures } = this.#setting;
    const [gpu, dim] = [this.#gpu, op.headDim];
    const factors = temperatures.get(temperatureKey(op));
    const whole = this.#heads(op.q, dim);
    // As attention keeps them for the way back.
    const [q, k, v] = [factors ? gpu.mul(whole, factors) : whole, this.#heads(op.k, dim), this.#heads(op.v, dim)].map(
      (x) => gpu.transpose(x, SWAPPED),
    ) as [Tensor, Tensor, Tensor];
    const y = gpu.attention(q, k, v, {
      ...{ causal: true, scale: op.scale, mask },
      window: op.window > 0 && op.window < length ? op.window : undefined,
      softCap: op.softCap || undefined,
    });
    return gpu.transpose(y, SWAPPED);
  }

  #gate({ gate, up, at, geglu }: Op & { op: 'gate' }): Tensor {
    const [gpu, width] = [this.#gpu, this.#width(gate)];
    const whole = this.#rows(up);
    const own = width === this.#width(up) ? whole : gpu.narrow(whole, 1, at, width);
    return gpu.fuse([this.#rows(gate), own], (g, u) => (geglu ? g.gelu() : g.silu()).mul(u));
  }

  #add({ x, to, scale }: Op & { op: 'add' }): Tensor {
    const [sum, other] = [this.#rows(to), this.#rows(x)];
    if (scale === 1) return this.#gpu.add(sum, other);
    return this.#gpu.fuse([sum, other], (a, b) => b.mul(scale).add(a));
  }
}

function scaled(gpu: Gpu, x: Tensor, by: number | Tensor): Tensor {
  if (typeof by !== 'number') return gpu.mul(x, by);
  return by === 1 ? x : gpu.scale(x, by);
}

/** What becomes of x, value by value. */
function changed(
  gpu: Gpu,
  x: Tensor,
  op: Op & { op: 'scale' | 'softCap' | 'combine' },
  rows: (x: number) => Tensor,
): Tensor {
  switch (op.op) {
    case 'scale':
      return scaled(gpu, x, op.factor);
    case 'softCap':
      return gpu.fuse([x], (v) =>
        v
          .mul(1 / op.cap)
          .tanh()
          .mul(op.cap),
      );
    case 'combine': {
      const other = typeof op.with === 'number' ? rows(op.with) : op.with;
      return op.subtract ? gpu.sub(x, other) : gpu.mul(x, other);
    }
  }
}

const rowsIn = (matrix: Matrix): number => matrix.reduce((rows, shard) => rows + (shard.shape[0] as number), 0);

/** x · Wᵀ + bias, for a matrix in shards. */
export function productWith(gpu: Gpu, x: Tensor, matrix: Matrix, bias: Tensor | undefined): Tensor {
  let first = 0;
  const parts = matrix.map((shard) => {
    const rows = shard.shape[0] as number;
    const own = bias && matrix.length > 1 ? gpu.narrow(bias, 0, first, rows) : bias;
    first += rows;
    return gpu.matmul(x, shard, { transposeB: true, bias: own });
  });
  return parts.length === 1 ? (parts[0] as Tensor) : gpu.concat(parts, { axis: 1 });
}

/** The rows of a table, in shards, for these numbers. */
function rowsOf(gpu: Gpu, table: Matrix, ids: Tensor<'u32'>): Tensor {
  if (table.length === 1) return gpu.embedding(table[0] as Tensor, ids);
  let first = 0;
  const column = gpu.reshape(ids, [ids.size, 1]);
  const parts = table.map((shard) => {
    const [from, end] = [first, first + (shard.shape[0] as number)];
    first = end;
    const own = gpu.cast(gpu.sub(ids, from), 'i32');
    const isOwn = gpu.fuse([column], (id) => id.greaterEqual(from).mul(id.less(end)));
    return gpu.fuse([isOwn, gpu.embedding(shard, own)], (is, value) => is.where(value, 0));
  });
  return parts.reduce((sum, part) => gpu.add(sum, part));
}

/** The part of a bias of all rows of a tensor that belongs to a product. */
function partOf(gpu: Gpu, whole: Tensor, { of, first, run, every }: Product, width: number): Tensor {
  if (run >= width) return gpu.narrow(whole, 1, first, width);
  const tokens = whole.shape[0] as number;
  const runs = gpu.narrow(gpu.reshape(whole, [tokens, of / every, every]), 2, first, run);
  return gpu.reshape(runs, [tokens, width]);
}
