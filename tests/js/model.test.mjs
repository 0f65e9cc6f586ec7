// WasmModel, Generation and Tokenizer over a mock of the WebAssembly: order of calls, cancelling, freeing, validation.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { api, isAbort, plan, progressReporter, resetMock, seen, withCode } from './api.mjs';

const { Model, Tokenizer, WasmModel, WebggufError, init } = api;
const BYTES = Uint8Array.of(1, 2, 3);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Node's fetch knows no file: URLs, so the bytes are given, as an application may do.
await init({ wasm: new Uint8Array(8) });

const unhandled = [];
process.on('unhandledRejection', (error) => unhandled.push(error));

beforeEach(resetMock);

const load = (options) => WasmModel.load(BYTES, options);

async function textOf(generation) {
  let text = '';
  for await (const piece of generation) text += piece.text;
  return text;
}

test('Model is WasmModel by another name', async () => {
  assert.equal(Model, WasmModel);
  assert.ok((await Model.load(BYTES)) instanceof WasmModel);
});

// ---- load -----------------------------------------------------------------------------------------------------------

test('load hands over bytes and options, and reports progress', async () => {
  const reports = [];
  const model = await load({ onProgress: (p) => reports.push(p), contextLength: 32, kvType: 'q8_0', backend: 'cpu' });
  assert.deepEqual([...seen.loads[0].parts[0]], [1, 2, 3]);
  assert.deepEqual(seen.loads[0].options, { backend: 'cpu', contextLength: 32, kvType: 'q8_0', prefixBytes: 2 ** 27 });
  assert.deepEqual(reports[0], { stage: 'download', loaded: 3, total: 3, fraction: 1 });
  assert.deepEqual(reports.at(-1), { stage: 'ready', loaded: 1, total: 1, fraction: 1 });
  assert.equal(reports.filter(({ stage }) => stage === 'ready').length, 1);
  assert.equal(model.info.vocabularySize, 128);
  assert.throws(() => {
    model.info.layers = 3;
  }, TypeError);
  assert.equal(model.hasGpu(), false);
});

test('what is no source is refused by name', async () => {
  const refused = (source, pattern) => assert.rejects(WasmModel.load(source), withCode('invalid_argument', pattern));
  for (const source of [42, null, Symbol('s'), [42]]) await refused(source, /unknown kind of source/);
  await refused([], /array of sources is empty/);
});

test('wrong options are refused by name before anything is read', async () => {
  const refused = (options, pattern) => assert.rejects(load(options), withCode('invalid_argument', pattern));
  await refused({ contextLength: 0 }, /'contextLength' must be an integer of at least 2, found 0/);
  await refused({ contextLength: NaN }, /found NaN/);
  await refused({ backend: 'webgl' }, /'auto' or 'webgpu' or 'cpu', found 'webgl'/);
  await refused({ kvType: 'q5_0' }, /'f16' or 'q8_0' or 'q4_0', found 'q5_0'/);
  await refused({ context_length: 5 }, /unknown option 'context_length', did you mean 'contextLength'/);
  await refused({ gpuLayers: 5 }, /unknown option 'gpuLayers'; known are/);
  await refused({ constructor: 5 }, /unknown option 'constructor'/);
  await refused({ onProgress: null }, /'onProgress' must be a function, found null/);
  await refused({ signal: {} }, /'signal' must be an AbortSignal/);
  await refused(7, /options must be an object/);
  assert.equal(seen.reads, 0);
  await load({ contextLength: undefined });
});

test('a model is loaded on the device of a Gpu, and leaves its hidden states there', async () => {
  const gpu = await api.Gpu.create();
  const model = await load({ gpu, selfCheck: false, tune: false });
  assert.equal(seen.loads[0].device.of, gpu.engine);
  assert.deepEqual(seen.loads[0].options, { backend: 'auto', prefixBytes: 2 ** 27 });
  await load({ gpu, selfCheck: false });
  const { tune, tuneUnmeasured, ...others } = seen.loads[1].options;
  assert.deepEqual(
    [typeof tune, tuneUnmeasured, others],
    ['function', true, { backend: 'auto', prefixBytes: 2 ** 27 }],
    'on GPUs not measured',
  );
  const states = await model.hiddenStates([1, 2, 3], gpu);
  assert.ok(states instanceof api.Tensor);
  assert.deepEqual([states.dtype, [...states.shape], (await states.data()).length], ['f32', [3, 2], 6]);
  await assert.rejects(load({ gpu: {} }), withCode('invalid_argument', /'gpu' must be a Gpu/));
  await assert.rejects(load({ gpu, backend: 'cpu' }), withCode('invalid_argument', /does not go with/));
  await assert.rejects(model.hiddenStates([1], {}), withCode('invalid_argument', /expected a Gpu/));
  await assert.rejects(model.hiddenStates([], gpu), withCode('invalid_argument', /at least one/));
});

