/**
 * Cross-entropy, also of logits that are too many to be held at once.
 */
import { invalidArgument } from '../errors.js';
import type { Expression } from '../tensor/expression.js';
import { show } from '../check.js';
import { type FloatTensor, Tensor } from '../tensor/tensor.js';
import { shaped } from '../compute/dispatch.js';
import { AttentionGradients } from './attention.js';
import type { Call, Given, Rule } from './tape.js';

/** Options of `crossEntropy`. */
export interface CrossEntropyOptions {
  /**
   * `[classes, width]`: x is then [.., width], and x·weightsᵀ are the logits, of which only some rows exist at a time.
   * f32, f16, bf16 or quantised
   */
  weights?: Tensor | undefined;
  /** Rows whose logits are computed at once. Default: as many as have 2^26 logits */
  rows?: number | undefined;
}

/** Logits that exist at once. */
const MOST_LOGITS = 1 << 26;

/** Rows of a part are a multiple of this if there are at least as many: a multiple of every tile of products. */
const GRAIN = 64;

/** What a call was given, checked. */
interface Problem {
  readonly x: Tensor;
  readonly targets: Tensor;
  readonly weights: Tensor | undefined;
  readonly classes: number;
  /** Rows of x, and rows that are computed at once. */
  readonly count: number;
  readonly step: number;
}

/** Rows that are computed at once. */
interface Part {
  readonly x: Tensor;
  readonly logits: Tensor;
  /** [rows, 1] */
  readonly targets: Tensor;
  /** [classes]: 0, 1, 2, … */
  readonly numbers: Tensor;
}

const LAST = { axis: -1, keepDims: true } as const;

/** Losses of their own rules. */
export class LossOperations extends AttentionGradients {
  /**
   * The mean of −log softmax(x)[target] over all rows whose target is a class; rows with another one, such as −1, are
   * left out. 0 where all are.
   *
   * @param x logits [.., classes], f32; or what they are made of, see `weights`
   * @param targets u32 or i32 [..]: the class of each row
   * @returns f32 []
   * @throws {WebggufError} `invalid_argument` where shapes, types or options do not fit
   *
   * @example
   * const loss = gpu.crossEntropy(states, ids, { weights: embeddings });
   */
  crossEntropy(x: Tensor, targets: Tensor<'u32' | 'i32'>, options: CrossEntropyOptions = {}): FloatTensor {
    const { weights } = options;
    const problem = check(x, targets, options);
    const given = { x, targets, ...(weights && { weights }) };
    if (weights && this.isRecorded(x) && !this.isRecorded(weights)) {
      return this.custom('crossEntropy', given, () => this.#lossAndSlope(problem), slopeRule);
    }
    return this.custom(
      'crossEntropy',
      given,
      () => this.#loss(problem),
      (call) => this.#rule(call, problem),
    );
  }

  #loss(problem: Problem): Tensor {
    const sums = this.#parts(problem, (part) => [this.sum(this.#rowLosses(part))]);
    return this.#mean(problem, sums.flat());
  }

