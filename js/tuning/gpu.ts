/**
 * `gpu.tune`: which rows of the tables are fastest for products of these shapes on the device of a `Gpu`. Only who asks
 * for it fetches this module.
 */
import { type DType, checkDType } from '../tensor/dtypes.js';
import { fromWasm, guarded, invalidArgument } from '../errors.js';
import { type Gpu, checkShape } from '../tensor/gpu.js';
import { objectOf, show, signalOption } from '../check.js';
import type { Tensor } from '../tensor/tensor.js';
import { type Clock, type Runner, race } from './race.js';
import { clockOf } from './clock.js';
import { type Problem, linesOf, problemsOf } from './index.js';
import type { TunedChoice, Tuning } from '../types/info.js';
import { keepVerdict, keptTuning, keptVerdicts } from './verdicts.js';
import type { DeviceHandle } from '../wasm/webgguf.js';

/** A product that is to be tuned: `gpu.matmul(x, w, { transposeB })`. */
export interface TunedProduct {
  /** [.., m, k], f32 */
  readonly x: readonly number[];
  /** [n, k], with `transposeB: false` [k, n] */
  readonly w: readonly number[];
  /** How w is stored. Default: f32 */
  readonly dtype?: DType | undefined;
  /** Whether w is [n, k], as weights are stored; quantised ones always are. Default true */
  readonly transposeB?: boolean | undefined;
}

/** Options of `gpu.tune`. */
export interface TuneOptions {
  /** Stops between two measurements: `tune` then rejects with the signal's reason, and nothing has changed. */
  readonly signal?: AbortSignal | undefined;
}

/** Copies of w together are larger than the caches of GPUs, which would flatter, but for copies of one of many MB. */
const COPIES_BYTES = 96 << 20;
const MOST_COPIES = 64;
/** Tolerated difference, as a share of a result's largest value. */
const TOLERANCE = 1e-3;

/** Weights and bytes of a block of each type: `src/formats`. @internal */
export const BLOCKS: Readonly<Record<string, readonly [number, number]>> = {
  f32: [1, 4],
  f16: [1, 2],
  bf16: [1, 2],
  q4_0: [32, 18],
  q4_1: [32, 20],
  q5_0: [32, 22],
  q5_1: [32, 24],
  q8_0: [32, 34],
  q2_k: [256, 84],
  q3_k: [256, 110],
  q4_k: [256, 144],
  q5_k: [256, 176],
  q6_k: [256, 210],
  iq4_nl: [32, 18],
  mxfp4: [32, 17],
  iq3_xxs: [256, 98],
  iq3_s: [256, 110],
  iq2_xxs: [256, 66],
  iq2_xs: [256, 74],
  iq2_s: [256, 82],
  iq1_s: [256, 50],
  iq1_m: [256, 56],
  iq4_xs: [256, 136],
  tq2_0: [256, 66],
  tq1_0: [256, 54],
  nvfp4: [64, 36],
  q1_0: [128, 18],
  q2_0: [64, 18],
};

/** What runs on each `Gpu`. */
const chosen = new WeakMap<Gpu, Map<string, TunedChoice>>();

/** The work of `gpu.tune`. @internal */
export async function tune(gpu: Gpu, products: readonly TunedProduct[], options: TuneOptions = {}): Promise<Tuning> {
  const signal = signalOption('tune', options);
  if (!Array.isArray(products)) throw invalidArgument(`tune: expected an array of products, found ${show(products)}`);
  const checked = products.map(checkedProduct);
  const start = performance.now();
  const device = guarded(() => gpu.engine.device());
  const clock = clockOf(device.raw());
  try {
    const choices = new Map(chosen.get(gpu));
    const report = await tuneAll({ gpu, device, clock, choices, signal }, checked);
    chosen.set(gpu, choices);
    return { ...report, milliseconds: performance.now() - start };
  } catch (error) {
    throw signal?.aborted ? signal.reason : fromWasm(error);
  } finally {
    device.tuned(lines(chosen.get(gpu)), false);
    device.free();
    clock.free();
  }
}