test('errors of the engine become WebggufErrors with their code', async () => {
  plan.loadFails = Object.assign(new Error('tensor x: expected 3, found 4'), { code: 'bad_file' });
  await assert.rejects(
    load(),
    (error) => error instanceof WebggufError && withCode('bad_file', /expected 3, found 4/)(error),
  );
  plan.loadFails = new WebAssembly.RuntimeError('unreachable');
  await assert.rejects(load(), withCode('internal', /WebAssembly stopped/));
  plan.loadFails = Object.assign(new Error('stop'), { code: 'aborted' });
  await assert.rejects(load(), isAbort);
});

test('an exception of onProgress stops loading and comes out', async () => {
  const mine = new Error('mine');
  await assert.rejects(
    load({
      onProgress: () => {
        throw mine;
      },
    }),
    (error) => error === mine,
  );
  let last = false;
  await assert.rejects(
    load({
      onProgress: ({ stage }) => {
        if (stage === 'ready') {
          last = true;
          throw mine;
        }
      },
    }),
  );
  assert.ok(last);
  assert.equal(seen.freed, 1, 'an engine that was ready is freed');
});

test('a signal cancels before, during and right at the end of loading', async () => {
  await assert.rejects(load({ signal: AbortSignal.abort() }), isAbort);
  assert.equal(seen.reads, 0);

  const during = new AbortController();
  plan.compileMs = 10;
  const onProgress = ({ stage }) => stage === 'compile' && during.abort();
  await assert.rejects(load({ signal: during.signal, onProgress }), isAbort);
  assert.equal(seen.loads.length, 0);

  const timedOut = (error) => error instanceof DOMException && error.name === 'TimeoutError';
  await assert.rejects(load({ signal: AbortSignal.timeout(15) }), timedOut, "the signal's own reason");
  const mine = { why: 'mine' };
  await assert.rejects(load({ signal: AbortSignal.abort(mine) }), (error) => error === mine);

  plan.deaf = true;
  const late = new AbortController();
  const { reads } = seen;
  const ending = assert.rejects(load({ signal: late.signal }), isAbort);
  while (seen.reads === reads) await sleep(1);
  late.abort();
  await ending;
  while (seen.freed === 0) await sleep(1);
  assert.equal(seen.freed, 1, 'an engine that did not notice is freed');
});

test('an engine that takes too long to stop does not hold up the caller, and is freed when it comes', async () => {
  let compiled;
  Object.assign(plan, { deaf: true, compiling: new Promise((resolve) => (compiled = resolve)) });
  const controller = new AbortController();
  const ending = assert.rejects(load({ signal: controller.signal }), isAbort);
  while (seen.reads === 0) await sleep(1);
  controller.abort();
  await ending;
  assert.equal(seen.loads.length, 0, 'the engine was waited for');
  compiled();
  while (seen.freed === 0) await sleep(1);
  assert.deepEqual([seen.loads.length, seen.freed], [1, 1]);
});

test('progress is thinned out, keeps the edges, and knows when it knows nothing', () => {
  const reports = [];
  let time = 0;
  const report = progressReporter(
    (p) => reports.push(p),
    new AbortController().signal,
    () => time,
  );
  for (let i = 0; i <= 1000; i += 1, time += 1) report('download', i, 1000);
  assert.ok(reports.length > 10 && reports.length < 30, `${reports.length} reports`);
  assert.deepEqual([reports[0].loaded, reports[1].loaded], [0, 1], 'the first bytes are never passed over');
  assert.deepEqual(reports.at(-1), { stage: 'download', loaded: 1000, total: 1000, fraction: 1 });
  report('upload', 5, 0);
  assert.deepEqual(reports.at(-1), { stage: 'upload', loaded: 5, total: undefined, fraction: undefined });
  const count = reports.length;
  report('somethingNew', 1, 2);
  assert.equal(reports.length, count);
});

