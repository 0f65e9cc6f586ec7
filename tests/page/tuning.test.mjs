// Tuning: the rows of the tables that a device can run are timed, and the fastest ones taken. Time is counted here, not
// measured: every dispatch takes as long as the test says, so that what is faster does not depend on the machine.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { longTest } from '../long.mjs';
import { openSite, SMALL } from './site.mjs';

const blank = (request, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const site = await openSite({ routes: { '/blank': blank } });

/** Milliseconds of a dispatch of a variant whose label begins so; the first that fits. */
const SPLIT_IS_SLOW = [
  ['mat_vec_split', 3],
  ['mat_mul_dense.f32.f32.64x64', 3],
  ['', 2],
];

/** In a page: a clock that only dispatches move, and shaders compiled wrong where `planted` stands. */
const COUNT_TIME = ({ costs, planted }) => {
  const labels = new WeakMap();
  const current = new WeakMap();
  let ms = 0;
  performance.now = () => ms;
  globalThis.wait = (more) => (ms += more);
  globalThis.dispatched = new Map();
  const hooked = (of, method, hook) => {
    const original = of.prototype[method];
    of.prototype[method] = function (...args) {
      return hook.call(this, (...changed) => original.apply(this, changed), ...args);
    };
  };
  hooked(GPUSupportedFeatures, 'has', (has, name) => name !== 'timestamp-query' && has(name));
  hooked(GPUDevice, 'createShaderModule', (create, descriptor) => {
    const { code } = descriptor;
    return create({ ...descriptor, code: planted ? code.replace(planted.from, planted.to) : code });
  });
  hooked(GPUDevice, 'createComputePipeline', (create, descriptor) => {
    const made = create(descriptor);
    labels.set(made, descriptor.label);
    return made;
  });
  hooked(GPUDevice, 'createComputePipelineAsync', async (create, descriptor) => {
    const made = await create(descriptor);
    labels.set(made, descriptor.label);
    return made;
  });
  hooked(GPUComputePassEncoder, 'setPipeline', function (set, pipeline) {
    current.set(this, labels.get(pipeline) ?? '');
    set(pipeline);
  });
  hooked(GPUComputePassEncoder, 'dispatchWorkgroups', function (dispatch, ...grid) {
    const label = current.get(this);
    globalThis.dispatched.set(label, (globalThis.dispatched.get(label) ?? 0) + 1);
    ms += costs.find(([start]) => label.startsWith(start))[1];
    dispatch(...grid);
  });
};

/** Loads the model, writes a text, and says what ran for it. */
const LOAD = async ({ url, options }) => {
  const { WasmModel } = await import('/dist/index.js');
  const [stages, warnings] = [new Set(), []];
  const onProgress = ({ stage, loaded }) => {
    stages.add(stage);
    // After the first product the time for tuning is over: SwiftShader would compile rows for others for a minute.
    if (stage === 'tune' && loaded === 1) globalThis.wait?.(60_000);
  };
  const onWarning = ({ code, message }) => warnings.push({ code, message });
  const model = await WasmModel.load(url, { backend: 'webgpu', contextLength: 64, onProgress, onWarning, ...options });
  const { tuning, selfCheck, variants, gpuBytes } = model.info;
  globalThis.dispatched?.clear();
  const ids = [];
  for await (const piece of model.generate('Once upon a time', { maxTokens: 6, temperature: 0 }))
    ids.push(...piece.ids);
  await model.free();
  const ran = [...(globalThis.dispatched?.keys() ?? [])];
  return { tuning, selfCheck, variants, gpuBytes, ids, ran, warnings, stages: [...stages] };
};

/** A page with a clock of its own; what was found out in earlier ones is forgotten. */
async function openCounted(t, costs, planted) {
  const page = await site.open('/blank');
  t.after(() => page.close());
  await page.evaluate(async () => {
    await (await navigator.storage.getDirectory()).removeEntry('webgguf', { recursive: true }).catch(() => {});
  });
  await page.evaluate(COUNT_TIME, { costs, planted });
  const load = async (options, url = SMALL) => {
    const result = await page.evaluate(LOAD, { url, options });
    assert.deepEqual(page.crashes, []);
    return result;
  };
  return { load, page };
}

/** A model whose products have rows with packed dot products. */
const QUANTISED = '/fixtures/models/granite-q4_0.gguf';

/** Milliseconds of a dispatch where packed dot products are fast, and where they are slow. */
const PACKED_IS_FAST = [
  ['mat_mul_int8', 1],
  ['quantise', 0],
  ['mat_mul', 3],
  ['', 2],
];
const PACKED_IS_SLOW = [
  ['mat_mul_int8', 9],
  ['', 2],
];

/** In a page: an adapter that is no program, of a vendor that nobody has measured. */
const UNMEASURED = () => {
  const hidden = { vendor: 'nobody', architecture: '', description: '', device: '', isFallbackAdapter: false };
  for (const [name, value] of Object.entries(hidden)) {
    Object.defineProperty(GPUAdapterInfo.prototype, name, { get: () => value });
  }
};

test('on a GPU that nobody has measured a load finds out whether packed dot products pay', async (t) => {
  const { load, page } = await openCounted(t, PACKED_IS_FAST);
  const software = await load({}, QUANTISED);
  assert.equal(software.tuning, undefined, 'the tables have rows for programs');
  await page.evaluate(UNMEASURED);
  const table = await load({ tune: false }, QUANTISED);
  assert.equal(table.tuning, undefined);
  const isPacked = (id) => id.startsWith('mat_mul_int8');
  assert.ok(!table.ran.some(isPacked), `${table.ran}`);
  const tuned = await load({}, QUANTISED);
  const { verdict, changed } = tuned.tuning;
  assert.deepEqual([verdict, changed.map(({ problem }) => problem)], ['tuned', ['activations']]);
  assert.ok(changed[0].speedup > 1.1, `${changed[0].speedup}`);
  assert.ok(tuned.ran.some(isPacked), `${tuned.ran}`);
  assert.equal(tuned.selfCheck.verdict, 'passed', 'what was chosen was checked');
  assert.ok(tuned.stages.includes('tune'));
  const again = await load({}, QUANTISED);
  assert.deepEqual([again.tuning.verdict, again.selfCheck.verdict], ['remembered', 'remembered']);
  assert.deepEqual([again.ran, again.ids], [tuned.ran, tuned.ids]);
  assert.ok(!again.stages.includes('tune'));
  const exact = await load({ precision: 'exact' }, QUANTISED);
  assert.ok(!exact.ran.some(isPacked), `${exact.ran}`);
  assert.deepEqual(exact.tuning.changed, []);
});

test('where packed dot products are slow, quick tuning leaves the tables as they are', async (t) => {
  const { load } = await openCounted(t, PACKED_IS_SLOW);
  const quick = await load({ tune: 'quick' }, QUANTISED);
  assert.deepEqual([quick.tuning.verdict, quick.tuning.changed], ['table', []]);
  assert.ok(quick.tuning.problems > 1, 'products of decode, and the activations of prefill');
  const table = await load({ tune: false }, QUANTISED);
  assert.deepEqual([quick.ran, quick.ids], [table.ran, table.ids]);
});

/** Puts something else into the place of all verdicts of tuning; none may be there. */
const REWRITE = async (tuning) => {
  const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle('webgguf');
  const file = await folder.getFileHandle('verdicts.json');
  const stored = JSON.parse(await (await file.getFile()).text());
  const before = Object.values(stored.verdicts).map((verdict) => verdict.tuning);
  for (const key of Object.keys(stored.verdicts)) stored.verdicts[key].tuning = tuning;
  const writable = await file.createWritable();
  await writable.write(JSON.stringify(stored));
  await writable.close();
  return before.filter(Boolean).length;
};

const isSplit = (id) => id.startsWith('mat_vec_split');

test('where the row of a table is slow, a faster one runs, and what was measured whole is remembered', async (t) => {
  const { load, page } = await openCounted(t, SPLIT_IS_SLOW);
  const plain = await load({});
  assert.equal(plain.tuning, undefined);
  assert.ok(plain.ran.some(isSplit), `the table chooses rows split over workgroups: ${plain.ran}`);

  const tuned = await load({ tune: true });
  const { verdict, problems, changed, milliseconds } = tuned.tuning;
  assert.equal(verdict, 'partial', JSON.stringify(tuned.tuning));
  assert.deepEqual([problems, changed.length], [1, 1], 'no other product was measured in time');
  assert.ok(milliseconds > 60_000);
  assert.match(changed[0].problem, /^mat_vec bf16 \d+x\d+$/);
  assert.notEqual(changed[0].from, changed[0].to);
  assert.ok(Math.abs(changed[0].speedup - 1.5) < 0.01, `${changed[0].speedup}`);
  assert.ok(
    tuned.ran.some((id) => id.startsWith('mat_vec.')),
    `another row runs: ${tuned.ran}`,
  );
  assert.deepEqual(tuned.ids, plain.ids);
  assert.equal(tuned.selfCheck.verdict, 'passed', 'what was chosen was checked');
  assert.ok(tuned.stages.includes('tune') && !plain.stages.includes('tune'));
  assert.ok(Math.abs(tuned.gpuBytes - plain.gpuBytes) < 65_536, 'nothing of the measuring is left');

  // What ran out of time is not kept. The same, as if it had been measured whole:
  assert.equal(await page.evaluate(REWRITE, { problems, changed }), 0);
  const again = await load({ tune: true });
  assert.equal(again.tuning.verdict, 'remembered');
  assert.deepEqual(again.tuning.changed, changed);
  assert.equal(again.selfCheck.verdict, 'remembered');
  assert.ok(!again.stages.includes('tune'));
  assert.deepEqual([again.ran, again.ids], [tuned.ran, plain.ids]);
  const without = await load({});
  assert.deepEqual(without.ran, plain.ran, 'who does not ask gets the table');
  const worker = await load({ tune: true, worker: true });
  assert.deepEqual([worker.tuning.verdict, worker.tuning.changed], ['remembered', changed]);
  assert.deepEqual(worker.ids, plain.ids);

  // What runs a model is no matter of what a file says.
  for (const to of [31]) {
    await page.evaluate(REWRITE, { problems: 1, changed: [{ ...changed[0], to }] });
    const hostile = await load({ tune: true });
    assert.deepEqual([hostile.ran, hostile.ids], [plain.ran, plain.ids], `row ${to}`);
  }
});

longTest('a row that is fast and wrong is not chosen', async (t) => {
  const { load: sound } = await openCounted(t, SPLIT_IS_SLOW);
  const right = await sound({});
  // In the text of the shader whose rows are not split alone.
  const planted = { from: 'write_row(row,sums[at],', to: 'write_row(row,3.0 * sums[at],' };
  const { load } = await openCounted(t, SPLIT_IS_SLOW, planted);
  const tuned = await load({ tune: true });
  assert.equal(tuned.selfCheck.verdict, 'replaced', JSON.stringify([tuned.selfCheck, tuned.tuning]));
  assert.match(tuned.selfCheck.replaced.join(), /^mat_vec\./);
  assert.equal(tuned.tuning.verdict, 'table');
  assert.deepEqual(tuned.tuning.changed, []);
  assert.deepEqual([tuned.ran, tuned.ids], [right.ran, right.ids]);
  const again = await load({ tune: true });
  assert.deepEqual([again.tuning.verdict, again.tuning.changed], ['remembered', []]);
  assert.deepEqual(again.ids, right.ids);
});

/** What no browser compiles, in the text of the shader whose rows are not split. */
const REFUSED = { from: 'write_row(row,sums[at],', to: 'write_row(row,unknown_name,' };

longTest('a row that the browser refuses is not chosen, and the model loads', async (t) => {
  const { load: sound } = await openCounted(t, SPLIT_IS_SLOW);
  const right = await sound({});
  const { load } = await openCounted(t, SPLIT_IS_SLOW, REFUSED);
  const tuned = await load({ tune: true });
  assert.deepEqual([tuned.tuning.verdict, tuned.tuning.problems, tuned.tuning.changed], ['partial', 1, []]);
  assert.equal(tuned.selfCheck.verdict, 'passed');
  assert.deepEqual([tuned.ran, tuned.ids, tuned.warnings], [right.ran, right.ids, []]);
});

test('tuning stops where the load does', async (t) => {
  const page = await site.open('/blank');
  t.after(() => page.close());
  const stopped = await page.evaluate(async (url) => {
    const { WasmModel } = await import('/dist/index.js');
    const stop = new AbortController();
    const load = (onProgress, signal) =>
      WasmModel.load(url, { backend: 'webgpu', tune: true, onProgress, signal }).then(
        () => 'loaded',
        (error) => error.message,
      );
    const thrown = await load(({ stage }) => {
      if (stage === 'tune') throw new Error('no more');
    });
    const aborted = await load(({ stage }) => stage === 'tune' && stop.abort(new Error('enough')), stop.signal);
    return [thrown, aborted];
  }, SMALL);
  assert.deepEqual(stopped, ['no more', 'enough']);
  assert.deepEqual(page.crashes, []);
});

/** Tunes products, multiplies, and says what ran for that. */
const PRODUCTS = async (products) => {
  const { Gpu } = await import('/dist/index.js');
  const gpu = await Gpu.create();
  const multiplied = async ({ x, w, dtype = 'f32' }) => {
    const number = (_, at) => Math.sin(at);
    const [rows, cols] = w;
    const data = Float32Array.from({ length: rows * cols }, number);
    // Blocks of Q4_0: a scale of 1, and the same nibbles everywhere.
    const blocks = Uint8Array.from(
      { length: (rows * cols * 18) / 32 },
      (_, at) => [0, 0x3c, 0x5a][Math.min(at % 18, 2)],
    );
    const a = gpu.tensor(Float32Array.from({ length: x[0] * cols }, number), x);
    const b = dtype === 'f32' ? gpu.tensor(data, w) : gpu.tensor(blocks, w, dtype);
    return [...(await gpu.matmul(a, b, { transposeB: true }).data())];
  };
  const all = async () => {
    globalThis.dispatched.clear();
    const results = [];
    for (const product of products) results.push(await multiplied(product));
    return { results, ran: [...globalThis.dispatched.keys()].filter((id) => id.startsWith('mat_')) };
  };
  const before = await all();
  const tuning = await gpu.tune(products);
  const after = await all();
  gpu.destroy();
  return { before, tuning, after };
};

const SOME = [
  { x: [1, 64], w: [48, 64], dtype: 'q4_0' },
  { x: [129, 33], w: [1000, 33] },
  { x: [129, 33], w: [1000, 33] },
];

longTest('products of tensors run what was fastest, and compute the same', async (t) => {
  const { page } = await openCounted(t, SPLIT_IS_SLOW);
  const { before, tuning, after } = await page.evaluate(PRODUCTS, SOME);
  assert.equal(tuning.verdict, 'tuned', JSON.stringify(tuning));
  assert.deepEqual([tuning.problems, tuning.changed.length], [2, 2]);
  assert.match(tuning.changed[0].problem, /^mat_vec q4_0 48x64$/);
  assert.match(tuning.changed[1].problem, /^mat_mul_dense f32 f32 transposed 1000x33 x 256$/);
  assert.ok(tuning.milliseconds > 0);
  assert.ok(before.ran.some(isSplit) && before.ran.some((id) => id.endsWith('.64x64')), `${before.ran}`);
  assert.ok(!after.ran.some(isSplit) && !after.ran.some((id) => id.endsWith('.64x64')), `${after.ran}`);
  for (const [number, values] of before.results.entries()) {
    const most = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    values.forEach((value, at) => assert.ok(Math.abs(value - after.results[number][at]) < 1e-4 * most));
  }
  const again = await page.evaluate(PRODUCTS, SOME);
  assert.equal(again.tuning.verdict, 'remembered');
  assert.deepEqual(again.tuning.changed, tuning.changed);
  assert.deepEqual([again.before.ran, again.after.ran], [before.ran, after.ran]);
  assert.deepEqual(page.crashes, []);
});

test('a product that is fast and wrong does not win', async (t) => {
  const planted = { from: 'write_row(row,sums[at],', to: 'write_row(row,3.0 * sums[at],' };
  const { page } = await openCounted(t, SPLIT_IS_SLOW, planted);
  const { before, tuning, after } = await page.evaluate(PRODUCTS, SOME.slice(0, 1));
  assert.deepEqual([tuning.verdict, tuning.changed], ['table', []]);
  assert.deepEqual(after, before);
});

test('a product whose shader the browser refuses does not win, and leaves no error', async (t) => {
  const { page } = await openCounted(t, SPLIT_IS_SLOW, REFUSED);
  const { before, tuning, after } = await page.evaluate(PRODUCTS, SOME.slice(0, 1));
  assert.deepEqual([tuning.verdict, tuning.changed], ['table', []]);
  assert.deepEqual(after, before);
  assert.deepEqual(page.crashes, []);
});

test('products that do not fit are told apart, and every type has scratch tensors', async (t) => {
  const page = await site.open('/blank');
  t.after(() => page.close());
  const { messages, types, known } = await page.evaluate(async () => {
    const { Gpu } = await import('/dist/index.js');
    const { BLOCKS } = await import('/dist/tuning/gpu.js');
    const { QUANTISED } = await import('/dist/tensor/formats.js');
    const gpu = await Gpu.create();
    const wrong = [
      7,
      [{ x: [1, 2048], w: [8192, 4096] }],
      [{ x: [1, 64], w: [64] }],
      [{ x: [0, 64], w: [64, 64] }],
      [{ x: [1, 48], w: [64, 48], dtype: 'q4_0' }],
      [{ x: [1, 64], w: [64, 64], dtype: 'q4_0', transposeB: false }],
      [{ x: [1, 64], w: [64, 64], dtype: 'i32' }],
      [{ x: [1, 64], w: [64, 64], columns: 3 }],
      [null],
    ];
    const messages = [];
    for (const products of wrong) {
      messages.push(await gpu.tune(products).then(JSON.stringify, ({ code, message }) => `${code}: ${message}`));
    }
    const stopped = AbortSignal.abort(new Error('enough'));
    const options = { signal: stopped };
    messages.push(await gpu.tune([{ x: [1, 64], w: [64, 64] }], options).then(String, ({ message }) => message));
    const types = Object.keys(QUANTISED);
    for (const type of types) {
      const [block, bytes] = BLOCKS[type];
      gpu.tensor(new Uint8Array(2 * (256 / block) * bytes), [2, 256], type).free();
    }
    gpu.destroy();
    messages.push(await gpu.tune([{ x: [1, 64], w: [64, 64] }]).then(JSON.stringify, ({ code }) => code));
    return { messages, types, known: Object.keys(BLOCKS) };
  });
  assert.deepEqual(messages, [
    'invalid_argument: tune: expected an array of products, found 7',
    'invalid_argument: tune: products[0]: x is [1, 2048] and w [8192, 4096] f32; ' +
      'rows of x have 2048 elements, rows of w 4096',
    'invalid_argument: tune: products[0]: x is [1, 64] and w [64] f32; x must have two axes or more, and w two',
    'invalid_argument: tune: products[0]: x is [0, 64] and w [64, 64] f32; no axis may be 0',
    'invalid_argument: tune: products[0]: x is [1, 48] and w [64, 48] q4_0; rows of w must be whole blocks of 32',
    'invalid_argument: tune: products[0]: x is [1, 64] and w [64, 64] q4_0; w in blocks is [n, k]',
    'invalid_argument: tune: products[0]: w of dtype i32 has no product',
    "invalid_argument: tune: products[0]: unknown field 'columns'",
    'invalid_argument: tune: products[0]: the options must be an object, found null',
    'enough',
    'invalid_argument',
  ]);
  assert.deepEqual(
    known.filter((type) => !types.includes(type)),
    ['f32', 'f16', 'bf16'],
  );
  assert.deepEqual(page.crashes, []);
});
