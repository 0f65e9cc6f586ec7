/**
 * Gradients of operations along an axis.
 */
import { invalidArgument } from '../errors.js';
import type { NormOptions, SoftmaxOptions } from '../tensor/gpu-rows.js';
import type { FloatTensor, Tensor } from '../tensor/tensor.js';
import { shaped } from '../compute/dispatch.js';
import { axisOf, input } from './rules-movement.js';
import type { Call, Given, Rule, RuleGpu } from './tape.js';

const LAST = { axis: -1, keepDims: true } as const;

/** What a reduction kept with length 1: its result broadcasts against its input then. */
const keptShape = (shape: readonly number[], axis: unknown): number[] =>
  shape.map((size, at) => (axis === undefined || at === axisOf(axis, shape.length) ? 1 : size));

export const reduceRule: Rule = (call) => {
  const { gpu, options } = call;
  const { shape, size } = input(call, 'x');
  const kept = keptShape(shape, options.axis);
  if (options.op === 'sum' || options.op === 'mean') {
    const count = size / kept.reduce((product, length) => product * length, 1);
    const factor = options.op === 'sum' ? 1 : 1 / count;
    return (dy) => {
      const wide = shaped(gpu, dy as Tensor, kept);
      return { x: factor === 1 ? wide : gpu.scale(wide, factor) };
    };
  }
  const x = call.save(input(call, 'x'));
  if (options.op === 'product')
    return (dy) => ({ x: productGradient(gpu, x, shaped(gpu, dy as Tensor, kept), options) });
  const y = call.save(call.outputs[0] as Tensor);
  return (dy) => {
    // Equal extremes share the gradient.
    const most = shaped(gpu, y, kept);
    const hits = gpu.sum(gpu.equal(x, most), { axis: options.axis as number | undefined, keepDims: true });
    const each = [x, most, shaped(gpu, dy as Tensor, kept), shaped(gpu, hits, kept)];
    return { x: gpu.fuse(each as [Tensor, Tensor, Tensor, Tensor], (v, m, g, n) => v.equal(m).mul(g).div(n)) };
  };
};

/** dy times the product of the others, also where some are 0. */
function productGradient(gpu: RuleGpu, x: Tensor, dy: Tensor, { axis }: Record<string, unknown>): Tensor {
  const along = { axis: axis as number | undefined, keepDims: true };
  const zeros = shaped(gpu, gpu.sum(gpu.equal(x, 0), along), dy.shape);
  const others = shaped(
    gpu,
    gpu.prod(
      gpu.fuse([x], (v) => v.equal(0).where(1, v)),
      along,
    ),
    dy.shape,
  );
  return gpu.fuse([x, others, zeros, dy], (v, p, n, g) => {
    const isZero = v.equal(0);
    return isZero.where(p.mul(n.equal(1)), p.div(v).mul(n.equal(0))).mul(g);
  });
}

/** Sums from the other end: dx_i = Σ_{j ≥ i} dy_j, or j > i where the sums are exclusive. */
export const cumsumRule: Rule = (call) => {
  const { gpu, options } = call;
  const { shape } = input(call, 'x');
  const axis = axisOf(options.axis ?? -1, shape.length);
  const length = shape[axis] as number;
  return (dy) => {
    const back = gpu.tensor(Uint32Array.from({ length }, (_, index) => length - 1 - index));
    const reversed = gpu.gather(dy as Tensor, back, { axis });
    const sums = gpu.cumsum(reversed, { axis, exclusive: options.exclusive as boolean | undefined });
    return { x: gpu.gather(sums, back, { axis }) };
  };
};

/** Elements that f32 can count. */
const COUNTABLE = 1 << 24;

/** The gradients of the values go to where they were found. */
export const topKRule: Rule = (call) => {
  const { gpu } = call;
  const { shape, size } = input(call, 'x');
  const width = shape.at(-1) as number;
  if (size > COUNTABLE) throw invalidArgument(`topK: x has ${size} elements, its gradient takes at most ${COUNTABLE}`);
  const indices = call.save(call.outputs[1] as Tensor);
  return (dy) => {
    const rows = size / width;
    const starts = gpu.tensor(
      Float32Array.from({ length: rows }, (_, row) => row * width),
      [rows, 1],
    );
    const places = gpu.add(shaped(gpu, indices, [rows, indices.size / rows]), starts);
    const flat = shaped(gpu, gpu.cast(places, 'u32'), [indices.size]) as Tensor<'u32'>;
    const all = gpu.scatterAdd(gpu.filled([size], 0), flat, shaped(gpu, dy as Tensor, [indices.size]));
    return { x: shaped(gpu, all, shape) };
  };
};

