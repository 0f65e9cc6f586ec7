/**
 * The base of this folder's operations: one dispatch of one of its shaders, or of a page's own.
 */
import type { PlainDType } from '../tensor/dtypes.js';
import { guarded, invalidArgument } from '../errors.js';
import { Gpu } from '../tensor/gpu.js';
import { show } from '../check.js';
import { type FloatTensor, Tensor } from '../tensor/tensor.js';
import { integer, known, word } from './checks.js';
import type { Shader } from './shaders.js';

/** What {@link Dispatcher.shader} runs. */
export interface ShaderOptions {
  /** Names the shader in messages. */
  label: string;
  /** WGSL. The entry point is `main`; binding 0 of group 0 is the uniform `params`, then come inputs, then outputs. */
  code: string;
  /** What it reads: `var<storage, read>` in this order. */
  inputs?: readonly Tensor[] | undefined;
  /** What it writes: `var<storage, read_write>` in this order; the contents are undefined before. */
  outputs: readonly ShaderOutput[];
  /** The words of `params`, at most 64. Default: one that is 0 */
  params?: Uint32Array | Int32Array | Float32Array | undefined;
  /** Values of `override` constants. */
  constants?: Readonly<Record<string, number>> | undefined;
  /** Workgroups along one to three axes. */
  workgroups: readonly number[];
}

/** A tensor that a shader makes. */
export interface ShaderOutput {
  /** Elements along each axis. */
  shape: readonly number[];
  /** Default: f32 */
  dtype?: PlainDType | undefined;
}

/** A dispatch. @internal */
export interface Work {
  /** What the shader reads, by their names in messages. A missing one is bound to the first, and not read. */
  inputs: Readonly<Record<string, Tensor | undefined>>;
  /** Shape of the result, which is f32. */
  shape: readonly number[];
  /** Shapes of the results behind it. */
  more?: readonly (readonly number[])[];
  /** Every field of its `params`. */
  params: Readonly<Record<string, number | readonly number[]>>;
  /** The shader's `override` constants. */
  constants?: Readonly<Record<string, number | boolean>>;
  /** Workgroups; see {@link grid}. */
  workgroups: readonly number[];
}

/** Types of outputs, in the order of the engine. */
const TYPES = ['f32', 'f16', 'bf16', 'u32', 'i32'] as const;

/** Workgroups of an axis on every device. */
const MAX_WORKGROUPS = 65_535;

/** Storage buffers of a shader on every device. */
const MAX_STORAGE = 8;

/** Words of `params`: what the engine has for each dispatch. */
const MAX_PARAMS = 64;

/** `count` workgroups, folded over y where one axis does not hold them. @internal */
export function grid(count: number): [number, number, number] {
  const y = Math.max(Math.ceil(count / MAX_WORKGROUPS), 1);
  return [Math.ceil(count / y), y, 1];
}

/** Workgroups for `elements` where each of 256 threads computes one. @internal */
export const gridOf = (elements: number): [number, number, number] => grid(Math.ceil(elements / 256));

/** A plain tensor as f32: itself where it is that already. @internal */
export const asF32 = (gpu: Gpu, x: Tensor): FloatTensor =>
  x.dtype === 'f32' ? (x as FloatTensor) : (gpu.cast(x, 'f32') as FloatTensor);

/** x under another shape, without a copy where it has that already. @internal */
export const shaped = (gpu: Gpu, x: Tensor, shape: readonly number[]): Tensor =>
  x.shape.join() === shape.join() ? x : gpu.reshape(x, shape);

/** `Gpu` with a way to run shaders. */
export abstract class Dispatcher extends Gpu {
  /** By text, then by what else makes a shader. */
  readonly #numbers = new Map<string, Map<string, number>>();

