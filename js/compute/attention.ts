/**
 * Attention over many queries in tiles, of which the scores are never stored (flash attention, Dao et al. 2022, arXiv
 * 2205.14135).
 */
import { invalidArgument } from '../errors.js';
import type { AttentionOptions, HeadLayout } from '../tensor/gpu-model.js';
import type { Gpu } from '../tensor/gpu.js';
import { type FloatTensor, Tensor } from '../tensor/tensor.js';
import { at, finite, known, word } from './checks.js';
import { asF32, grid, shaped } from './dispatch.js';
import { NeighbourOperations } from './neighbours.js';
import * as shaders from './shaders.js';

/** Values of a head are filled up to a multiple of this, and are at most MOST. */
const STEP = 16;
const MOST = 256;

/** Rows (queries of all heads that share keys) and keys of a tile of scores. @internal */
export const TILE = 64;

/** With fewer workgroups, a row of tiles each, tiles leave a large GPU idle. */
const FEWEST = 256;

/** The axes of heads and positions. */
const SWAPPED = [0, 2, 1, 3] as const;

const OPTIONS = ['mask', 'layout', 'causal', 'window', 'scale', 'softCap'] as const;

/** A checked call. @internal */
export type Plan = ReturnType<typeof planOf>;

/** Queries, keys and values. @internal */
export type Three = [q: Tensor, k: Tensor, v: Tensor];

/** Attention as `Gpu` of `webgguf` has it, but for many queries. */
export abstract class AttentionOperations extends NeighbourOperations {
  override attention(q: Tensor, k: Tensor, v: Tensor, options?: AttentionOptions): FloatTensor {
    const plan = this.takesTiles([q, k, v], options?.mask) ? planOf(q, k, v, options) : undefined;
    if (!plan || !isLarge(plan)) return super.attention(q, k, v, options);
    return this.scope(() => this.inTiles([q, k, v], options?.mask, plan)[0]) as FloatTensor;
  }

  /** Whether tiles can take the place of the engine's operation. @internal */
  protected takesTiles(given: Three, _mask: Tensor | undefined): boolean {
    return fitsTiles(...given);
  }

  /** The result, and the log-sum-exp of each query's scores [batch, heads, queries]. @internal */
  protected inTiles(given: Three, mask: Tensor | undefined, plan: Plan): [y: Tensor, lse: Tensor] {
    const { batch, heads, queries } = plan.params;
    const [q, k, v] = given.map((x) => this.prepared(x, plan.layout)) as Three;
    const [y, lse] = this.dispatchAll('attention', shaders.attentionForward, {
      inputs: { q, k, v, mask },
      shape: q.shape,
      more: [[batch, heads, queries]],
      params: plan.params,
      constants: { HEAD_DIM: at(q.shape, 3) },
      workgroups: grid(rowsOfTiles(plan)),
    }) as [Tensor, Tensor];
    return [this.restored(y, given[0], plan), lse];
  }

  /** f32 [batch, head, position, dim] with zeros behind each row up to a multiple of STEP. @internal */
  protected prepared(x: Tensor, layout: HeadLayout): Tensor {
    const whole = headsOf(this, asF32(this, x), layout);
    const missing = -at(whole.shape, 3) & (STEP - 1);
    return missing === 0 ? whole : this.pad(whole, [[0, missing]]);
  }

  /** The way back, to the shape of `like`. @internal */
  protected restored(x: Tensor, like: Tensor, { layout, dim }: Plan): Tensor {
    const own = at(x.shape, 3) === dim ? x : this.narrow(x, 3, 0, dim);
    return shaped(this, layout === 'bhsd' ? own : this.transpose(own, SWAPPED), like.shape);
  }
}

/** A workgroup each. */
const rowsOfTiles = ({ params: { batch, heads, group, queries } }: Plan): number =>
  ((batch * heads) / group) * Math.ceil((group * queries) / TILE);

/** Whether tiles are faster than the operation of the engine, which has a workgroup for a few queries. */
const isLarge = (plan: Plan): boolean => plan.params.group * plan.params.queries >= TILE && rowsOfTiles(plan) >= FEWEST;

/** Whether the shaders can take these. @internal */
export function fitsTiles(...tensors: Three): boolean {
  if (!tensors.every((x) => x instanceof Tensor && x.shape.length >= 2 && x.size > 0)) return false;
  return at(tensors[0].shape, tensors[0].shape.length - 1) <= MOST;
}

