// A smaller model or a drafter drafts tokens in a browser: texts are those without it, and what it costs is counted.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assistant, dflash, eagle3 } from '../js/drafter_file.mjs';
import { longTest } from '../long.mjs';
import { openSite, SMALL } from './site.mjs';

const blank = (request, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const file = (bytes) => (request, response) =>
  response.writeHead(200, { 'Content-Type': 'application/octet-stream', 'Content-Length': bytes.length }).end(bytes);
/** The numbers of the last layer with a window of the fixture of Gemma 4. */
const OF_GEMMA = { hidden: 56, vocab: 333, head: 40, heads: 3, window: 33 };
const routes = {
  '/blank': blank,
  '/eagle3.gguf': file(eagle3({ hidden: 64, vocab: 307 })),
  '/wide.gguf': file(eagle3({ hidden: 80, vocab: 307 })),
  '/dflash.gguf': file(dflash({ hidden: 64, vocab: 307 })),
  '/broad.gguf': file(dflash({ hidden: 48, vocab: 307 })),
  '/assistant.gguf': file(assistant(OF_GEMMA)),
  '/far.gguf': file(assistant({ ...OF_GEMMA, window: 64 })),
};
const site = await openSite({ routes });
const page = await site.open('/blank');

/** Runs `work(package, argument)` in the page. */
const api = (work, argument) =>
  page.evaluate(
    async ([source, value]) => (0, eval)(`(${source})`)(await import('/dist/index.js'), value),
    [work.toString(), argument],
  );

const PROMPT = Array.from({ length: 33 }, (_, i) => (i * 37 + 5) % 200);
/** Two models of one vocabulary that have nothing else in common. */
const [LLAMA, OTHER] = ['f32', 'q3_k'].map((type) => `/fixtures/models/llama-${type}.gguf`);
const WARM = { temperature: 0.8, topK: 40, seed: 3 };
const WAYS = {
  greedy: {},
  warm: WARM,
  penalised: { ...WARM, frequencyPenalty: 0.5, presencePenalty: 0.3 },
  biased: { logitBias: { 7: 5, 9: 5 } },
  prompt: { logitBias: { 7: 90 }, draft: 'prompt' },
  automatic: { draft: undefined },
};

/** Texts with and without drafts of the model `draft`, and what is said of it. */
const BOTH_WAYS = async ({ Gpu, WasmModel }, { url, draft, ways, prompt }) => {
  // All on one device: what equal kernels need is compiled once.
  globalThis.gpu ??= await Gpu.create();
  const model = await WasmModel.load(url, { backend: 'webgpu', gpu, contextLength: 256, draft });
  const found = { info: model.info, pairs: {} };
  let reads = 0;
  const { mapAsync } = GPUBuffer.prototype;
  GPUBuffer.prototype.mapAsync = function (...args) {
    reads += 1;
    return mapAsync.apply(this, args);
  };
  for (const [name, options] of Object.entries(ways)) {
    const pair = [];
    for (const how of [{ draft: false }, {}]) {
      await model.reset();
      reads = 0;
      const { ids, usage } = await model.generate(prompt, {
        maxTokens: 40,
        ignoreEos: true,
        draft: 'model',
        ...options,
        ...how,
      });
      pair.push({ ids: [...ids], usage, reads });
    }
    found.pairs[name] = pair;
  }
  await model.free();
  GPUBuffer.prototype.mapAsync = mapAsync;
  return found;
};

/** The share of drafted tokens that were right, over all ways. */
function shareOf(pairs, t) {
  let [right, all] = [0, 0];
  for (const [name, [without, drafted]] of Object.entries(pairs)) {
    assert.deepEqual(drafted.ids, without.ids, name);
    assert.equal(without.usage.acceptedDraftTokens + without.usage.rejectedDraftTokens, 0, name);
    const { acceptedDraftTokens: accepted, rejectedDraftTokens: rejected } = drafted.usage;
    t.diagnostic(`${name}: ${accepted} drafts were right, ${rejected} wrong`);
    [right, all] = [right + accepted, all + accepted + rejected];
  }
  return right / all;
}

test('a model that drafts for itself is right, greedily', async (t) => {
  const { pairs } = await api(BOTH_WAYS, { url: SMALL, draft: SMALL, ways: WAYS, prompt: PROMPT });
  shareOf(pairs, t);
  assert.ok(shareOf({ greedy: pairs.greedy }, t) > 0.9);
  const [without, drafted] = pairs.greedy;
  t.diagnostic(`${without.reads} reads without drafts, ${drafted.reads} with`);
  assert.ok(without.reads >= 40 && drafted.reads <= 24, 'what is drafted is not read back');
  const [, { usage }] = pairs.prompt;
  assert.ok(usage.acceptedDraftTokens > 20, 'drafts come from the text itself, too');
  const [, { usage: late }] = pairs.automatic;
  const count = late.acceptedDraftTokens + late.rejectedDraftTokens;
  assert.ok(count > 0 && count < 30, `${count} drafts once it is known what a token takes`);
});

longTest('a model of other weights drafts badly: the text is the same, and it pauses', async (t) => {
  const argument = { url: LLAMA, draft: OTHER, ways: { warm: WARM }, prompt: PROMPT };
  const { pairs } = await api(BOTH_WAYS, argument);
  assert.ok(shareOf(pairs, t) < 0.3);
  for (const [, { usage }] of Object.values(pairs)) {
    const { acceptedDraftTokens: accepted, rejectedDraftTokens: rejected } = usage;
    assert.ok(accepted + rejected > 5 && accepted + rejected < 60, `${accepted + rejected} drafts for 40 tokens`);
  }
});

longTest('stop strings, grammars, sessions and requests together are what they are without drafts', async (t) => {
  const found = await api(
    async ({ Gpu, WasmModel }, { url, prompts }) => {
      globalThis.gpu ??= await Gpu.create();
      const write = async (options, draft) => {
        const model = await WasmModel.load(url, { backend: 'webgpu', contextLength: 256, ...options });
        const accepted = [];
        const text = async (prompt, more) => {
          const { ids, usage, finishReason } = await model.generate(prompt, { draft, maxTokens: 20, ...more });
          accepted.push(usage.acceptedDraftTokens);
          return [...ids, finishReason];
        };
        const long = await text(prompts[0], { ignoreEos: true });
        const stop = await model.detokenize(long.slice(8, 10));
        const texts = [long, await text(prompts[0], { stop, ignoreEos: true })];
        texts.push(await text(prompts[1], { grammar: { regex: '[a-z]{4}' } }));
        texts.push(await text(prompts[1], { logprobs: 2, ignoreEos: true }));
        const turn = { draft, maxTokens: 12, ignoreEos: true };
        const said = async (session, words) => texts.push((await session.send(words, turn)).text);
        const session = model.session({ system: 'a' });
        await said(session, 'b');
        const fork = await session.fork();
        await said(session, 'c');
        await said(fork, 'd');
        await said(await model.restoreSession(await session.save()), 'e');
        const sampled = { temperature: 0.7, seed: 2, ignoreEos: true };
        texts.push(...(await Promise.all(prompts.map((prompt) => text(prompt, sampled)))));
        const { info } = model;
        await model.free();
        return { texts, accepted, info };
      };
      const without = await write({ gpu }, false);
      const alone = await write({ gpu, draft: url }, 'model');
      return { without, alone, together: await write({ draft: url, parallel: 2, worker: true }, 'model') };
    },
    { url: LLAMA, prompts: [PROMPT, PROMPT.slice(9), PROMPT.slice(0, 12)] },
  );
  const { without } = found;
  for (const { texts, accepted, info } of [found.alone, found.together]) {
    t.diagnostic(`drafts that were right: ${accepted}`);
    assert.deepEqual(texts, without.texts);
    assert.deepEqual(accepted.map((count) => count > 0).slice(0, 4), [true, true, false, false], String(accepted));
    assert.equal(info.draft.architecture, info.architecture);
    assert.ok(info.gpuBytes >= info.draft.gpuBytes + without.info.gpuBytes, `${info.gpuBytes} bytes`);
  }
});

longTest('what drafts for no model is refused, and takes no memory', async () => {
  const found = await api(
    async ({ WasmModel }, { url, fixtures }) => {
      let bytes = 0;
      const { createBuffer } = GPUDevice.prototype;
      const { destroy } = GPUBuffer.prototype;
      GPUDevice.prototype.createBuffer = function (...args) {
        const buffer = createBuffer.apply(this, args);
        bytes += buffer.size;
        return buffer;
      };
      GPUBuffer.prototype.destroy = function () {
        bytes -= this.size;
        return destroy.call(this);
      };
      const said = [];
      const options = { backend: 'webgpu', contextLength: 256 };
      const attempt = async (work) =>
        said.push(
          await work().then(
            () => 'nothing',
            ({ code, message }) => `${code}: ${message}`,
          ),
        );
      for (const [file, draft] of [
        ['models/llama-bf16.gguf', 'models/gemma3-f16.gguf'],
        ['models/llama-bf16.gguf', 'encoders/gemma3.gguf'],
        ['models/llama-bf16.gguf', 'embedders/bert-f16.gguf'],
        ['models/jamba-f16.gguf', 'models/jamba-f16.gguf'],
      ]) {
        await attempt(() => WasmModel.load(fixtures + file, { ...options, draft: fixtures + draft }));
      }
      await attempt(() => WasmModel.load(url, { backend: 'cpu', draft: url }));
      const model = await WasmModel.load(url, options);
      await attempt(() => model.generate('A', { draft: 'model', maxTokens: 2 }));
      const left = (await model.generate('A', { maxTokens: 2 })).ids.length;
      await model.free();
      const both = await WasmModel.load(url, { ...options, draft: url });
      const { gpu, draft } = await WasmModel.inspect(url, { backend: 'webgpu', contextLength: 256, draft: url });
      const { gpuBytes } = both.info;
      const planned = [gpu, draft.gpu].reduce(
        (sum, { weightBytes, sessionBytes }) => sum + weightBytes + sessionBytes,
        0,
      );
      await both.free();
      Object.assign(GPUDevice.prototype, { createBuffer });
      Object.assign(GPUBuffer.prototype, { destroy });
      return { said, left, bytes, gpuBytes, planned };
    },
    { url: SMALL, fixtures: '/fixtures/' },
  );
  const expected = [
    /^invalid_argument: option 'draft': a vocabulary of 335 tokens, that of the model has 307$/,
    /^invalid_argument: the file is an encoder/,
    /^invalid_argument: option 'draft': the model writes no text$/,
    /^invalid_argument: option 'draft': passes of architecture jamba cannot be taken back$/,
    /^invalid_argument: load: option 'draft' does not go with backend 'cpu'/,
    /^invalid_argument: option 'draft': 'model', and the model was loaded without one/,
  ];
  expected.forEach((pattern, i) => assert.match(found.said[i], pattern));
  assert.equal(found.left, 2, 'the model goes on');
  assert.equal(found.bytes, 0, 'buffers are left');
  const { gpuBytes, planned } = found;
  assert.ok(gpuBytes >= planned && gpuBytes < 1.1 * planned, `${planned} bytes planned, ${gpuBytes} held`);
});

longTest('a lost device: both models are loaded again, and the text is the same', async () => {
  const found = await api(
    async ({ WasmModel }, { url, prompt }) => {
      const devices = [];
      const { requestDevice } = GPUAdapter.prototype;
      GPUAdapter.prototype.requestDevice = async function (...args) {
        const device = await requestDevice.apply(this, args);
        devices.push(device);
        return device;
      };
      const model = await WasmModel.load(url, { backend: 'webgpu', contextLength: 256, draft: url, onWarning() {} });
      const options = { maxTokens: 40, ignoreEos: true, draft: 'model' };
      const before = await model.generate(prompt, options);
      const generation = model.generate([...prompt, 7], options);
      await generation.next();
      devices.at(-1).destroy();
      const during = await generation;
      const after = await model.generate(prompt, options);
      const again = await model.generate([...prompt, 7], options);
      await model.free();
      GPUAdapter.prototype.requestDevice = requestDevice;
      const about = ({ ids, usage }) => ({ ids: [...ids], accepted: usage.acceptedDraftTokens });
      return { all: [before, after, during, again].map(about), devices: devices.length };
    },
    { url: SMALL, prompt: PROMPT },
  );
  const [before, after, during, again] = found.all;
  assert.equal(found.devices, 2);
  assert.deepEqual([after.ids, during.ids], [before.ids, again.ids]);
  assert.ok(
    after.accepted > 20 && again.accepted > 20,
    `${after.accepted} and ${again.accepted} drafts after the loss`,
  );
});

/** The model at `url` with drafters in files of their own: of this model, and of another one. */
const WITH_DRAFTERS = async ({ WasmModel }, { url, draft, other, right }) => {
  const options = { backend: 'webgpu', contextLength: 256 };
  const said = (error) => `${error.code}: ${error.message}`;
  const refused = await WasmModel.load(url, { ...options, draft: other }).then(() => 'nothing', said);
  const alone = await WasmModel.load(draft, options).then(() => 'nothing', said);
  const [without, inspected, unfit] = await Promise.all(
    [undefined, draft, other].map((draft) => WasmModel.inspect(url, { ...options, draft })),
  );
  // A stream can be read once; and in a worker.
  const stream = (await fetch(draft)).body;
  const model = await WasmModel.load(url, { ...options, worker: true, parallel: 2, draft: stream });
  const text = { maxTokens: 20, ignoreEos: true, draft: 'model', logitBias: { [right]: 90 } };
  const texts = await Promise.all(
    [
      [1, 2, 3],
      [9, 8],
    ].map((prompt) => model.generate(prompt, text)),
  );
  const accepted = texts.map(({ usage }) => usage.acceptedDraftTokens);
  const { info } = model;
  await model.free();
  return { refused, alone, without, inspected, unfit, accepted, info };
};

for (const [architecture, { url, draft, other, right, unfit }] of Object.entries({
  eagle3: { url: LLAMA, draft: '/eagle3.gguf', other: '/wide.gguf', right: 1, unfit: /is 80, here it is 64/ },
  dflash: { url: LLAMA, draft: '/dflash.gguf', other: '/broad.gguf', right: 0, unfit: /is 48, here it is 64/ },
  'gemma4-assistant': {
    url: '/fixtures/models/gemma4-bf16.gguf',
    draft: '/assistant.gguf',
    other: '/far.gguf',
    right: 0,
    unfit: /window in layer 0 is 64, here it is 33/,
  },
})) {
  test(`a drafter of architecture ${architecture} becomes a block of the model`, async (t) => {
    const ways = { greedy: {}, right: { logitBias: { [right]: 90 } } };
    const { info, pairs } = await api(BOTH_WAYS, { url, draft, ways, prompt: PROMPT });
    assert.ok(shareOf({ right: pairs.right }, t) > 0.9, 'the ids of its vocabulary become the ones of the model');
    assert.equal(shareOf({ greedy: pairs.greedy }, t), 0);
    assert.equal(info.draft.architecture, architecture);
    assert.ok(info.draft.gpuBytes > 2 ** 16, `${info.draft.gpuBytes} bytes`);
    const found = await api(WITH_DRAFTERS, { url, draft, other, right });
    assert.match(found.refused, unfit);
    assert.match(found.refused, /^invalid_argument: option 'draft': /);
    assert.ok(found.alone.startsWith(`invalid_argument: the file is a drafter, of architecture ${architecture}`));
    const bytes = ({ gpu }) => gpu.weightBytes + gpu.sessionBytes;
    assert.ok(bytes(found.inspected) >= bytes(found.without) + info.draft.gpuBytes);
    assert.equal(found.inspected.draft.supported, true);
    assert.equal(found.unfit.supported, false);
    assert.match(found.unfit.reason.message, unfit);
    assert.ok(
      found.accepted.every((count) => count > 5),
      String(found.accepted),
    );
    assert.equal(found.info.draft.architecture, architecture);
  });
}