// ---- generate -------------------------------------------------------------------------------------------------------

test('a prompt, messages and ids become tokens; options go through', async () => {
  const model = await load();
  assert.equal(await textOf(model.generate('AB', { temperature: 0, stop: 'x', maxTokens: 2, seed: 7 })), 'ab');
  assert.equal(await textOf(model.generate([{ role: 'user', content: 'H' }])), 'abcde');
  assert.equal(await textOf(model.generate([7, 8])), 'abcde');
  assert.deepEqual(seen.started[0], {
    ids: [1, 65, 66],
    options: { temperature: 0, maxTokens: 2, stop: ['x'], seed: 7 },
  });
  assert.equal(String.fromCharCode(...seen.started[1].ids.slice(1)), '<user>H');
  assert.deepEqual(seen.started[2].ids, [7, 8]);
  assert.notEqual(seen.started[1].options.seed, seen.started[2].options.seed, 'without a seed, another each time');
});

test('a block of the model drafts unless it is told not to', async () => {
  plan.backend = 'webgpu';
  const model = await load({ selfCheck: false });
  await model.generate('A', { draft: 'mtp' });
  await load({ draft: false, selfCheck: false });
  assert.deepEqual([seen.loads.map(({ options }) => options.mtp), seen.drafts], [[undefined, false], 0]);
  assert.equal(seen.started[0].options.draft, 'mtp');
});

test('a model that drafts is loaded on the device of the model, and again with it', async () => {
  plan.backend = 'webgpu';
  const stages = [];
  const onProgress = ({ stage }) => stages.push(stage);
  const model = await load({ draft: new Uint8Array(3), kvType: 'q8_0', selfCheck: false, onProgress });
  const [first, second] = seen.loads.map(({ options, device }) => ({ ...options, device }));
  assert.deepEqual([first.draft, first.draftContext, first.device], [undefined, undefined, undefined]);
  assert.equal(first.mtp, false, 'the block of its own stays out');
  assert.deepEqual(second, { backend: 'webgpu', kvType: 'q8_0', draftContext: 64, device: 'device of model' });
  assert.deepEqual([seen.drafts, stages.filter((stage) => stage === 'ready').length], [1, 1]);
  assert.deepEqual([model.info.draft.parameters, model.info.draft.layers], [4, undefined]);
  await model.generate('A', { draft: 'model' });
  assert.equal(seen.started[0].options.draft, 'model');
  plan.draftFails = Object.assign(new Error('another vocabulary'), { code: 'invalid_argument' });
  await assert.rejects(
    load({ draft: new Uint8Array(3), selfCheck: false }),
    withCode('invalid_argument', /another voc/),
  );
  assert.equal(seen.freed, 1, 'the model, too');
  plan.backend = 'cpu';
  const slow = await load({ draft: new Uint8Array(3), selfCheck: false });
  assert.deepEqual([seen.loads.length, slow.info.draft], [5, undefined], 'on the CPU nothing drafts');
  await assert.rejects(
    load({ draft: 5 }),
    withCode('invalid_argument', /'draft' must be where a smaller model comes from, or false, found 5/),
  );
});

test('drafts are asked for, and counted in the result', async () => {
  const model = await load();
  [plan.accepted, plan.rejected] = [3, 4];
  const { usage } = await model.generate('A', { draft: 'prompt', prediction: 'abc', seed: 1 });
  assert.deepEqual([usage.acceptedDraftTokens, usage.rejectedDraftTokens], [3, 4]);
  await model.generate('A', { draft: false });
  await model.generate('A');
  const asked = seen.started.map(({ options: { draft, prediction } }) => [draft, prediction]);
  assert.deepEqual(asked, [
    ['prompt', 'abc'],
    ['off', undefined],
    [undefined, undefined],
  ]);
});

