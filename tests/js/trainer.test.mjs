// Training without a device: the adapter's file, the schedule, orders, options, and what trainings are kept as.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { dist, withCode } from './api.mjs';
import { installStorage } from './fake_opfs.mjs';
import { BASE, SENTENCES, tinyModel } from './tiny_trainable.mjs';

const load = (name) => import(`${dist}training/language/${name}.js`);
const { adapterFile } = await load('adapter-file');
const { rateAt } = await load('schedule');
const { batchesOf, stepsOfEpoch } = await load('batches');
const { randomNumbers, shuffled } = await load('random');
const { firstCopy } = await load('parameters');
const { checkSame, chosenTargets, recipeOf, runOptions, runRecipeOf, trainerOptions } = await load('options');
const { TrainingStore, deleteTraining, savedTrainings } = await load('saved');
const { dataOf } = await load('data');
const { Pace } = await load('pace');
const { Trainer } = await load('trainer');
const { WebggufError } = await import(`${dist}errors.js`);
const { trainer } = await import(`${dist}training/index.js`);

const TARGETS = [
  { name: 'blk.0.attn_q.weight', kind: 'attn_q', rows: 6, cols: 4 },
  { name: 'blk.1.ffn_down.weight', kind: 'ffn_down', rows: 3, cols: 5 },
];
const RECIPE = recipeOf({ rank: 2, alpha: 3, targets: ['ffn_down', 'attn_q'] });

/** What a GGUF says of itself: texts, f32 numbers, and tensors with their values. */
async function readGguf(blob) {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  const view = new DataView(bytes.buffer);
  let at = 4;
  const u32 = () => view.getUint32((at += 4) - 4, true);
  const u64 = () => Number(view.getBigUint64((at += 8) - 8, true));
  const text = () => {
    const length = u64();
    return new TextDecoder().decode(bytes.subarray(at, (at += length)));
  };
  assert.equal(new TextDecoder().decode(bytes.subarray(0, 4)), 'GGUF');
  assert.equal(u32(), 3);
  const [tensors, pairs] = [u64(), u64()];
  const metadata = {};
  for (let pair = 0; pair < pairs; pair++) {
    const key = text();
    metadata[key] = u32() === 8 ? text() : view.getFloat32((at += 4) - 4, true);
  }
  const infos = Array.from({ length: tensors }, () => {
    const name = text();
    const shape = Array.from({ length: u32() }, u64);
    return { name, shape, type: u32(), offset: u64() };
  });
  const start = Math.ceil(at / 32) * 32;
  return { metadata, tensors: infos, start, bytes };
}

test('the file of an adapter has the names, shapes and order of llama.cpp', async () => {
  const matrices = [8, 12, 10, 6].map((size, which) => Float32Array.from({ length: size }, (_, i) => which + i / 8));
  const facts = { architecture: 'llama', targets: TARGETS, recipe: RECIPE };
  const { metadata, tensors, start, bytes } = await readGguf(adapterFile(facts, matrices, 'f32'));
  assert.deepEqual(metadata, {
    'general.type': 'adapter',
    'general.architecture': 'llama',
    'adapter.type': 'lora',
    'adapter.lora.alpha': 3,
  });
  // In a GGUF the length of a row is first.
  assert.deepEqual(
    tensors.map(({ name, shape, type }) => [name, shape, type]),
    [
      ['blk.0.attn_q.weight.lora_a', [4, 2], 0],
      ['blk.0.attn_q.weight.lora_b', [2, 6], 0],
      ['blk.1.ffn_down.weight.lora_a', [5, 2], 0],
      ['blk.1.ffn_down.weight.lora_b', [2, 3], 0],
    ],
  );
  for (const [at, { offset }] of tensors.entries()) {
    assert.equal(offset % 32, 0);
    const from = start + offset;
    assert.deepEqual(
      [...new Float32Array(bytes.slice(from, from + matrices[at].byteLength).buffer)],
      [...matrices[at]],
    );
  }
  const half = await readGguf(adapterFile(facts, matrices, 'f16'));
  assert.ok(half.tensors.every(({ type }) => type === 1));
  const bits = new DataView(half.bytes.buffer).getUint16(half.start + half.tensors[1].offset, true);
  assert.equal(bits, 0x3c00, 'the first value of the first B is 1');
});

