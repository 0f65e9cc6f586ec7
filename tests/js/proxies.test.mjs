// Everything public works behind a `Proxy`, as Vue, Alpine and wrappers of models put it: methods are called with the
// proxy as `this`, and proxies are given as arguments.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { api, dist, plan, resetMock, withCode } from './api.mjs';

const { DownloadControl, Gpu, Session, Tensor, Tokenizer, WasmModel } = api;
await api.init({ wasm: new Uint8Array(8) });
const training = await import(`${dist}training/index.js`);
const compute = await import(`${dist}compute/index.js`);
const { createWebgguf } = await import(`${dist}ai-sdk/index.js`);
const { languageModel } = await import(`${dist}prompt-api/index.js`);

beforeEach(() => {
  resetMock();
  Object.assign(plan, { contextLength: 10000, tokenMs: 0, writes: 'Hello', template: 'x' });
});

/** A proxy of the plainest kind, whose methods have it as `this`. */
const proxied = (target) => new Proxy(target, {});
const load = async (options) => proxied(await WasmModel.load(Uint8Array.of(1), options));

/** As reactive libraries do: every object that a proxy gives is behind a proxy, too. */
const seen = new WeakMap();
function reactive(target) {
  if (typeof target !== 'object' || target === null || target.__v_skip) return target;
  const kind = Object.prototype.toString.call(target).slice(8, -1);
  if (!/^(Object|Array|Map|Set)$/.test(kind) || !Object.isExtensible(target)) return target;
  if (!seen.has(target)) {
    seen.set(target, new Proxy(target, { get: (of, name, receiver) => reactive(Reflect.get(of, name, receiver)) }));
  }
  return seen.get(target);
}

/** Names of methods and accessors that a class and its bases have. */
function membersOf({ prototype }) {
  const names = new Set();
  for (let level = prototype; level !== Object.prototype; level = Object.getPrototypeOf(level)) {
    for (const name of Reflect.ownKeys(level)) if (name !== 'constructor') names.add(name);
  }
  return names;
}

/** Calls each member of `target` behind a proxy without arguments: what fails must be a complaint of ours. */
async function callsAll(target, Class = target.constructor) {
  const wrong = [];
  // Members that end the object come last.
  const names = [...membersOf(Class)].sort(
    (a, b) => Number(/free|destroy|ispose/.test(String(a))) - Number(/free|destroy|ispose/.test(String(b))),
  );
  assert.ok(names.length > 0, Class.name);
  for (const name of names) {
    try {
      const value = proxied(target)[name];
      await Promise.race([typeof value === 'function' ? value.call(proxied(target)) : value, tick()]);
    } catch (error) {
      if (/private|brand|Illegal invocation|incompatible receiver|Receiver must/i.test(error?.message)) {
        wrong.push(`${Class.name}.${String(name)}: ${error.message}`);
      }
    }
  }
  assert.deepEqual(wrong, []);
}
const tick = () => new Promise((resolve) => setTimeout(resolve, 20));

test('each method of each class that a page gets can be called on a proxy', async () => {
  const model = await WasmModel.load(Uint8Array.of(1));
  const tokenizer = await Tokenizer.load(Uint8Array.of(1));
  const stream = await model.chat.completions.create({ messages: [{ role: 'user', content: 'x' }], stream: true });
  await callsAll(stream);
  const gpu = await Gpu.create();
  await callsAll(model.generate('x'));
  await callsAll(model.session());
  await callsAll(gpu.tensor([1, 2], [2]));
  await callsAll(gpu);
  await callsAll(tokenizer);
  await callsAll(new DownloadControl());
  await callsAll(await compute.Gpu.create());
  const trained = await training.Gpu.create();
  await callsAll(trained.variable(trained.tensor([1, 2], [2])));
  const weights = [trained.variable(trained.tensor([1, 2], [2]))];
  await callsAll(new training.AdamW(trained, weights));
  await callsAll(new training.Sgd(trained, weights, { learningRate: 1 }));
  await callsAll(trained);
  const provider = createWebgguf();
  for (const kind of ['languageModel', 'embeddingModel', 'rerankingModel', 'speechModel'])
    await callsAll(provider[kind](model));
  await callsAll(createWebgguf({ specificationVersion: 'v2' }).languageModel(model));
  const LanguageModel = languageModel({ model });
  const session = await LanguageModel.create();
  await callsAll(session, LanguageModel);
  await callsAll(model);
});