test('content in parts is joined by newlines', async () => {
  const model = await load();
  const content = [
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b' },
  ];
  assert.equal(await model.applyChatTemplate([{ role: 'user', content }]), '<user>a\nb');
  await model.generate([{ role: 'user', content }]);
  assert.equal(String.fromCharCode(...seen.started[0].ids.slice(1)), '<user>a\nb');
});

test('a prompt that begins with BOS does not get a second one', async () => {
  const model = await load();
  await model.generate('\u0001A');
  assert.deepEqual(seen.started[0].ids, [1, 65]);
});

test('a generation can be awaited: that is its result', async () => {
  const model = await load();
  const { text, finishReason } = await model.generate('a');
  assert.deepEqual([text, finishReason], ['abcde', 'length']);
  await assert.rejects(async () => await model.generate('x'.repeat(100)), withCode('context_full', /101 tokens/));
  assert.equal(await model.generate('a').then((result) => result.ids.length), 5);
});

test('stop ends a generation early, also by the model', async () => {
  const model = await load();
  const generation = model.generate('a', { maxTokens: 1000 });
  let text = '';
  for await (const piece of generation) {
    text += piece.text;
    if (piece.text === 'c') void generation.stop();
  }
  assert.equal(text, 'abc');
  assert.equal((await generation).finishReason, 'abort');
  await generation.stop();

  const other = model.generate('a', { maxTokens: 1000 });
  const { result } = other;
  const before = seen.nexts;
  while (seen.nexts < before + 2) await sleep(1);
  await model.stop();
  assert.equal((await result).finishReason, 'abort');
  await model.stop();
  assert.equal((await model.generate('a')).text, 'abcde');
});

test('the result comes with the loop, without it, and before it', async () => {
  const model = await load();
  const looped = model.generate('a');
  assert.equal(await textOf(looped), (await looped.result).text);
  assert.equal((await looped.result).finishReason, 'length');
  assert.equal((await model.generate('a').result).text, 'abcde');
  const early = model.generate('a');
  const { result } = early;
  assert.equal(await textOf(early), 'abcde');
  assert.equal((await result).text, 'abcde');
  assert.equal(seen.finished, 3);
});

test('leaving the loop cancels, and the model is free at once', async () => {
  const model = await load();
  const generation = model.generate('a', { maxTokens: 1000 });
  for await (const piece of generation) if (piece.text === 'c') break;
  assert.equal((await generation.result).finishReason, 'abort');
  assert.equal((await generation.result).text, 'abc');
  assert.equal(await textOf(model.generate('a')), 'abcde');
});

test('a signal ends the loop and the result with its reason, and the text stays', async () => {
  const model = await load();
  const controller = new AbortController();
  const mine = new Error('enough');
  const isMine = (error) => error === mine;
  const generation = model.generate('a', { maxTokens: 1000, signal: controller.signal });
  const loop = async () => {
    for await (const piece of generation) if (piece.text === 'c') controller.abort(mine);
  };
  await assert.rejects(loop(), isMine);
  await assert.rejects(generation.result, isMine);
  await assert.rejects(async () => await generation, isMine);
  assert.match(generation.partial, /^abc/);

  const before = model.generate('a', { signal: AbortSignal.abort(mine) });
  await assert.rejects(textOf(before), isMine);
  await assert.rejects(before.result, isMine);
  assert.equal(before.partial, '');
  assert.equal(seen.started.length, 1, 'nothing was started');
});

test('what was stopped before its signal fired is a result', async () => {
  const model = await load();
  const controller = new AbortController();
  const generation = model.generate('a', { maxTokens: 1000, signal: controller.signal });
  for await (const piece of generation) if (piece.text === 'c') break;
  controller.abort();
  assert.deepEqual([(await generation).finishReason, generation.partial], ['abort', 'abc']);
  const whole = model.generate('a', { signal: controller.signal });
  await assert.rejects(whole.result, isAbort);
});

test('a signal frees the model even if nobody asks for the next piece', async () => {
  const model = await load();
  const controller = new AbortController();
  const generation = model.generate('a', { maxTokens: 1000, signal: controller.signal });
  await generation.next();
  controller.abort();
  assert.equal(await textOf(model.generate('a')), 'abcde');
  await assert.rejects(generation.next(), isAbort);
  assert.equal((await generation.next()).done, true);
});

