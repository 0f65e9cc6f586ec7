/**
 * From hidden rows to the loss: the logits of a few rows exist at a time.
 */
import { invalidArgument } from '../../errors.js';
import type { FloatTensor, Tensor } from '../../tensor/tensor.js';
import type { Gpu } from '../gpu.js';
import type { Op, Product, Program, Stack } from './program.js';
import { type Activations, type Setting, productWith, run } from './run.js';

/** Logits that exist at once, where operations follow the product with the output matrix. */
const MOST_LOGITS = 1 << 22;

/** The head of a program. */
export interface Head {
  /** What comes before the product. */
  readonly before: readonly Op[];
  /** What the product reads. */
  readonly x: number;
  readonly stack: Stack;
  /** What it makes. */
  readonly logits: number;
  /** What follows. */
  readonly after: readonly Op[];
}

/** Cuts the head of a program at the product with the output matrix. */
export function headOf({ head }: Program): Head {
  const at = head.findIndex(({ op }) => op === 'products');
  const product = head[at];
  if (product?.op !== 'products') throw invalidArgument('training: the program has no product that makes logits');
  const [own, stack] = [product.products[0] as Product, product.stacks[0] as Stack];
  return { before: head.slice(0, at), x: product.x, stack, logits: own.y, after: head.slice(at + 1) };
}

/** The mean cross-entropy of rows whose target is an id. `targets`: i32 [batch · length] */
export function lossOf(setting: Setting, head: Head, hidden: Activations, targets: Tensor<'i32'>): FloatTensor {
  const { gpu } = setting;
  const values: Activations = new Map(hidden);
  run(setting, head.before, values);
  const x = values.get(head.x) as Tensor;
  const { matrix, bias } = head.stack;
  const scales = head.after.map((op) => (op.op === 'scale' ? Number(op.factor) : Number.NaN));
  const scale = scales.reduce((product, factor) => product * factor, 1);
  if (matrix.length === 1 && !bias && !Number.isNaN(scale)) {
    return gpu.crossEntropy(scale === 1 ? x : gpu.scale(x, scale), targets, { weights: matrix[0] });
  }
  return inParts(setting, head, x, targets);
}

/** The same where something follows the product, some rows after the others. */
function inParts(setting: Setting, head: Head, x: Tensor, targets: Tensor<'i32'>): FloatTensor {
  const { gpu, program } = setting;
  const [count, classes] = [targets.size, program.widths[head.logits] as number];
  const step = Math.max(1, Math.floor(MOST_LOGITS / classes));
  const sums: Tensor[] = [];
  for (let start = 0; start < count; start += step) {
    const rows = Math.min(step, count - start);
    const own = gpu.narrow(targets, 0, start, rows);
    const counted = atLeastOne(gpu, countOf(gpu, own, classes));
    const part = (hidden: Tensor, own: Tensor, counted: Tensor): Tensor => {
      const logits: Activations = new Map([
        [head.logits, productWith(gpu, hidden, head.stack.matrix, head.stack.bias)],
      ]);
      run({ ...setting, batch: 1, length: rows }, head.after, logits);
      return gpu.mul(gpu.crossEntropy(logits.get(head.logits) as Tensor, own as Tensor<'i32'>), counted);
    };
    sums.push(gpu.checkpoint(part, gpu.narrow(x, 0, start, rows), own, counted));
  }
  const total = sums.reduce((sum, part) => gpu.add(sum, part));
  return gpu.div(total, atLeastOne(gpu, countOf(gpu, targets, classes)));
}

/** How many targets are ids. */
const countOf = (gpu: Gpu, targets: Tensor, classes: number): Tensor =>
  gpu.sum(gpu.fuse([targets], (target) => target.greaterEqual(0).mul(target.less(classes))));

const atLeastOne = (gpu: Gpu, count: Tensor): Tensor => gpu.maximum(count, 1);
