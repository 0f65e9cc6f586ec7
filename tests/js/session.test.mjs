// Sessions over a mock of the WebAssembly, in this thread and through a worker: what they keep, fork and drop.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import v8 from 'node:v8';
import vm from 'node:vm';
import { api, plan, resetMock, seen, withCode } from './api.mjs';
import { MockWorker, workers } from './mock_worker.mjs';

const { Session, WasmModel, init } = api;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

globalThis.Worker = MockWorker;
await init({ wasm: new Uint8Array(8) });

beforeEach(() => {
  resetMock();
  workers.length = 0;
});

const textOf = (ids) => String.fromCharCode(...ids.slice(1));
const roles = (session) => session.messages.map(({ role, content }) => `${role}: ${content}`);

for (const worker of [false, true]) {
  const load = () => WasmModel.load(Uint8Array.of(1), { worker });
  const at = worker ? 'in a worker' : 'here';

  test(`${at}: a conversation is kept, and each answer follows all of it`, async () => {
    const model = await load();
    const session = model.session({ system: 'S' });
    assert.ok(session instanceof Session);
    assert.deepEqual([session.tokens, seen.others], [0, []], 'no cache yet');
    let text = '';
    for await (const piece of session.send('A', { maxTokens: 2 })) text += piece.text;
    assert.equal(text, 'ab');
    assert.equal((await session.send({ role: 'user', content: 'B' }, { maxTokens: 1 })).text, 'a');
    assert.deepEqual(
      seen.started.map(({ ids }) => textOf(ids)),
      ['<system>S<user>A', '<system>S<user>A<assistant>ab<user>B'],
    );
    assert.deepEqual(roles(session), ['system: S', 'user: A', 'assistant: ab', 'user: B', 'assistant: a']);
    assert.deepEqual(seen.others, [false]);
    assert.ok(session.tokens > 0);
    assert.equal(await session.countTokens([{ role: 'user', content: 'xyz' }]), 1 + '<user>xyz'.length);
    await model.free();
    assert.equal(seen.freed, 2, 'the session goes with the model');
    assert.throws(() => session.send('C'), withCode('invalid_argument', /send: the model was freed/));
    await session.free();
  });

  test(`${at}: with tools, control tokens around calls are part of the text`, async () => {
    const tools = [{ type: 'function', function: { name: 'f' } }];
    const shown = async (template, options, sent = {}) => {
      plan.template = template;
      const model = await load();
      await model.session(options).send('A', { maxTokens: 1, ...sent });
      await model.free();
      return seen.started.at(-1).options.showSpecial;
    };
    const mistral = '{{ tools }} [TOOL_CALLS]';
    assert.ok((await shown(mistral, { tools })).includes('[TOOL_CALLS]'));
    assert.equal(await shown(mistral, {}), undefined);
    assert.equal(await shown(mistral, { tools: [] }), undefined);
    const both = await shown('{{ tools }} <|tool_call_start|>', { tools }, { showSpecial: ['<think>'] });
    assert.deepEqual(both, ['<think>', '<|tool_call_start|>', '<|tool_call_end|>']);
    assert.deepEqual(await shown('{{ tools }} <|channel|>', { tools }), [], 'of gpt-oss they are text anyway');
  });

  test(`${at}: a fork goes on by itself`, async () => {
    const model = await load();
    const session = model.session();
    await session.send('A', { maxTokens: 1 });
    const fork = await session.fork();
    await Promise.all([session.send('B', { maxTokens: 1 }), fork.send('C', { maxTokens: 2 })]);
    assert.deepEqual(seen.others, [false, true]);
    assert.deepEqual(roles(session), ['user: A', 'assistant: a', 'user: B', 'assistant: a']);
    assert.deepEqual(roles(fork), ['user: A', 'assistant: a', 'user: C', 'assistant: ab']);
    await session.free();
    await session.free();
    assert.equal(seen.freed, 1);
    await assert.rejects(session.fork(), withCode('invalid_argument', /fork: the session was freed/));
    assert.equal((await fork.send('D', { maxTokens: 1 })).text, 'a');
    await model.free();
    assert.equal(seen.freed, 3);
  });

  test(`${at}: a session is saved and restored, with its options`, async () => {
    const model = await load();
    const tools = [{ type: 'function', function: { name: 'look' } }];
    const session = model.session({ system: 'S', tools, overflow: 'truncate', chatTemplateKwargs: { mood: 'good' } });
    const running = session.send('A', { maxTokens: 2 }).result;
    const saved = await session.save();
    assert.equal((await running).text, 'ab', 'saved after the answer that was asked for before');
    assert.deepEqual([saved.type, saved.constructor.name], ['application/octet-stream', 'Blob']);
    await session.free();
    await model.free();
    const later = await load();
    const restored = await later.restoreSession(saved);
    assert.ok(restored instanceof Session);
    assert.deepEqual(
      seen.parts,
      [
        [0, 0, 0, 0],
        [1, 1, 1],
      ],
      'each part once, in order, the last a shorter one',
    );
    assert.equal(seen.others.at(-1), 7, 'with room for the tokens');
    assert.deepEqual(roles(restored), ['system: S', 'user: A', 'assistant: ab']);
    assert.equal(restored.tokens, session.tokens);
    seen.templates.length = 0;
    await restored.send('B', { maxTokens: 1 });
    assert.equal(textOf(seen.started.at(-1).ids), '<system>S<user>A<assistant>ab<user>B');
    assert.deepEqual(seen.templates.at(-1).tools, tools);
    assert.deepEqual(seen.templates.at(-1).variables, { mood: 'good' });
    const begun = later.session({ system: 'T' });
    const again = await later.restoreSession(await begun.save());
    const unsaid = await again.save();
    assert.match(await unsaid.text(), /"role":"system","content":"T"/);
    const freed = seen.freed;
    await later.free();
    assert.equal(seen.freed - freed, 4, 'the sessions go with the model: restored, not yet used, restored from that');
    assert.equal(new Set([restored, begun, again]).size, 3, 'none of them was collected before');
  });

  test(`${at}: an answer that is ended early is saved as far as it was written`, async () => {
    const model = await load();
    const session = model.session();
    const answer = session.send('A', { maxTokens: 1000 });
    const { value } = await answer[Symbol.asyncIterator]().next();
    await answer.stop();
    const { text, finishReason } = await answer.result;
    assert.equal(finishReason, 'abort');
    assert.ok(text.startsWith(value.text) && text.length < 1000);
    const saved = await session.save();
    const restored = await model.restoreSession(saved);
    assert.deepEqual(roles(restored), ['user: A', `assistant: ${text}`]);
    await restored.send('B', { maxTokens: 1 });
    assert.equal(textOf(seen.started.at(-1).ids), `<user>A<assistant>${text}<user>B`);
    await model.free();
  });

  test(`${at}: what is no saved session is refused, and nothing of it stays`, async () => {
    const model = await load();
    const refused = (saved, code, pattern) => assert.rejects(model.restoreSession(saved), withCode(code, pattern));
    await refused(new Blob(['GGUF']), 'bad_file', /this is no saved session/);
    await refused({ size: 4 }, 'invalid_argument', /restoreSession: expected a Blob, found an object/);
    const notes = ['', '{', 'null', '[]', '{"options":{"messages":5},"tokens":1}', '{"options":{"sytem":"S"}}'];
    for (const text of notes) await refused(new Blob(['M0', text]), 'bad_file', /holds no conversation/);
    assert.equal(seen.freed, notes.length);
    const session = model.session();
    const saved = await session.save();
    plan.writeFails = Object.assign(new Error('other bytes'), { code: 'integrity_failed' });
    await refused(saved, 'integrity_failed', /other bytes/);
    assert.equal(seen.freed, notes.length + 1);
    plan.otherLayout = true;
    assert.deepEqual((await model.restoreSession(saved)).messages, [], 'no part is written');
    plan.otherLayout = undefined;
    const gone = Object.assign(new Blob(['M0{}']), {
      slice: () => ({ arrayBuffer: () => Promise.reject(Error('gone')) }),
    });
    if (!worker) await refused(gone, 'download_failed', /gone/);
    plan.saveFails = Object.assign(new Error('gone'), { code: 'device_lost' });
    await assert.rejects(session.save(), withCode('device_lost'));
    plan.saveFails = undefined;
    assert.equal((await session.send('A', { maxTokens: 1 })).text, 'a');
    await session.free();
    await assert.rejects(session.save(), withCode('invalid_argument', /save: the session was freed/));
    await model.free();
    await refused(new Blob(['M0']), 'invalid_argument', /restoreSession: the model was freed/);
  });

  test(`${at}: requests of sessions and of the model queue together`, async () => {
    const model = await load();
    const [one, two] = [model.session(), model.session()];
    const order = [];
    const sent = (name, generation) => generation.then(() => order.push(name));
    await Promise.all([
      sent('one', one.send('1', { maxTokens: 6 })),
      sent('model', model.generate('m', { maxTokens: 1 })),
      sent('two', two.send('2', { maxTokens: 1 })),
    ]);
    assert.deepEqual(order, ['one', 'model', 'two']);
    await model.free();
  });

  test(`${at}: what is ended early is kept as far as it came; what fails is not`, async () => {
    const model = await load();
    const session = model.session();
    for await (const piece of session.send('A', { maxTokens: 50 })) if (piece.text === 'c') break;
    assert.equal(session.messages.length, 2);
    assert.match(session.messages[1].content, /^abc/);
    const before = roles(session);
    await assert.rejects(session.send('B', { signal: AbortSignal.abort() }).result, { name: 'AbortError' });
    plan.nextFails = Object.assign(new Error('gone'), { code: 'device_lost' });
    await assert.rejects(session.send('B').result, withCode('device_lost'));
    plan.nextFails = undefined;
    await assert.rejects(session.send('x'.repeat(80)).result, withCode('context_full'));
    assert.deepEqual(roles(session), before);
    await model.free();
  });

  test(`${at}: a full context drops whole turns where that is asked`, async () => {
    const model = await load();
    const session = model.session({ system: 'S', overflow: 'truncate' });
    for (const text of ['one', 'two', 'three']) await session.send(text, { maxTokens: 4 });
    // All three turns with room for the answer would take 73 of 64 tokens.
    assert.deepEqual(roles(session).slice(0, 3), ['system: S', 'user: two', 'assistant: abcd']);
    assert.equal(textOf(seen.started.at(-1).ids), '<system>S<user>two<assistant>abcd<user>three');
    assert.ok(seen.started.every(({ ids }) => ids.length + 4 <= 64));
    await assert.rejects(session.send('x'.repeat(80)).result, withCode('context_full'));
    await model.free();
  });

  test(`${at}: turns are dropped only where an answer comes of it`, async () => {
    const model = await load();
    const session = model.session({ system: 'S', overflow: 'truncate' });
    await session.send('a'.repeat(12), { maxTokens: 2 });
    const before = roles(session);
    await assert.rejects(session.send('b'.repeat(100), { maxTokens: 2 }).result, withCode('context_full'));
    assert.deepEqual(roles(session), before, 'after an error');
    const controller = new AbortController();
    const aborted = session.send('c'.repeat(20), { maxTokens: 2, signal: controller.signal });
    plan.tokenMs = 20;
    const reading = assert.rejects(aborted.next(), { name: 'AbortError' });
    while (seen.started.length < 2) await sleep(1);
    controller.abort();
    await reading;
    await assert.rejects(aborted.result, { name: 'AbortError' });
    assert.equal(aborted.partial, '');
    assert.deepEqual(roles(session), before, 'after an abort');
    assert.ok(!textOf(seen.started.at(-1).ids).includes('aaa'), 'the prompt went without the oldest turn');
    await session.send('d'.repeat(20), { maxTokens: 2 });
    assert.deepEqual(roles(session), ['system: S', `user: ${'d'.repeat(20)}`, 'assistant: ab']);
    await model.free();
  });

  test(`${at}: an answer that nobody awaits is begun, and part of a fork that is asked for later`, async () => {
    const model = await load();
    const session = model.session();
    const unread = session.send('A', { maxTokens: 2 });
    const fork = await session.fork();
    assert.deepEqual(roles(fork), ['user: A', 'assistant: ab']);
    assert.equal((await unread).text, 'ab');
    model.generate('x', { maxTokens: 2 });
    while (seen.started.length < 2) await sleep(1);
    await model.free();
  });

  test(`${at}: messages of the caller are copied`, async () => {
    const model = await load();
    const first = { role: 'user', content: 'A' };
    const next = { role: 'user', content: 'B' };
    const session = model.session({ messages: [first] });
    first.content = 'changed';
    const answer = session.send(next, { maxTokens: 1 });
    next.content = 'changed';
    await answer;
    session.messages[0].content = 'changed';
    assert.deepEqual(roles(session), ['user: A', 'user: B', 'assistant: a']);
    assert.equal(await model.session().countTokens(), 0, 'of a new session');
    await model.free();
  });

  test(`${at}: the cache of a session that is dropped goes with it`, async () => {
    v8.setFlagsFromString('--expose-gc');
    const collect = vm.runInNewContext('gc');
    const model = await load();
    const kept = model.session();
    await kept.send('A', { maxTokens: 1 });
    await (async () => {
      await model.session().send('B', { maxTokens: 1 });
    })();
    for (let round = 0; seen.freed === 0 && round < 200; round += 1) {
      await sleep(1);
      collect();
    }
    assert.equal(seen.freed, 1);
    await kept.send('C', { maxTokens: 1 });
    await model.free();
    assert.equal(seen.freed, 3);
  });
}

