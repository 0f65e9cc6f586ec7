// Models and tensors on one device: who opens it, who keeps it, and that nothing stays behind when they go.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { longTest } from '../long.mjs';
import { SMALL, openSite } from './site.mjs';

const blank = (request, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const site = await openSite({ routes: { '/blank': blank } });

/** Runs `work({ WasmModel, Gpu, url, devices, bytes, failure })` in a page that counts devices and bytes of buffers. */
async function counted(work) {
  const page = await site.open('/blank');
  try {
    const result = await page.evaluate(
      async ([source, url]) => {
        const devices = [];
        const { requestDevice } = GPUAdapter.prototype;
        GPUAdapter.prototype.requestDevice = async function (...args) {
          const device = await requestDevice.apply(this, args);
          devices.push({ device, lost: false });
          void device.lost.then(() => (devices.find((it) => it.device === device).lost = true));
          return device;
        };
        const live = new Map();
        const { createBuffer } = GPUDevice.prototype;
        GPUDevice.prototype.createBuffer = function (descriptor) {
          const buffer = createBuffer.call(this, descriptor);
          live.set(buffer, descriptor.size);
          return buffer;
        };
        const { destroy } = GPUBuffer.prototype;
        GPUBuffer.prototype.destroy = function () {
          live.delete(this);
          return destroy.call(this);
        };
        const bytes = () => [...live.values()].reduce((sum, size) => sum + size, 0);
        const failure = async (promise) => {
          try {
            await promise;
            return null;
          } catch ({ code, message }) {
            return { code, message };
          }
        };
        const { WasmModel, Gpu } = await import('/dist/index.js');
        return (0, eval)(`(${source})`)({ WasmModel, Gpu, url, devices, bytes, failure });
      },
      [work.toString(), SMALL],
    );
    assert.deepEqual(page.crashes, []);
    return result;
  } finally {
    await page.close();
  }
}

test('models on the device of a Gpu: one device, hidden states as tensors, each frees what is its own', async () => {
  const result = await counted(async ({ WasmModel, Gpu, url, devices, bytes, failure }) => {
    const options = { maxTokens: 6, temperature: 0, ignoreEos: true };
    const own = await WasmModel.load(url, { backend: 'webgpu' });
    const alone = await own.generate([5, 6, 7], options);
    const gpu = await Gpu.create();
    const empty = bytes();
    const [first, second] = [await WasmModel.load(url, { gpu }), await WasmModel.load(url, { gpu })];
    const shared = await second.generate([5, 6, 7], options);
    const states = await first.hiddenStates([5, 6, 7], gpu);
    const again = await first.generate([5, 6, 7], options);
    const numbers = await states.data();
    const mean = await gpu.mean(states, { axis: 0 }).data();
    const elsewhere = await failure(own.hiddenStates([5, 6, 7], gpu));
    const onCpu = await failure(WasmModel.load(url, { gpu, backend: 'cpu' }));
    const noGpu = await failure(WasmModel.load(url, { gpu: {} }));
    await first.free();
    // The device outlives the Gpu as long as a model is on it.
    gpu.destroy();
    await new Promise((resolve) => setTimeout(resolve, 100));
    const stillThere = !devices[1].lost;
    const after = await second.generate([5, 6, 7], options);
    const gone = await failure(WasmModel.load(url, { gpu }));
    await second.free();
    await own.free();
    const late = new Promise((resolve) => setTimeout(resolve, 240_000));
    await Promise.race([late, Promise.all(devices.map(({ device }) => device.lost))]);
    return {
      ids: [alone, shared, again, after].map(({ ids }) => [...ids].join()),
      shape: states.shape,
      finite: numbers.every(Number.isFinite) && numbers.some((x) => x !== 0),
      mean: Math.abs(mean[0] - (numbers[0] + numbers[mean.length] + numbers[2 * mean.length]) / 3),
      codes: [elsewhere, onCpu, noGpu, gone].map((error) => error?.code),
      devices: devices.length,
      stillThere,
      lost: devices.map(({ lost }) => lost),
      left: bytes(),
      empty,
    };
  });
  assert.equal(new Set(result.ids).size, 1, result.ids.join(' | '));
  assert.equal(result.shape[0], 3);
  assert.ok(result.finite);
  assert.ok(result.mean < 1e-4, `off by ${result.mean}`);
  assert.deepEqual(result.codes, Array(4).fill('invalid_argument'));
  assert.equal(result.devices, 2, 'one for the model by itself, one for the Gpu and its models');
  assert.ok(result.stillThere);
  assert.deepEqual(result.lost, [true, true], 'the last user took the device with it');
  assert.equal(result.left, 0, 'bytes of buffers are left');
});

longTest('many loads: each model frees its bytes, and the page goes on', async () => {
  const result = await counted(async ({ WasmModel, Gpu, url, devices, bytes }) => {
    const gpu = await Gpu.create();
    const sizes = [];
    const memory = [];
    for (let i = 0; i < 12; i++) {
      const model = await WasmModel.load(url, { gpu });
      await model.generate([5, 6, 7], { maxTokens: 4, ignoreEos: true });
      memory.push(await model.wasmMemoryBytes());
      await model.free();
      sizes.push(bytes());
    }
    return { sizes, memory, devices: devices.length };
  });
  assert.equal(result.devices, 1);
  assert.equal(new Set(result.sizes).size, 1, `bytes of buffers after each: ${result.sizes}`);
  assert.equal(result.memory.at(-1), result.memory[3], `WebAssembly memory after each: ${result.memory}`);
});

test('what goes wrong beside a model is not its error, and the model goes on', async () => {
  const result = await counted(async ({ WasmModel, url, devices, failure }) => {
    const { Gpu } = await import('/dist/compute/index.js');
    const gpu = await Gpu.create();
    const model = await WasmModel.load(url, { gpu });
    const options = { maxTokens: 12, temperature: 0, ignoreEos: true };
    const ids = async () => [...(await model.generate([5, 6, 7], options)).ids].join();
    const before = await ids();

    // A shader that does not compile, while the model writes.
    const bindings = ['var<uniform> params: vec4<u32>', 'var<storage, read> a: array<f32>'];
    const declared = [...bindings, 'var<storage, read_write> b: array<f32>']
      .map((declaration, at) => `@group(0) @binding(${at}) ${declaration};`)
      .join('\n');
    const code = `${declared}\n@compute @workgroup_size(4) fn main() { b[0] = nothing; }`;
    const x = gpu.tensor([1, 2, 3, 4]);
    const outputs = [{ shape: [4] }];
    const mistake = () => gpu.shader({ label: 'wrong', code, inputs: [x], outputs, workgroups: [1] })[0].data();
    const written = [];
    let wrong;
    for await (const piece of model.generate([5, 6, 7], options)) {
      written.push(...piece.ids);
      wrong ??= failure(mistake());
    }
    const page = await wrong;
    const after = await ids();

    // Whatever the browser reports of the device: the next call hears of it, and the one after that works.
    const { device } = devices[0];
    const error = new GPUValidationError('as if a command were wrong');
    device.dispatchEvent(new GPUUncapturedErrorEvent('uncapturederror', { error }));
    const reported = await failure(model.generate([5, 6, 7], options).result);
    const last = [await ids(), await ids()];
    await model.free();
    gpu.destroy();
    return { before, written: written.join(), page, after, reported, last };
  });
  assert.equal(result.page.code, 'invalid_argument');
  assert.match(result.page.message, /shader 'wrong': .*nothing/s);
  assert.deepEqual([result.written, result.after, ...result.last], Array(4).fill(result.before));
  assert.equal(result.reported.code, 'internal');
  assert.match(result.reported.message, /^the GPU reported: .*as if a command were wrong/);
});