/** One call. */
interface Call {
  readonly gpu: Gpu;
  readonly device: DeviceHandle;
  readonly clock: Clock;
  /** What is to run from now on. */
  readonly choices: Map<string, TunedChoice>;
  readonly signal: AbortSignal | undefined;
}

type Product = Required<TunedProduct>;

async function tuneAll(call: Call, products: readonly Product[]): Promise<Omit<Tuning, 'milliseconds'>> {
  const seen = new Map<string, TunedChoice | undefined>();
  let measured = 0;
  for (const product of products) {
    call.signal?.throwIfAborted();
    measured += await withOperands(call.gpu, product, (operands) => tuneOne(call, operands, seen));
  }
  const changed = [...seen.values()].filter((choice) => choice !== undefined);
  const found = changed.length > 0 ? 'tuned' : 'table';
  return { verdict: measured > 0 ? found : seen.size > 0 ? 'remembered' : 'table', problems: seen.size, changed };
}

/** The operands of a product: x, and as many copies of w as a cache does not hold. */
interface Operands {
  readonly x: Tensor;
  readonly copies: readonly Tensor[];
  readonly transposeB: boolean;
}

/** The number of measured problems: those without a stored verdict. */
async function tuneOne(call: Call, operands: Operands, seen: Map<string, TunedChoice | undefined>): Promise<number> {
  const { device, choices } = call;
  device.tuned('', true);
  multiply(call.gpu, operands, 0, 1);
  const [key = '', ...heard] = device.tuned(lines(choices), false).split('\n');
  let measured = 0;
  for (const problem of problemsOf(heard.join('\n')).filter(({ name }) => !seen.has(name))) {
    const name = `product ${key} ${problem.name}`;
    const kept = keptTuning((await keptVerdicts())[name]);
    const [known] = kept?.changed ?? [];
    const choice = kept ? known && { ...known, problem: problem.name } : await measure(call, operands, problem);
    if (!kept) await keepVerdict(name, { problems: 1, changed: choice ? [choice] : [] });
    measured += kept ? 0 : 1;
    seen.set(problem.name, choice);
    if (choice) choices.set(problem.name, choice);
  }
  return measured;
}

async function measure(call: Call, operands: Operands, problem: Problem): Promise<TunedChoice | undefined> {
  const { gpu, device, clock, choices, signal } = call;
  const { name, rows, chosen: from } = problem;
  const result = async (row: number): Promise<Float32Array> => {
    device.tuned(`${name}=${row}`, false);
    const y = gpu.matmul(operands.x, operands.copies[0] as Tensor, { transposeB: operands.transposeB });
    device.tuned(lines(choices), false);
    return y.data().finally(() => y.free());
  };
  const order = [from];
  const wanted = await result(from);
  for (const row of rows.filter((other) => other !== from)) {
    signal?.throwIfAborted();
    // What is fast because it is wrong does not win, nor does a shader that the browser refuses.
    const isRight = await result(row).then(
      (found) => isClose(wanted, found),
      () => false,
    );
    if (isRight) order.push(row);
  }
  const runner = (row: number): Runner => ({
    length: operands.copies.length,
    submit: (first, count) => {
      signal?.throwIfAborted();
      device.tuned(`${name}=${row}`, false);
      multiply(gpu, operands, first, count);
      // What others do meanwhile is none of the measuring's business.
      device.tuned(lines(choices), false);
    },
  });
  const { winner, speedup } = await race(order.map(runner), clock);
  return winner === 0 ? undefined : { problem: name, from, to: order[winner] as number, speedup };
}

/** Whether two results differ by no more than the order of sums explains. */
function isClose(one: Float32Array, other: Float32Array): boolean {
  const most = one.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  return one.every((value, at) => Math.abs(value - (other[at] ?? NaN)) <= TOLERANCE * most);
}

