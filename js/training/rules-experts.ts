/**
 * Gradients of mixtures of experts.
 */
import { isQuantised } from '../tensor/dtypes.js';
import type { Tensor } from '../tensor/tensor.js';
import { shaped } from '../compute/dispatch.js';
import { savedInputs } from './rules-matrix.js';
import type { Given, Rule, RuleGpu } from './tape.js';

/**
 * y[t] = Σ_s weights[t, s] · W[ids[t, s]] · x[t]: dx is the same with the transposed matrices. An expert's matrix gets
 * the product of all rows of dy and x, in which rows of other experts are 0.
 */
export const matmulGroupedRule: Rule = (call) => {
  const { gpu, wants } = call;
  const { x, w, ids, weights } = savedInputs(call) as Record<'x' | 'w' | 'ids' | 'weights', Tensor>;
  const [tokens, top] = ids.shape as [number, number];
  const [experts, rows, width] = w.shape as [number, number, number];
  const isShared = x.shape.length === 2;
  return (gradient): Given => {
    const dy = shaped(gpu, gradient as Tensor, [tokens, weights ? 1 : top, rows]);
    const factors = weights && shaped(gpu, weights, [tokens, top, 1]);
    const each = factors ? gpu.mul(dy, factors) : dy;
    return {
      x: wants('x')
        ? () => {
            const back = gpu.matmulGrouped(each, transposed(gpu, w), ids);
            return isShared ? gpu.sum(back, { axis: 1 }) : back;
          }
        : undefined,
      w: wants('w') ? () => ofExperts(gpu, each, x, ids, [experts, rows, width]) : undefined,
      weights: () => gpu.sum(gpu.mul(gpu.matmulGrouped(x, w, ids), dy), { axis: 2 }),
    };
  };
};

/** [experts, k, n] of [experts, n, k]; blocks are unpacked as products with the unit vectors. */
function transposed(gpu: RuleGpu, w: Tensor): Tensor {
  if (!isQuantised(w.dtype)) return gpu.transpose(w, [0, 2, 1]);
  const [experts, , width] = w.shape as [number, number, number];
  const places = gpu.cumsum(gpu.filled([width], 1), { exclusive: true });
  const units = gpu.equal(places, gpu.reshape(places, [width, 1]));
  const all = Uint32Array.from({ length: width * experts }, (_, at) => at % experts);
  return gpu.transpose(gpu.matmulGrouped(units, w, gpu.tensor(all, [width, experts])), [1, 0, 2]);
}

function ofExperts(gpu: RuleGpu, dy: Tensor, x: Tensor, ids: Tensor, shape: readonly number[]): Tensor {
  const [experts, rows, width] = shape as [number, number, number];
  const [tokens, top] = ids.shape as [number, number];
  const whole = x.shape.length === 2 ? gpu.expand(shaped(gpu, x, [tokens, 1, width]), [tokens, top, width]) : x;
  const [of_x, chosen] = [shaped(gpu, whole, [tokens * top, width]), shaped(gpu, ids, [tokens, top, 1])];
  const all = Array.from({ length: experts }, (_, expert) =>
    gpu.scope(() => {
      const own = gpu.fuse([chosen, dy], (id, g) => id.equal(expert).where(g, 0));
      const product = gpu.matmul(shaped(gpu, own, [tokens * top, rows]), of_x, { transposeA: true });
      return gpu.reshape(product, [1, rows, width]);
    }),
  );
  return gpu.concat(all);
}
