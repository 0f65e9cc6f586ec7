// A device that goes away, as after a crash of the driver: the generation says so, and the page goes on.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SMALL, openSite } from './site.mjs';

const blank = (request, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const site = await openSite({ routes: { '/blank': blank } });

/** Runs `work(load, failure, devices)` in a page that keeps the devices that were made in it. */
async function withDevices(work) {
  const page = await site.open('/blank');
  try {
    const result = await page.evaluate(
      async ([source, url]) => {
        const devices = [];
        const { requestDevice } = GPUAdapter.prototype;
        GPUAdapter.prototype.requestDevice = async function (...args) {
          const device = await requestDevice.apply(this, args);
          devices.push(device);
          return device;
        };
        const { WasmModel } = await import('/dist/index.js');
        const load = (options) => WasmModel.load(url, { backend: 'webgpu', ...options });
        const failure = async (promise) => {
          try {
            await promise;
            return null;
          } catch ({ name, code, message }) {
            return { name, code, message };
          }
        };
        return (0, eval)(`(${source})`)(load, failure, devices);
      },
      [work.toString(), SMALL],
    );
    assert.deepEqual(page.crashes, []);
    return result;
  } finally {
    await page.close();
  }
}

const isLost = (error) => {
  assert.equal(error?.name, 'WebggufError');
  assert.equal(error.code, 'device_lost', error.message);
};

test('lost while generating: the generation and all later ones reject, a new load works', async () => {
  const result = await withDevices(async (load, failure, devices) => {
    const options = { maxTokens: 200, temperature: 0, ignoreEos: true };
    const model = await load();
    const whole = [...(await model.generate([5, 6, 7], { ...options, maxTokens: 8 }).result).ids];
    const generation = model.generate([7, 8, 9], options);
    let pieces = 0;
    const during = await failure(
      (async () => {
        for await (const piece of generation) {
          pieces += piece.ids.length;
          devices.at(-1).destroy();
        }
      })(),
    );
    const ofResult = await failure(generation.result);
    const after = await failure(model.generate([1, 2, 3], options).result);
    const evaluating = await failure(model.evaluate([1, 2, 3]));
    await model.free();
    const again = await load();
    const ids = [...(await again.generate([5, 6, 7], { ...options, maxTokens: 8 }).result).ids];
    await again.free();
    return { whole, pieces, during, ofResult, after, evaluating, ids, devices: devices.length };
  });
  for (const error of [result.during, result.ofResult, result.after, result.evaluating]) isLost(error);
  assert.ok(result.pieces > 0 && result.pieces < 200, `${result.pieces} tokens came before`);
  assert.equal(result.devices, 2);
  assert.deepEqual(result.ids, result.whole, 'the new model writes what the old one wrote');
});

test('lost while loading: the load rejects', async () => {
  const result = await withDevices(async (load, failure, devices) => {
    const onProgress = ({ stage }) => {
      if (stage === 'upload') devices.at(-1).destroy();
    };
    return failure(load({ onProgress }));
  });
  isLost(result);
});
