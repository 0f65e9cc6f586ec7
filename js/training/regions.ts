/**
 * Formulas of any size over any number of tensors: as few dispatches as `fuse` can do them in.
 */
import { CORE } from '../compute/regions.js';
import { Expression } from '../tensor/expression.js';
import type { Gpu } from '../tensor/gpu.js';
import type { FloatTensor, Tensor } from '../tensor/tensor.js';
import type { Value } from './derivative.js';

/** What an expression is made of: operations, and names of inputs. */
interface Parts {
  readonly steps: Set<Expression>;
  readonly inputs: Set<string>;
}

/**
 * Computes an expression of the named tensors, f32. Of one that is too large for a dispatch the largest parts that are
 * not come first.
 */
export function evaluate(gpu: Gpu, result: Expression, tensors: Readonly<Record<string, Tensor>>): Tensor {
  const known: Record<string, Tensor> = { ...tensors };
  let left = result;
  for (let count = 0; ; count += 1) {
    const parts = partsOf(left);
    const whole = parts.get(left) as Parts;
    if (left.args.length === 0) return known[left.op] as Tensor;
    if (fits(whole)) return dispatch(gpu, left, whole, known);
    const sizes = [...parts].filter(([, part]) => fits(part) && part.steps.size > 0);
    const [first, firstParts] = sizes.reduce((a, b) => (b[1].steps.size > a[1].steps.size ? b : a));
    const name = `part ${count}`;
    known[name] = dispatch(gpu, first, firstParts, known);
    left = replaced(left, new Map([[first, new Expression(name)]]));
  }
}

const fits = ({ steps, inputs }: Parts): boolean => steps.size <= CORE.steps && inputs.size <= CORE.inputs;

function dispatch(gpu: Gpu, result: Expression, { inputs }: Parts, tensors: Record<string, Tensor>): FloatTensor {
  const names = [...inputs];
  const list = names.map((name) => tensors[name] as Tensor);
  return gpu.fuse(
    list,
    (...given) => replaced(result, new Map(), new Map(names.map((name, index) => [name, given[index] as Expression]))),
    { dtype: 'f32' },
  );
}

/** The parts of all subexpressions. */
function partsOf(result: Expression): Map<Expression, Parts> {
  const all = new Map<Expression, Parts>();
  const visit = (value: Expression): Parts => {
    const known = all.get(value);
    if (known) return known;
    const isInput = value.args.length === 0;
    const parts: Parts = { steps: new Set(isInput ? [] : [value]), inputs: new Set(isInput ? [value.op] : []) };
    for (const arg of value.args) {
      if (typeof arg === 'number') continue;
      const { steps, inputs } = visit(arg);
      for (const step of steps) parts.steps.add(step);
      for (const input of inputs) parts.inputs.add(input);
    }
    all.set(value, parts);
    return parts;
  };
  visit(result);
  return all;
}

/** An expression with others in the place of some of its parts, and of inputs by name. */
function replaced(
  result: Expression,
  parts: Map<Expression, Expression>,
  inputs: ReadonlyMap<string, Expression> = new Map(),
): Expression {
  const done = new Map(parts);
  const visit = (value: Value): Value => {
    if (typeof value === 'number') return value;
    const known = done.get(value) ?? (value.args.length === 0 ? (inputs.get(value.op) ?? value) : undefined);
    if (known) return known;
    const made = new Expression(value.op, value.args.map(visit));
    done.set(value, made);
    return made;
  };
  return visit(result) as Expression;
}