  #mean(problem: Problem, sums: readonly Tensor[]): Tensor {
    return this.div(
      sums.reduce((a, b) => this.add(a, b)),
      this.#counted(problem),
    );
  }

  /** The loss, and its gradient by x: both come from logits that are made once. */
  #lossAndSlope(problem: Problem): [loss: Tensor, slope: Tensor] {
    const factor = this.div(this.filled([], 1), this.#counted(problem));
    const parts = this.#parts(problem, (part) => {
      const slope = this.matmul(this.#rowGradients(part, factor), problem.weights as Tensor);
      return [this.sum(this.#rowLosses(part)), slope];
    });
    const [sums, slopes] = [0, 1].map((which) => parts.map((part) => part[which] as Tensor)) as [Tensor[], Tensor[]];
    return [this.#mean(problem, sums), shaped(this, joined(this, slopes), problem.x.shape)];
  }

  /** How many rows count, at least 1: []. */
  #counted({ targets, classes }: Problem): Tensor {
    const valid = this.fuse([targets], (target) => isClass(target, classes));
    return this.maximum(this.sum(valid), 1);
  }

  #rule(call: Call, problem: Problem): (dy?: Tensor) => Given {
    const { x, targets, weights } = problem;
    const kept: Problem = {
      ...problem,
      x: call.save(x),
      targets: call.save(targets),
      weights: weights && call.save(weights),
    };
    return (dy) => {
      const factor = this.div(dy as Tensor, this.#counted(kept));
      let total: Tensor | undefined;
      const parts = this.#parts(kept, (part) => {
        const d = this.#rowGradients(part, factor);
        const before = total;
        if (kept.weights && call.wants('weights')) total = this.#addProduct(total, d, part.x);
        before?.free();
        return [kept.weights && call.wants('x') ? this.matmul(d, kept.weights) : d, ...(total ? [total] : [])];
      });
      const slopes = parts.map(([slope]) => slope as Tensor);
      return { x: () => shaped(this, joined(this, slopes), x.shape), weights: total };
    };
  }

  /** total + dᵀ·x */
  #addProduct(total: Tensor | undefined, d: Tensor, x: Tensor): Tensor {
    return this.matmul(d, x, { transposeA: true, residual: total });
  }

  /** `work` for some rows after the others; what it makes but its results is freed. */
  #parts(problem: Problem, work: (part: Part) => Tensor[]): Tensor[][] {
    const { count, step, weights, classes } = problem;
    const width = problem.x.shape.at(-1) as number;
    const x = shaped(this, problem.x, [count, width]);
    const targets = shaped(this, problem.targets, [count, 1]);
    const numbers = this.cumsum(this.filled([classes], 1), { exclusive: true });
    const made: Tensor[][] = [];
    for (let start = 0; start < count; start += step) {
      const rows = Math.min(step, count - start);
      const some = (tensor: Tensor): Tensor => (rows === count ? tensor : this.narrow(tensor, 0, start, rows));
      const part = (): Tensor[] => {
        const own = some(x);
        const logits = weights ? this.matmul(own, weights, { transposeB: true }) : own;
        return work({ x: own, logits, targets: some(targets), numbers });
      };
      made.push(this.scope(part));
    }
    return made;
  }

  /** log Σ e^z − z[target] of each row, 0 for a row that is left out. */
  #rowLosses({ logits, targets, numbers }: Part): Tensor {
    const classes = numbers.size;
    const most = this.max(logits, LAST);
    const sums = this.sum(
      this.fuse([logits, most], (z, m) => z.sub(m).exp()),
      LAST,
    );
    const own = this.sum(
      this.fuse([logits, numbers, targets], (z, number, target) => number.equal(target).where(z, 0)),
      LAST,
    );
    return this.fuse([sums, most, own, targets], (sum, m, z, target) =>
      isClass(target, classes).where(sum.log().add(m).sub(z), 0),
    );
  }

  /** (softmax z − [target]) · factor, 0 for a row that is left out. */
  #rowGradients({ logits, targets, numbers }: Part, factor: Tensor): Tensor {
    const classes = numbers.size;
    return this.fuse([this.softmax(logits), numbers, targets, factor], (p, number, target, by) =>
      isClass(target, classes).where(p.sub(number.equal(target)).mul(by), 0),
    );
  }
}

/** The second output is the gradient of x, which was computed with the loss. */
const slopeRule: Rule = ({ gpu, outputs, save }) => {
  const slope = save(outputs[1] as Tensor);
  return (dy) => ({ x: () => gpu.mul(slope, dy as Tensor) });
};

/** Parts one below the other. */
const joined = (gpu: LossOperations, parts: readonly Tensor[]): Tensor =>
  parts.length > 1 ? gpu.concat(parts) : (parts[0] as Tensor);

const isClass = (target: Expression, classes: number): Expression => target.greaterEqual(0).mul(target.less(classes));

function check(x: unknown, targets: unknown, { weights, rows, ...unknown }: CrossEntropyOptions): Problem {
  const [name] = Object.keys(unknown);
  if (name) throw invalidArgument(`crossEntropy: there is no option '${name}'; there are weights and rows`);
  for (const [what, tensor] of Object.entries({ x, targets, ...(weights && { weights }) })) {
    if (tensor instanceof Tensor) continue;
    throw invalidArgument(`crossEntropy: ${what} must be a tensor, found ${show(tensor)}`);
  }
  const [logits, classesOf] = [x as Tensor, targets as Tensor];
  const fits = logits.dtype === 'f32' && logits.shape.slice(0, -1).join() === classesOf.shape.join();
  if (!fits || !/^[ui]32$/.test(classesOf.dtype) || logits.shape.length === 0) {
    throw invalidArgument(`crossEntropy: x is ${logits} and targets ${classesOf}; each row of f32 has one u32 or i32`);
  }
  const width = logits.shape.at(-1) as number;
  if (weights && (weights.shape.length !== 2 || weights.shape[1] !== width)) {
    throw invalidArgument(`crossEntropy: x is ${logits} and weights ${weights}; both have the same last axis`);
  }
  if (rows !== undefined && !(Number.isInteger(rows) && rows > 0)) {
    throw invalidArgument(`crossEntropy: rows must be an integer of at least 1, found ${show(rows)}`);
  }
  const classes = weights ? (weights.shape[0] as number) : width;
  const most = Math.max(1, Math.floor(MOST_LOGITS / classes));
  const step = rows ?? (most > GRAIN ? most - (most % GRAIN) : most);
  return { x: logits, targets: classesOf, weights, classes, count: logits.size / width, step };
}
