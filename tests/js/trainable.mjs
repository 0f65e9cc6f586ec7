// What tests of trainable models run in a page.

import { WasmModel } from '/dist/index.js';
import { openTrainable } from '/dist/training/language/open.js';

const EXACT = { backend: 'webgpu', selfCheck: false, precision: 'exact' };

const failure = ({ code, message, stack }) => (code ? `${code}: ${message}` : stack);

/** Ids that every fixture has. */
const someIds = (count, seed = 1) => Array.from({ length: count }, (_, at) => 3 + ((at * 37 + seed * 101) % 89));

/** What tools/make_trainable_fixtures.py has, too. */
const numbers = (count, seed) => Float32Array.from({ length: count }, (_, at) => 0.1 * Math.sin(1.7 * at + seed));

/** Matrices of adapters for all targets, by number. */
function pairsOf({ gpu, targets }, rank) {
  const pair = ({ name, rows, cols }, seed) => [
    name,
    {
      a: gpu.tensor(numbers(rank * cols, seed), [rank, cols]),
      b: gpu.tensor(numbers(rows * rank, seed + 0.5), [rows, rank]),
    },
  ];
  return Object.fromEntries(targets.map(pair));
}

/** A batch of rows, each with its targets. */
const batchOf = (gpu, ids, targets, segments) => {
  const shape = [ids.length, ids[0].length];
  return {
    ids: gpu.tensor(Uint32Array.from(ids.flat()), shape),
    targets: gpu.tensor(Int32Array.from(targets.flat()), shape),
    segments: segments && gpu.tensor(Uint32Array.from(segments.flat()), shape),
  };
};

const shifted = (ids) => [...ids.slice(1), -1];
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Loads a model, opens it for training, and does `work` with both. */
async function opened(urls, work) {
  const model = await WasmModel.load(urls.length > 1 ? urls : urls[0], EXACT);
  try {
    const trainable = await model.withEngine('train', (engine) => openTrainable(engine, { packed: true }));
    try {
      return await work(trainable, model);
    } finally {
      trainable.free();
    }
  } catch (error) {
    return { error: failure(error) };
  } finally {
    await model.free();
  }
}

/** The loss of ids, and the mean of what `evaluate` gives. */
export const lossAndEvaluation = ({ urls }) =>
  opened(urls, async (trainable, model) => {
    const ids = someIds(40);
    const loss = await trainable.loss(batchOf(trainable.gpu, [ids], [shifted(ids)]), {}, 1).item();
    const { logprobs } = await model.evaluate(ids);
    return { loss, expected: -mean([...logprobs]), targets: trainable.targets };
  });

const norm = (values) => Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));

/** Norm and some values of a gradient, as the fixture has them. */
async function summary(tensor, samples) {
  const values = [...(await tensor.data())];
  const step = Math.max(Math.floor(values.length / samples), 1);
  return { norm: norm(values), values: values.filter((_, at) => at % step === 0) };
}

/** Loss and gradients of a model of the fixture. */
export const gradients = ({ urls, rank, scale, ids, targets, samples }) =>
  opened(urls, async (trainable, model) => {
    const { gpu } = trainable;
    const before = await model.evaluate(ids);
    const pairs = pairsOf(trainable, rank);
    const batch = batchOf(gpu, [ids], [targets]);
    const made = gpu.valueAndGrad(() => trainable.loss(batch, pairs, scale), { deep: Object.values(pairs) });
    const names = Object.keys(pairs);
    const found = made.gradients.deep.map(async ({ a, b }, at) => [
      names[at],
      { a: await summary(a, samples), b: await summary(b, samples) },
    ]);
    const all = Object.fromEntries(await Promise.all(found));
    const after = await model.evaluate(ids);
    const isSame = after.logprobs.every((value, at) => value === before.logprobs[at]);
    return { loss: await made.value.item(), gradients: all, isSame };
  });

/** Two examples in one row, and in rows of their own; and what is refused. */
export const segments = ({ urls }) =>
  opened(urls, async (trainable) => {
    const { gpu } = trainable;
    const pairs = pairsOf(trainable, 2);
    const [name] = Object.keys(pairs);
    const [first, second] = [someIds(13, 2), someIds(20, 5)];
    const filled = (list, value) => [...list, ...Array(20 - list.length).fill(value)];
    const one = batchOf(
      gpu,
      [[...first, ...second]],
      [[...shifted(first), ...shifted(second)]],
      [[...first.map(() => 4), ...second.map(() => 9)]],
    );
    const apart = batchOf(gpu, [filled(first, 5), second], [filled(shifted(first), -1), shifted(second)]);
    const of = async (batch) => {
      const { value, gradients } = gpu.valueAndGrad(() => trainable.loss(batch, pairs, 1), pairs[name]);
      return [await value.item(), ...(await gradients.a.data()), ...(await gradients.b.data())];
    };
    return { one: await of(one), apart: await of(apart), mixed: await of({ ...one, segments: undefined }) };
  });

/** What wrong calls throw. */
export const refusals = ({ urls }) =>
  opened(urls, async (trainable) => {
    const { gpu, targets } = trainable;
    const refused = (batch, pairs = {}, scale = 1) => {
      try {
        trainable.loss(batch, pairs, scale).free();
        return 'nothing';
      } catch (error) {
        return failure(error);
      }
    };
    const batch = batchOf(gpu, [[1, 2, 3]], [[2, 3, -1]]);
    const other = batchOf(gpu, [[1, 2]], [[2, -1]]);
    const pair = { a: gpu.zeros([2, 5]), b: gpu.zeros([3, 2]) };
    return {
      rows: refused({ ...batch, targets: other.targets }),
      type: refused({ ...batch, ids: batch.targets }),
      name: refused(batch, { 'blk.9.attn_q.weight': pair }),
      shape: refused(batch, { [targets[0].name]: pair }),
      scale: refused(batch, {}, Number.NaN),
      segments: refused({ ...batch, segments: batch.ids }),
    };
  });

/** How many tensors there are after losses and gradients, beside those before. */
export async function tensorsLeft({ urls }) {
  const { TensorEngine } = await import('/dist/wasm/webgguf.js');
  const { prototype } = TensorEngine;
  const [live, own] = [new Set(), Object.getOwnPropertyDescriptors(prototype)];
  const counted = (name, handlesOf) => {
    prototype[name] = function (...args) {
      const made = own[name].value.apply(this, args);
      for (const { id } of handlesOf(made)) live.add(id);
      return made;
    };
  };
  counted('run', (made) => made);
  counted('dispatch', (made) => made);
  counted('upload', (made) => [made]);
  prototype.free_tensor = function (id) {
    live.delete(id);
    own.free_tensor.value.call(this, id);
  };
  try {
    return await opened(urls, async (trainable) => {
      const { gpu } = trainable;
      const pairs = pairsOf(trainable, 2);
      const ids = someIds(9);
      const batch = batchOf(gpu, [ids], [shifted(ids)], [ids.map((_, at) => Math.floor(at / 4))]);
      const before = live.size;
      for (let step = 0; step < 10; step += 1) {
        const { value, gradients } = gpu.valueAndGrad(() => trainable.loss(batch, pairs, 1), {
          deep: Object.values(pairs),
        });
        gpu.freeAll(value, gradients);
        trainable.loss(batch, pairs, 1).free();
      }
      return { before, left: live.size - before };
    });
  } finally {
    Object.defineProperties(prototype, own);
  }
}
