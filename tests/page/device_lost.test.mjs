// A GPU device that goes away, as after a crash of the driver or of the browser's GPU process: the model is loaded
// again and goes on where it was. A second loss within a minute is an error, and the page goes on.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { longTest } from '../long.mjs';
import { SMALL, STORYTELLER, openSite } from './site.mjs';

const blank = (request, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const site = await openSite({ routes: { '/blank': blank } });

/** What a page runs: `work` with what it needs. */
async function inPage([source, url, large]) {
  const devices = [];
  const { requestDevice } = GPUAdapter.prototype;
  GPUAdapter.prototype.requestDevice = async function (...args) {
    const device = await requestDevice.apply(this, args);
    devices.push(device);
    return device;
  };
  const { Gpu, WasmModel } = await import('/dist/index.js');
  const warnings = [];
  const onWarning = ({ code, message }) => warnings.push({ code, message });
  const load = (options) => WasmModel.load(url, { backend: 'webgpu', onWarning, ...options });
  const greedy = { temperature: 0, ignoreEos: true };
  const failure = async (promise) => {
    try {
      await promise;
      return null;
    } catch ({ name, code, message }) {
      return { name, code, message };
    }
  };
  const lose = () => devices.at(-1).destroy();
  const now = performance.now.bind(performance);
  let passed = 0;
  const later = () => {
    passed += 61_000;
    performance.now = () => now() + passed;
  };
  const tools = { Gpu, WasmModel, url, large, load, greedy, failure, devices, lose, later, warnings, onWarning };
  return (0, eval)(`(${source})`)(tools);
}

/** Runs `work` in a page that keeps the devices that were made in it. */
async function withDevices(work, open = site.open) {
  const page = await open('/blank');
  try {
    const result = await page.evaluate(inPage, [work.toString(), SMALL, STORYTELLER]);
    assert.deepEqual(page.crashes, []);
    return result;
  } finally {
    await page.close();
  }
}

const isLost = (error, pattern = /./) => {
  assert.equal(error?.name, 'WebggufError');
  assert.equal(error.code, 'device_lost', error.message);
  assert.match(error.message, pattern);
};

test('lost idle, before the first token and between tokens: the text is the same', async () => {
  const { expected, found, warnings, opened } = await withDevices(async ({ load, greedy, lose, later, ...others }) => {
    const prompt = Array.from({ length: 40 }, (_, i) => (i * 37) % 200);
    // Where prefill rounds, an answer read again at once would give other probabilities.
    const model = await load({ precision: 'fast' });
    const write = async (options, when) => {
      later();
      await model.reset();
      if (when === 'idle') lose();
      const generation = model.generate(prompt, { ...options, maxTokens: 24 });
      const first = generation.next();
      if (when === 'prefill') lose();
      const ids = [];
      for (let { value } = await first; value; { value } = await generation.next()) {
        const [from, to] = [ids.length, ids.push(...value.ids)];
        if (from < when && to >= when) lose();
      }
      const { tokens, text, usage } = await generation;
      return { ids, tokens: tokens?.map(({ logprob }) => logprob), text, usage };
    };
    const sampled = { temperature: 1, seed: 5, repetitionPenalty: 1.3, ignoreEos: true, logprobs: 1 };
    const expected = [await write(greedy), await write(sampled)];
    const found = [];
    for (const when of ['idle', 'prefill', 5]) found.push({ when, ...(await write(greedy, when)) });
    found.push({ when: 3, ...(await write(sampled, 3)) });
    await model.free();
    return { expected, found, warnings: others.warnings, opened: others.devices.length };
  });
  for (const { when, ...each } of found) assert.deepEqual(each, expected[each.tokens ? 1 : 0], `lost ${when}`);
  assert.equal(opened, 5);
  assert.equal(warnings.length, 4);
  assert.equal(warnings[0].code, 'device_lost');
  assert.match(warnings[0].message, /^the GPU device was lost: .*; the model is loaded again$/);
});

longTest('lost while several requests run: the model is loaded once, and all texts are the same', async () => {
  const { expected, found, warnings } = await withDevices(async ({ load, greedy, lose, ...others }) => {
    const prompts = [5, 17, 40].map((length) => Array.from({ length }, (_, i) => (i * 37 + length) % 200));
    const model = await load({ parallel: 3 });
    const write = async (seen = () => {}) => {
      await model.reset();
      const one = async (prompt, i) => {
        const generation = model.generate(prompt, { ...greedy, temperature: i, seed: 5, maxTokens: 20 });
        const ids = [];
        for await (const piece of generation) {
          ids.push(...piece.ids);
          seen(i, ids.length);
        }
        return ids;
      };
      return Promise.all(prompts.map(one));
    };
    const expected = await write();
    let isLost = false;
    const found = await write((i, count) => {
      if (i === 1 && count >= 6 && !isLost) lose();
      isLost ||= i === 1 && count >= 6;
    });
    await model.free();
    return { expected, found, warnings: others.warnings };
  });
  assert.deepEqual(found, expected);
  assert.deepEqual(
    warnings.map(({ code }) => code),
    ['device_lost'],
  );
});

longTest('lost with images in the conversation: their rows are given again, and new images are encoded', async () => {
  const { texts, warnings } = await withDevices(async ({ WasmModel, greedy, devices, later, onWarning, warnings }) => {
    const mmproj = '/fixtures/encoders/lfm2.gguf';
    const model = await WasmModel.load('/fixtures/models/lfm2-bf16.gguf', { backend: 'webgpu', mmproj, onWarning });
    const texts = [];
    const session = model.session();
    const ask = async (seed, of = model.generate.bind(model)) => {
      const image = { width: 60, height: 40, data: new Uint8Array(9600).map((_, at) => (at * seed) % 251) };
      const content = [
        { type: 'image', image },
        { type: 'text', text: 'What?' },
      ];
      const { ids } = await of([{ role: 'user', content }], { ...greedy, maxTokens: 6 });
      texts.push([...ids].join());
    };
    const say = (messages, options) => session.send(messages, options);
    await ask(11);
    await ask(7);
    await ask(7, say);
    later();
    devices[0].destroy(); // of the model
    await ask(7);
    await ask(13);
    later();
    for (const device of devices) device.destroy(); // of the encoder, too
    await ask(7);
    await ask(7, say);
    await ask(11);
    await ask(17);
    await model.free();
    return { texts, warnings: warnings.map(({ code }) => code) };
  });
  const [eleven, seven, , again, , third, , elevenAgain, unknown] = texts;
  assert.deepEqual([again, third, elevenAgain], [seven, seven, eleven]);
  assert.equal(unknown.split(',').length, 6);
  assert.deepEqual(warnings, ['device_lost', 'device_lost', 'device_lost']);
});

longTest('lost a second time within a minute: device_lost, and a minute later the model works', async () => {
  const result = await withDevices(async ({ load, greedy, failure, devices, lose, later }) => {
    const options = { ...greedy, maxTokens: 200 };
    const model = await load();
    const whole = [...(await model.generate([5, 6, 7], { ...options, maxTokens: 8 }).result).ids];
    const generation = model.generate([7, 8, 9], options);
    let pieces = 0;
    const during = await failure(
      (async () => {
        for await (const piece of generation) {
          pieces += piece.ids.length;
          lose();
        }
      })(),
    );
    const ofResult = await failure(generation.result);
    const after = await failure(model.generate([1, 2, 3], options).result);
    const evaluating = await failure(model.evaluate([1, 2, 3]));
    const count = devices.length;
    later();
    const { ids } = await model.generate([5, 6, 7], { ...options, maxTokens: 8 });
    await model.free();
    return { whole, pieces, during, ofResult, after, evaluating, ids: [...ids], devices: count };
  });
  for (const error of [result.during, result.ofResult, result.after, result.evaluating]) {
    isLost(error, /less than a minute ago$/);
  }
  assert.ok(result.pieces > 0 && result.pieces < 200, `${result.pieces} tokens came before`);
  assert.equal(result.devices, 2);
  assert.deepEqual(result.ids, result.whole);
});

longTest('lost while loading: the load starts again, once', async () => {
  const result = await withDevices(async ({ load, greedy, failure, devices, lose, warnings }) => {
    let most = 1;
    const onProgress = ({ stage }) => {
      if (stage === 'upload' && devices.length <= most) lose();
    };
    const model = await load({ onProgress });
    const { ids } = await model.generate([5, 6, 7], { ...greedy, maxTokens: 8 });
    const opened = devices.length;
    await model.free();
    most = 9;
    return { count: ids.length, opened, warnings, twice: await failure(load({ onProgress })), devices: devices.length };
  });
  assert.equal(result.count, 8);
  assert.equal(result.opened, 2);
  assert.equal(result.warnings[0].code, 'device_lost');
  isLost(result.twice, /^the GPU device was lost/);
  assert.equal(result.devices, 4);
});

longTest('what else a model does goes on: sessions and forks, grammars, evaluation', async () => {
  const { expected, found } = await withDevices(async ({ WasmModel, large, greedy, lose, later, onWarning }) => {
    const model = await WasmModel.load(large, { backend: 'webgpu', contextLength: 256, onWarning });
    const options = { ...greedy, maxTokens: 8 };
    const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] };
    const run = async (lose) => {
      const made = [];
      const note = async (work) => {
        later();
        lose();
        made.push(await work());
      };
      await model.reset();
      const session = model.session({ system: 'You tell stories.' });
      made.push((await session.send('Tell me about a hare.', options)).text);
      let fork;
      await note(async () => (fork = await session.fork()).messages.length);
      made.push((await fork.send('Why?', options)).text);
      made.push((await session.send('And then?', options)).text);
      await note(async () => [...(await model.evaluate([1, 2, 3, 4])).top1]);
      let left = 3;
      await note(async () => {
        const grammar = { jsonSchema: schema };
        let text = '';
        for await (const piece of model.generate('A number:', { temperature: 0, maxTokens: 20, grammar })) {
          text += piece.text;
          if ((left -= 1) === 0) later(), lose();
        }
        return text;
      });
      await session.free();
      await fork.free();
      return made;
    };
    const result = { expected: await run(() => {}), found: await run(lose) };
    await model.free();
    return result;
  });
  assert.deepEqual(found, expected);
  assert.ok(expected.flat().every((each) => each !== ''));
});

