/**
 * Formulas of any size over up to 16 tensors in one dispatch.
 */
import { invalidArgument } from '../errors.js';
import { Expression, inputExpressions } from '../tensor/expression.js';
import type { FuseOptions } from '../tensor/gpu-elementwise.js';
import { show } from '../check.js';
import { type FloatTensor, Tensor } from '../tensor/tensor.js';
import { at } from './checks.js';
import { Dispatcher, gridOf } from './dispatch.js';
import { broadcast, type Leaf, regionOf } from './region-code.js';

/** What `fuse` of the core takes. @internal */
export const CORE = { inputs: 6, steps: 16 };

/** What is taken here. */
const MOST = { inputs: 16, steps: 256 };

/** Types that a formula reads. */
const PLAIN = ['f32', 'f16', 'bf16', 'u32', 'i32'];

/** `Gpu` with larger formulas. */
export abstract class RegionOperations extends Dispatcher {
  /**
   * A formula over up to 16 tensors, with up to 256 operations; nothing between is stored. What `fuse` of `webgguf`
   * takes, up to six tensors and 16 operations, is the same here; a larger one gets a shader of its own. A device that
   * binds fewer buffers than it has tensors gets the small ones in one buffer, or, where that moves fewer bytes, a part
   * of the formula in a dispatch before.
   *
   * @param inputs the tensors; they broadcast against each other
   * @param formula gets an expression for each and returns the result
   * @throws {WebggufError} `invalid_argument` for shapes that do not fit, and for more tensors or operations
   *
   * @example
   * const y = gpu.fuse([a, b, c, d, e, f, g, h], (...x) => x.reduce((sum, value) => sum.add(value.mul(value))));
   */
  override fuse<const T extends readonly Tensor[]>(
    inputs: T,
    formula: (...inputs: { [K in keyof T]: Expression }) => Expression,
    options: FuseOptions = {},
  ): FloatTensor {
    if (!Array.isArray(inputs)) return super.fuse(inputs, formula, options);
    const expressions = inputExpressions(inputs.length);
    const result = formula(...(expressions as { [K in keyof T]: Expression }));
    const steps = result instanceof Expression ? stepsOf(result) : [];
    if (inputs.length <= CORE.inputs && steps.length <= CORE.steps) return super.fuse(inputs, () => result, options);
    checkSize(inputs, steps.length, options);
    return this.scope(() => {
      const leaves = expressions.map((expression, i) => ({ expression, tensor: at(inputs as readonly Tensor[], i) }));
      const y = this.region(result, leaves);
      const { dtype = commonType(inputs) } = options;
      // All inputs have a part in the shape, also those that the formula does not use.
      const shape = broadcast(inputs);
      const whole = `${shape}` === `${y.shape}` ? y : this.expand(y, shape);
      return dtype === 'f32' ? whole : (this.cast(whole, dtype) as FloatTensor);
    });
  }

  /** A formula that is too large for the core, as f32. @internal */
  protected region(result: Expression, given: readonly Leaf[]): FloatTensor {
    const slots = (this.info.limits.maxStorageBuffersPerShaderStage ?? 8) - 1;
    let leaves = usedBy(result, given);
    while (leaves.length > slots) {
      const sorted = [...leaves].sort((a, b) => b.tensor.size - a.tensor.size);
      const packed = sorted.slice(slots - 1).reduce((sum, { tensor }) => sum + tensor.size, 0);
      const part = cheapestPart(result, leaves, slots);
      if (!part || part.elements >= packed) return this.#dispatched(result, sorted, leaves.length - slots + 1);
      const made = { expression: part.expression, tensor: this.#dispatched(part.expression, part.leaves, 0) };
      leaves = usedBy(result, [...leaves, made]);
    }
    return this.#dispatched(result, leaves, 0);
  }

  #dispatched(result: Expression, leaves: readonly Leaf[], packed: number): FloatTensor {
    const { code, words, shape } = regionOf(result, leaves, packed);
    const own = leaves
      .slice(0, leaves.length - packed)
      .map(({ tensor }, i): [string, Tensor] => [`input ${i}`, tensor]);
    if (packed > 0) {
      const flat = leaves.slice(-packed).map(({ tensor }) => this.reshape(this.cast(tensor, 'f32'), [-1]));
      own.push(['the others', this.concat(flat)]);
    }
    const length = shape.reduce((product, size) => product * size, 1);
    const shader = { label: 'fuse', code, params: { words: words.length } };
    return this.dispatch('fuse', shader, {
      inputs: Object.fromEntries(own),
      shape,
      params: { words },
      workgroups: gridOf(length),
    });
  }
}

/** The operations of an expression. */
function stepsOf(result: Expression): Expression[] {
  const seen = new Set<Expression>();
  const visit = (value: Expression | number): void => {
    if (typeof value === 'number' || seen.has(value)) return;
    seen.add(value);
    value.args.forEach(visit);
  };
  visit(result);
  return [...seen].filter(({ args }) => args.length > 0);
}

function checkSize(inputs: readonly unknown[], steps: number, { inPlace }: FuseOptions): void {
  const odd = inputs.findIndex((tensor) => !(tensor instanceof Tensor) || !PLAIN.includes(tensor.dtype));
  if (odd >= 0) throw invalidArgument(`fuse: input ${odd} must be a plain tensor, found ${show(inputs[odd])}`);
  if (inputs.length > MOST.inputs) {
    throw invalidArgument(`fuse: ${inputs.length} tensors are given, at most ${MOST.inputs} are possible`);
  }
  if (steps > MOST.steps) {
    throw invalidArgument(`fuse: the expression has ${steps} steps, at most ${MOST.steps} are possible`);
  }
  if (inPlace) {
    throw invalidArgument(`fuse: inPlace takes up to ${CORE.inputs} tensors and ${CORE.steps} steps, found more`);
  }
}

/** f16 or bf16 where all inputs are, else f32. */
function commonType(inputs: readonly Tensor[]): 'f16' | 'bf16' | 'f32' {
  const [{ dtype }] = inputs as [Tensor];
  const isHalf = (dtype === 'f16' || dtype === 'bf16') && inputs.every((tensor) => tensor.dtype === dtype);
  return isHalf ? dtype : 'f32';
}

/** The leaves that a result is made of; what is below a leaf does not count. */
function usedBy(result: Expression, leaves: readonly Leaf[]): Leaf[] {
  const known = new Map(leaves.map((leaf) => [leaf.expression, leaf]));
  const [used, seen] = [new Set<Leaf>(), new Set<Expression>()];
  const visit = (value: Expression | number): void => {
    if (typeof value === 'number' || seen.has(value)) return;
    seen.add(value);
    const leaf = known.get(value);
    if (leaf) used.add(leaf);
    else value.args.forEach(visit);
  };
  visit(result);
  return [...used];
}

/**
 * The part of a formula, of at most `slots` leaves, that leaves fewer leaves: the part with the fewest elements for
 * each leaf less.
 */
function cheapestPart(result: Expression, leaves: readonly Leaf[], slots: number) {
  const parts = stepsOf(result).filter((step) => step !== result);
  const costs = parts.flatMap((expression) => {
    const own = usedBy(expression, leaves);
    if (own.length < 2 || own.length > slots) return [];
    const [{ tensor }] = own as [Leaf];
    const less = leaves.length - usedBy(result, [...leaves, { expression, tensor }]).length;
    const elements = broadcast(own.map((leaf) => leaf.tensor)).reduce((product, size) => product * size, 1);
    return less > 0 ? [{ expression, leaves: own, elements, cost: elements / less }] : [];
  });
  return costs.sort((a, b) => a.cost - b.cost)[0];
}
