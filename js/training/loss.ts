/**
 * The number that training makes smaller.
 */
import type { DType } from '../dtypes.js';
import { invalidArgument } from '../errors.js';
import { Tensor } from '../tensor.js';

/** A loss that says so when it is no number. */
export class Loss<D extends DType = DType> extends Tensor<D> {
  override async item(): Promise<number> {
    const value = await super.item();
    if (Number.isFinite(value)) return value;
    throw invalidArgument(`item: the loss is ${value}: a smaller learning rate or clipGradNorm may help`);
  }
}
