/**
 * Opens a loaded model for training.
 */
import { WebggufError } from '../../errors.js';
import type { TrainableModel } from './trainable.js';

/** @throws {WebggufError} `unsupported_architecture` */
export async function openTrainable(_engine: unknown): Promise<TrainableModel> {
  throw new WebggufError('unsupported_architecture', 'trainer: this model cannot be trained');
}
