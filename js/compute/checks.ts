/**
 * What the operations of this folder check of tensors and options.
 */
import { invalidArgument } from '../errors.js';
import { objectOf, show } from '../check.js';
import { Tensor } from '../tensor/tensor.js';

/** How floats are stored, by the numbers of `shaders/tensor/shared/stored.wgsl`. */
const KINDS = ['f32', 'f16', 'bf16'];

/** Refuses what is no tensor of floats. */
export function floats(call: string, name: string, tensor: unknown): Tensor {
  if (!(tensor instanceof Tensor)) throw invalidArgument(`${call}: ${name} must be a tensor, found ${show(tensor)}`);
  if (KINDS.includes(tensor.dtype)) return tensor;
  throw invalidArgument(`${call}: ${name} is ${tensor}; f32, f16 or bf16 is needed`);
}

/** The number of a tensor's type in `stored.wgsl`. */
export const kindOf = ({ dtype }: Tensor): number => KINDS.indexOf(dtype);

/** Refuses a tensor whose axes are not `rank`, which `axes` names. */
export function ranked(call: string, name: string, tensor: unknown, axes: readonly string[]): Tensor {
  const checked = floats(call, name, tensor);
  if (checked.shape.length === axes.length) return checked;
  const found = `${checked.shape.length} axes`;
  throw invalidArgument(`${call}: ${name} is ${checked}, ${found}; [${axes.join(', ')}] has ${axes.length}`);
}

/** Refuses a tensor that is given and not an f32 vector of `length`. */
export function vector(call: string, name: string, tensor: Tensor | undefined, length: number): Tensor | undefined {
  if (tensor === undefined) return undefined;
  const { dtype, shape } = floats(call, name, tensor);
  if (dtype === 'f32' && shape.length === 1 && shape[0] === length) return tensor;
  throw invalidArgument(`${call}: ${name} is ${tensor}; [${length}] f32 is needed`);
}

/** Options as an object that has no others than `names`. */
export function known<T extends object>(call: string, options: T | undefined, names: readonly (keyof T & string)[]): T {
  if (options === undefined) return {} as T;
  const odd = Object.keys(objectOf(call, options)).find((name) => !(names as readonly string[]).includes(name));
  if (odd === undefined) return options;
  throw invalidArgument(`${call}: there is no option '${odd}'; there are ${names.join(', ')}`);
}

/** An integer between bounds. */
export function integer(call: string, name: string, value: unknown, least: number, most = 2 ** 31 - 1): number {
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most) return value as number;
  const range = most === 2 ** 31 - 1 ? `of at least ${least}` : `from ${least} to ${most}`;
  throw invalidArgument(`${call}: ${name} must be an integer ${range}, found ${show(value)}`);
}

/** A finite number. */
export function finite(call: string, name: string, value: unknown): number {
  if (Number.isFinite(value)) return value as number;
  throw invalidArgument(`${call}: ${name} must be a finite number, found ${show(value)}`);
}

/** One of some words. */
export function word<W extends string>(call: string, name: string, value: unknown, words: readonly W[]): W {
  if (words.includes(value as W)) return value as W;
  throw invalidArgument(`${call}: ${name} must be one of ${words.join(', ')}, found ${show(value)}`);
}

/** true or false. */
export function flag(call: string, name: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw invalidArgument(`${call}: ${name} must be true or false, found ${show(value)}`);
}

/** A number for all spatial axes, or one for each. */
export type PerAxis = number | readonly number[];

/** An integer for each of `axes` axes. */
export function perAxis(call: string, name: string, value: unknown, axes: number, least: number): number[] {
  const list = Array.isArray(value) ? value : Array<unknown>(axes).fill(value);
  if (list.length === axes) return list.map((item) => integer(call, name, item, least));
  throw invalidArgument(`${call}: ${name} has ${list.length} numbers for ${axes} spatial axes`);
}

/** Numbers for three spatial axes, given those of up to three: missing ones come first. */
export function three(numbers: readonly number[], missing: number): [number, number, number] {
  return [...Array<number>(3 - numbers.length).fill(missing), ...numbers] as [number, number, number];
}

/** `{name_0, name_1, name_2}` as fields of a shader's `params`. */
export function fields(name: string, numbers: readonly number[]): Record<string, number> {
  return Object.fromEntries(numbers.map((number, axis) => [`${name}_${axis}`, number]));
}

/** Names of axes for messages. */
export const axesOf = (spatial: number): string[] => ['N', 'C', ...['D', 'H', 'W'].slice(3 - spatial)];

/** Element `i` of a list that has it. */
export const at = <T>(list: readonly T[], i: number): T => list[i] as T;
