/**
 * Gradients of operations of language models.
 */
import { headsOf } from '../compute/attention.js';
import { shaped } from '../compute/dispatch.js';
import type { AttentionOptions, RopeOptions } from '../tensor/gpu-model.js';
import type { Tensor } from '../tensor/tensor.js';
import { composed } from './rules-matrix.js';
import { input } from './rules-movement.js';
import type { Rule, RuleGpu } from './tape.js';

/** A score that hides a key. */
const HIDDEN = -3.2e38;

/** [batch, head, position, dim] of a tensor in one of the layouts, and the way back. */
const SWAPPED = [0, 2, 1, 3];

/** The rotation by the opposite angles: the table with its sines negated. */
export const ropeRule: Rule = (call) => {
  const { gpu } = call;
  const { layout = 'bhsd', pairing, position = 0, ...frequencies } = call.options as RopeOptions;
  const { shape } = input(call, 'x');
  const rank = shape.length;
  const tokens = shape[layout === 'bhsd' || rank === 2 ? rank - 2 : rank - 3] as number;
  const given = call.inputs.table && call.save(call.inputs.table);
  return (dy) => {
    const { dims = shape.at(-1) as number, ...rest } = frequencies;
    const table = given ?? gpu.ropeTable({ ...rest, dims, positions: tokens, position });
    const back = gpu.mul(table, gpu.tensor([1, -1]));
    return { x: gpu.rope(dy as Tensor, { table: back, layout, pairing, position: given ? position : 0 }) };
  };
};

/** softmax(q·kᵀ) · v, with the scores stored: what the kernel does not keep is computed again. */
export const attentionRule = composed((gpu, { q, k, v, mask }, { options }) => {
  const { layout = 'bhsd', causal = false, window, scale, softCap } = options as AttentionOptions;
  const [queries, keys, values] = [q, k, v].map((x) => headsOf(gpu, x as Tensor, layout)) as [Tensor, Tensor, Tensor];
  const [batch, count, rows, dim] = queries.shape as [number, number, number, number];
  const [, kvHeads, columns] = keys.shape as [number, number, number];
  const grouped = [batch, kvHeads, count / kvHeads, rows];
  const shared = [batch, kvHeads, 1, columns, dim];
  const products = gpu.matmul(shaped(gpu, queries, [...grouped, dim]), shaped(gpu, keys, shared), { transposeB: true });
  const scores = shaped(gpu, products, [batch, count, rows, columns]);
  const shares = gpu.softmax(scores, {
    mask: joined(gpu, wide(gpu, mask, columns), window ? windowMask(gpu, rows, columns, window) : undefined),
    causal: causal || window !== undefined,
    scale: scale ?? 1 / Math.sqrt(dim),
    softCap,
  });
  const y = gpu.matmul(shaped(gpu, shares, [...grouped, columns]), shaped(gpu, values, shared));
  const whole = shaped(gpu, y, queries.shape);
  const own = layout === 'bhsd' ? whole : gpu.transpose(whole, SWAPPED);
  return shaped(gpu, own, (q as Tensor).shape);
});

/** Softmax wants a mask with the last axis in full. */
function wide(gpu: RuleGpu, mask: Tensor | undefined, columns: number): Tensor | undefined {
  if (!mask || mask.shape.at(-1) === columns) return mask;
  return gpu.expand(mask, [...mask.shape.slice(0, -1), columns]);
}

const joined = (gpu: RuleGpu, a: Tensor | undefined, b: Tensor | undefined): Tensor | undefined =>
  a && b ? gpu.add(a, b) : (a ?? b);

/** Hides the keys before a query's window. */
function windowMask(gpu: RuleGpu, rows: number, columns: number, window: number): Tensor {
  const first = Float32Array.from({ length: rows }, (_, row) => row + columns - rows - window + 1);
  const keys = gpu.tensor(Float32Array.from({ length: columns }, (_, column) => column));
  return gpu.fuse([keys, gpu.tensor(first, [rows, 1])], (key, least) => key.less(least).where(HIDDEN, 0));
}
