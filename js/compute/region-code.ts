/**
 * The WGSL of a formula over tensors that broadcast, and the words of its `params`.
 */
import { invalidArgument } from '../errors.js';
import type { Expression } from '../tensor/expression.js';
import type { Tensor } from '../tensor/tensor.js';
import { at } from './checks.js';
import { math } from './shaders.js';

/** A tensor of a formula: the name of the expression that stands for it is its place in the list. */
export interface Leaf {
  readonly expression: Expression;
  readonly tensor: Tensor;
}

/** A shader and what it reads. */
export interface Region {
  code: string;
  words: number[];
  shape: number[];
}

/** Words of `params`: what a dispatch has. */
const WORDS = 64;
/** Among these words, the places of axes, of starts in packed arrays, and of numbers. */
const [SIZES, STARTS, NUMBERS] = [1, 6, 22];

/** Four elements from element 4 · q on, by the type of a tensor. */
const TYPES: Record<string, { type: string; four: (name: string) => string }> = {
  f32: { type: 'vec4<f32>', four: (name) => `${name}[q]` },
  u32: { type: 'vec4<u32>', four: (name) => `vec4<f32>(${name}[q])` },
  i32: { type: 'vec4<i32>', four: (name) => `vec4<f32>(${name}[q])` },
  f16: { type: 'vec2<u32>', four: (name) => `vec4<f32>(unpack2x16float(${name}[q].x), unpack2x16float(${name}[q].y))` },
  bf16: {
    type: 'vec2<u32>',
    four: (name) => `bitcast<vec4<f32>>((${name}[q].xxyy << vec4<u32>(16u, 0u, 16u, 0u)) & vec4<u32>(0xffff0000u))`,
  },
};

/** Element e, by the type of a tensor that is bound as words. */
const ELEMENT: Record<string, (name: string) => string> = {
  f32: (name) => `bitcast<f32>(${name}[e])`,
  u32: (name) => `f32(${name}[e])`,
  i32: (name) => `f32(bitcast<i32>(${name}[e]))`,
  f16: (name) => `unpack2x16float(${name}[e / 2u] >> (16u * (e & 1u))).x`,
  bf16: (name) => `bitcast<f32>((${name}[e / 2u] >> (16u * (e & 1u))) << 16u)`,
};

const truth = (sign: string) => (a: string, b: string) => `select(vec4<f32>(), vec4<f32>(1.0), ${a} ${sign} ${b})`;
const infix = (sign: string) => (a: string, b: string) => `${a} ${sign} ${b}`;
const call = (name: string) => (a: string, b?: string) => `${name}(${b === undefined ? a : `${a}, ${b}`})`;

/** The operations of `Expression`, as shaders/shared/numbers/elementwise_steps.wgsl has them. */
const OPERATIONS: Record<string, (a: string, b: string, c: string) => string> = {
  neg: (a) => `-${a}`,
  abs: (a) => `abs(${a})`,
  exp: (a) => `exp(${a})`,
  log: (a) => `log(${a})`,
  sqrt: (a) => `sqrt(${a})`,
  rsqrt: (a) => `inverseSqrt(${a})`,
  sin: (a) => `sines(${a}, 0u)`,
  cos: (a) => `sines(${a}, 1u)`,
  tanh: (a) => `bounded_tanh(${a})`,
  sigmoid: (a) => `sigmoid(${a})`,
  relu: (a) => `max(${a}, vec4<f32>())`,
  silu: (a) => `${a} * sigmoid(${a})`,
  gelu: (a) => `gelu(${a})`,
  geluErf: (a) => `${a} * normal_below(${a})`,
  add: infix('+'),
  sub: infix('-'),
  mul: infix('*'),
  div: infix('/'),
  min: call('min'),
  max: call('max'),
  pow: call('power'),
  equal: truth('=='),
  notEqual: truth('!='),
  less: truth('<'),
  lessEqual: truth('<='),
  greater: truth('>'),
  greaterEqual: truth('>='),
  where: (a, b, c) => `select(${c}, ${b}, ${a} != vec4<f32>())`,
};

const GELU = `fn gelu(a: vec4<f32>) -> vec4<f32> {
let x = clamp(a, vec4<f32>(-20.0), vec4<f32>(20.0));
return a * sigmoid(1.59576912 * (x + 0.044715 * x * x * x));
}`;

/** The shape that tensors broadcast to. */
export function broadcast(tensors: readonly Tensor[]): number[] {
  const rank = Math.max(...tensors.map(({ shape }) => shape.length));
  return Array.from({ length: rank }, (_, axis) => {
    const sizes = tensors.map((tensor) => sizeAlong(tensor, axis, rank));
    const size = sizes.find((length) => length !== 1) ?? 1;
    const odd = sizes.findIndex((length) => length !== 1 && length !== size);
    if (odd < 0) return size;
    throw invalidArgument(`fuse: ${tensors.join(', ')} do not broadcast: along an axis, ${size} and ${at(sizes, odd)}`);
  });
}

/** Length along an axis of `rank`, where missing ones come first. */
const sizeAlong = ({ shape }: Tensor, axis: number, rank: number): number => shape[axis - rank + shape.length] ?? 1;

/** An axis of the result, or several neighbours that the same tensors have: the size, and which these are. */
interface Axis {
  size: number;
  has: boolean[];
}