  /**
   * Runs a compute shader of one's own. Its pipeline is compiled once for each text, and both are kept as long as the
   * page: numbers that change belong into `params`. Elements of f16 and bf16 lie two to a word.
   *
   * @returns the tensors that it writes
   * @throws {WebggufError} `invalid_argument` for counts that WebGPU does not take. Where the text does not compile,
   *   what is read next from this Gpu throws `invalid_argument` with the compiler's words
   *
   * @example
   * const [y] = gpu.shader({
   *   label: 'square',
   *   code: `@group(0) @binding(0) var<uniform> params: vec4<u32>; // .x: elements
   *     @group(0) @binding(1) var<storage, read> x: array<f32>;
   *     @group(0) @binding(2) var<storage, read_write> y: array<f32>;
   *     @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
   *       if id.x < params.x { y[id.x] = x[id.x] * x[id.x]; }
   *     }`,
   *   inputs: [x],
   *   outputs: [{ shape: x.shape }],
   *   params: Uint32Array.of(x.size, 0, 0, 0),
   *   workgroups: [Math.ceil(x.size / 64)],
   * });
   */
  shader(options: ShaderOptions): Tensor[] {
    const names = ['label', 'code', 'inputs', 'outputs', 'params', 'constants', 'workgroups'] as const;
    const { label, code, inputs = [], outputs, params, constants = {}, workgroups } = known('shader', options, names);
    if (typeof label !== 'string' || typeof code !== 'string') {
      throw invalidArgument(`shader: label and code must be texts, found ${show(label)} and ${show(code)}`);
    }
    checkCounts(label, options);
    const words = params ? [...new Uint32Array(params.buffer, params.byteOffset, params.length)] : [0];
    const [x = 1, y = 1, z = 1] = workgroups;
    return this.#run('shader', { label, code }, Object.entries(inputs), {
      outputs: outputs.flatMap(({ shape, dtype = 'f32' }) => {
        const sizes = shape.map((size) => integer('shader', 'an axis of an output', size, 0));
        return [TYPES.indexOf(word('shader', 'dtype', dtype, TYPES)), sizes.length, ...sizes];
      }),
      made: outputs.length,
      constants,
      words: [x, y, z, ...words],
    });
  }

  /** Queues a dispatch for `call`; its result. @internal */
  protected dispatch(call: string, shader: Shader, work: Work): Tensor<'f32'> {
    return this.dispatchAll(call, shader, work)[0] as Tensor<'f32'>;
  }

  /** Queues a dispatch for `call`; all its results. @internal */
  protected dispatchAll(call: string, shader: Shader, work: Work): Tensor[] {
    const { inputs, shape, more = [], params, constants = {}, workgroups } = work;
    const [first] = Object.values(inputs);
    const bound = Object.entries(inputs).map(([name, tensor]): [string, unknown] => [name, tensor ?? first]);
    const words = [...workgroups, ...wordsOf(shader, params)];
    const outputs = [shape, ...more].flatMap((sizes) => [0, sizes.length, ...sizes]);
    return this.#run(call, shader, bound, { outputs, made: 1 + more.length, constants, words });
  }

  #run(call: string, { label, code }: Pick<Shader, 'label' | 'code'>, inputs: [string, unknown][], run: Run): Tensor[] {
    const ids = inputs.map(([name, tensor]) => {
      if (tensor instanceof Tensor) return tensor.idFor(call, name, this);
      throw invalidArgument(`${call}: input ${name} must be a tensor, found ${show(tensor)}`);
    });
    const constants = Float64Array.from(Object.values(run.constants), Number);
    const [of_x, of_y, words] = [ids, run.outputs, run.words].map((list) => Uint32Array.from(list)) as Words;
    const handles = guarded(() => {
      const number = this.#numberOf(label, code, Object.keys(run.constants).join(','), ids.length, run.made);
      return this.engine.dispatch(number, constants, of_x, of_y, words);
    }, call);
    return handles.map((handle) => this.keep(new Tensor(this, handle)));
  }

  /** What the engine calls a shader: its text goes there once, which costs more than a dispatch without it. */
  #numberOf(label: string, code: string, names: string, inputs: number, outputs: number): number {
    const key = `${inputs} ${outputs} ${names} ${label}`;
    const numbers = this.#numbers.get(code) ?? new Map<string, number>();
    this.#numbers.set(code, numbers);
    const known = numbers.get(key) ?? this.engine.shader(label, code, names, inputs, outputs);
    numbers.set(key, known);
    return known;
  }
}

type Words = [Uint32Array, Uint32Array, Uint32Array];

/** What the engine takes of a dispatch: see `dispatch` in `wasm/webgguf.d.ts`. */
interface Run {
  outputs: number[];
  made: number;
  constants: Readonly<Record<string, number | boolean>>;
  words: number[];
}

function checkCounts(label: string, { inputs = [], outputs, params, workgroups }: ShaderOptions): void {
  const wrong = (why: string) => invalidArgument(`shader '${label}': ${why}`);
  for (const list of [inputs, outputs, workgroups]) {
    if (!Array.isArray(list)) throw wrong(`expected an array, found ${show(list)}`);
  }
  if (outputs.length === 0 || inputs.length + outputs.length > MAX_STORAGE) {
    throw wrong(`${inputs.length} inputs and ${outputs.length} outputs, at most ${MAX_STORAGE} in all`);
  }
  if (params && (params.length === 0 || params.length > MAX_PARAMS)) {
    throw wrong(`${params.length} words of params, from 1 to ${MAX_PARAMS} are possible`);
  }
  const isGrid = workgroups.every((count) => Number.isInteger(count) && count >= 1 && count <= MAX_WORKGROUPS);
  if (isGrid && workgroups.length >= 1 && workgroups.length <= 3) return;
  throw wrong(
    `workgroups are [${workgroups.join(', ')}]; one to three counts from 1 to ${MAX_WORKGROUPS} are possible`,
  );
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