test('the rate rises, then falls along a cosine, a line, or not', () => {
  const rates = (schedule, warmUp = 0.2) =>
    Array.from({ length: 10 }, (_, step) => rateAt(step, 10, { learningRate: 1, warmUp, schedule }));
  const close = (found, expected) =>
    found.forEach((value, at) => assert.ok(Math.abs(value - expected[at]) < 1e-3, `${found}`));
  close(rates('cosine'), [0.5, 1, 1, 0.962, 0.854, 0.691, 0.5, 0.309, 0.146, 0.038]);
  close(rates('linear'), [0.5, 1, 1, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125]);
  close(rates('constant', 0), Array(10).fill(1));
  assert.equal(rateAt(0, 1, { learningRate: 1, warmUp: 0.05, schedule: 'cosine' }), 1);
  assert.ok(rates('cosine', 1).every((rate, at) => rate === (at + 1) / 10));
});

test('orders are those of their seed, and each sequence is read once in an epoch', () => {
  assert.deepEqual(shuffled(20, 1, 2), shuffled(20, 1, 2));
  assert.notDeepEqual(shuffled(20, 1, 2), shuffled(20, 1, 3));
  assert.notDeepEqual(shuffled(20, 1, 2), shuffled(20, 2, 2));
  const sequences = Array.from({ length: 7 }, (_, at) => ({ ids: [at] }));
  const recipe = { batch: 2, accumulate: 2 };
  assert.equal(stepsOfEpoch(7, recipe), 2);
  const epochs = [0, 2].map((first) => [0, 1].map((step) => batchesOf({ sequences }, recipe, 5, first + step)));
  for (const steps of epochs) {
    assert.deepEqual(
      steps.map((batches) => batches.map(({ length }) => length)),
      [
        [2, 2],
        [2, 1],
      ],
    );
    assert.deepEqual(
      steps
        .flat(2)
        .map(({ ids }) => ids[0])
        .toSorted(),
      [0, 1, 2, 3, 4, 5, 6],
    );
  }
  assert.notDeepEqual(epochs[0], epochs[1]);
  const next = randomNumbers(1, 0);
  const many = Array.from({ length: 10_000 }, next);
  assert.ok(many.every((value) => value >= 0 && value < 1));
  assert.ok(Math.abs(many.reduce((a, b) => a + b) / 10_000 - 0.5) < 0.02);
});

test('a training begins as in PEFT: A uniform within 1/√cols, B zero', () => {
  const large = [{ name: 'w', kind: 'w', rows: 8, cols: 400 }];
  const [a, b] = firstCopy(large, recipeOf({ rank: 8, seed: 1 })).matrices;
  assert.deepEqual([a.length, b.length], [3200, 64]);
  assert.ok(b.every((value) => value === 0));
  const most = Math.max(...a.map(Math.abs));
  assert.ok(most <= 0.05 && most > 0.0495, String(most));
  const variance = a.reduce((sum, value) => sum + value * value, 0) / a.length;
  assert.ok(Math.abs(variance - 0.05 ** 2 / 3) < 1e-4, String(variance));
  assert.deepEqual(firstCopy(large, recipeOf({ rank: 8, seed: 1 })).matrices[0], a);
  assert.notDeepEqual(firstCopy(large, recipeOf({ rank: 8, seed: 2 })).matrices[0], a);
});

