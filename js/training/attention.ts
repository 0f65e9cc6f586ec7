/**
 * Gradients of attention, of which the scores are never stored (flash attention, Dao et al. 2022, arXiv 2205.14135).
 */
import { at, finite, known, word } from '../compute/checks.js';
import { asF32, grid } from '../compute/dispatch.js';
import * as shaders from '../compute/shaders.js';
import { invalidArgument } from '../errors.js';
import type { AttentionOptions, HeadLayout } from '../gpu-model.js';
import { Tensor, type FloatTensor } from '../tensor.js';
import { FourierGradients } from './fourier.js';
import { axesOfHeads, heads } from './rules-model.js';
import { shaped } from './fit.js';
import type { Call, Given, Rule } from './tape.js';

/** Values of a head are filled up to a multiple of this, and are at most MOST. */
const STEP = 16;
const MOST = 256;

/** Rows (queries of all heads that share keys) and keys of a tile of scores. */
const TILE = 64;

/** Tiles of which weights are in memory at a time, 32 KiB each; one row of tiles is, in any case. */
const MOST_TILES = 2048;

/** Rows of tiles at a time, as far as MOST_TILES allows: fewer would read and write dk and dv too often. */
const FEWEST_ROWS = 8;

const OPTIONS = ['mask', 'layout', 'causal', 'window', 'scale', 'softCap'] as const;

/** A checked call. */
type Plan = ReturnType<typeof planOf>;

type Three = [q: Tensor, k: Tensor, v: Tensor];
type Sizes = [number, number, number];

/** What the gradient reads: tensors as `#prepared` makes them, log-sum-exp and dy · y of each query. */
interface Inputs extends Readonly<Record<string, Tensor | undefined>> {
  q: Tensor;
  k: Tensor;
  v: Tensor;
  dy: Tensor;
}

/** `Gpu` whose attention has a gradient. */
export class AttentionGradients extends FourierGradients {
  override attention(q: Tensor, k: Tensor, v: Tensor, options?: AttentionOptions): FloatTensor {
    const mask = options?.mask;
    // A mask's gradient is as large as the scores; the rule of the engine's operation stores them.
    const isFlash = this.isRecorded(q, k, v) && !this.isRecorded(mask) && at(q.shape, q.shape.length - 1) <= MOST;
    if (!isFlash || q.size === 0 || k.size === 0) return super.attention(q, k, v, options);
    const plan = planOf(q, k, v, known('attention', options, OPTIONS));
    return this.custom(
      'attention',
      { q, k, v, mask },
      () => this.#forward([q, k, v], mask, plan),
      (call) => this.#rule(call, plan),
    );
  }

