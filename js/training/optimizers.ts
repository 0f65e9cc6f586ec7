/**
 * Steps along the gradients. Parameters change in place, on the GPU.
 */
import { invalidArgument } from '../errors.js';
import type { Expression } from '../tensor/expression.js';
import { show } from '../check.js';
import { knowItself, original, throughProxies } from '../proxies.js';
import type { Tensor } from '../tensor/tensor.js';
import type { RecordingGpu } from './recording.js';
import { type TensorTree, checkFloats, leavesOf, pairs } from './tree.js';
import { Variable } from './variable.js';

/** Options of {@link Sgd}. */
export interface SgdOptions {
  /** How far a step goes. */
  learningRate: number;
  /** Share of the last step that the next one keeps. Default: 0 */
  momentum?: number | undefined;
  /** Look ahead by the momentum (Nesterov). Default: false */
  nesterov?: boolean | undefined;
  /** This share of a parameter is added to its gradient. Default: 0 */
  weightDecay?: number | undefined;
}

/** Options of {@link AdamW}. */
export interface AdamWOptions {
  /** How far a step goes. Default: 1e-3 */
  learningRate?: number | undefined;
  /** Shares that the means of gradients and of their squares keep. Default: [0.9, 0.999] */
  betas?: readonly [number, number] | undefined;
  /** Added to the root. Default: 1e-8 */
  eps?: number | undefined;
  /** Share of a parameter that a step of length 1 takes away. Default: 0.01 */
  weightDecay?: number | undefined;
}

/** What optimizers share: parameters, and tensors of the same shapes that go with them. */
abstract class Optimizer {
  /** How far a step goes; it may change from step to step. */
  learningRate: number;
  protected readonly gpu: RecordingGpu;
  protected readonly parameters: TensorTree;
  /** In messages: names of classes change where code is minified. */
  readonly #name: string;
  readonly #states: Tensor[][];
  #isFree = false;

  /** `states`: how many tensors each parameter needs beside it. */
  protected constructor(
    gpu: RecordingGpu,
    parameters: TensorTree,
    { name, learningRate, states }: { name: string; learningRate: number; states: number },
  ) {
    knowItself(this);
    this.gpu = original(gpu);
    this.parameters = parameters;
    this.learningRate = learningRate;
    this.#name = name;
    const leaves = leavesOf(name, parameters, 'parameters');
    for (const { path, tensor } of leaves) checkFloats(name, path, tensor, gpu);
    this.#states = leaves.map(({ tensor }) => Array.from({ length: states }, () => gpu.filled(tensor.shape, 0)));
  }

