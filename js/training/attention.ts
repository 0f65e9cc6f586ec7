/**
 * Gradients of attention, of which the scores are never stored (flash attention, Dao et al. 2022, arXiv 2205.14135).
 */
import { at, finite, known, word } from '../compute/checks.js';
import { grid } from '../compute/dispatch.js';
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

/** Queries, or keys, of a workgroup. */
const ROWS = 64;

const OPTIONS = ['mask', 'layout', 'causal', 'window', 'scale', 'softCap'] as const;

/** A checked call. */
interface Plan {
  readonly layout: HeadLayout;
  readonly dim: number;
  readonly params: Readonly<Record<string, number>>;
}

type Three = [q: Tensor, k: Tensor, v: Tensor];

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
    const { batch, heads, queries } = plan.params as Record<string, number>;
    const [q, k, v] = given.map((x) => this.#prepared(x, plan.layout)) as Three;
    const [y, lse] = this.dispatchAll('attention', shaders.attentionForward, {
      inputs: { q, k, v, mask },
      shape: q.shape,
      more: [[batch, heads, queries] as number[]],
      params: plan.params,
      constants: { HEAD_DIM: at(q.shape, 3) },
      workgroups: workgroups(q),
    }) as [Tensor, Tensor];
    return [this.#restored(y, given[0], plan), lse];
  }

  /** What is kept is as large as the inputs: with the log-sum-exp of each query, its scores can be computed again. */
  #rule(call: Call, plan: Plan): ReturnType<Rule> {
    const { inputs, outputs, save, wants } = call;
    const given = [inputs.q, inputs.k, inputs.v].map((x) => save(x as Tensor)) as Three;
    const mask = inputs.mask && save(inputs.mask);
    const [y, lse] = [save(at(outputs, 0)), save(at(outputs, 1))];
    return (gradient): Given => {
      const [q, k, v] = given.map((x) => this.#prepared(x, plan.layout)) as Three;
      const dy = this.#prepared(gradient as Tensor, plan.layout);
      const products = this.mul(dy, this.#prepared(y, plan.layout));
      const all = { q, k, v, dy, lse, delta: this.sum(products, { axis: -1 }), mask };
      const run = (own: Tensor, isKeys: boolean): Tensor =>
        this.dispatch('attention', shaders.attentionGrad, {
          inputs: all,
          shape: [isKeys ? 2 : 1, ...own.shape],
          params: plan.params,
          constants: { HEAD_DIM: at(q.shape, 3), OF_KEYS: isKeys },
          workgroups: workgroups(own),
        });
      const ofKeys = wants('k') || wants('v') ? run(k, true) : undefined;
      const part = (index: number): Tensor | undefined => {
        if (!ofKeys) return undefined;
        return this.#restored(shaped(this, this.narrow(ofKeys, 0, index, 1), k.shape), given[1], plan);
      };
      return {
        q: () => this.#restored(shaped(this, run(q, false), q.shape), given[0], plan),
        k: () => part(0) as Tensor,
        v: () => part(1) as Tensor,
      };
    };
  }

  /** f32 [batch, head, position, dim] with zeros behind each row up to a multiple of STEP. */
  #prepared(x: Tensor, layout: HeadLayout): Tensor {
    const whole = heads(this, x.dtype === 'f32' ? x : this.cast(x, 'f32'), layout);
    const missing = -at(whole.shape, 3) & (STEP - 1);
    return missing === 0 ? whole : this.pad(whole, [[0, missing]]);
  }

  /** The way back, to the shape of `like`. */
  #restored(x: Tensor, like: Tensor, { layout, dim }: Plan): Tensor {
    const own = at(x.shape, 3) === dim ? x : this.narrow(x, 3, 0, dim);
    return shaped(this, layout === 'bhsd' ? own : this.transpose(own, [0, 2, 1, 3]), like.shape);
  }
}

const workgroups = ({ shape }: Tensor): number[] => grid(at(shape, 0) * at(shape, 1) * Math.ceil(at(shape, 2) / ROWS));

/** What the engine checks of attention, and `params` of the shaders. */
function planOf(q: Tensor, k: Tensor, v: Tensor, options: AttentionOptions): Plan {
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
    ...{ batch, heads: count, group: count / shared, queries, keys },
    ...{ masked: Number(mask !== undefined), mask_batch, mask_head, mask_row, mask_key },
    causal: Number(causal || window !== undefined),
    window: window === undefined ? 0 : Math.min(positive('window', window), 2 ** 30),
    scale: options.scale === undefined ? 1 / Math.sqrt(dim) : positive('scale', options.scale),
    soft_cap: options.softCap === undefined ? 0 : positive('softCap', options.softCap),
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