test('wrong options are refused by name', () => {
  const wrong = [
    [trainerOptions, { rank: 0 }, /option 'rank' must be an integer from 1 to 4096, found 0/],
    [trainerOptions, { learningRate: -1 }, /'learningRate' must be a finite number above 0/],
    [trainerOptions, { learningRate: NaN }, /'learningRate'/],
    [trainerOptions, { learning_rate: 1 }, /unknown option 'learning_rate', did you mean 'learningRate'/],
    [trainerOptions, { warmUp: 1.5 }, /'warmUp' must be a number from 0 to 1/],
    [trainerOptions, { schedule: 'step' }, /'schedule' must be 'cosine' or 'linear' or 'constant'/],
    [trainerOptions, { targets: [] }, /'targets' must be an array of kinds/],
    [trainerOptions, { seed: 0.5 }, /'seed'/],
    [trainerOptions, { name: '' }, /'name' must be a non-empty string/],
    [trainerOptions, { name: 'a', resume: 'b' }, /kept as 'b' already, and cannot be kept as 'a'/],
    [runOptions, { epochs: 0 }, /'epochs' must be an integer of at least 1, found 0/],
    [runOptions, { heldOut: 1 }, /'heldOut' must be a share from 0 to below 1, or an array/],
    [runOptions, { patience: 2 }, /'patience' needs 'heldOut'/],
    [runOptions, { saveEvery: -1 }, /'saveEvery'/],
    [runOptions, { loss: 'ppo' }, /'loss' must be 'cross-entropy' or 'dpo', found "?'?ppo/],
    [runOptions, { beta: 0.1 }, /option 'beta' needs loss: 'dpo'/],
    [runOptions, { loss: 'dpo', beta: 0 }, /'beta' must be a finite number above 0/],
    [runOptions, { signal: 1 }, /'signal' must be an AbortSignal/],
  ];
  for (const [check, options, pattern] of wrong) {
    assert.throws(() => check(options), withCode('invalid_argument', pattern), JSON.stringify(options));
  }
  assert.throws(
    () => runRecipeOf({ length: 300 }, 256),
    withCode('context_full', /at most the model's context, 256, found 300/),
  );
  assert.equal(runRecipeOf({}, 256).length, 256);
  assert.equal(runRecipeOf({}, 4096).length, 512);
  assert.throws(
    () => chosenTargets(TARGETS, ['attn_q', 'attn_x']),
    withCode('invalid_argument', /no 'attn_x'; it has attn_q, ffn_down/),
  );
  assert.deepEqual(chosenTargets(TARGETS, ['ffn_down']), [TARGETS[1]]);
  assert.deepEqual(chosenTargets(TARGETS, undefined), TARGETS);
});

test('a recipe is complete, and one that was kept is not changed', () => {
  assert.deepEqual(recipeOf({ targets: ['attn_q'] }), {
    ...{ rank: 16, alpha: 32, targets: ['attn_q'], learningRate: 2e-4, weightDecay: 0 },
    ...{ warmUp: 0.05, schedule: 'cosine', clipNorm: 1, seed: 0 },
  });
  const sorted = recipeOf({ rank: 4, targets: ['attn_v', 'attn_q'] });
  assert.equal(recipeOf({ resume: 'a', rank: 4, targets: ['attn_v', 'attn_q'] }, sorted), sorted);
  const kept = recipeOf({ rank: 4, targets: ['attn_q'] });
  assert.equal(recipeOf({ resume: 'a' }, kept), kept);
  assert.throws(
    () => recipeOf({ resume: 'a', alpha: 1 }, kept),
    withCode('invalid_argument', /'a' was trained with alpha 8, found 1/),
  );
  const others = () => recipeOf({ resume: 'a', targets: ['attn_v'] }, kept);
  assert.throws(others, withCode('invalid_argument', /with targets \["attn_q"\], found \["attn_v"\]/));
  assert.throws(
    () => checkSame('it was', { a: undefined }, { a: 2 }),
    withCode('invalid_argument', /with a left out, found 2/),
  );
});

const KEPT = {
  ...{ name: 'ünïcode', base: BASE, recipe: RECIPE, targets: TARGETS, optimizerSteps: 7, hasMoments: true },
  ...{ hasBest: true, saved: 1000, run: { step: 3, steps: 9, loss: 2.5 } },
};
const list = (sizes, from) => sizes.map((size, at) => new Float32Array(size).fill(from + at));
const COPY = {
  ...{
    matrices: list([8, 12, 10, 6], 1),
    moments: list([8, 8, 12, 12, 10, 10, 6, 6], 20),
    best: list([8, 12, 10, 6], 50),
  },
  optimizerSteps: 7,
};

let disk;
beforeEach(() => {
  disk = installStorage();
});

test('what is kept is read again, listed and deleted', async () => {
  const store = await TrainingStore.open('ünïcode');
  assert.equal(await store.read(), undefined);
  await store.write(KEPT, COPY);
  const { kept, copy } = await store.read();
  assert.deepEqual(kept, KEPT);
  assert.deepEqual(copy, COPY);
  const [found, ...others] = await savedTrainings();
  assert.equal(others.length, 0);
  const { bytes, ...facts } = found;
  assert.deepEqual(facts, {
    ...{ name: 'ünïcode', step: 3, steps: 9, loss: 2.5, architecture: 'llama', model: 'tiny', saved: new Date(1000) },
  });
  assert.ok(bytes > 4 * 144);
  await assert.rejects(TrainingStore.open('ünïcode'), withCode('invalid_argument', /another trainer/));
  await assert.rejects(deleteTraining('ünïcode'), withCode('invalid_argument'));
  store.release();
  assert.equal(await deleteTraining('ünïcode'), true);
  assert.equal(await deleteTraining('ünïcode'), false);
  assert.deepEqual(await savedTrainings(), []);
});

test('a save that fails leaves the one before; broken files are refused', async () => {
  const store = await TrainingStore.open('a');
  await store.write(
    { ...KEPT, hasMoments: false, hasBest: false },
    { matrices: COPY.matrices, moments: [], optimizerSteps: 0 },
  );
  disk.quota = disk.used + 100;
  await assert.rejects(store.write(KEPT, COPY), { name: 'QuotaExceededError' });
  assert.equal((await store.read()).copy.moments.length, 0);
  disk.quota = Infinity;
  await store.write({ ...KEPT, hasBest: false }, COPY);
  await assert.rejects(
    store.read(),
    withCode('bad_file', /'a' cannot be read: it has 576 bytes of numbers, expected 432/),
  );
  store.release();
});

test('examples become sequences; some are held out by the seed', async () => {
  const warnings = [];
  const options = { length: 48, seed: 1, packs: true, warn: (warning) => warnings.push(warning) };
  const data = await dataOf(tinyModel(), SENTENCES, { heldOut: 0.3 }, options);
  const tokens = (sequences) => sequences.reduce((sum, { ids }) => sum + ids.length, 0);
  const all = await dataOf(tinyModel(), SENTENCES, {}, options);
  assert.equal(all.heldOut.length, 0);
  assert.ok(tokens(data.heldOut) > 20 && tokens(data.sequences) > 80);
  const whole = SENTENCES.reduce((sum, { length }) => sum + length, 0);
  assert.equal(tokens(all.sequences), whole - all.sequences.length, 'without the last token of each sequence');
  assert.deepEqual(await dataOf(tinyModel(), SENTENCES, { heldOut: 0.3 }, options), data);
  assert.notDeepEqual(await dataOf(tinyModel(), SENTENCES, { heldOut: 0.3 }, { ...options, seed: 2 }), data);
  const single = await dataOf(tinyModel(), SENTENCES, {}, { ...options, packs: false });
  assert.equal(single.sequences.length, SENTENCES.length);
  assert.ok(single.sequences.every(({ segments }) => segments.every((segment) => segment === 0)));
  assert.deepEqual(warnings, []);
});

test('a pair becomes one sequence, whose sides are cut and trimmed by themselves', async () => {
  const warnings = [];
  const options = { length: 8, seed: 1, packs: true, warn: ({ message }) => warnings.push(message) };
  const pairs = [
    { prompt: 'ab', chosen: 'cde', rejected: 'fg' },
    { prompt: 'ab', chosen: 'cdefghijkl', rejected: 'f' },
    // One side has nothing left to learn.
    { prompt: 'abcdefgh', chosen: 'i', rejected: 'j' },
  ];
  const { sequences } = await dataOf(tinyModel(), pairs, { loss: 'dpo' }, options);
  const ids = (text) => Array.from(text, (letter) => letter.codePointAt(0) % 64);
  assert.deepEqual(
    sequences.map((pair) => [[...pair.ids], [...pair.targets], pair.segments.join('')]),
    [
      [ids('abcdabf'), [-1, ...ids('cde'), -1, ...ids('fg')], '0000111'],
      [ids('abcdefgab'), [-1, ...ids('cdefgh'), -1, ...ids('f')], '000000011'],
    ],
  );
  assert.deepEqual(warnings, ['3 of 6 examples have more than 8 tokens, up to 12, and end there']);
  const held = await dataOf(tinyModel(), pairs.slice(0, 2), { loss: 'dpo', heldOut: 0.5 }, options);
  assert.deepEqual([held.sequences.length, held.heldOut.length], [1, 1]);
  // With another loss the better side is a text.
  const plain = await dataOf(tinyModel(), pairs.slice(0, 1), {}, options);
  assert.deepEqual([...plain.sequences[0].targets], [-1, ...ids('cde')]);
  await assert.rejects(
    dataOf(tinyModel(), ['a text'], { loss: 'dpo' }, options),
    withCode('invalid_argument', /run: examples\[0\]: loss 'dpo' needs { prompt, chosen, rejected }, found "?'?a text/),
  );
});

test('the pace is that of the last steps, without the first', () => {
  const pace = new Pace();
  assert.deepEqual(pace.after(10_000, 100, 3), { tokensPerSecond: 10, secondsLeft: 30 });
  assert.deepEqual(pace.after(1000, 100, 2), { tokensPerSecond: 100, secondsLeft: 2 });
  for (let step = 0; step < 20; step++) pace.after(500, 100, 1);
  assert.deepEqual(pace.after(500, 100, 0), { tokensPerSecond: 200, secondsLeft: 0 });
});

test('models that cannot be trained are refused', async () => {
  await assert.rejects(trainer({}), withCode('invalid_argument', /expected a model of WasmModel.load/));
  const cpu = { withEngine: () => {}, info: { backend: 'cpu', backendReason: 'there is no WebGPU here' } };
  await assert.rejects(trainer(cpu), withCode('invalid_argument', /runs on the CPU \(there is no WebGPU here\)/));
  await assert.rejects(trainer(cpu, { rank: 'a' }), withCode('invalid_argument', /'rank'/));
});

test('a device that is lost before a run begins, in a step or where it ends loads the model again', async () => {
  const calls = [];
  let failing;
  const does = (name, result) => async () => {
    calls.push(name);
    if (failing !== name) return result;
    failing = undefined;
    throw new WebggufError('device_lost', 'the GPU device was lost');
  };
  const host = {
    facts: { recipe: recipeOf({}), unfinished: undefined },
    ...{ packs: async () => true, begin: does('begin'), step: does('step', { step: { step: 1 } }) },
    ...{ interrupt: does('interrupt', { step: 1, steps: 9 }), recover: does('recover'), free: async () => {} },
  };
  const model = { ...tinyModel(), evaluate: does('evaluate') };
  for (const call of ['begin', 'step', 'interrupt']) {
    const warnings = [];
    const t = new Trainer(model, host, ({ code }) => warnings.push(code));
    failing = call;
    calls.length = 0;
    for await (const { step } of t.run(SENTENCES)) if (step === 1) break;
    assert.deepEqual(warnings, ['device_lost'], call);
    assert.deepEqual(t.unfinished, { step: 1, steps: 9 });
    const around = ['begin', 'step', 'interrupt'].flatMap((name) =>
      name === call ? [name, 'evaluate', 'recover', name] : [name],
    );
    assert.deepEqual(calls, around);
  }
});

/** A host that notes what it is asked, whose steps wait for `gate`. */
function notedHost(calls, gate = () => {}) {
  const does = (name, result) => async () => {
    calls.push(name);
    if (name === 'step') await gate();
    return result;
  };
  return {
    facts: { recipe: recipeOf({}), unfinished: undefined },
    ...{ packs: async () => true, begin: does('begin'), step: does('step', { step: { step: 1 } }) },
    ...{ interrupt: does('interrupt', { step: 1, steps: 9 }), file: does('file'), free: does('free') },
  };
}

/** A model that says what waits for its end. */
function freeable() {
  const users = new Set();
  const beforeFree = (end) => {
    users.add(end);
    return () => users.delete(end);
  };
  return { ...tinyModel({ beforeFree }), users, free: () => Promise.all([...users].map((end) => end())) };
}

test('a model that is freed while its trainer waits for the page ends the run with an error', async () => {
  const [calls, model] = [[], freeable()];
  const t = new Trainer(model, notedHost(calls));
  const steps = [];
  const run = async () => {
    for await (const { step } of t.run(SENTENCES)) {
      steps.push(step);
      await model.free();
      assert.deepEqual(calls.slice(-2), ['interrupt', 'free'], 'free waits for it');
    }
  };
  await assert.rejects(run(), withCode('invalid_argument', /run: the model was freed/));
  assert.deepEqual(steps, [1]);
  await assert.rejects(t.adapter(), withCode('invalid_argument', /adapter: the model was freed/));
  assert.throws(() => t.run(SENTENCES), withCode('invalid_argument', /run: the model was freed/));
  await t.free();
  assert.equal(calls.filter((call) => call === 'free').length, 1);
});

test('a model that is freed during a step waits for that step', async () => {
  const [calls, model] = [[], freeable()];
  let pass;
  const gate = new Promise((resolve) => (pass = resolve));
  const t = new Trainer(
    model,
    notedHost(calls, () => gate),
  );
  const next = t.run(SENTENCES).next();
  while (!calls.includes('step')) await new Promise((resolve) => setTimeout(resolve, 1));
  let isFree = false;
  const freed = model.free().then(() => (isFree = true));
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual([isFree, calls.includes('free')], [false, false]);
  pass();
  await next.catch(() => {});
  void t.stop();
  await freed;
  assert.ok(calls.includes('free'));
});

test('a trainer that was freed is forgotten by its model', async () => {
  const model = freeable();
  const t = new Trainer(model, notedHost([]));
  assert.equal(model.users.size, 1);
  await t.free();
  assert.equal(model.users.size, 0);
});
