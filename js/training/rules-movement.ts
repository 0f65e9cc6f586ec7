/**
 * Gradients of operations that move elements: they go back to where their elements came from.
 */
import type { Tensor } from '../tensor/tensor.js';
import { shaped } from '../compute/dispatch.js';
import type { Call, Rule } from './tape.js';

/** An axis counted from the first. */
export function axisOf(axis: unknown, rank: number): number {
  const at = Number(axis ?? 0);
  return at < 0 ? at + rank : at;
}

/** An input that the call cannot be without. */
export const input = (call: Call, name: string): Tensor => call.inputs[name] as Tensor;

/** `reshape`, `expand`, `cast`. What was repeated is added up by the tape. */
export const sameElements: Rule = (call) => {
  const { shape, size } = input(call, 'x');
  return (dy) => ({ x: dy?.size === size ? shaped(call.gpu, dy, shape) : dy });
};

export const transposeRule: Rule = (call) => {
  const rank = input(call, 'x').shape.length;
  const given = call.options.axes as readonly number[] | undefined;
  const order = given?.map((axis) => axisOf(axis, rank));
  const back = order && Array.from(order, (_, axis) => order.indexOf(axis));
  return (dy) => ({ x: call.gpu.transpose(dy as Tensor, back) });
};

export const narrowRule: Rule = (call) => {
  const { shape } = input(call, 'x');
  const axis = axisOf(call.options.axis, shape.length);
  const [start, length] = [Number(call.options.start), Number(call.options.length)];
  return (dy) => {
    const zeros = (count: number): Tensor[] =>
      count === 0
        ? []
        : [
            call.gpu.filled(
              shape.map((size, at) => (at === axis ? count : size)),
              0,
            ),
          ];
    const parts = [...zeros(start), dy as Tensor, ...zeros((shape[axis] as number) - start - length)];
    return { x: parts.length === 1 ? dy : call.gpu.concat(parts, { axis }) };
  };
};

export const concatRule: Rule = (call) => {
  const [first] = Object.values(call.inputs) as [Tensor];
  const axis = axisOf(call.options.axis, first.shape.length);
  let end = 0;
  const parts = Object.entries(call.inputs).map(([name, { shape }]) => {
    const length = shape[axis] as number;
    end += length;
    return [name, end - length, length] as const;
  });
  return (dy) =>
    Object.fromEntries(
      parts.map(([name, start, length]) => [name, () => call.gpu.narrow(dy as Tensor, axis, start, length)]),
    );
};

/** Elements that were taken more than once add up. */
function scattered(call: Call, shape: readonly number[], indices: Tensor, axis: number): ReturnType<Rule> {
  const kept = call.save(indices);
  return (dy) => {
    const values = call.gpu.scatterAdd(call.gpu.filled(shape, 0), kept as Tensor<'u32'>, dy as Tensor, { axis });
    return { x: values, weights: values };
  };
}

export const gatherRule: Rule = (call) => {
  const { shape } = input(call, 'x');
  return scattered(call, shape, input(call, 'indices'), axisOf(call.options.axis, shape.length));
};

export const embeddingRule: Rule = (call) => scattered(call, input(call, 'weights').shape, input(call, 'ids'), 0);

export const scatterAddRule: Rule = (call) => {
  const { shape } = input(call, 'base');
  const axis = axisOf(call.options.axis, shape.length);
  const indices = call.wants('values') ? (call.save(input(call, 'indices')) as Tensor<'u32'>) : undefined;
  const values = (dy: Tensor, at: Tensor<'u32'>): Tensor => {
    // What an index outside would have added was left out.
    const axes = Array<number>(shape.length - axis - 1).fill(1);
    const places = shaped(call.gpu, at, [...at.shape, ...axes]);
    return call.gpu.fuse([places, call.gpu.gather(dy, at, { axis })], (index, gradient) =>
      index
        .greaterEqual(0)
        .mul(index.less(shape[axis] as number))
        .where(gradient, 0),
    );
  };
  return (dy) => ({ base: dy, values: indices && (() => values(dy as Tensor, indices)) });
};
