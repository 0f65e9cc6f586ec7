// Requests that run together, over a mock of the WebAssembly, in this thread and through a worker: how many at once, in
// which order, on which engine.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { api, isAbort, plan, resetMock, seen, withCode } from './api.mjs';
import { MockWorker, workers } from './mock_worker.mjs';

const { WasmModel, init } = api;

globalThis.Worker = MockWorker;
await init({ wasm: new Uint8Array(8) });

const unhandled = [];
process.on('unhandledRejection', (error) => unhandled.push(error));

beforeEach(() => {
  resetMock();
  workers.length = 0;
});

afterEach(() => assert.deepEqual(unhandled, []));

const textOf = (ids) => String.fromCharCode(...ids.slice(1));
const started = () => seen.started.map(({ ids }) => textOf(ids));

for (const worker of [false, true]) {
  const at = worker ? 'in a worker' : 'here';
  const load = (parallel = 3) => {
    plan.parallel = parallel;
    return WasmModel.load(new Blob([Uint8Array.of(1)]), { worker, parallel });
  };

  test(`${at}: as many requests as were asked for run at once, the others wait in order`, async () => {
    const model = await load();
    assert.equal(seen.loads[0].options.parallel, 3);
    assert.equal(model.info.parallel, 3);
    const prompts = ['A', 'B', 'C', 'D', 'E'];
    const answers = await Promise.all(prompts.map((prompt, i) => model.generate(prompt, { maxTokens: i + 1 })));
    assert.deepEqual(
      answers.map(({ text }) => text),
      ['a', 'ab', 'abc', 'abcd', 'abcde'],
    );
    assert.equal(seen.most, 3);
    assert.deepEqual(started(), prompts);
    seen.most = 0;
    const messages = [{ role: 'user', content: 'x' }];
    const { choices, usage } = await model.chat.completions.create({ messages, n: 4, max_tokens: 2 });
    assert.deepEqual([seen.most, seen.running, usage.completion_tokens], [3, 0, 8]);
    assert.deepEqual(
      choices.map(({ index, message }) => `${index} ${message.content}`),
      ['0 ab', '1 ab', '2 ab', '3 ab'],
    );
    const stream = await model.chat.completions.create({ messages, n: 2, stream: true });
    for await (const chunk of stream) if (chunk.choices[0].delta.content === 'c') break;
    assert.equal(seen.running, 0, 'leaving the loop ends both');
    await model.free();
    assert.equal(seen.freed, worker ? seen.freed : 3);
  });

  test(`${at}: each is cancelled alone, and who waits takes its place`, async () => {
    const model = await load(2);
    const [a, b, c] = ['A', 'B', 'C'].map((prompt) => model.generate(prompt, { maxTokens: 200 }));
    const first = await Promise.all([a.next(), b.next()]);
    assert.deepEqual(
      first.map(({ value }) => value.text),
      ['a', 'a'],
    );
    const next = c.next();
    await a.stop();
    assert.equal((await next).value.text, 'a');
    assert.equal((await a.result).finishReason, 'abort');
    assert.ok((await b.next()).value, 'the other goes on');
    await model.stop();
    assert.deepEqual([(await b.result).finishReason, (await c.result).finishReason], ['abort', 'abort']);
    assert.equal(seen.running, 0);
    const [d, e] = ['D', 'E'].map((prompt) => model.generate(prompt, { maxTokens: 200 }));
    await Promise.all([d.next(), e.next()]);
    const waiting = model.generate('F').result;
    await model.free();
    assert.deepEqual([(await d.result).finishReason, (await e.result).finishReason], ['abort', 'abort']);
    await assert.rejects(waiting, withCode('invalid_argument', /generate: the model was freed/));
  });

  test(`${at}: what needs the whole model waits for all before it, and all after it wait`, async () => {
    const model = await load();
    const order = [];
    const note = (name, promise) => promise.then(() => order.push(`${name} with ${seen.running} running`));
    const signal = AbortSignal.abort();
    const before = ['A', 'B'].map((prompt) => note(prompt, model.generate(prompt, { maxTokens: 3 }).result));
    const evaluation = note('evaluate', model.evaluate([1, 2, 3]));
    const after = note('C', model.generate('C', { maxTokens: 1 }).result);
    await assert.rejects(model.embed('x', { signal }), isAbort);
    await Promise.all([...before, evaluation, after]);
    assert.deepEqual(order.slice(2), ['evaluate with 0 running', 'C with 0 running']);
    await model.free();
  });

  test(`${at}: a lane has read a prompt if it did so with the adapters of the request`, async () => {
    const model = await load(2);
    const id = await model.addAdapter(new Blob([Uint8Array.of(1)]));
    const adapters = [{ id, scale: 1 }];
    const at = async (prompt, options) => {
      await model.generate(prompt, { maxTokens: 1, ...options });
      return seen.handles.at(-1);
    };
    const [plain, other] = [await at('Hares'), await at('Hares', { adapters })];
    assert.notEqual(plain, other, 'the lane that is idle for longest, since none has read it so');
    assert.equal(await at('Hares'), plain);
    assert.equal(await at('Hares', { adapters }), other);
    assert.equal(await at('Hares', { adapters }), other);
    assert.equal(await at('Hares', { adapters: [] }), plain);
    const session = model.session();
    assert.notEqual(await at('Foxes'), plain);
    await session.send('Hares', { maxTokens: 1, adapters });
    assert.deepEqual(seen.started.at(-1).options.adapters, [[id, 1]]);
    await model.free();
  });

  test(`${at}: sessions run together, and each in order`, async () => {
    const model = await load();
    const [one, two] = [model.session({ system: 'S' }), model.session({ system: 'T' })];
    await Promise.all([one.send('A', { maxTokens: 2 }), one.send('B', { maxTokens: 1 }), two.send('C')]);
    assert.equal(seen.most, 2);
    const startedOf = (system) => started().filter((prompt) => prompt.startsWith(`<system>${system}`));
    assert.deepEqual(startedOf('S'), ['<system>S<user>A', '<system>S<user>A<assistant>ab<user>B']);
    assert.deepEqual(startedOf('T'), ['<system>T<user>C'], 'which of two sessions begins is not said');
    assert.equal(started().length, 3);
    assert.deepEqual(seen.others, [false, false], 'sessions have no engines of their own');
    const fork = await one.fork();
    const restored = await model.restoreSession(await one.save());
    await one.free();
    for (const session of [fork, restored]) {
      await session.send('D', { maxTokens: 1 });
      assert.equal(started().at(-1), '<system>S<user>A<assistant>ab<user>B<assistant>a<user>D');
    }
    assert.equal(seen.others.length, 2);
    await model.free();
    assert.equal(seen.freed, worker ? seen.freed : 3);
  });

  test(`${at}: a start that fails leaves its place to others`, async () => {
    const model = await load(2);
    plan.contextLength = 4;
    const long = ['AAAAAA', 'BBBBBB', 'CCCCCC'].map((prompt) => model.generate(prompt).result);
    for (const failed of long) await assert.rejects(failed, withCode('context_full', /prompt of 7 tokens/));
    const texts = await Promise.all(['A', 'B', 'C'].map((prompt) => model.generate(prompt, { maxTokens: 1 })));
    assert.deepEqual([texts.length, seen.most], [3, 2]);
    await model.free();
  });

  test(`${at}: a lost device is replaced once for all that run`, async () => {
    const warnings = [];
    plan.parallel = 3;
    const options = { worker, parallel: 3, onWarning: ({ code }) => warnings.push(code) };
    const model = await WasmModel.load(new Blob([Uint8Array.of(1)]), options);
    const running = ['A', 'B', 'C'].map((prompt) => model.generate(prompt));
    await Promise.all(running.map((generation) => generation.next()));
    plan.lost = true;
    for (const { text } of await Promise.all(running)) assert.equal(text, 'abcde');
    assert.deepEqual([seen.recovered, seen.loads.length, warnings], [1, 2, ['device_lost']]);
    await model.free();
  });
}

