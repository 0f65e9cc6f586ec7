// A GPU device that is lost in the middle of a word: the speech goes on behind what was heard, as if nothing had been.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SAMPLES } from '../js/speech.mjs';
import { openEvaluation } from './site.mjs';

const { site } = await openEvaluation();

/** Runs in the page: two sounds of a text, while the second of which all devices are lost after its first piece. */
async function speak({ files, text, options }) {
  const devices = [];
  const { requestDevice } = GPUAdapter.prototype;
  GPUAdapter.prototype.requestDevice = async function (...args) {
    devices.push(await requestDevice.apply(this, args));
    return devices.at(-1);
  };
  const { WasmModel } = await import('/dist/index.js');
  const warnings = [];
  const model = await WasmModel.load(files[0], {
    ...{ backend: 'webgpu', vocoder: files[1], onWarning: ({ code }) => warnings.push(code) },
  });
  const found = [];
  for (const loses of [false, true]) {
    let isFirst = true;
    const samples = [];
    for await (const piece of model.speak(text, options)) {
      samples.push(...piece.samples);
      if (loses && isFirst) for (const device of devices) device.destroy();
      isFirst = false;
    }
    found.push(samples);
  }
  await model.free();
  return { found, warnings, devices: devices.length };
}

for (const [name, text, options] of [
  ['soprano', 'hello there, how do you do', { temperature: 0, repetitionPenalty: 1 }],
  ['lfm3a-gen', 'hello there, how do you do', { temperature: 0, seed: 10 }],
]) {
  test(`${name}: what follows is what it would have been`, async () => {
    const page = await site.open('/blank');
    const folder = '/fixtures/encoders';
    const files = [`${folder}/${name}-text.gguf`, `${folder}/${name}.gguf`];
    const { found, warnings, devices } = await page.evaluate(speak, { files, text, options });
    await page.close();
    const [whole, again] = found;
    assert.equal(again.length, whole.length);
    const peak = whole.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
    const apart = whole.reduce((most, sample, at) => Math.max(most, Math.abs(sample - again[at])), 0);
    assert.ok(peak > 0 && apart <= SAMPLES * peak, `samples differ by ${apart} of ${peak}`);
    assert.ok(warnings.includes('device_lost') && devices > 1, `${warnings}, ${devices} devices`);
  });
}
