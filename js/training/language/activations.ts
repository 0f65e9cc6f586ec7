/**
 * The activations of feed-forward networks that are not gated, by their numbers in `src/forward/export.rs`.
 */
import type { Expression } from '../../tensor/expression.js';
import type { Tensor } from '../../tensor/tensor.js';
import type { Gpu } from '../gpu.js';

const KINDS: readonly ((x: Expression, numbers: readonly number[]) => Expression)[] = [
  (x) => x.gelu(),
  (x) => x.geluErf(),
  (x) => x.tanh(),
  (x) => x.silu(),
  (x) => x.mul(1.702).sigmoid().mul(x),
  (x) => x.relu().mul(x.relu()),
  (x, [positive = 0, negative = 0, beta = 0, eps = 0]) => {
    const below = x.min(eps).exp().sub(1).sub(x).mul(negative);
    return x.greater(0).where(x.mul(x).mul(positive), below).add(x.mul(beta));
  },
  (x, [most = 0]) => x.max(-most).min(most),
  (x) => x.relu(),
];

/** activation(x) */
export function activated(gpu: Gpu, x: Tensor, kind: number, numbers: readonly number[]): Tensor {
  const activation = KINDS[kind] as (typeof KINDS)[number];
  return gpu.fuse([x], (value) => activation(value, numbers));
}
