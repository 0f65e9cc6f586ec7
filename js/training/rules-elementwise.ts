/**
 * Gradients of operations on each element: all are formulas.
 */
import { Expression, type Step } from '../tensor/expression.js';
import { DY, gradientsOf, type Value } from './derivative.js';
import { evaluate } from './regions.js';
import type { Call, Given, Rule } from './tape.js';

const inputs = (call: Call): Expression[] => Object.keys(call.inputs).map((name) => new Expression(name));

/** The gradients of a formula over a call's inputs. */
function formula(call: Call, result: Expression): ReturnType<Rule> {
  const names = new Set(Object.keys(call.inputs).filter((name) => call.wants(name)));
  const gradients = gradientsOf(result, names);
  const used = new Set([...gradients.values()].flatMap((gradient) => [...namesIn(gradient)]));
  const kept = Object.entries(call.inputs).filter(([name]) => used.has(name));
  const tensors = Object.fromEntries(kept.map(([name, tensor]) => [name, call.save(tensor)]));
  return (dy): Given => {
    const all = { ...tensors, [DY]: dy as NonNullable<typeof dy> };
    return Object.fromEntries(
      [...gradients].map(([name, gradient]) => [name, () => evaluate(call.gpu, gradient, all)]),
    );
  };
}

/** Names of the inputs of an expression. */
function namesIn(expression: Expression, seen = new Set<Value>(), found = new Set<string>()): Set<string> {
  if (seen.has(expression)) return found;
  seen.add(expression);
  if (expression.args.length === 0) found.add(expression.op);
  for (const arg of expression.args) if (typeof arg !== 'number') namesIn(arg, seen, found);
  return found;
}

/** `unary` and `binary`. */
export const stepRule: Rule = (call) => formula(call, new Expression(String(call.options.op), inputs(call)));

export const scaleRule: Rule = (call) =>
  formula(call, new Expression('mul', [...inputs(call), call.options.by as number]));

export const selectRule: Rule = (call) => formula(call, new Expression('where', inputs(call)));

/** Steps become an expression again. */
export const fuseRule: Rule = (call) => {
  const given = inputs(call);
  const made: Expression[] = [];
  for (const { op, args } of call.options.steps as readonly Step[]) {
    const values = args.map((arg) => {
      if (typeof arg === 'number') return arg;
      const [list, at] = arg.startsWith('in') ? [given, arg.slice(2)] : [made, arg.slice(1)];
      return list[Number(at)] as Expression;
    });
    made.push(new Expression(op, values));
  }
  return formula(call, made.at(-1) as Expression);
};