/** The axes of the result, the outermost first. */
function axesOf(shape: readonly number[], tensors: readonly Tensor[]): Axis[] {
  const axes: Axis[] = [];
  for (const [axis, size] of shape.entries()) {
    if (size === 1) continue;
    const has = tensors.map((tensor) => sizeAlong(tensor, axis, shape.length) !== 1);
    const last = axes.at(-1);
    if (last && `${last.has}` === `${has}`) last.size *= size;
    else axes.push({ size, has });
  }
  return axes;
}

const word = (place: number): string => `params[${place >> 2}][${place & 3}]`;

/**
 * The shader of `result` over `leaves`; the last `packed` of them lie one after the other in the last buffer, as f32.
 * Sizes and numbers are words of `params`, so that one pipeline serves all shapes with the same axes.
 */
export function regionOf(result: Expression, leaves: readonly Leaf[], packed: number): Region {
  const tensors = leaves.map(({ tensor }) => tensor);
  const shape = broadcast(tensors);
  const [axes, length] = [axesOf(shape, tensors), shape.reduce((product, size) => product * size, 1)];
  const words = Array<number>(WORDS).fill(0);
  words[0] = length;
  for (const [i, { size }] of [...axes].reverse().entries()) words[SIZES + i] = size;
  const own = leaves.length - packed;
  const loads = leaves.map(({ tensor }, i) => {
    const isWhole = i < own && tensor.size === length;
    const [name, start] = i < own ? [`x${i}`, ''] : [`x${own}`, ` + ${word(STARTS + i - own)}`];
    if (i > own) words[STARTS + i - own] = at(words, STARTS + i - own - 1) + at(tensors, i - 1).size;
    return isWhole ? undefined : gather(i, name, start, i < own ? tensor.dtype : 'f32', axes);
  });
  const bindings = tensors.slice(0, own).map((tensor, i) => (loads[i] ? 'u32' : at4(tensor).type));
  if (packed > 0) bindings.push('u32');
  const lines = leaves.map(({ tensor }, i) => {
    const four = loads[i]
      ? `vec4<f32>(at${i}(i), at${i}(i + 1u), at${i}(i + 2u), at${i}(i + 3u))`
      : at4(tensor).four(`x${i}`);
    return `let v${i} = ${four};`;
  });
  const { steps, last } = stepsOf(result, leaves, words);
  const code = [
    '@group(0) @binding(0) var<uniform> params: array<vec4<u32>, 16>;',
    ...bindings.map((type, i) => `@group(0) @binding(${i + 1}) var<storage, read> x${i}: array<${type}>;`),
    `@group(0) @binding(${bindings.length + 1}) var<storage, read_write> y: array<vec4<f32>>;`,
    math,
    GELU,
    ...loads.filter(Boolean),
    `@compute @workgroup_size(64) fn main(@builtin(workgroup_id) group: vec3<u32>,
@builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
let q = (group.y * groups.x + group.x) * 64u + lane;
let i = 4u * q;
if i >= ${word(0)} { return; }`,
    ...lines,
    ...steps,
    `y[q] = select(vec4<f32>(), ${last}, vec4<u32>(i, i + 1u, i + 2u, i + 3u) < vec4<u32>(${word(0)}));`,
    '}',
  ];
  return { code: code.join('\n'), words, shape };
}

const at4 = ({ dtype }: Tensor) => TYPES[dtype] as (typeof TYPES)[string];

/** A function that gives the element of a tensor for element `given` of the result. */
function gather(input: number, name: string, start: string, dtype: string, axes: readonly Axis[]): string {
  const places = [...axes].reverse().flatMap(({ has }, i) => {
    const rest = `let c${i} = rest % ${word(SIZES + i)}; rest /= ${word(SIZES + i)};`;
    const stride = `e += c${i} * stride; stride *= ${word(SIZES + i)};`;
    return has[input] ? [rest, stride] : [rest];
  });
  return `fn at${input}(given: u32) -> f32 {
var rest = min(given, ${word(0)} - 1u); var e = 0u; var stride = 1u;
${places.join('\n')}
e = e${start};
return ${(ELEMENT[dtype] as (name: string) => string)(name)};
}`;
}

/** The operations as lines; numbers go into `words`. */
function stepsOf(result: Expression, leaves: readonly Leaf[], words: number[]): { steps: string[]; last: string } {
  const names = new Map(leaves.map(({ expression }, i) => [expression, `v${i}`]));
  const [steps, numbers]: [string[], number[]] = [[], []];
  const number = (value: number): string => {
    if (!numbers.includes(value)) numbers.push(value);
    return `vec4<f32>(bitcast<f32>(${word(NUMBERS + numbers.indexOf(value))}))`;
  };
  const visit = (value: Expression | number): string => {
    if (typeof value === 'number') return number(value);
    const known = names.get(value);
    if (known !== undefined) return known;
    const [a = '', b = '', c = ''] = value.args.map(visit);
    const name = `s${steps.length}`;
    steps.push(`let ${name} = ${(OPERATIONS[value.op] as (a: string, b: string, c: string) => string)(a, b, c)};`);
    names.set(value, name);
    return name;
  };
  const last = visit(result);
  const most = WORDS - NUMBERS;
  if (numbers.length > most) {
    throw invalidArgument(`fuse: the expression has ${numbers.length} numbers, at most ${most} are possible`);
  }
  const bits = new Uint32Array(Float32Array.from(numbers).buffer);
  for (const [i, value] of bits.entries()) words[NUMBERS + i] = value;
  return { steps, last };
}