test('a request runs where most of its prompt was read, else where nothing was for longest', async () => {
  plan.parallel = 3;
  const model = await WasmModel.load(new Blob([Uint8Array.of(1)]), { parallel: 3 });
  const run = async (prompt) => {
    await model.generate(prompt, { maxTokens: 1 });
    return seen.handles.at(-1);
  };
  const [x, y, z] = [await run('xx'), await run('yy'), await run('zz')];
  assert.equal(new Set([x, y, z]).size, 3);
  assert.equal(await run('yyay'), y);
  assert.equal(await run('xxa'), x);
  assert.equal(await run('zwww'), z, 'which is free for longest');
  await model.free();
});

test('a session is saved from where most of it was read, and restored where nothing was for longest', async () => {
  plan.parallel = 3;
  const model = await WasmModel.load(new Blob([Uint8Array.of(1)]), { parallel: 3 });
  const session = model.session({ system: 'S' });
  await session.send('A', { maxTokens: 2 });
  const own = seen.handles.at(-1);
  await model.generate('other', { maxTokens: 1 });
  const other = seen.handles.at(-1);
  const empty = await model.session().save();
  const saved = await session.save();
  assert.deepEqual(seen.saved[0].text, [], 'nothing of others');
  assert.equal(textOf(seen.saved[1].text), '<system>S<user>A<assistant>ab');
  assert.equal(seen.saved[1].by, own);
  assert.deepEqual((await model.restoreSession(saved)).messages, session.messages);
  assert.deepEqual(seen.parts, [
    [0, 0, 0, 0],
    [1, 1, 1],
  ]);
  assert.ok(![own, other].includes(seen.restored[0]), 'the caches of others stay');
  await model.restoreSession(empty);
  assert.equal(seen.restored[1], own, 'which is free for longest');
  plan.writeFails = Object.assign(new Error('the bytes have changed'), { code: 'integrity_failed' });
  await assert.rejects(model.restoreSession(saved), withCode('integrity_failed', /changed/));
  plan.writeFails = undefined;
  await Promise.all(['A', 'B', 'C'].map((prompt) => model.generate(prompt, { maxTokens: 1 })));
  assert.equal(seen.most, 3, 'all are free again');
  await model.free();
  assert.equal(seen.freed, 3);
});

test('wrong numbers are refused', async () => {
  for (const parallel of [0, 9, 1.5, '2', null]) {
    await assert.rejects(
      WasmModel.load(Uint8Array.of(1), { parallel }),
      withCode('invalid_argument', /'parallel' must be an integer from 1 to 8, found/),
    );
  }
});
