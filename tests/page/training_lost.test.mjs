// A device that is lost while a loaded model learns, in the page's thread and in the model's worker: training goes on
// from the last copy, and what was kept goes on after a second loss, which is an error.

import assert from 'node:assert/strict';
import { testIf } from '../long.mjs';
import { openSite } from './site.mjs';

/** Keeps the devices that are made, and destroys the last one where `lose` is said on the channel. */
const LOSING = `
const devices = [];
const { requestDevice } = GPUAdapter.prototype;
GPUAdapter.prototype.requestDevice = async function (...args) {
  devices.push(await requestDevice.apply(this, args));
  return devices.at(-1);
};
const channel = new BroadcastChannel('devices');
channel.onmessage = async ({ data }) => {
  if (data !== 'lose') return;
  devices.at(-1).destroy();
  await devices.at(-1).lost;
  channel.postMessage(devices.length);
};`;

const answer = (type, text) => (_, response) => response.writeHead(200, { 'Content-Type': type }).end(text);
const site = await openSite({
  routes: {
    '/blank': answer('text/html', '<!doctype html><title>lost devices</title>'),
    '/losing.js': answer('text/javascript', LOSING),
    '/losing-worker.js': answer('text/javascript', "import '/losing.js';\nimport '/dist/worker.js';"),
  },
});

/** What a page runs with the model in a worker or not. */
async function train(worker) {
  const { WasmModel, init } = await import('/dist/index.js');
  const { deleteTraining, savedTrainings, trainer } = await import('/dist/training/index.js');
  if (worker) await init({ worker: '/losing-worker.js' });
  else await import('/losing.js');
  const channel = new BroadcastChannel('devices');
  /** How many devices there were until then. */
  const lose = () =>
    new Promise((resolve) => {
      channel.onmessage = ({ data }) => resolve(data);
      channel.postMessage('lose');
    });
  const warnings = [];
  const onWarning = ({ code }) => warnings.push(code);
  const load = () =>
    WasmModel.load('/fixtures/models/llama-f32.gguf', { backend: 'webgpu', selfCheck: false, worker, onWarning });
  const examples = ['the cat sat on the mat', 'a dog barks', 'birds sing in trees', 'rain falls', 'the sun is warm'];
  const run = async (t, each = () => {}, more = {}) => {
    const steps = [];
    const options = { epochs: 3, batch: 1, length: 32, saveEvery: 0, ...more };
    const error = await (async () => {
      for await (const { step, loss } of t.run(examples, options)) {
        steps.push([step, loss]);
        await each(step);
      }
    })().catch(({ code, message }) => `${code}: ${message}`);
    return { steps, error };
  };
  const options = { rank: 4, learningRate: 0.02, onWarning };
  const numbers = async (t) => [...new Float32Array(await (await t.adapter()).arrayBuffer())].slice(100);

  let model = await load();
  const first = await trainer(model, options);
  const whole = { ...(await run(first)), numbers: await numbers(first) };
  await first.free();

  let devices;
  const second = await trainer(model, { ...options, name: 'lost' });
  const once = await run(second, async (step) => {
    if (step === 3) devices ??= await lose();
  });
  once.numbers = await numbers(second);
  const { text } = await model.generate('the cat', { maxTokens: 4, adapters: [{ id: await second.use() }] });
  await second.free();

  // The model was loaded again less than a minute ago.
  const third = await trainer(model, { ...options, name: 'lost' });
  const twice = await run(third, async (step) => {
    if (step === 4) devices = await lose();
  });
  await third.free();
  await model.free();
  const [kept] = await savedTrainings();
  model = await load();
  const fourth = await trainer(model, { resume: 'lost', onWarning });
  const { unfinished } = fourth;
  const rest = { ...(await run(fourth)), numbers: await numbers(fourth) };
  await fourth.free();
  await model.free();
  await deleteTraining('lost');
  return { whole, once, twice, rest, warnings, devices, text, kept: kept.step, unfinished };
}

const near = (found, expected, what) =>
  assert.ok(
    found.every((value, at) => Math.abs(value - expected[at]) < 1e-4),
    `${what}: ${found.slice(0, 20)}, not ${expected.slice(0, 20)}`,
  );

for (const worker of [false, true]) {
  testIf(worker)(`a device is lost while a model learns${worker ? ' in its worker' : ''}`, async () => {
    const page = await site.open('/blank');
    const found = await page.evaluate(train, worker);
    assert.deepEqual(page.crashes, []);
    await page.close();
    const { whole, once, twice, rest } = found;
    const losses = new Map(whole.steps);
    const all = whole.steps.length;
    for (const { steps } of [once, twice, rest]) {
      for (const [step, loss] of steps) near([loss], [losses.get(step)], `loss of step ${step}`);
    }
    const stepsOf = ({ steps }) => steps.map(([step]) => step);
    assert.deepEqual(stepsOf(once).slice(0, 5), [1, 2, 3, 3, 4], 'the copy is the one before step 3');
    assert.equal(stepsOf(once).at(-1), all);
    near(once.numbers, whole.numbers, 'the adapter after one loss');
    assert.ok(found.text.length > 0);
    assert.deepEqual(found.warnings, ['device_lost', 'device_lost'], 'of the model and of the training');
    assert.equal(found.devices, 2, 'model and training share a device');

    assert.deepEqual(stepsOf(twice), [1, 2, 3, 4]);
    assert.match(twice.error, /^device_lost: .*; it was lost before, less than a minute ago$/);
    assert.equal(found.kept, 3, 'the save before the last step stays');
    assert.deepEqual(found.unfinished, { step: 3, steps: all });
    assert.deepEqual(stepsOf(rest), whole.steps.map(([step]) => step).slice(3));
    assert.deepEqual([once.error, rest.error], [undefined, undefined]);
    near(rest.numbers, whole.numbers, 'the adapter after a second loss');
  });
}