/** y = softmax(z), z = cap(scale·x) + mask: dz = y·(dy − Σ dy·y). */
export const softmaxRule: Rule = (call) => {
  const { gpu } = call;
  const { scale = 1, softCap } = call.options as SoftmaxOptions;
  const y = call.save(call.outputs[0] as Tensor);
  const x = softCap ? call.save(input(call, 'x')) : undefined;
  return (dy): Given => {
    const g = dy as Tensor;
    const inner = gpu.sum(gpu.mul(g, y), LAST);
    const scores = gpu.fuse([y, g, inner], (p, d, s) => p.mul(d.sub(s)));
    if (!softCap || !x) return { x: scale === 1 ? scores : gpu.scale(scores, scale), mask: scores };
    const uncapped = gpu.fuse([scores, x], (d, v) => {
      const t = v.mul(scale / softCap).tanh();
      return t.mul(t).neg().add(1).mul(d).mul(scale);
    });
    return { x: uncapped, mask: scores };
  };
};

/** v = x + residual as it was normalised: the second result, where there is one. */
function normedInput(call: Call): () => Tensor {
  const { gpu, inputs, outputs } = call;
  if (outputs[1]) {
    const v = call.save(outputs[1]);
    return () => v;
  }
  const [x, residual] = [call.save(input(call, 'x')), inputs.residual && call.save(inputs.residual)];
  return () => (residual ? gpu.add(x, residual) : x);
}

/** Statistics of the rows of v: v normalised without a weight, and the factor that it got. */
type Statistics = (gpu: RuleGpu, v: Tensor, eps: number) => { normed: FloatTensor; factor: FloatTensor };

const rmsStatistics: Statistics = (gpu, v, eps) => {
  const square = gpu.mean(gpu.mul(v, v), LAST);
  return { normed: gpu.rmsNorm(v, undefined, { eps }), factor: gpu.fuse([square], (s) => s.add(eps).rsqrt()) };
};

const layerStatistics: Statistics = (gpu, v, eps) => {
  const centred = gpu.sub(v, gpu.mean(v, LAST));
  const variance = gpu.mean(gpu.mul(centred, centred), LAST);
  const factor = gpu.fuse([variance], (s) => s.add(eps).rsqrt());
  return { normed: gpu.mul(centred, factor), factor };
};

/**
 * y = n·(offset + weight) + bias with n = normed v: dn = dy·(offset + weight), and dv = factor·(dn − n·mean(dn·n)),
 * for layer norms less mean(dn), too.
 */
function normRule(statistics: Statistics, isCentred: boolean): Rule {
  return (call) => {
    const { gpu } = call;
    const { eps = 1e-5, weightOffset = 0 } = call.options as NormOptions;
    const input = normedInput(call);
    const weight = call.inputs.weight && call.save(call.inputs.weight);
    return (dy, dSum): Given => {
      const g = dy as Tensor;
      const { normed, factor } = statistics(gpu, input(), eps);
      const inner = weight ? gpu.fuse([g, weight], (d, w) => d.mul(w.add(weightOffset))) : g;
      const along = gpu.mean(gpu.mul(inner, normed), LAST);
      const back = isCentred
        ? gpu.fuse([inner, normed, along, factor, gpu.mean(inner, LAST)], (d, n, a, f, c) => {
            return d.sub(n.mul(a)).sub(c).mul(f);
          })
        : gpu.fuse([inner, normed, along, factor], (d, n, a, f) => d.sub(n.mul(a)).mul(f));
      const dv = dSum ? gpu.add(back, dSum) : back;
      return { x: dv, residual: dv, bias: g, weight: () => gpu.mul(g, normed) };
    };
  };
}

export const rmsNormRule = normRule(rmsStatistics, false);
export const layerNormRule = normRule(layerStatistics, true);