  #forward(given: Three, mask: Tensor | undefined, plan: Plan): [Tensor, Tensor] {
    const { batch, heads, group, queries } = plan.params;
    const [q, k, v] = given.map((x) => this.#prepared(x, plan.layout)) as Three;
    const [y, lse] = this.dispatchAll('attention', shaders.attentionForward, {
      inputs: { q, k, v, mask },
      shape: q.shape,
      more: [[batch, heads, queries] as number[]],
      params: plan.params,
      constants: { HEAD_DIM: at(q.shape, 3) },
      workgroups: grid(((batch * heads) / group) * Math.ceil((group * queries) / TILE)),
    }) as [Tensor, Tensor];
    return [this.#restored(y, given[0], plan), lse];
  }

  /** What is kept is as large as the inputs: with the log-sum-exp of each query, its scores can be computed again. */
  #rule(call: Call, plan: Plan): ReturnType<Rule> {
    const { inputs, outputs, save } = call;
    const given = [inputs.q, inputs.k, inputs.v].map((x) => save(x as Tensor)) as Three;
    const mask = inputs.mask && save(inputs.mask);
    const [y, lse] = [save(at(outputs, 0)), save(at(outputs, 1))];
    return (gradient): Given => {
      const [q, k, v] = given.map((x) => this.#prepared(x, plan.layout)) as Three;
      const dy = this.#prepared(gradient as Tensor, plan.layout);
      const products = this.mul(dy, this.#prepared(y, plan.layout));
      const all = { q, k, v, dy, lse, delta: this.sum(products, { axis: -1 }), mask };
      let made: Three | undefined;
      const part = (index: number): Tensor => {
        made ??= this.#gradients(all, plan);
        return this.#restored(made[index] as Tensor, given[index] as Tensor, plan);
      };
      return { q: () => part(0), k: () => part(1), v: () => part(2) };
    };
  }

  /** dq, dk and dv, some heads at a time. */
  #gradients(all: Inputs, plan: Plan): Three {
    const { q, k } = all;
    const { batch, heads, group, queries } = plan.params;
    const shape = [(batch * heads) / group, group * queries, at(k.shape, 2)];
    const [count, rows] = partsOf(shape.map((size, axis) => (axis === 0 ? size : Math.ceil(size / TILE))) as Sizes);
    const made: Three[] = [];
    for (let first = 0; first < at(shape, 0); first += count) {
      const heads = Math.min(count, at(shape, 0) - first);
      made.push(this.#ofHeads(all, plan, [first, heads, rows * TILE]));
    }
    const whole = (index: number, like: Tensor): Tensor => {
      const parts = made.map((three) => three[index] as Tensor);
      return shaped(this, parts.length === 1 ? at(parts, 0) : this.concat(parts, { axis: 0 }), like.shape);
    };
    return [whole(0, q), whole(1, k), whole(2, k)];
  }

  /** The same of `heads` heads from `first` on, `most` rows at a time: each [heads, rows, dim]. */
  #ofHeads(all: Inputs, plan: Plan, [first, heads, most]: Sizes): Three {
    const { q, k, dy } = all;
    const { group, queries, keys } = plan.params;
    const [rows, dim, across] = [group * queries, at(q.shape, 3), Math.ceil(keys / TILE)];
    const ofRows: Tensor[] = [];
    let before: Tensor | undefined;
    for (let row = 0; row < rows; row += most) {
      const count = Math.min(most, rows - row);
      const tiles = Math.ceil(count / TILE);
      const splits = Math.ceil(across / Math.ceil(across / Math.max(Math.round(across / tiles), 1)));
      const own = { first_head: first, head_count: heads, first_row: row, row_count: count };
      const params = { ...plan.params, ...own, splits, adds: Number(before !== undefined) };
      const common = { params, constants: { HEAD_DIM: dim } };
      const weights = this.dispatch('attention', shaders.attentionWeights, {
        inputs: all,
        shape: [2, heads, tiles, across, TILE * TILE],
        workgroups: grid(heads * tiles * across),
        ...common,
      });
      const [dq, d] = this.dispatchAll('attention', shaders.attentionGrad, {
        inputs: { weights, q, k, dy, before },
        shape: [splits, heads, count, dim],
        more: [[2, heads, keys, dim]],
        workgroups: grid(heads * (splits * tiles + 2 * across) * Math.ceil(dim / TILE)),
        ...common,
      }) as [Tensor, Tensor];
      weights.free();
      before?.free();
      before = d;
      ofRows.push(splits === 1 ? this.reshape(dq, [heads, count, dim]) : this.sum(dq, { axis: 0 }));
    }
    const [dk, dv] = [0, 1].map((index) => {
      return this.reshape(this.narrow(before as Tensor, 0, index, 1), [heads, keys, dim]);
    }) as [Tensor, Tensor];
    return [ofRows.length === 1 ? at(ofRows, 0) : this.concat(ofRows, { axis: 1 }), dk, dv];
  }

  /** f32 [batch, head, position, dim] with zeros behind each row up to a multiple of STEP. */
  #prepared(x: Tensor, layout: HeadLayout): Tensor {
    const whole = heads(this, asF32(this, x), layout);
    const missing = -at(whole.shape, 3) & (STEP - 1);
    return missing === 0 ? whole : this.pad(whole, [[0, missing]]);
  }

  /** The way back, to the shape of `like`. */
  #restored(x: Tensor, like: Tensor, { layout, dim }: Plan): Tensor {
    const own = at(x.shape, 3) === dim ? x : this.narrow(x, 3, 0, dim);
    return shaped(this, layout === 'bhsd' ? own : this.transpose(own, [0, 2, 1, 3]), like.shape);
  }
}

/** Of heads with so many rows of tiles and tiles in each, how many heads and rows of tiles to take at a time. */
function partsOf([heads, rows, across]: Sizes): [heads: number, rows: number] {
  const fit = (count: number): number => Math.max(Math.floor(MOST_TILES / (count * across)), 1);
  const most = Math.min(Math.max(fit(heads), Math.min(FEWEST_ROWS, fit(1))), rows);
  const even = (size: number, parts: number): number => Math.ceil(size / Math.ceil(size / parts));
  return [even(heads, Math.min(fit(most), heads)), even(rows, most)];
}

/** What the engine checks of attention, and `params` of the shaders. */
function planOf(q: Tensor, k: Tensor, v: Tensor, options: AttentionOptions) {
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