/** What the engine checks of attention, and `params` of the shaders. @internal */
export function planOf(q: Tensor, k: Tensor, v: Tensor, given?: AttentionOptions) {
  const options = known('attention', given, OPTIONS);
  const { mask, causal = false, window } = options;
  const layout = word('attention', 'layout', options.layout ?? 'bhsd', ['bhsd', 'bshd'] as const);
  const wrong = (why: string): Error => invalidArgument(`attention: q is ${q}, k ${k} and v ${v}; ${why}`);
  if (q.dtype !== 'f32' || !/^f(32|16)$/.test(k.dtype) || k.dtype !== v.dtype) {
    throw wrong('q has to be f32, k and v both f32 or both f16');
  }
  if (q.shape.length !== k.shape.length || q.shape.length < 2 || q.shape.length > 4) {
    throw wrong('each needs the same 2 to 4 axes');
  }
  if (String(k.shape) !== String(v.shape)) throw wrong('k and v need the same shape');
  const [batch, count, queries, dim] = axesOfHeads(q, layout);
  const [ofKeys, shared, keys, own] = axesOfHeads(k, layout);
  if (batch !== ofKeys || dim !== own) throw wrong('batches and dimensions have to be equal');
  if (count % shared !== 0) throw wrong('the heads of q have to be a multiple of those of k');
  const positive = (name: 'scale' | 'softCap' | 'window', value: number): number => {
    if (finite('attention', name, value) > 0) return value;
    throw invalidArgument(`attention: ${name} is ${value}, it must be a positive number`);
  };
  const [mask_batch, mask_head, mask_row, mask_key] = maskStrides(mask, [batch, count, queries, keys]);
  const params = {
    ...{ batch, heads: count, group: count / shared, queries, keys, dim: dim + (-dim & (STEP - 1)) },
    ...{ masked: Number(mask !== undefined), mask_batch, mask_head, mask_row, mask_key },
    causal: Number(causal || window !== undefined),
    window: window === undefined ? 0 : Math.min(positive('window', window), 2 ** 30),
    scale: options.scale === undefined ? 1 / Math.sqrt(dim) : positive('scale', options.scale),
    soft_cap: options.softCap === undefined ? 0 : positive('softCap', options.softCap),
    ...{ first_head: 0, head_count: 0, first_row: 0, row_count: 0, splits: 1, adds: 0 },
  };
  return { layout, dim, params };
}

/** Elements of a mask from one place of `full` to the next along each axis: 0 where it repeats. */
function maskStrides(mask: Tensor | undefined, full: number[]): [number, number, number, number] {
  if (!mask) return [0, 0, 0, 0];
  if (!(mask instanceof Tensor) || mask.dtype !== 'f32')
    throw invalidArgument(`attention: the mask is ${mask}; f32 is needed`);
  const sizes = [...Array<number>(Math.max(4 - mask.shape.length, 0)).fill(1), ...mask.shape];
  if (sizes.length !== 4 || sizes.some((size, axis) => size !== 1 && size !== full[axis])) {
    throw invalidArgument(`attention: the mask is ${mask}; it has to broadcast to [${full.join(', ')}]`);
  }
  const behind = (axis: number): number => sizes.slice(axis + 1).reduce((product, size) => product * size, 1);
  return sizes.map((size, axis) => (size > 1 ? behind(axis) : 0)) as [number, number, number, number];
}

/** x as [batch, head, position, dim]. @internal */
export function headsOf(gpu: Gpu, x: Tensor, layout: HeadLayout): Tensor {
  const whole = shaped(gpu, x, withFour(x, layout));
  return layout === 'bhsd' ? whole : gpu.transpose(whole, SWAPPED);
}

/** Batch, heads, positions and dim of x. @internal */
export function axesOfHeads(x: Tensor, layout: HeadLayout): [number, number, number, number] {
  const [batch, a, b, dim] = withFour(x, layout) as [number, number, number, number];
  return layout === 'bhsd' ? [batch, a, b, dim] : [batch, b, a, dim];
}

const withFour = ({ shape }: Tensor, layout: HeadLayout): number[] => {
  // A single head has no axis: it stands before the positions, or behind them.
  if (shape.length === 2 && layout === 'bshd') return [1, shape[0] as number, 1, shape[1] as number];
  return [...Array<number>(4 - shape.length).fill(1), ...shape];
};
