/// <reference lib="esnext.disposable" preserve="true" />
/**
 * Arithmetic on tensors on the GPU, with the kernels that language models run on.
 */
import { type DType, type PlainDType, type TensorData, checkDType, describe, dtypeOf, toBytes } from './dtypes.js';
import { fetched } from '../engine/fetched.js';
import { fromWasm, guarded, invalidArgument, WebggufError } from '../errors.js';
import { tensorsIn } from './gpu-core.js';
import { ModelOperations } from './gpu-model.js';
import { show } from '../check.js';
import { throughProxies } from '../proxies.js';
import { Tensor } from './tensor.js';
import type { TuneOptions, TunedProduct } from '../tuning/gpu.js';
import type { Tuning } from '../types/info.js';
import { giveNeeded } from '../wasm/give-needed.js';
import { wasmClasses } from '../wasm/instance.js';
import { linkPart } from '../wasm/link-part.js';
import type { DeviceFacts, TensorEngine } from '../wasm/webgguf.js';

export type { DeviceFacts } from '../wasm/webgguf.js';

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
    const [{ TensorEngine, exports }, shaders, code] = await Promise.all([wasmClasses(), fetchShaders(), fetchCode()]);
    await linkPart(exports, 'wasm/tensors.js', code);
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
   * @param shape elements along each axis; their product is the number of elements. Default: one axis. After it may
   *   come a type, to which the numbers are rounded. Default: f32, or what an integer array holds
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
    return this.keep(this.#upload(bytes, type, axes));
  }

  /** Bytes in a tensor. What does not fit is refused before WebAssembly, whose memory never shrinks, has a copy. */
  #upload(bytes: Uint8Array, dtype: DType, shape: number[]): Tensor {
    const most = this.info.limits.maxStorageBufferBindingSize ?? Infinity;
    if (bytes.length > most) {
      const message = `tensor: ${describe(shape, dtype)} takes ${bytes.length} bytes, this device binds ${most}`;
      throw new WebggufError('limit_exceeded', message);
    }
    return new Tensor(
      this,
      guarded(() => this.engine.upload(bytes, dtype, shape), 'tensor'),
    );
  }

  /** Blocks of a GGUF go up as they are, and the GPU takes them apart. */
  #blocks(bytes: Uint8Array, dtype: DType, shape: number[]): Tensor {
    const words = new Uint8Array(Math.ceil(bytes.length / 4) * 4);
    words.set(bytes);
    const raw = this.#upload(words, 'u32', [words.length / 4]);
    try {
      return this.one('tensor', 'quantised', { raw }, { dtype, shape });
    } finally {
      raw.free();
    }
  }

  /**
   * A tensor of zeros, such as an empty cache.
   *
   * @throws {WebggufError} `invalid_argument`, `limit_exceeded` for more bytes than the device binds, `out_of_memory`
   */
  zeros<D extends PlainDType = 'f32'>(shape: readonly number[], dtype: D = 'f32' as D): Tensor<D> {
    const axes = checkShape(shape, 'zeros');
    return this.scope(() => this.one<D>('zeros', 'expand', { x: this.tensor([0], [], dtype) }, { shape: axes }));
  }

  /**
   * Times the kernel variants that this device can run for products of these shapes, on scratch tensors, and lets
   * following calls of `matmul` with such shapes run the fastest. `matmul(x, w)` with as many rows of x, to the next
   * power of two, takes the same. The verdicts are kept for this browser, adapter and version where the page has a
   * private file system, so another call with these shapes, also on another `Gpu`, does not measure (`remembered`).
   *
   * @returns what was found, for each product once
   * @throws {WebggufError} `invalid_argument` for shapes that do not fit, `limit_exceeded`, `out_of_memory`
   *
   * @example
   * await gpu.tune([{ x: [1, 2048], w: [8192, 2048], dtype: 'q4_0' }, { x: [512, 512], w: [512, 512] }]);
   */
  async tune(products: readonly TunedProduct[], options?: TuneOptions): Promise<Tuning> {
    return (await fetched(() => import('../tuning/gpu.js'))).tune(this, products, options);
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
throughProxies(Gpu);

/**
 * The shaders that models do not use. Pages without tensors need not load them, so they are a module of their own. A
 * tensor may have any format, so the shaders of rare formats come with them.
 */
async function fetchShaders(): Promise<string> {
  await giveNeeded('rare', { rare: () => fetched(() => import('../wasm/rare.js')) });
  try {
    return (await import('./shaders.js')).tensorShaders;
  } catch (cause) {
    const message = `tensor/shaders.js, which has the shaders of tensors, could not be imported (${String(cause)})`;
    throw new WebggufError('download_failed', message, { cause });
  }
}

/** The functions of tensors, which pages without any do not load either. */
const fetchCode = async (): Promise<string> => (await fetched(() => import('../wasm/tensors.js'))).tensors;

/** A checked copy of a shape; Rust knows the device's limits. @internal */
export function checkShape(shape: readonly number[], call = 'tensor'): number[] {
  const isShape = Array.isArray(shape) && shape.every((length) => Number.isInteger(length) && length >= 0);
  if (isShape && shape.every((length) => length < 2 ** 32)) return [...shape];
  const found = Array.isArray(shape) ? `[${shape.join(', ')}]` : show(shape);
  throw invalidArgument(`${call}: the shape must be an array of sizes, found ${found}`);
}
