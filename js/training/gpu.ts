/**
 * The class of `webgguf/training`: operations of the GPU with their gradients, and what optimisers need beside them.
 */
import { invalidArgument } from '../errors.js';
import { show } from '../check.js';
import { throughProxies } from '../proxies.js';
import type { FloatTensor, Tensor } from '../tensor/tensor.js';
import type { TensorEngine } from '../wasm/webgguf.js';
import { LossOperations } from './cross-entropy.js';
import { type TensorTree, leavesOf, pairs } from './tree.js';

/** A GPU device with the operations of `Gpu` of `webgguf`, their gradients, and what training needs beside them. */
export class Gpu extends LossOperations {
  /** Opens a device, as {@link Gpu.create} of `webgguf` does. */
  static override async create(): Promise<Gpu> {
    // biome-ignore lint/complexity/noThisInStatic: `create` of the base makes what it is called on.
    return (await super.create()) as Gpu;
  }

  /** On a device that is open. @internal */
  static on(engine: TensorEngine): Gpu {
    return new Gpu(engine);
  }

  /**
   * Scales gradients in place, so that their norm (of all together) is at most `most`.
   *
   * @returns f32 []: the norm before
   * @throws {WebggufError} `invalid_argument` for a limit that is not above 0
   */
  clipGradNorm(gradients: TensorTree, most: number): FloatTensor {
    if (!(most > 0)) throw invalidArgument(`clipGradNorm: the limit must be above 0, found ${show(most)}`);
    const tensors = leavesOf('clipGradNorm', gradients, 'gradients').map(({ tensor }) => tensor);
    return this.scope(() => {
      const squares = tensors.map((tensor) => this.sum(this.mul(tensor, tensor)));
      const norm = this.sqrt(squares.reduce<Tensor>((a, b) => this.add(a, b), this.filled([], 0)));
      for (const tensor of tensors) {
        this.fuse([tensor, norm], (g, n) => g.mul(n.add(1e-6).pow(-1).mul(most).min(1)), { inPlace: true });
      }
      return norm;
    });
  }

  /**
   * Adds gradients to those before, in place, and frees them: one step for several batches.
   *
   * @param total what the last call returned, or nothing
   * @returns the sum
   * @throws {WebggufError} `invalid_argument` where shapes do not fit
   *
   * @example
   * let total;
   * for (const batch of batches) total = gpu.accumulate(total, gpu.grad(() => loss(batch), parameters));
   */
  accumulate<T extends TensorTree>(total: T | undefined, gradients: T): T {
    if (total === undefined) return gradients;
    const all = pairs('accumulate', total, gradients, ['total', 'gradients']);
    for (const [sum, gradient] of all) {
      this.add(sum.tensor, gradient.tensor, { inPlace: true });
      gradient.tensor.free();
    }
    return total;
  }
}
throughProxies(Gpu);
