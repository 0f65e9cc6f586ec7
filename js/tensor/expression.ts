/**
 * Expressions for `Gpu.fuse`: what to compute for each element, as steps that one dispatch runs.
 */
import { invalidArgument } from '../errors.js';
import { show } from '../check.js';
import { knowItself, original, throughProxies } from '../proxies.js';

/** Operations of one argument. */
export type UnaryOp =
  | 'neg'
  | 'abs'
  | 'exp'
  | 'log'
  | 'sqrt'
  | 'rsqrt'
  | 'sin'
  | 'cos'
  | 'tanh'
  | 'sigmoid'
  | 'relu'
  | 'silu'
  | 'gelu'
  | 'geluErf';

/** Operations of two arguments; the comparisons give 1 or 0. */
export type BinaryOp =
  | 'add'
  | 'sub'
  | 'mul'
  | 'div'
  | 'min'
  | 'max'
  | 'pow'
  | 'equal'
  | 'notEqual'
  | 'less'
  | 'lessEqual'
  | 'greater'
  | 'greaterEqual';

/** One step, as Rust reads it. @internal */
export interface Step {
  readonly op: string;
  /** Numbers, `in0`… for inputs, `s0`… for results of earlier steps. */
  readonly args: readonly (number | string)[];
}

type Value = Expression | number;

/** Steps that one dispatch runs at most. */
const MOST_STEPS = 16;

/** Something computed for each element: an input of `fuse`, or an operation on others and on numbers. */
export class Expression {
  /** The operation, or the input's name. @internal */
  readonly op: string;
  /** @internal */
  readonly args: readonly Value[];

  /** @internal */
  constructor(op: string, given: readonly Value[] = []) {
    knowItself(this);
    const args = given.map(original);
    for (const arg of args) {
      if (typeof arg === 'number' || arg instanceof Expression) continue;
      throw invalidArgument(`fuse: ${op} takes expressions and numbers, found ${show(arg)}`);
    }
    this.op = op;
    this.args = args;
  }

  /** −x */
  neg(): Expression {
    return new Expression('neg', [this]);
  }
  /** |x| */
  abs(): Expression {
    return new Expression('abs', [this]);
  }
  /** e^x */
  exp(): Expression {
    return new Expression('exp', [this]);
  }
  /** Natural logarithm. */
  log(): Expression {
    return new Expression('log', [this]);
  }
  /** √x */
  sqrt(): Expression {
    return new Expression('sqrt', [this]);
  }
  /** 1 / √x */
  rsqrt(): Expression {
    return new Expression('rsqrt', [this]);
  }
  /** sin x, x in radians */
  sin(): Expression {
    return new Expression('sin', [this]);
  }
  /** cos x, x in radians */
  cos(): Expression {
    return new Expression('cos', [this]);
  }
  /** tanh x */
  tanh(): Expression {
    return new Expression('tanh', [this]);
  }
  /** 1 / (1 + e^−x) */
  sigmoid(): Expression {
    return new Expression('sigmoid', [this]);
  }
  /** max(x, 0) */
  relu(): Expression {
    return new Expression('relu', [this]);
  }
  /** x · sigmoid(x) */
  silu(): Expression {
    return new Expression('silu', [this]);
  }
  /** GELU in its tanh form. */
  gelu(): Expression {
    return new Expression('gelu', [this]);
  }
  /** GELU in its exact form. */
  geluErf(): Expression {
    return new Expression('geluErf', [this]);
  }
  /** x + y */
  add(y: Expression | number): Expression {
    return new Expression('add', [this, y]);
  }
  /** x − y */
  sub(y: Expression | number): Expression {
    return new Expression('sub', [this, y]);
  }
  /** x · y */
  mul(y: Expression | number): Expression {
    return new Expression('mul', [this, y]);
  }
  /** x / y */
  div(y: Expression | number): Expression {
    return new Expression('div', [this, y]);
  }
  /** The smaller of x and y. */
  min(y: Expression | number): Expression {
    return new Expression('min', [this, y]);
  }
  /** The larger of x and y. */
  max(y: Expression | number): Expression {
    return new Expression('max', [this, y]);
  }
  /** x^y; NaN for a negative x and a y that is no integer. */
  pow(y: Expression | number): Expression {
    return new Expression('pow', [this, y]);
  }
  /** 1 where x = y, else 0. */
  equal(y: Expression | number): Expression {
    return new Expression('equal', [this, y]);
  }
  /** 1 where x ≠ y, else 0. */
  notEqual(y: Expression | number): Expression {
    return new Expression('notEqual', [this, y]);
  }
  /** 1 where x < y, else 0. */
  less(y: Expression | number): Expression {
    return new Expression('less', [this, y]);
  }
  /** 1 where x ≤ y, else 0. */
  lessEqual(y: Expression | number): Expression {
    return new Expression('lessEqual', [this, y]);
  }
  /** 1 where x > y, else 0. */
  greater(y: Expression | number): Expression {
    return new Expression('greater', [this, y]);
  }
  /** 1 where x ≥ y, else 0. */
  greaterEqual(y: Expression | number): Expression {
    return new Expression('greaterEqual', [this, y]);
  }
  /** y where x is not 0, else z. */
  where(y: Expression | number, z: Expression | number): Expression {
    return new Expression('where', [this, y, z]);
  }
}
throughProxies(Expression);

/** The inputs of `fuse`, as expressions. @internal */
export function inputExpressions(count: number): Expression[] {
  return Array.from({ length: count }, (_, index) => new Expression(`in${index}`));
}

/** The steps that compute `result`, each expression once. @internal */
export function stepsOf(result: unknown): Step[] {
  if (!(result instanceof Expression)) {
    throw invalidArgument(`fuse: the function must return an expression, found ${show(result)}`);
  }
  const steps: Step[] = [];
  const done = new Map<Expression, string>();
  const visit = (value: Value): number | string => {
    if (typeof value === 'number') return value;
    if (value.args.length === 0) return value.op;
    const known = done.get(value);
    if (known !== undefined) return known;
    const args = value.args.map(visit);
    const name = `s${steps.length}`;
    steps.push({ op: value.op, args });
    done.set(value, name);
    return name;
  };
  const last = visit(result);
  if (steps.length === 0) steps.push({ op: 'copy', args: [last] });
  if (steps.length > MOST_STEPS) {
    throw invalidArgument(`fuse: the expression has ${steps.length} steps, at most ${MOST_STEPS} are possible`);
  }
  return steps;
}