test('after a cancel the next generation waits for the last token of the old one', async () => {
  const model = await load();
  plan.tokenMs = 30;
  const controller = new AbortController();
  const old = model.generate('a', { maxTokens: 1000, signal: controller.signal });
  const reading = assert.rejects(textOf(old), isAbort);
  while (seen.nexts === 0) await sleep(1);
  controller.abort();
  assert.equal(await textOf(model.generate('a', { maxTokens: 1 })), 'a');
  await reading;
});

test('requests are done one after the other, in the order in which they came', async () => {
  const model = await load();
  const order = [];
  const note = (name) => (value) => {
    order.push(name);
    return value;
  };
  const results = await Promise.all([
    model.generate('a', { maxTokens: 3 }).then(note('first')),
    model.evaluate([1, 2]).then(note('evaluate')),
    model.generate('b', { maxTokens: 1 }).then(note('second')),
    model.reset().then(note('reset')),
  ]);
  assert.deepEqual(order, ['first', 'evaluate', 'second', 'reset']);
  assert.deepEqual([results[0].text, results[1].top1.length, results[2].text], ['abc', 2, 'a']);
  assert.deepEqual(
    seen.started.map(({ ids }) => ids),
    [
      [1, 97],
      [1, 98],
    ],
  );
});

test('a request within the loop over another generation is done, and the loop goes on', async () => {
  const model = await load();
  let text = '';
  for await (const piece of model.generate('a')) {
    text += piece.text;
    if (piece.text === 'b') text += `(${(await model.generate('x', { maxTokens: 2 })).text})`;
  }
  assert.equal(text, 'ab(ab)cde');
});

test('a request that waits can be cancelled, and the others do not notice', async () => {
  const model = await load();
  plan.tokenMs = 10;
  const first = model.generate('a', { maxTokens: 20 });
  await first.next();
  let isOver = false;
  void first.result.then(() => (isOver = true));
  const controller = new AbortController();
  const { signal } = controller;
  const waiting = model.generate('b', { signal });
  const embedding = model.embed('c', { signal });
  const stopped = model.generate('d');
  const last = model.generate('e', { maxTokens: 2 });
  const cancelled = [assert.rejects(waiting.result, isAbort), stopped.result, assert.rejects(embedding, isAbort)];
  const done = last.result;
  await sleep(1);
  controller.abort();
  await stopped.stop();
  const [, ended] = await Promise.all(cancelled);
  assert.equal(isOver, false, 'they end at once, not when their turn comes');
  assert.deepEqual([ended.finishReason, (await done).text], ['abort', 'ab']);
  assert.equal((await first.result).text.length, 20);
  assert.equal(seen.started.length, 2);
  assert.equal(seen.embeds.length, 0);
});

test('errors come out of the loop and of the result, and nothing is left unhandled', async () => {
  const model = await load();
  const long = model.generate('x'.repeat(100));
  await assert.rejects(textOf(long), withCode('context_full', /101 tokens/));
  await assert.rejects(long.result, withCode('context_full'));

  plan.nextFails = Object.assign(new Error('gone'), { code: 'device_lost' });
  await assert.rejects(textOf(model.generate('a')), withCode('device_lost'));
  void model.generate('a').result; // nobody looks
  await sleep(20);
  plan.nextFails = undefined;
  assert.equal(await textOf(model.generate('a')), 'abcde', 'the model is free again');
  assert.deepEqual(unhandled, []);
});