  /**
   * Changes the parameters.
   *
   * @param gradients in the form of the parameters; they stay as they are. Default: `grad` of parameters that are
   *   variables; where there is none, a parameter stays as it is
   * @throws {WebggufError} `invalid_argument` where shapes do not fit, something was freed, or the learning rate is no
   *   number of at least 0
   */
  step(gradients?: TensorTree): void {
    const call = `${this.#name}.step`;
    if (this.#isFree) throw invalidArgument(`${call}: the optimizer was freed`);
    checkNumbers(call, { learningRate: this.learningRate });
    const given = gradients && pairs(call, this.parameters, gradients, ['parameters', 'gradients']);
    const leaves = leavesOf(call, this.parameters, 'parameters');
    // All are looked at before the first one changes.
    for (const { path, tensor } of [...leaves, ...(given ?? []).map(([, leaf]) => leaf)]) {
      checkFloats(call, path, tensor, this.gpu);
    }
    const all = leaves.map(({ tensor }, index): [Tensor, Tensor | undefined] => {
      return [tensor, given ? given[index]?.[1].tensor : tensor instanceof Variable ? tensor.grad : undefined];
    });
    if (all.length > 0 && all.every(([, gradient]) => !gradient)) throw invalidArgument(`${call}: no gradients yet`);
    this.begin();
    this.gpu.noGrad(() => {
      all.forEach(([tensor, gradient], index) => {
        if (gradient) this.update(tensor, gradient, this.#states[index] as Tensor[]);
      });
    });
  }

  /** Frees `grad` of the parameters that are variables: the next `backward` begins anew. */
  zeroGrad(): void {
    for (const { tensor } of leavesOf('zeroGrad', this.parameters, 'parameters')) {
      if (!(tensor instanceof Variable)) continue;
      tensor.grad?.free();
      tensor.grad = undefined;
    }
  }

  /** What it keeps for each parameter, one after the other. @internal */
  get states(): readonly Tensor[] {
    return this.#states.flat();
  }

  /** Frees what it keeps for each parameter, not the parameters. It makes no step after that. */
  free(): void {
    this.#isFree = true;
    this.gpu.free(...this.#states);
  }

  protected begin(): void {}
  protected abstract update(parameter: Tensor, gradient: Tensor, states: readonly Tensor[]): void;
}

const IN_PLACE = { inPlace: true } as const;

/** Stochastic gradient descent: p ← p − learningRate · (gradient + weightDecay · p), with momentum as in PyTorch. */
export class Sgd extends Optimizer {
  readonly #options: { momentum: number; nesterov: boolean; weightDecay: number };

  /**
   * @param parameters tensors, in arrays and objects
   * @throws {WebggufError} `invalid_argument` for options that are no numbers of their range
   */
  constructor(gpu: RecordingGpu, parameters: TensorTree, options: SgdOptions) {
    const { learningRate, momentum = 0, nesterov = false, weightDecay = 0, ...unknown } = options;
    checkNames('Sgd', unknown, 'learningRate, momentum, nesterov, weightDecay');
    checkNumbers('Sgd', { learningRate, momentum, weightDecay });
    super(gpu, parameters, { name: 'Sgd', learningRate, states: momentum ? 1 : 0 });
    this.#options = { momentum, nesterov, weightDecay };
  }

  protected override update(parameter: Tensor, gradient: Tensor, [velocity]: readonly Tensor[]): void {
    const { momentum, nesterov, weightDecay } = this.#options;
    const rate = this.learningRate;
    if (!velocity) {
      const step = (p: Expression, g: Expression): Expression => p.sub(g.add(p.mul(weightDecay)).mul(rate));
      this.gpu.fuse([parameter, gradient], step, IN_PLACE);
      return;
    }
    this.gpu.fuse(
      [velocity, gradient, parameter],
      (v, g, p) => v.mul(momentum).add(g.add(p.mul(weightDecay))),
      IN_PLACE,
    );
    if (nesterov) {
      const ahead = (p: Expression, g: Expression, v: Expression): Expression =>
        p.sub(g.add(p.mul(weightDecay)).add(v.mul(momentum)).mul(rate));
      this.gpu.fuse([parameter, gradient, velocity], ahead, IN_PLACE);
    } else {
      this.gpu.fuse([parameter, velocity], (p, v) => p.sub(v.mul(rate)), IN_PLACE);
    }
  }
}
throughProxies(Sgd);

/** Adam with weight decay apart from the gradient (Loshchilov and Hutter 2017, arXiv 1711.05101). */
export class AdamW extends Optimizer {
  readonly #options: { betas: readonly [number, number]; eps: number; weightDecay: number };
  #steps = 0;

  /**
   * @param parameters tensors, in arrays and objects
   * @throws {WebggufError} `invalid_argument` for options that are no numbers of their range
   */
  constructor(gpu: RecordingGpu, parameters: TensorTree, options: AdamWOptions = {}) {
    const { learningRate = 1e-3, betas = [0.9, 0.999], eps = 1e-8, weightDecay = 0.01, ...unknown } = options;
    const [first, second] = betas;
    const given = { learningRate, 'betas[0]': first, 'betas[1]': second, eps, weightDecay };
    checkNames('AdamW', unknown, 'learningRate, betas, eps, weightDecay');
    checkNumbers('AdamW', given);
    super(gpu, parameters, { name: 'AdamW', learningRate, states: 2 });
    this.#options = { betas, eps, weightDecay };
  }

  /** How many steps it has made. @internal */
  get steps(): number {
    return this.#steps;
  }

  /** Goes on from where another one was, whose `states` had these numbers; none: from the start. @internal */
  goOn(steps: number, states: readonly Float32Array[]): void {
    this.#steps = steps;
    this.gpu.scope(() => {
      for (const [at, values] of states.entries()) {
        const state = this.states[at] as Tensor; // zeros until now
        this.gpu.add(state, this.gpu.tensor(values, state.shape), IN_PLACE);
      }
    });
  }

  protected override begin(): void {
    this.#steps += 1;
  }

  protected override update(parameter: Tensor, gradient: Tensor, states: readonly Tensor[]): void {
    const { betas, eps, weightDecay } = this.#options;
    const [mean, square] = states as [Tensor, Tensor];
    const [first, second] = betas;
    // Both begin at 0, and are that much too small.
    const [ofMean, ofSquare] = betas.map((beta) => 1 - beta ** this.#steps) as [number, number];
    this.gpu.fuse([mean, gradient], (m, g) => m.mul(first).add(g.mul(1 - first)), IN_PLACE);
    this.gpu.fuse([square, gradient], (s, g) => s.mul(second).add(g.mul(g).mul(1 - second)), IN_PLACE);
    const step = (p: Expression, m: Expression, s: Expression): Expression => {
      const root = s.div(ofSquare).sqrt().add(eps);
      return p.mul(1 - this.learningRate * weightDecay).sub(m.mul(this.learningRate / ofMean).div(root));
    };
    this.gpu.fuse([parameter, mean, square], step, IN_PLACE);
  }
}
throughProxies(AdamW);

function checkNames(call: string, unknown: object, names: string): void {
  const [extra] = Object.keys(unknown);
  if (extra) throw invalidArgument(`${call}: there is no option '${extra}'; there are ${names}`);
}

function checkNumbers(call: string, numbers: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(numbers)) {
    const limit = /betas|momentum/.test(name) ? 1 : Number.POSITIVE_INFINITY;
    if (typeof value === 'number' && value >= 0 && value < limit) continue;
    throw invalidArgument(`${call}: ${name} must be a number from 0 to below ${limit}, found ${show(value)}`);
  }
}