test('wrong options and inputs are refused by name', async () => {
  const model = await WasmModel.load(Uint8Array.of(1));
  const refused = (call, pattern) => assert.throws(call, withCode('invalid_argument', pattern));
  refused(() => model.session({ sytem: 'S' }), /session: unknown option 'sytem'/);
  refused(() => model.session({ overflow: 'cut' }), /'truncate' or 'error', found 'cut'/);
  refused(() => model.session({ messages: [{ content: 'x' }] }), /session: message 0 must be/);
  refused(() => model.session({ tools: [{}] }), /session: tools\[0\] must be/);
  const session = model.session();
  refused(() => session.send(5), /send: expected a text, a message or an array of messages, found 5/);
  refused(() => session.send([]), /found an array of 0/);
  refused(() => session.send('x', { temperature: -1 }), /'temperature'/);
  refused(() => session.send({ role: 'user' }), /send: message 0 must be/);
  await model.free();
});

test('a session that is freed while its cache is made leaves none', async () => {
  const model = await WasmModel.load(Uint8Array.of(1));
  const session = model.session();
  const sent = session.send('A', { maxTokens: 2 });
  const refused = assert.rejects(sent.result, withCode('invalid_argument', /the session was freed/));
  while (seen.others.length === 0) await null;
  await session.free();
  await refused;
  assert.deepEqual([seen.others.length, seen.freed], [1, 1], 'what was made is freed');
  assert.equal((await model.generate('B', { maxTokens: 1 })).text, 'a');
  await model.free();
});

test('a session that waits is refused when the model is freed', async () => {
  const model = await WasmModel.load(Uint8Array.of(1));
  plan.tokenMs = 10;
  const running = model.session().send('A', { maxTokens: 1000 }).result;
  const waiting = assert.rejects(model.session().send('B').result, withCode('invalid_argument', /the model was freed/));
  while (seen.nexts === 0) await sleep(1);
  await model.free();
  await waiting;
  assert.equal((await running).finishReason, 'abort');
  assert.equal(seen.freed, 2);
});
