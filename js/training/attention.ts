/**
 * Gradients of attention, of which the scores are never stored (flash attention, Dao et al. 2022, arXiv 2205.14135).
 */
import { type Plan, type Three, fitsTiles, planOf, TILE } from '../compute/attention.js';
import { at } from '../compute/checks.js';
import { grid, shaped } from '../compute/dispatch.js';
import * as shaders from '../compute/shaders.js';
import type { AttentionOptions } from '../tensor/gpu-model.js';
import type { FloatTensor, Tensor } from '../tensor/tensor.js';
import { FourierGradients } from './fourier.js';
import type { Call, Given, Rule } from './tape.js';

/** Tiles of which weights are in memory at a time, 32 KiB each; one row of tiles is, in any case. */
const MOST_TILES = 2048;

/** Rows of tiles at a time, as far as MOST_TILES allows: fewer would read and write dk and dv too often. */
const FEWEST_ROWS = 8;

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
  /** As `attention` of the `Gpu` of `webgguf`, with gradients of q, k and v. */
  override attention(q: Tensor, k: Tensor, v: Tensor, options?: AttentionOptions): FloatTensor {
    const mask = options?.mask;
    // A mask's gradient is as large as the scores; the rule of the engine's operation stores them.
    const isOurs = this.isRecorded(q, k, v) && !this.isRecorded(mask) && fitsTiles(q, k, v);
    if (!isOurs) return super.attention(q, k, v, options);
    const plan = planOf(q, k, v, options);
    return this.custom(
      'attention',
      { q, k, v, mask },
      () => this.inTiles([q, k, v], mask, plan),
      (call) => this.#rule(call, plan),
    );
  }

  /** @internal */
  protected override takesTiles(given: Three, mask: Tensor | undefined): boolean {
    return !this.isRecorded(...given, mask) && super.takesTiles(given, mask);
  }

  /** What is kept is as large as the inputs: with the log-sum-exp of each query, its scores can be computed again. */
  #rule(call: Call, plan: Plan): ReturnType<Rule> {
    const { inputs, outputs, save } = call;
    const given = [inputs.q, inputs.k, inputs.v].map((x) => save(x as Tensor)) as Three;
    const mask = inputs.mask && save(inputs.mask);
    const [y, lse] = [save(at(outputs, 0)), save(at(outputs, 1))];
    return (gradient): Given => {
      const [q, k, v] = given.map((x) => this.prepared(x, plan.layout)) as Three;
      const dy = this.prepared(gradient as Tensor, plan.layout);
      const products = this.mul(dy, this.prepared(y, plan.layout));
      const all = { q, k, v, dy, lse, delta: this.sum(products, { axis: -1 }), mask };
      let made: Three | undefined;
      const part = (index: number): Tensor => {
        made ??= this.#gradients(all, plan);
        return this.restored(made[index] as Tensor, given[index] as Tensor, plan);
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
}

/** How many heads, and rows of tiles of each, to compute at a time. */
function partsOf([heads, rows, across]: Sizes): [heads: number, rows: number] {
  const fit = (count: number): number => Math.max(Math.floor(MOST_TILES / (count * across)), 1);
  const most = Math.min(Math.max(fit(heads), Math.min(FEWEST_ROWS, fit(1))), rows);
  const even = (size: number, parts: number): number => Math.ceil(size / Math.ceil(size / parts));
  return [even(heads, Math.min(fit(most), heads)), even(rows, most)];
}
