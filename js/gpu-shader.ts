/**
 * Shaders of one's own over tensors.
 */
import type { PlainDType } from './dtypes.js';
import { invalidArgument } from './errors.js';
import { ModelOperations } from './gpu-model.js';
import { show } from './options.js';
import type { Tensor } from './tensor.js';

/** What {@link ShaderOperations.shader} runs. */
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
  /** Workgroups along up to three axes. */
  workgroups: readonly number[];
}

/** A tensor that a shader makes. */
export interface ShaderOutput {
  /** Elements along each axis. */
  shape: readonly number[];
  /** Default: f32 */
  dtype?: PlainDType | undefined;
}

/** Shaders that come as text. */
export abstract class ShaderOperations extends ModelOperations {
  /**
   * Runs a compute shader. Its pipeline is compiled once for each text, and both are kept as long as the page: numbers
   * that change belong into `params`. Elements of f16 and bf16 lie two to a word.
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
    const { inputs = [], outputs, params, constants = {}, workgroups, ...rest } = options;
    for (const list of [inputs, outputs, workgroups]) {
      if (!Array.isArray(list)) throw invalidArgument(`shader: expected an array, found ${show(list)}`);
    }
    const [x = 1, y = 1, z = 1] = workgroups;
    const words = params ? [...new Uint32Array(params.buffer, params.byteOffset, params.length)] : [];
    return this.run('shader', 'shader', Object.fromEntries(inputs.map((tensor, i) => [`input ${i}`, tensor])), {
      ...rest,
      outputs: outputs.map(({ shape, dtype = 'f32' }) => [dtype, [...shape]]),
      params: words,
      constants: Object.entries(constants),
      workgroups: [x, y, z],
    });
  }
}
