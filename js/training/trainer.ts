/**
 * Training an adapter of a language model; the code for it is loaded when a page asks for it.
 */
import { fetched } from '../engine/fetched.js';
import type { WasmModel } from '../model/model.js';
import type { Trainer } from './language/trainer.js';
import type { TrainerOptions } from './language/types.js';

/**
 * Opens the training of an adapter (LoRA, Hu et al. 2021, <https://arxiv.org/abs/2106.09685>) for a loaded model, whose
 * weights stay as they are. A model that was loaded with `worker: true` trains in its worker.
 *
 * @param model a model on WebGPU that writes text
 * @param options see {@link TrainerOptions}
 * @throws {WebggufError} `invalid_argument` for wrong options, kinds of weights that the model has not, a model on the
 *   CPU, and for a training to resume that is not kept, or was of another model or with other options, which names
 *   both; `unsupported_architecture` for a model that has operations without gradients; `out_of_memory`; `device_lost`;
 *   `feature_missing` where a training is to be resumed without a private file system
 *
 * @example
 * const t = await trainer(model, { rank: 16, name: 'pirate' });
 * for await (const step of t.run(examples, { epochs: 3, heldOut: 0.1 })) console.log(step.step, step.loss);
 * const { text } = await model.generate('Hello', { adapters: [{ id: await t.use() }] });
 */
export async function trainer(model: WasmModel, options: TrainerOptions = {}): Promise<Trainer> {
  const { openTrainer } = await fetched(() => import('./language/trainer.js'));
  return openTrainer(model, options);
}
