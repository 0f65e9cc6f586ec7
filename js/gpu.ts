/// <reference lib="esnext.disposable" preserve="true" />
/**
 * Arithmetic on tensors on the GPU, with the kernels that language models run on.
 */
import { type DType, type PlainDType, type TensorData, checkDType, describe, dtypeOf, toBytes } from './dtypes.js';
import { fromWasm, guarded, invalidArgument, WebggufError } from './errors.js';
import { tensorsIn } from './gpu-core.js';
import { ModelOperations } from './gpu-model.js';
import { show } from './options.js';
import { Tensor } from './tensor.js';
import { wasmClasses } from './wasm.js';
import type { DeviceFacts, TensorEngine } from './wasm/webgguf.js';

export type { DeviceFacts } from './wasm/webgguf.js';

/**
 * A GPU device and the operations on its tensors. Every operation returns at once with a tensor that will hold the
 * result; only `await tensor.data()` waits. Wrong shapes, types and options throw `invalid_argument` at the call.
 *
 * A tensor lives until it is freed: by its `free`, by {@link Gpu.free}, at the end of the {@link Gpu.scope} that it
 * was made in, or by {@link Gpu.destroy}. The garbage collector frees what was forgotten, but takes its time.
 *
 * @example
 * const gpu = await Gpu.create();
 * const x = gpu.tensor([1, 2, 3, 4, 5, 6], [2, 3]);
 * const w = gpu.tensor(new Float32Array(12).fill(0.5), [3, 4]);
 * console.log(await gpu.softmax(gpu.matmul(x, w)).data());
 * gpu.destroy();
 */
export class Gpu extends ModelOperations {
  /** What the device is and can do. */
  readonly info: DeviceFacts;

  /** Not for pages: {@link Gpu.create} opens a device. */
  protected constructor(engine: TensorEngine) {
    super(engine);
    this.info = Object.freeze(engine.facts());
  }

  /**
   * Opens a device.
   *
   * @throws {WebggufError} `webgpu_unavailable` where the browser has no WebGPU or no adapter; `download_failed` where
   *   the WebAssembly or the module of shaders is not found
   */
  static async create(): Promise<Gpu> {
    const [{ TensorEngine }, shaders] = await Promise.all([wasmClasses(), fetchShaders()]);
    try {
      return new this(await TensorEngine.open(shaders)); // `webgguf/compute` has a subclass
    } catch (error) {
      throw fromWasm(error);
    }
  }

  /**
   * A tensor of these numbers.
   *
   * @param data the elements in row-major order. A Uint16Array holds the bits of f16 or bf16, a Uint8Array the blocks
   *   of a quantised matrix as a GGUF has them
   * @param shape elements along each axis; their product is the number of elements. Default: one axis
   * @param dtype how to store them; numbers are rounded to it. Default: f32, or what an integer array holds
   * @throws {WebggufError} `invalid_argument`, `limit_exceeded` for more bytes than the device binds, `out_of_memory`
   */
  tensor(data: readonly number[] | Float32Array | Float64Array, shape?: readonly number[]): Tensor<'f32'>;
  tensor(data: Uint32Array, shape?: readonly number[]): Tensor<'u32'>;
  tensor(data: Int32Array, shape?: readonly number[]): Tensor<'i32'>;
  tensor<D extends DType>(data: TensorData, shape: readonly number[], dtype: D): Tensor<D>;
  tensor(data: TensorData, shape?: readonly number[], dtype: DType = dtypeOf(data)): Tensor {
    const type = checkDType('tensor', dtype);
    const bytes = toBytes('tensor', data, type);
    const axes = checkShape(shape ?? [data.length]);
    const size = axes.reduce((product, length) => product * length, 1);
    if (data instanceof Uint8Array) return this.#blocks(bytes, type, axes);
    if (size !== data.length) {
      throw invalidArgument(`tensor: the shape ${describe(axes, type)} has ${size} elements, the data ${data.length}`);
    }
    return this.keep(
      new Tensor(
        this,
        guarded(() => this.engine.upload(bytes, type, axes)),
      ),
    );
  }

  /** Blocks of a GGUF go up as they are, and the GPU takes them apart. */
  #blocks(bytes: Uint8Array, dtype: DType, shape: number[]): Tensor {
    const words = new Uint8Array(Math.ceil(bytes.length / 4) * 4);
    words.set(bytes);
    const raw = new Tensor(
      this,
      guarded(() => this.engine.upload(words, 'u32', [words.length / 4])),
    );
    try {
      return this.one('tensor', 'quantised', { raw }, { dtype, shape });
    } finally {
      raw.free();
    }
  }

  /** A tensor of zeros, such as an empty cache. */
  zeros<D extends PlainDType = 'f32'>(shape: readonly number[], dtype: D = 'f32' as D): Tensor<D> {
    const size = checkShape(shape).reduce((product, length) => product * length, 1);
    return this.tensor(new Float32Array(size), shape, dtype);
  }

  /**
   * Frees tensors, also those in arrays and in the fields of objects. What is free already is passed over.
   *
   * @example
   * gpu.free(x, { weights, bias });
   */
  free(...tensors: (Tensor | readonly Tensor[] | Readonly<Record<string, Tensor>>)[]): void {
    for (const tensor of tensors.flatMap(tensorsIn)) tensor.free();
  }

  /**
   * Frees all its tensors, and the device once no model is on it. Later calls throw `invalid_argument`; a second time
   * does nothing.
   */
  destroy(): void {
    this.engine.destroy();
  }

  /** `using gpu = await Gpu.create()` destroys it at the end of the block. */
  [Symbol.dispose](): void {
    this.destroy();
  }
}

/** The shaders that models do not use. Pages without tensors need not load them, so they are a module of their own. */
async function fetchShaders(): Promise<string> {
  try {
    return (await import('./tensor-shaders.js')).tensorShaders;
  } catch (cause) {
    const message = `tensor-shaders.js, which has the shaders of tensors, could not be imported (${String(cause)})`;
    throw new WebggufError('download_failed', message, { cause });
  }
}

/** A checked copy of a shape; Rust knows the device's limits. */
function checkShape(shape: readonly number[]): number[] {
  const isShape = Array.isArray(shape) && shape.every((length) => Number.isInteger(length) && length >= 0);
  if (isShape && shape.every((length) => length < 2 ** 32)) return [...shape];
  const found = Array.isArray(shape) ? `[${shape.join(', ')}]` : show(shape);
  throw invalidArgument(`tensor: the shape must be an array of sizes, found ${found}`);
}
