// What tests of trainable models run in a page.

import { WasmModel } from '/dist/index.js';
import { openTrainable } from '/dist/training/language/open.js';

const failure = ({ code, message, stack }) => (code ? `${code}: ${message}` : stack);

/** Ids that any fixture has. */
export const someIds = (count, seed = 1) => Array.from({ length: count }, (_, at) => 3 + ((at * 37 + seed * 101) % 89));

/** A batch of rows of ids; each row learns all ids but its first. */
export function batchOf(gpu, rows) {
  const shape = [rows.length, rows[0].length];
  return {
    ids: gpu.tensor(Uint32Array.from(rows.flat()), shape),
    targets: gpu.tensor(Int32Array.from(rows.flatMap((row) => [...row.slice(1), -1])), shape),
  };
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The loss of ids, and the mean of what `evaluate` gives. */
export async function lossAndEvaluation({ urls, count = 40 }) {
  const model = await WasmModel.load(urls.length > 1 ? urls : urls[0], { backend: 'webgpu', selfCheck: false, precision: 'exact' });
  try {
    const ids = someIds(count);
    const { logprobs } = await model.evaluate(ids);
    const trainable = await openTrainable(model.engineFor('train'));
    const loss = await trainable.loss(batchOf(trainable.gpu, [ids]), {}, 1).item();
    const targets = trainable.targets.length;
    trainable.free();
    return { loss, expected: -mean([...logprobs]), targets };
  } catch (error) {
    return { error: failure(error) };
  } finally {
    await model.free();
  }
}
