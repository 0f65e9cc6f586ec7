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
export { Gpu } from './gpu.js';
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
