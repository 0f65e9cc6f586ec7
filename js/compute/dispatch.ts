/**
 * The base of this folder's operations: one dispatch of one of its shaders.
 */
import { Gpu } from '../gpu.js';
import type { Inputs } from '../gpu-core.js';
import type { Tensor } from '../tensor.js';
import type { Shader } from './shaders.js';

/** A dispatch. @internal */
export interface Work {
  /** What the shader reads, by their names in messages. A missing one is bound to the first, and not read. */
  inputs: Inputs;
  /** Shape of the result, which is f32. */
  shape: readonly number[];
  /** Every field of its `params`. */
  params: Readonly<Record<string, number | readonly number[]>>;
  /** Its `override` constants. */
  constants?: Readonly<Record<string, number | boolean>>;
  /** Workgroups; see {@link grid}. */
  workgroups: readonly [number, number, number];
}

/** Workgroups of an axis on every device. */
const MAX_WORKGROUPS = 65_535;

/** `count` workgroups, folded over y where one axis does not hold them. @internal */
export function grid(count: number): [number, number, number] {
  const y = Math.max(Math.ceil(count / MAX_WORKGROUPS), 1);
  return [Math.ceil(count / y), y, 1];
}

/** Workgroups for `elements` where each of 256 threads computes one. @internal */
export const gridOf = (elements: number): [number, number, number] => grid(Math.ceil(elements / 256));

/** `Gpu` with a way to run the shaders of this folder. */
export abstract class Dispatcher extends Gpu {
  /** Queues a dispatch for `call`; its result. @internal */
  protected dispatch(call: string, shader: Shader, work: Work): Tensor<'f32'> {
    const { inputs, shape, params, constants = {}, workgroups } = work;
    const [first] = Object.values(inputs);
    const bound = Object.entries(inputs).map(([name, tensor]) => [name, tensor ?? first]);
    return this.one<'f32'>(call, 'shader', Object.fromEntries(bound), {
      label: shader.label,
      code: shader.code,
      outputs: [['f32', [...shape]]],
      params: wordsOf(shader, params),
      constants: Object.entries(constants).map(([name, value]) => [name, Number(value)]),
      workgroups,
    });
  }
}

/** The numbers of `params` as the words that the shader reads. */
function wordsOf({ label, params }: Shader, values: Work['params']): number[] {
  const bits = new DataView(new ArrayBuffer(4));
  return Object.entries(params).flatMap(([name, type]) => {
    const value = values[name];
    if (typeof type === 'number' && Array.isArray(value) && value.length === type) return value as number[];
    if (typeof type === 'number' || typeof value !== 'number') throw new Error(`${label}: params.${name} is ${value}`);
    if (type === 'f32') bits.setFloat32(0, value);
    else bits.setInt32(0, value);
    return [bits.getUint32(0)];
  });
}