test('the GPU process crashes: models in page and worker go on, one on a device of the page says why not', async () => {
  const crash = async () => (await site.browser.newBrowserCDPSession()).send('Browser.crashGpuProcess');
  const open = async (pathname) => {
    const page = await site.open(pathname);
    await page.exposeFunction('crash', crash);
    return page;
  };
  const result = await withDevices(async ({ Gpu, load, greedy, failure, warnings }) => {
    const gpu = await Gpu.create();
    const models = [await load(), await load({ worker: true }), await load({ gpu })];
    const write = async (model, crash) => {
      await model.reset();
      const ids = [];
      for await (const piece of model.generate([5, 6, 7], { ...greedy, maxTokens: 40 })) {
        ids.push(...piece.ids);
        if (ids.length > 4) await crash();
      }
      return ids;
    };
    const expected = await write(models[0], () => {});
    let crashed;
    let waiting = 0;
    const both = new Promise((resolve) => (crashed = resolve));
    const crash = async () => {
      waiting += 1;
      if (waiting === 2) crashed(globalThis.crash());
      if (waiting <= 2) await both;
    };
    const found = await Promise.all(models.slice(0, 2).map((model) => write(model, crash)));
    const lost = await failure(write(models[2], () => {}));
    const count = warnings.length;
    for (const model of models) await model.free();
    gpu.destroy();
    return { expected, found, lost, count };
  }, open);
  assert.deepEqual(result.found, [result.expected, result.expected]);
  isLost(result.lost, /; the model is not loaded again, since the page opened the device$/);
  assert.equal(result.count, 2);
});