test('wrong options and prompts are refused at once, by name', async () => {
  const model = await load();
  const refused = (prompt, options, pattern) =>
    assert.throws(() => model.generate(prompt, options), withCode('invalid_argument', pattern));
  refused('a', { temperature: NaN }, /'temperature' must be a number from 0 to 100, found NaN/);
  refused('a', { temperature: '1' }, /found '1'/);
  refused('a', { topP: 1.5 }, /'topP'.*found 1.5/);
  refused('a', { topP: 1e-40 }, /'topP' must be a number above 0/); // f32 has no such number with all its digits
  refused('a', { logitBias: { '05': 1 } }, /'logitBias' must be an object of at most 1024 token ids/);
  refused('a', { topK: 2.5 }, /'topK' must be an integer/);
  refused('a', { seed: -1 }, /'seed'/);
  refused('a', { seed: 2 ** 53 }, /'seed'/);
  refused('a', { repetitionPenalty: 0 }, /'repetitionPenalty'/);
  refused('a', { maxTokens: Infinity }, /'maxTokens'/);
  refused('a', { stop: [''] }, /'stop' must be a non-empty string/);
  refused('a', { stop: [1] }, /'stop'/);
  refused('a', { ignoreEos: 1 }, /'ignoreEos' must be true or false/);
  refused('a', { draft: true }, /'draft' must be 'prompt', 'model', 'mtp' or false, found true/);
  refused('a', { prediction: 1 }, /'prediction' must be a string/);
  refused('a', { max_tokens: 5 }, /did you mean 'maxTokens'/);
  refused(null, {}, /expected text, an array of messages or token ids/);
  refused([], {}, /found an empty array; for a conversation write generate\(\[\{ role: 'user'/);
  refused(new Uint32Array(0), {}, /at least one token id, found none/);
  refused({ role: 'user', content: 'a' }, {}, /found one message; put it into an array: generate\(\[message\]\)/);
  refused({ messages: [] }, {}, /write generate\(messages, options\)/);
  refused({ prompt: 'a' }, {}, /write generate\(prompt, options\)/);
  refused(['a'], {}, /found an array of strings; for a text write generate\('…'\)/);
  refused([{ role: 'user' }], {}, /message 0 must be \{ role, content \}/);
  const parts = (...content) => [{ role: 'user', content }];
  refused(parts({ type: 'image_url' }), {}, /message 0: content\[0\] must be .*found type 'image_url'/);
  refused(parts({ type: 'text', text: 'a' }, 'b'), {}, /message 0: content\[1\] must be .*found 'b'/);
  refused([1, 2.5], {}, /ids\[1\] must be an integer from 0 to 127, found 2.5/);
  refused([128], {}, /ids\[0\]/);
  refused(undefined, {}, /found undefined/);
  refused(new Float32Array(2), {}, /array of messages or token ids, found an object \(Float32Array\)/);
});

// ---- the rest -------------------------------------------------------------------------------------------------------

test('evaluate gives shapes as promised', async () => {
  const model = await load();
  const { top1, logprobs, logits } = await model.evaluate(Uint32Array.of(1, 2, 3), { logits: true });
  assert.deepEqual([top1.length, logprobs.length, logits.length], [3, 2, 3 * 128]);
  assert.equal((await model.evaluate([1])).logits, undefined);
  await assert.rejects(model.evaluate([]), withCode('invalid_argument', /at least one/));
  await assert.rejects(model.evaluate([1], { logit: true }), withCode('invalid_argument', /unknown option 'logit'/));
});

test('a signal ends what is evaluated or read for its hidden states, and the model is free again', async () => {
  const gpu = await api.Gpu.create();
  const model = await load({ gpu, selfCheck: false });
  const calls = [(options) => model.evaluate([1, 2], options), (options) => model.hiddenStates([1, 2], gpu, options)];
  for (const call of calls) {
    const controller = new AbortController();
    const { cut } = seen;
    plan.reading = async () => controller.abort(new Error('enough'));
    await assert.rejects(call({ signal: controller.signal }), /enough/);
    assert.equal(seen.cut, cut + 1, 'the engine was told to stop');
    await assert.rejects(call({ signal: AbortSignal.abort() }), { name: 'AbortError' });
    await assert.rejects(call({ signal: 7 }), withCode('invalid_argument', /'signal' must be an AbortSignal/));
    plan.reading = undefined;
    assert.ok(await call({ signal: new AbortController().signal }));
  }
});

test('logits that do not fit into memory are an error, and the model stays usable', async () => {
  for (const vocabularySize of [2 ** 27, 2 ** 53 / 64]) {
    plan.vocabularySize = vocabularySize;
    const model = await load();
    const ids = new Uint32Array(64);
    const bytes = 64 * vocabularySize * 4;
    const message = new RegExp(`64 ids over a vocabulary of ${vocabularySize}: ${bytes} bytes`);
    await assert.rejects(model.evaluate(ids, { logits: true }), withCode('out_of_memory', message));
    assert.equal((await model.evaluate([1, 2])).top1.length, 2);
    const long = new Uint32Array(65);
    await assert.rejects(model.evaluate(long, { logits: true }), withCode('context_full', /65 tokens/));
    assert.equal((await model.generate('a')).text, 'abcde');
  }
});

test('text functions check what they get', async () => {
  const model = await load();
  assert.deepEqual([...(await model.tokenize('A', { addSpecial: true }))], [1, 65]);
  assert.equal(await model.detokenize([65]), 'A');
  assert.equal(await model.applyChatTemplate([{ role: 'user', content: 'x' }]), '<user>x');
  await assert.rejects(model.tokenize(5), withCode('invalid_argument', /expected a string, found 5/));
  await assert.rejects(model.detokenize('65'), withCode('invalid_argument'));
  await assert.rejects(model.applyChatTemplate([]), withCode('invalid_argument', /at least one message/));
  plan.templateFails = true;
  await assert.rejects(
    model.applyChatTemplate([{ role: 'a', content: 'b' }]),
    withCode('invalid_argument', /no chat template/),
  );
  await assert.rejects(
    model.generate([{ role: 'a', content: 'b' }]).result,
    withCode('invalid_argument', /no chat template/),
  );
});

test('a text of messages with images or sounds is refused', async () => {
  const model = await load();
  for (const part of [
    { type: 'image', image: 'x.png' },
    { type: 'audio', audio: 'x.wav' },
    { type: 'image_url', image_url: { url: 'x.png' } },
  ]) {
    await assert.rejects(
      model.applyChatTemplate([{ role: 'user', content: [part, { type: 'text', text: 'What?' }] }]),
      withCode('invalid_argument', /applyChatTemplate: a text cannot hold .* give the messages to generate/),
    );
  }
});

test('templates get tools, calls and variables as plain data', async () => {
  const model = await load();
  const called = { name: 'f', arguments: '{"a": [1, null]}' };
  const messages = [
    { role: 'assistant', tool_calls: [{ id: '1', type: 'function', function: called }], extra: undefined },
    { role: 'tool', tool_call_id: '1', content: [{ type: 'text', text: 'ok' }] },
  ];
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }];
  const chatTemplateKwargs = { date_string: 'today' };
  await model.applyChatTemplate(messages, { tools, enableThinking: false, chatTemplateKwargs });
  const [{ messages: seenMessages, tools: seenTools, variables }] = seen.templates;
  assert.deepEqual(seenTools, tools);
  assert.deepEqual(variables, { enable_thinking: false, date_string: 'today' });
  assert.deepEqual(seenMessages[0].tool_calls[0].function, { name: 'f', arguments: { a: [1, null] } });
  assert.equal(seenMessages[0].content, null);
  assert.ok(!('extra' in seenMessages[0]));
  assert.deepEqual(seenMessages[1], { role: 'tool', content: 'ok', tool_call_id: '1' });

  const nested = JSON.parse('['.repeat(99) + ']'.repeat(99));
  const refused = (message, options, pattern) =>
    assert.rejects(model.applyChatTemplate([message], options), withCode('invalid_argument', pattern));
  const user = { role: 'user', content: 'x' };
  await refused({ role: 'user' }, {}, /message 0 must be/);
  await refused({ ...user, x: () => {} }, {}, /message 0: expected what JSON can hold, found a function/);
  await refused({ ...user, x: nested }, {}, /nested deeper than 64/);
  await refused({ ...user, tool_calls: [{ function: {} }] }, {}, /tool_calls\[0\] must be/);
  await refused(user, { tools: [{ name: 'f' }] }, /tools\[0\] must be/);
  await refused(user, { enable_thinking: true }, /did you mean 'enableThinking'/);
  await refused(user, { chatTemplateKwargs: { tools: [] } }, /chatTemplateKwargs.tools/);
});

test('after free everything is refused, and freeing again does nothing', async () => {
  const model = await load();
  await model.free();
  await model[Symbol.asyncDispose]();
  assert.equal(seen.freed, 1);
  assert.throws(() => model.generate('a'), withCode('invalid_argument', /generate: the model was freed/));
  for (const call of [
    () => model.tokenize('a'),
    () => model.detokenize([1]),
    () => model.reset(),
    () => model.applyChatTemplate([{ role: 'a', content: 'b' }]),
    () => model.wasmMemoryBytes(),
    () => model.prefixCache(),
    () => model.evaluate([1]),
    () => model.stop(),
  ]) {
    await assert.rejects(call, withCode('invalid_argument', /the model was freed/));
  }
});

test('free ends what runs, refuses what waits, and then frees', async () => {
  const model = await load();
  plan.tokenMs = 20;
  const generation = model.generate('a', { maxTokens: 1000 });
  const reading = textOf(generation);
  const waiting = [model.generate('b').result, model.evaluate([1]), model.reset()];
  const refused = waiting.map((call) => assert.rejects(call, withCode('invalid_argument', /the model was freed/)));
  while (seen.nexts < 2) await sleep(1);
  const freeing = model.free();
  assert.equal(seen.freed, 0, 'not while the engine works');
  await Promise.all(refused);
  await reading;
  assert.equal((await generation.result).finishReason, 'abort');
  await freeing;
  assert.equal(seen.freed, 1);
});

test('free ends an embed, which says why', async () => {
  const model = await load();
  plan.embedMs = 20;
  const embedding = assert.rejects(model.embed('a'), withCode('invalid_argument', /embed: the model was freed/));
  while (seen.embeds.length === 0) await sleep(1);
  await model.free();
  await embedding;
  assert.equal(seen.freed, 1);
});

test('a generation made before free has begun and is ended; one that waits is refused', async () => {
  const model = await load();
  const generation = model.generate('a');
  const waiting = model.generate('b');
  void model.free();
  assert.equal(await textOf(generation), '');
  assert.equal((await generation).finishReason, 'abort');
  await assert.rejects(textOf(waiting), withCode('invalid_argument', /freed/));
});

test('inspect hands its options on and closes the sources', async () => {
  const found = await WasmModel.inspect(BYTES, { contextLength: 9, kvType: 'q4_0' });
  assert.equal(found.supported, true);
  assert.deepEqual(seen.inspected, { count: 1, options: { contextLength: 9, kvType: 'q4_0' } });
  await assert.rejects(WasmModel.inspect(BYTES, { contextLength: 1 }), withCode('invalid_argument', /at least 2/));
  await assert.rejects(
    WasmModel.inspect(BYTES, { precision: 'exact' }),
    withCode('invalid_argument', /unknown option/),
  );
  await assert.rejects(WasmModel.inspect(BYTES, { signal: AbortSignal.abort() }), isAbort);
});

test('Tokenizer reads the first part only', async () => {
  const file = (n) => new File([`f${n}`], `m-0000${n}-of-00002.gguf`);
  const tokenizer = await Tokenizer.load([file(2), file(1)]);
  assert.equal(String(seen.loads[0].first), 'f1');
  assert.equal(seen.loads[0].count, 1);
  assert.equal(tokenizer.detokenize(tokenizer.tokenize('hey')), 'hey');
  tokenizer.free();
  tokenizer.free();
  assert.equal(seen.freed, 1);
  assert.throws(() => tokenizer.tokenize('a'), withCode('invalid_argument', /the tokenizer was freed/));
  await assert.rejects(Tokenizer.load(BYTES, { signal: AbortSignal.abort() }), isAbort);
});

test('a model that runs on the CPU by itself says why, and a page is warned', async () => {
  const warnings = [];
  const reasonOf = async (options) => {
    const model = await load({
      onWarning: ({ code, message }) => warnings.push([code, message]),
      ...options,
    });
    await model.free();
    return model.info.backendReason;
  };
  assert.equal(await reasonOf({}), "there is no WebGPU here, which npm's webgpu would add");
  assert.deepEqual(warnings, [], 'nobody expects a GPU in Node.js');
  globalThis.isSecureContext = false;
  try {
    assert.match(await reasonOf({}), /^this page is not secure/);
    assert.equal(await reasonOf({ backend: 'cpu' }), undefined, 'the page asked for it');
  } finally {
    delete globalThis.isSecureContext;
  }
  assert.equal(warnings.length, 1);
  assert.equal(warnings[0][0], 'cpu');
  assert.match(warnings[0][1], /^the model runs on the CPU: this page is not secure/);
});
