/**
 * Tensors whose gradients are remembered.
 */
import type { DType } from '../tensor/dtypes.js';
import { type FloatTensor, type Owner, Tensor } from '../tensor/tensor.js';
import { throughProxies } from '../proxies.js';
import type { TensorHandle } from '../wasm/webgguf.js';
import { finiteLoss } from './loss.js';
import type { Tape } from './tape.js';

/** What computes gradients. @internal */
export interface Differentiator extends Owner {
  backward(loss: Tensor): void;
}

/** What `gpu.variable` gives, and what is computed from it. */
export class Variable<D extends DType = DType> extends Tensor<D> {
  /** For a result of `gpu.variable`: the sum of the gradients that `backward` found, f32. */
  grad: FloatTensor | undefined;
  /** What it was computed on: as long as a result is reachable, so is what its gradient needs. @internal */
  tape: Tape | undefined;
  /** Whether `backward` began here. @internal */
  isLoss = false;
  readonly #owner: Differentiator;

  /** @internal */
  constructor(owner: Owner, handle: TensorHandle) {
    super(owner, handle);
    this.#owner = owner as Differentiator;
  }

  /**
   * The number of a tensor with one element.
   *
   * @throws {WebggufError} `invalid_argument` where `backward` began here and the number is NaN or infinite
   */
  override async item(): Promise<number> {
    const value = await super.item();
    return this.isLoss ? finiteLoss(value) : value;
  }

  /** As `gpu.backward` of this tensor. */
  backward(): void {
    this.#owner.backward(this);
  }
}
throughProxies(Variable);
