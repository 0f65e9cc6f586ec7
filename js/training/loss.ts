/**
 * The number that training makes smaller.
 */
import type { DType } from '../tensor/dtypes.js';
import { invalidArgument } from '../errors.js';
import { show } from '../check.js';
import { Tensor } from '../tensor/tensor.js';

/** A loss that says so when it is no number. */
export class Loss<D extends DType = DType> extends Tensor<D> {
  override async item(): Promise<number> {
    return finiteLoss(await super.item());
  }
}

/** A loss; what is none is refused. */
export function finiteLoss(value: number): number {
  if (Number.isFinite(value)) return value;
  throw invalidArgument(`item: the loss is ${value}: a smaller learning rate or clipGradNorm may help`);
}

/** The tensor of one element that a function returned. */
export function lossOf(call: string, loss: unknown): Tensor {
  if (loss instanceof Promise) throw invalidArgument(`${call}: the function must not be async`);
  if (loss instanceof Tensor && loss.size === 1) return loss;
  const found = loss instanceof Tensor ? String(loss) : show(loss);
  const what = call === 'backward' ? 'a loss must be' : 'the function must return';
  throw invalidArgument(`${call}: ${what} a tensor of one element, found ${found}`);
}
