/**
 * Derivatives of formulas: expressions of the gradient of their result.
 */
import { Expression } from '../tensor/expression.js';

export type Value = Expression | number;

/** Name of the result's gradient among the inputs of a derivative. */
export const DY = 'dy';

const add = (a: Value, b: Value): Value => (a === 0 ? b : b === 0 ? a : make('add', a, b));
const sub = (a: Value, b: Value): Value => (b === 0 ? a : make('sub', a, b));
const neg = (a: Value): Value => (typeof a === 'number' ? -a : make('neg', a));
const div = (a: Value, b: Value): Value => (b === 1 ? a : make('div', a, b));
const make = (op: string, ...args: Value[]): Expression => new Expression(op, args);

function mul(a: Value, b: Value): Value {
  if (typeof a === 'number' && typeof b === 'number') return a * b;
  if (a === 1) return b;
  return b === 1 ? a : make('mul', a, b);
}

/** The sum of these products. */
const plus = (...terms: Value[]): Value => terms.reduce(add);
const times = (...factors: Value[]): Value => factors.reduce(mul);

/** Gradients of an operation's arguments: `g` is the gradient of its result y. */
type Local = (g: Value, y: Value, ...args: [Value, Value, Value]) => readonly (Value | undefined)[];

const SQRT_2_OVER_PI = Math.sqrt(2 / Math.PI);

/** tanh form: y = x/2 · (1 + t), t = tanh(c·x·(1 + a·x²)). */
function gelu(g: Value, x: Value): Value {
  const [c, a] = [SQRT_2_OVER_PI, 0.044715 * SQRT_2_OVER_PI];
  const square = mul(x, x);
  const t = make('tanh', mul(x, add(mul(square, a), c)));
  const slope = mul(mul(x, add(mul(square, 3 * a), c)), sub(1, mul(t, t)));
  return times(plus(slope, t, 1), 0.5, g);
}

/** Exact form: Φ(x) + x·φ(x), where Φ(x) = y/x. */
function geluErf(g: Value, y: Value, x: Value): Value {
  const below = make('where', x, div(y, x), 0.5);
  const density = times(make('exp', times(x, x, -0.5)), x, 1 / Math.sqrt(2 * Math.PI));
  return mul(g, add(below, density));
}

/** Where two numbers are equal, each gets half of the gradient. */
function extreme(g: Value, chosen: string, a: Value, b: Value): readonly Value[] {
  const tie = mul(make('equal', a, b), 0.5);
  return [mul(g, add(make(chosen, a, b), tie)), mul(g, add(make(chosen, b, a), tie))];
}

/** b · a^(b − 1) */
const powerSlope = (a: Value, b: Value): Value => mul(b, make('pow', a, typeof b === 'number' ? b - 1 : sub(b, 1)));
const powerOf = (a: Value, b: number): Value => (b === 0 ? 0 : powerSlope(a, b));

const LOCAL: Record<string, Local> = {
  copy: (g) => [g],
  neg: (g) => [neg(g)],
  abs: (g, _, x) => [mul(g, sub(make('greater', x, 0), make('less', x, 0)))],
  exp: (g, y) => [mul(g, y)],
  log: (g, _, x) => [div(g, x)],
  sqrt: (g, y) => [mul(0.5, div(g, y))],
  rsqrt: (g, y) => [times(g, -0.5, y, y, y)],
  sin: (g, _, x) => [mul(g, make('cos', x))],
  cos: (g, _, x) => [neg(mul(g, make('sin', x)))],
  tanh: (g, y) => [mul(g, sub(1, mul(y, y)))],
  sigmoid: (g, y) => [times(g, y, sub(1, y))],
  relu: (g, _, x) => [make('where', make('greater', x, 0), g, 0)],
  silu: (g, y, x) => {
    const share = make('sigmoid', x);
    return [mul(g, add(share, mul(y, sub(1, share))))];
  },
  gelu: (g, _, x) => [gelu(g, x)],
  geluErf: (g, y, x) => [geluErf(g, y, x)],
  add: (g) => [g, g],
  sub: (g) => [g, neg(g)],
  mul: (g, _, a, b) => [mul(g, b), mul(g, a)],
  div: (g, y, _, b) => [div(g, b), neg(div(mul(g, y), b))],
  min: (g, _, a, b) => extreme(g, 'less', a, b),
  max: (g, _, a, b) => extreme(g, 'greater', a, b),
  // For b = 0 and a = 0 the derivatives 0 · 0^−1 and 0^b · log 0 are 0.
  pow: (g, y, a, b) => [
    times(g, typeof b === 'number' ? powerOf(a, b) : make('where', b, powerSlope(a, b), 0)),
    mul(g, make('where', a, mul(y, make('log', a)), 0)),
  ],
  where: (g, _, condition) => [undefined, make('where', condition, g, 0), make('where', condition, 0, g)],
};

/** Gradients of the inputs named, each an expression of `dy` and of inputs; none where an input does not matter. */
export function gradientsOf(result: Expression, names: ReadonlySet<string>): Map<string, Expression> {
  const order = dependent(result, names);
  const totals = new Map<Value, Value>([[result, new Expression(DY)]]);
  for (const node of [...order.list].reverse()) {
    const g = totals.get(node);
    if (g === undefined || node.args.length === 0) continue;
    const parts = LOCAL[node.op]?.(g, node, ...(node.args as [Value, Value, Value])) ?? [];
    node.args.forEach((arg, index) => {
      const part = parts[index];
      if (part !== undefined && order.has(arg)) totals.set(arg, add(totals.get(arg) ?? 0, part));
    });
  }
  const inputs = order.list.filter((node) => node.args.length === 0);
  const found = inputs.map((node) => [node.op, totals.get(node)] as const);
  return new Map(found.filter((pair): pair is [string, Expression] => pair[1] instanceof Expression));
}

/** Expressions that depend on the inputs named, arguments before what they are arguments of. */
function dependent(result: Expression, names: ReadonlySet<string>): Order {
  const seen = new Map<Expression, boolean>();
  const list: Expression[] = [];
  const visit = (value: Value): boolean => {
    if (typeof value === 'number') return false;
    const known = seen.get(value);
    if (known !== undefined) return known;
    const depends = value.args.map(visit).some(Boolean) || names.has(value.op);
    seen.set(value, depends);
    if (depends) list.push(value);
    return depends;
  };
  visit(result);
  return { list, has: (value) => typeof value !== 'number' && seen.get(value) === true };
}

interface Order {
  readonly list: readonly Expression[];
  has(value: Value): boolean;
}