test('a model behind a proxy writes, has sessions and chats, and is freed', async () => {
  for (const around of [proxied, reactive]) {
    const model = around(await WasmModel.load(Uint8Array.of(1)));
    assert.ok(model instanceof WasmModel);
    let text = '';
    for await (const piece of around(model.generate('x'))) text += piece.text;
    assert.equal(text, 'Hello');
    assert.equal((await around(model.generate('x'))).text, 'Hello');
    const session = around(model.session());
    assert.ok(session instanceof Session);
    await session.send('hi');
    assert.equal(session.messages.length, 2);
    const fork = around(await session.fork());
    assert.equal(fork.messages.length, 2);
    const { choices } = await model.chat.completions.create({ messages: [{ role: 'user', content: 'x' }] });
    assert.equal(choices[0].message.content, 'Hello');
    await session.free();
    await model.free();
    await assert.rejects(model.tokenize('x'), withCode('invalid_argument', /was freed/));
  }
});

test('tensors and a Gpu behind proxies are arguments, alone, in lists, in objects and as options', async () => {
  const gpu = proxied(await training.Gpu.create());
  const x = proxied(gpu.tensor([1, 2], [2]));
  const w = gpu.variable(proxied(gpu.tensor([1, 2], [2])));
  assert.ok(gpu.add(x, proxied(w)) instanceof Tensor);
  assert.ok(gpu.concat([x, x]) instanceof Tensor);
  assert.ok(gpu.fuse([x, x], (a, b) => proxied(a).add(proxied(b))) instanceof Tensor);
  const kept = gpu.scope(() => ({ y: proxied(gpu.add(x, x)) }));
  assert.equal(kept.y.freed, false, 'what a scope returns stays, behind a proxy, too');
  gpu.free({ x }, [kept.y]);
  assert.deepEqual([x.freed, kept.y.freed], [true, true]);
  const optimizer = proxied(new training.AdamW(gpu, { w: proxied(w) }));
  optimizer.learningRate = 0.5;
  assert.equal(optimizer.learningRate, 0.5);
  optimizer.step({ w: proxied(gpu.tensor([1, 1], [2])) });
  const download = proxied(new DownloadControl());
  let changes = 0;
  download.addEventListener('change', () => (changes += 1));
  download.pause();
  assert.deepEqual([download.paused, changes], [true, 1]);
  download.resume();
  await (await load({ gpu: proxied(await Gpu.create()), download })).free();
});

test("Vue's mark keeps instances as they are, and nobody sees it", async () => {
  const model = await WasmModel.load(Uint8Array.of(1));
  assert.equal(reactive({ model }).model, model);
  assert.equal(model.__v_skip, true);
  assert.deepEqual(Object.keys(model), ['info', 'voices']);
  await model.free();
});

test('classes that functions make say so where they are called', () => {
  const hints = [
    [WasmModel, /await WasmModel\.load\(source\)/],
    [Session, /model\.session\(\)/],
    [Tokenizer, /await Tokenizer\.load\(source\)/],
    [Gpu, /await Gpu\.create\(\)/],
    [compute.Gpu, /await Gpu\.create\(\)/],
    [training.Gpu, /await Gpu\.create\(\)/],
    [Tensor, /gpu\.tensor\(data, shape\)/],
  ];
  for (const [Class, hint] of hints) assert.throws(() => new Class(), withCode('invalid_argument', hint), Class.name);
});

test('messages and options that are proxies cross to a worker, with files and buffers in them', async () => {
  const { Channel } = await import(`${dist}engine/channel.js`);
  const { port1, port2 } = new MessageChannel();
  const ends = [port1, port2].map((port, end) => {
    const channel = new Channel(port, { echo: (args) => (end === 1 ? args : undefined) });
    port.start();
    return channel;
  });
  const bytes = Uint8Array.of(1, 2);
  const given = reactive({ messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }], more: { bytes } });
  assert.throws(() => structuredClone(given), { name: 'DataCloneError' });
  const [got, list] = await ends[0].call('echo', [given, reactive([1, [2]])]);
  assert.deepEqual(got, { messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }], more: { bytes } });
  assert.deepEqual(list, [1, [2]]);
  for (const port of [port1, port2]) port.close();
});
