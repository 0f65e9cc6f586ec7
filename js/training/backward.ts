/**
 * The way back: rules are applied from the last call to the first.
 */
import { WebggufError } from '../errors.js';
import type { Tensor } from '../tensor/tensor.js';
import { fitted } from './fit.js';
import type { Holds } from './holds.js';
import type { Entry, RuleGpu, Tape } from './tape.js';

/** Gradients of all values that nothing on the tape made. Takes `dy`, the gradient of value `of`, over. */
export function backwardOn(gpu: RuleGpu, holds: Holds, tape: Tape, of: number, dy: Tensor): Map<number, Tensor> {
  const totals = new Map([[of, dy]]);
  try {
    for (let at = tape.entries.length - 1; at >= 0; at -= 1) {
      applyRule(gpu, holds, tape, tape.entries[at] as Entry, totals);
      tape.release(at);
    }
    return totals;
  } catch (error) {
    tape.release();
    for (const tensor of totals.values()) tensor.free();
    throw error;
  }
}

function applyRule(gpu: RuleGpu, holds: Holds, tape: Tape, entry: Entry, totals: Map<number, Tensor>): void {
  const { call, inputs, outputs, backward } = entry;
  const arrived = outputs.map((value) => totals.get(value));
  if (arrived.every((dy) => dy === undefined)) return;
  for (const value of outputs) totals.delete(value);
  const shapeOf = (value: number): readonly number[] => tape.shapes[value] as readonly number[];
  const work = (): void => {
    const dy = arrived.map((own, index) => own ?? gpu.filled(shapeOf(outputs[index] as number), 0));
    const given = backward(...dy);
    for (const { name, value } of inputs) {
      const gradient = given[name];
      const made = typeof gradient === 'function' ? gradient() : gradient;
      if (made) collect(gpu, holds, totals, value, fitted(gpu, made, shapeOf(value)));
    }
  };
  try {
    gpu.noGrad(() => gpu.scope(work));
  } catch (error) {
    throw inBackwardOf(call, error);
  } finally {
    for (const dy of arrived) dy?.free();
  }
}

/** Adds a gradient, which the caller frees, to the total of its value. */
function collect(gpu: RuleGpu, holds: Holds, totals: Map<number, Tensor>, value: number, gradient: Tensor): void {
  const before = totals.get(value);
  if (!before) {
    totals.set(value, holds.share(gradient));
  } else if (holds.isShared(before)) {
    totals.set(value, holds.share(gpu.add(before, gradient)));
    before.free();
  } else {
    gpu.add(before, gradient, { inPlace: true });
  }
}

/** Says of which call the gradient failed. */
function inBackwardOf(call: string, error: unknown): unknown {
  if (!(error instanceof WebggufError)) return error;
  return new WebggufError(error.code, `gradient of ${call}: ${error.message}`, { cause: error });
}
