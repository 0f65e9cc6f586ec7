/// <reference lib="esnext.disposable" preserve="true" />
/**
 * A tensor on the GPU: what the operations of `Gpu` take and give.
 */
import { type DataOf, type DType, type FloatDType, describe, fromBytes, isQuantised } from './dtypes.js';
import { fromWasm, invalidArgument } from '../errors.js';
import { knowItself, throughProxies } from '../proxies.js';
import type { TensorEngine, TensorHandle } from '../wasm/webgguf.js';

/** A tensor of floating-point numbers. */
export type FloatTensor = Tensor<FloatDType>;

/** What a tensor belongs to. @internal */
export interface Owner {
  readonly engine: TensorEngine;
}

/**
 * Frees tensors that became unreachable. The garbage collector does not know how much GPU memory they hold and takes
 * its time, so code should call `free`.
 */
const lost = new FinalizationRegistry<{ owner: Owner; id: number }>(({ owner, id }) => owner.engine.free_tensor(id));

/**
 * A tensor in the GPU's memory: contiguous, row-major, of up to five axes. Operations on it are queued; only
 * {@link Tensor.data} waits.
 */
export class Tensor<D extends DType = DType> {
  /** How elements are stored. */
  readonly dtype: D;
  /** Elements along each axis, the outermost first; empty for a scalar. */
  readonly shape: readonly number[];
  readonly #owner: Owner;
  readonly #id: number;
  #isFree = false;

  /** @internal */
  constructor(owner: Owner, handle: TensorHandle) {
    if (!owner) throw invalidArgument('new Tensor: a tensor is made by gpu.tensor(data, shape)');
    knowItself(this);
    const { id, dtype, shape } = handle;
    this.dtype = dtype as D;
    this.shape = Object.freeze([...shape]);
    this.#owner = owner;
    this.#id = id;
    lost.register(this, { owner, id }, this);
  }

  /** Elements of all axes together. */
  get size(): number {
    return this.shape.reduce((product, length) => product * length, 1);
  }

  /** Whether it was freed. */
  get freed(): boolean {
    return this.#isFree;
  }

  /**
   * Waits until everything the tensor depends on is computed, and copies it from the GPU.
   *
   * @returns its elements in row-major order: a Float32Array, a Uint32Array for u32, an Int32Array for i32
   * @throws {WebggufError} `invalid_argument` where it was freed or is quantised; `device_lost`, `out_of_memory`
   */
  async data(): Promise<DataOf<D>> {
    const id = this.idFor('data', 'the tensor', this.#owner);
    if (isQuantised(this.dtype)) throw invalidArgument(`data: ${this} has no plain numbers; cast it to f32 first`);
    try {
      return fromBytes(await this.#owner.engine.read(id), this.dtype, this.size);
    } catch (error) {
      throw fromWasm(error);
    }
  }

  /** The number of a scalar or of a tensor with one element; otherwise as {@link Tensor.data}. */
  async item(): Promise<number> {
    if (this.size !== 1) throw invalidArgument(`item: ${this} has ${this.size} elements, not one`);
    return ((await this.data()) as ArrayLike<number>)[0] as number;
  }

  /** Gives its memory back. Operations that were called before still see it. A second time does nothing. */
  free(): void {
    if (this.#isFree) return;
    this.#isFree = true;
    lost.unregister(this);
    this.#owner.engine.free_tensor(this.#id);
  }

  /** `using t = gpu.…` frees it at the end of the block. */
  [Symbol.dispose](): void {
    this.free();
  }

  /** `[2, 3] f32` */
  toString(): string {
    return describe(this.shape, this.dtype);
  }

  /** The tensor's number in WebAssembly; throws if `owner` cannot use it. @internal */
  idFor(call: string, name: string, owner: Owner): number {
    if (this.#isFree) throw invalidArgument(`${call}: ${name} (${this}) was freed`);
    if (owner !== this.#owner) throw invalidArgument(`${call}: ${name} (${this}) belongs to another Gpu`);
    return this.#id;
  }
}
throughProxies(Tensor);