/** Submits `count` products with one copy of w after the other. */
function multiply(gpu: Gpu, { x, copies, transposeB }: Operands, first: number, count: number): void {
  for (let at = first; at < first + count; at += 1) {
    gpu.matmul(x, copies[at % copies.length] as Tensor, { transposeB }).free();
  }
  gpu.tensor([0]).free(); // writing a tensor submits what is queued
}

async function withOperands<T>(gpu: Gpu, product: Product, work: (operands: Operands) => Promise<T>): Promise<T> {
  const { x, w, dtype, transposeB } = product;
  const [block = 1, bytes = 4] = BLOCKS[dtype] ?? [];
  const size = (elements(w) / block) * bytes;
  const count = Math.min(MOST_COPIES, Math.max(1, Math.ceil(COPIES_BYTES / size)));
  const made: Tensor[] = [];
  const keep = <D extends Tensor>(tensor: D): D => {
    made.push(tensor);
    return tensor;
  };
  try {
    const operand = keep(gpu.tensor(randomFloats(elements(x)), x));
    const data = dtype === 'f32' ? randomFloats(elements(w)) : randomBits(dtype, size);
    const copies = Array.from({ length: count }, () => keep(gpu.tensor(data, w, dtype)));
    return await work({ x: operand, copies, transposeB });
  } finally {
    gpu.free(made);
  }
}

/** Numbers from -1 to 1. */
const randomFloats = (length: number): Float32Array => Float32Array.from({ length }, () => 2 * Math.random() - 1);

/** Any bits, but that all f16 and bf16 among them, such as scales of blocks, are ordinary numbers below 2. */
function randomBits(dtype: DType, size: number): Uint16Array | Uint8Array {
  const bits = Uint16Array.from({ length: Math.ceil(size / 2) }, () => ((Math.random() * 65_536) & ~0x4000) | 0x0400);
  return dtype === 'f16' || dtype === 'bf16' ? bits : new Uint8Array(bits.buffer, 0, size);
}

/** A product with sizes that fit. */
function checkedProduct(product: TunedProduct, at: number): Product {
  const call = `tune: products[${at}]`;
  const { x, w, dtype = 'f32', transposeB = true, ...others } = objectOf(call, product) as TunedProduct;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw invalidArgument(`${call}: unknown field '${unknown}'`);
  if (typeof transposeB !== 'boolean') {
    throw invalidArgument(`${call}: transposeB must be true or false, found ${show(transposeB)}`);
  }
  const type = checkDType(call, dtype);
  const [block] = BLOCKS[type] ?? [];
  if (block === undefined) throw invalidArgument(`${call}: w of dtype ${type} has no product`);
  const [of, weights] = [checkShape(x, call), checkShape(w, call)];
  const fail = (why: string): never => {
    throw invalidArgument(`${call}: x is [${of.join(', ')}] and w [${weights.join(', ')}] ${type}; ${why}`);
  };
  if (of.length < 2 || weights.length !== 2) fail('x must have two axes or more, and w two');
  if ([...of, ...weights].includes(0)) fail('no axis may be 0');
  if (block > 1 && !transposeB) fail('w in blocks is [n, k]');
  const [k, cols] = [of.at(-1), weights[transposeB ? 1 : 0] as number];
  if (k !== cols) fail(`rows of x have ${k} elements, ${transposeB ? 'rows' : 'columns'} of w ${cols}`);
  if (cols % block !== 0) fail(`rows of w must be whole blocks of ${block}`);
  return { x: of, w: weights, dtype: type, transposeB };
}

const elements = (shape: readonly number[]): number => shape.reduce((product, length) => product * length, 1);

const lines = (choices: ReadonlyMap<string, TunedChoice> | undefined): string =>
  linesOf([...(choices?.values() ?? [])]);
