/**
 * Gradients of products of matrices.
 */
import type { MatmulOptions } from '../tensor/gpu-matrix.js';
import type { Tensor } from '../tensor/tensor.js';
import { shaped } from '../compute/dispatch.js';
import { input } from './rules-movement.js';
import type { Call, Given, Rule, RuleGpu } from './tape.js';

/** The call's inputs, kept as far as they are there. */
export function savedInputs(call: Call, names: readonly string[] = Object.keys(call.inputs)): Record<string, Tensor> {
  return Object.fromEntries(names.map((name) => [name, call.save(input(call, name))]));
}

/**
 * The rule of an operation that others are equal to: those compute its result again, and their rules its gradients.
 */
export function composed(work: (gpu: RuleGpu, inputs: Record<string, Tensor>, call: Call) => Tensor): Rule {
  return (call) => {
    const inputs = savedInputs(call);
    const leaves = Object.fromEntries(Object.entries(inputs).filter(([name]) => call.wants(name)));
    return (dy) => call.gpu.replay(() => work(call.gpu, inputs, call), leaves, dy as Tensor);
  };
}

/**
 * y = a·b + bias + residual: da = dy·bᵀ, db = aᵀ·dy. With an activation the product is computed again, and the
 * activation's own rule is applied.
 */
export const matmulRule: Rule = (call) => {
  const { activation = 'none', ...options } = call.options as MatmulOptions;
  if (activation !== 'none') return activated(call);
  const b = call.wants('a') ? call.save(input(call, 'b')) : undefined;
  const a = call.wants('b') ? call.save(input(call, 'a')) : undefined;
  return (dy): Given => {
    const gradient = dy as Tensor;
    return {
      a: b && (() => firstFactor(call.gpu, gradient, b, options)),
      b: a && (() => secondFactor(call.gpu, gradient, a, input(call, 'b').shape.length, options)),
      bias: gradient,
      residual: gradient,
    };
  };
};

/** activation(a·b + bias) + residual */
const activated = composed((gpu, { a, b, ...others }, { options }) => {
  const { activation, ...rest } = options as MatmulOptions;
  const product = gpu.matmul(a as Tensor, b as Tensor, { ...rest, bias: others.bias });
  const y = gpu[activation as 'relu' | 'silu' | 'gelu'](product);
  return others.residual ? gpu.add(y, others.residual) : y;
});

function firstFactor(gpu: RuleGpu, dy: Tensor, b: Tensor, options: MatmulOptions): Tensor {
  const { transposeA = false, transposeB = false } = options;
  if (transposeA) return gpu.matmul(b, dy, { transposeA: transposeB, transposeB: true });
  return gpu.matmul(dy, b, { transposeB: !transposeB });
}

/** The rows of all batches at once where the weights are the same for all. */
function secondFactor(gpu: RuleGpu, dy: Tensor, a: Tensor, rank: number, options: MatmulOptions): Tensor {
  const { transposeA = false, transposeB = false } = options;
  const isOne = rank === 2 && !transposeA;
  const flat = (x: Tensor): Tensor => {
    const width = x.shape.at(-1) as number;
    return isOne ? shaped(gpu, x, [x.size / width, width]) : x;
  };
  const [rows, gradient] = [flat(a), flat(dy)];
  if (transposeB) return gpu.matmul(gradient, rows, { transposeA: true, transposeB: transposeA });
  return gpu.matmul(rows, gradient, { transposeA: !transposeA });
}

/** norm(x)·wᵀ + bias */
export const projectRule = composed((gpu, { x, w, norm, bias }, { options }) => {
  const normed = norm ? gpu.rmsNorm(x as Tensor, norm, { eps: options.eps as number }) : (x as Tensor);
  return gpu.matmul(normed, w as Tensor, { transposeB: true, bias });
});

/** The halves of a product, one through the activation. */
export const gateUpRule = composed((gpu, { x, w, norm }, { options }) => {
  const normed = norm ? gpu.rmsNorm(x as Tensor, norm, { eps: options.eps as number }) : (x as Tensor);
  return halves(gpu, gpu.matmul(normed, w as Tensor, { transposeB: true }), options.activation);
});

export const gatedRule = composed((gpu, { x }, { options }) => halves(gpu, x as Tensor, options.activation));

function halves(gpu: RuleGpu, x: Tensor, activation: unknown): Tensor {
  const width = (x.shape.at(-1) as number) / 2;
  const [gate, up] = [gpu.narrow(x, -1, 0, width), gpu.narrow(x, -1, width, width)];
  return gpu.fuse([gate, up], (g, u) => (activation === 'geglu' ? g.gelu() : g.silu()).mul(u));
}
