/**
 * Gradients and training on the GPU: the entry `webgguf/training`.
 *
 * @example
 * import { AdamW, Gpu } from 'webgguf/training';
 *
 * const gpu = await Gpu.create();
 * const optimizer = new AdamW(gpu, parameters, { learningRate: 1e-3 });
 * const { value, gradients } = gpu.valueAndGrad(() => loss(batch), parameters);
 * optimizer.step(gradients);
 *
 * @module webgguf/training
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

export {
  type ChatExample,
  type CompletionExample,
  type EncodedExample,
  type EncodeOptions,
  encodeExamples,
  type Example,
  type ExampleEncoder,
  type ExampleMessage,
  type PreferenceExample,
  type TextExample,
} from './language/examples.js';
export { packExamples, type PackedSequence } from './language/packing.js';
export { readExamples } from './language/read.js';
export type { CrossEntropyOptions } from './cross-entropy.js';
export { AdamW, type AdamWOptions, Sgd, type SgdOptions } from './optimizers.js';
export type { Gradients, TensorTree, ValueAndGradients } from './tree.js';
export { Variable } from './variable.js';
export { deleteTraining, savedTrainings } from './language/saved.js';
export type { Trainer } from './language/trainer.js';
export type { Unfinished } from './language/host.js';
export type { Recipe } from './language/options.js';
export type { Schedule } from './language/schedule.js';
export type {
  AdapterFileOptions,
  RunOptions,
  SavedTraining,
  TrainerOptions,
  TrainingStep,
  TrainingWarning,
} from './language/types.js';
export { trainer } from './trainer.js';
