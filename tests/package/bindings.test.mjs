// `webgguf/vue` and `webgguf/svelte` with Vue and Svelte themselves, over a mock of the WebAssembly.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { beforeEach, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { api, dist, plan, resetMock, seen } from '../js/api.mjs';
import { installClients, mustCompile, tool } from './install.mjs';

await installClients();
const url = (name, file) => pathToFileURL(tool(name, file)).href;
const vue = await import(url('vue', 'index.mjs'));
const { derived, get } = await import(url('svelte', 'src/store/index-client.js'));
const require = createRequire(tool('svelte', 'package.json'));

/** The entry of the package for Vue, which lies where Vue is not installed. */
const entry = fs
  .readFileSync(new URL(`${dist}vue/index.js`), 'utf8')
  .replaceAll(/from\s*"vue"/g, `from "${url('vue', 'index.mjs')}"`)
  .replaceAll(/from\s*"\.\.\//g, `from "${dist}`);
const { useChat, useCompletion, useModel, useObject } = await import(
  `data:text/javascript,${encodeURIComponent(entry)}`
);
const { createChat, createCompletion, createModel, createObject } = await import(`${dist}svelte/index.js`);
await api.init({ wasm: new Uint8Array(8) });

beforeEach(() => {
  resetMock();
  Object.assign(plan, { contextLength: 10000, tokenMs: 0, writes: 'Hello!', template: 'x' });
});

const SCHEMA = { type: 'object', properties: { a: { type: 'number' } } };
const said = ({ messages }) => messages.map(({ role, content }) => `${role}: ${content}`);
const file = () => new Blob([Uint8Array.of(1)]);

/** Resolves once `condition` holds, which is asked at every change of `ref`. */
const whenever = (ref, condition) =>
  new Promise((resolve) => {
    const stop = vue.watch(ref, (value) => condition(value) && resolve(stop()), { immediate: true, flush: 'sync' });
  });

test('Vue: a model is loaded, shared, changed with its source and freed with the scope', async () => {
  const [source, scope, other] = [vue.shallowRef(null), vue.effectScope(), vue.effectScope()];
  const { model, status, retry } = scope.run(() => useModel(source));
  assert.deepEqual([status.value, model.value], ['idle', undefined]);
  source.value = file();
  await whenever(status, (value) => value === 'ready');
  const same = other.run(() => useModel(() => source.value));
  assert.equal(same.status.value, 'loading', 'effects run after the render');
  await vue.nextTick();
  assert.equal(same.model.value, model.value);
  const [first] = [model.value];
  other.stop();
  assert.equal((await first.generate('x')).text, 'Hello!');
  source.value = file();
  await vue.nextTick();
  assert.equal(status.value, 'loading');
  await whenever(status, (value) => value === 'ready');
  assert.notEqual(model.value, first);
  const second = model.value;
  retry();
  await whenever(model, (value) => value && value !== second);
  const last = model.value;
  scope.stop();
  await new Promise((resolve) => setTimeout(resolve));
  await new Promise((resolve) => setTimeout(resolve));
  assert.throws(() => last.generate('x'), { code: 'invalid_argument' }, 'it was freed');
  const broken = vue.effectScope();
  plan.loadFails = true;
  const failed = broken.run(() => useModel(new Blob([])));
  await whenever(failed.status, (value) => value === 'error');
  assert.ok(failed.error.value);
  broken.stop();
});

test('Vue: a chat, a text and an object in refs; options may change; the scope ends what is written', async () => {
  const scope = vue.effectScope();
  const model = vue.ref(await api.WasmModel.load(Uint8Array.of(1)));
  const options = vue.reactive({ system: 'Be kind.', max_completion_tokens: 50 });
  const [chat, text] = scope.run(() => [useChat(model, options), useCompletion(model, () => ({ maxTokens: 2 }))]);
  const shown = vue.computed(() => said({ messages: chat.messages.value }));
  await chat.send('Hi');
  assert.deepEqual(shown.value, ['user: Hi', 'assistant: Hello!']);
  assert.equal(seen.templates.at(-1).messages[0].content, 'Be kind.');
  options.system = 'Be short.';
  await chat.regenerate();
  assert.equal(seen.templates.at(-1).messages[0].content, 'Be short.');
  await chat.clear();
  assert.deepEqual(shown.value, []);
  await text.complete('Once');
  assert.deepEqual([text.completion.value, text.status.value], ['He', 'idle']);
  plan.writes = '{"a": 1}';
  const object = scope.run(() => useObject(model, { schema: SCHEMA }));
  const { generate } = model.value;
  const loose = (asked, { grammar, ...further }) => generate.call(model.value, asked, further);
  Object.defineProperty(model.value, 'generate', { value: loose });
  await object.submit('x');
  assert.deepEqual([object.object.value, object.error.value], [{ a: 1 }, undefined]);
  Object.assign(plan, { tokenMs: 5, writes: 'x'.repeat(500) });
  const sent = chat.send('And?');
  await whenever(chat.messages, (messages) => messages.at(-1)?.content.length > 3);
  scope.stop();
  await sent;
  assert.ok(seen.started.length > 0 && chat.messages.value.at(-1).content.length < 500);
});

test('Svelte: a model is loaded while something subscribes, and shared', async () => {
  const source = file();
  const idle = createModel(null);
  assert.equal(get(idle).status, 'idle');
  const store = createModel(source);
  const states = [];
  const ready = new Promise((resolve) => {
    states.leave = store.subscribe((state) => {
      states.push(state.status);
      if (state.status === 'ready') resolve(state.model);
    });
  });
  const model = await ready;
  assert.equal(states[0], 'loading');
  const name = derived(createModel(source), (state) => state.model?.info.architecture);
  assert.equal(get(name), model.info.architecture);
  assert.equal((await model.generate('x')).text, 'Hello!', 'another subscriber came and went');
  states.leave();
  await new Promise((resolve) => setTimeout(resolve));
  await new Promise((resolve) => setTimeout(resolve));
  assert.throws(() => model.generate('x'), { code: 'invalid_argument' }, 'it was freed');
});

test('Svelte: a chat, a text and an object as stores; the last subscriber ends what is written', async () => {
  const source = file();
  const model = createModel(source);
  const options = { system: 'Be kind.' };
  const chat = createChat(model, options);
  const seenSo = new Set();
  let last;
  const leave = chat.subscribe((state) => {
    last = state;
    seenSo.add(state.status);
  });
  await new Promise((resolve) => model.subscribe((state) => state.model && resolve()));
  await chat.send('Hi');
  assert.deepEqual(
    [said(last), [...seenSo]],
    [
      ['user: Hi', 'assistant: Hello!'],
      ['idle', 'writing'],
    ],
  );
  options.system = 'Be short.';
  await chat.regenerate();
  assert.equal(seen.templates.at(-1).messages[0].content, 'Be short.');
  const loaded = get(model).model;
  const text = createCompletion(loaded, { maxTokens: 2 });
  await text.complete('Once');
  assert.deepEqual(get(text), { completion: 'He', status: 'idle', error: undefined });
  plan.writes = '{"a": 1}';
  const { generate } = loaded;
  const loose = (asked, { grammar, ...further }) => generate.call(loaded, asked, further);
  Object.defineProperty(loaded, 'generate', { value: loose });
  const object = createObject(loaded, { schema: SCHEMA });
  await object.submit('x');
  assert.deepEqual(get(object).object, { a: 1 });
  Object.assign(plan, { tokenMs: 5, writes: 'x'.repeat(500) });
  const sent = chat.send('And?');
  const begun = new Promise((resolve) => {
    chat.subscribe(({ messages }) => messages.at(-1)?.content.length > 3 && resolve());
  });
  await begun;
  await chat.stop();
  await sent;
  assert.ok(get(chat).messages.at(-1).content.length < 500);
  leave();
});

test('Svelte: a component reads the stores by $', async () => {
  const { compile } = require('svelte/compiler');
  const { render } = await import(url('svelte', 'src/server/index.js'));
  const source =
    '<script>let { chat } = $props();</script>{#each $chat.messages as m}<p>{m.role}: {m.content}</p>{/each}';
  const { js } = compile(source, { generate: 'server' });
  const code = js.code.replaceAll(
    /from 'svelte\/internal\/server'/g,
    `from '${url('svelte', 'src/internal/server/index.js')}'`,
  );
  const { default: Component } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
  const chat = createChat(undefined, { messages: [{ role: 'user', content: 'Hi' }] });
  const { body } = await render(Component, { props: { chat } });
  assert.match(body, /<p>user: Hi<\/p>/);
});

const TYPED = `
import { type Ref, ref } from 'vue';
import { derived } from 'svelte/store';
import type { WasmModel } from 'DIST/index.js';
import { useChat, useModel, useObject } from 'DIST/vue/index.js';
import { createChat, createModel } from 'DIST/svelte/index.js';

const { model, status, retry } = useModel(ref('/a.gguf'), { worker: true });
const chat = useChat(model, () => ({ system: 'x' }));
const { object } = useObject<{ a: number }>(model, { schema: {} });
export const a: number | undefined = object.value?.a;
export const words: string | undefined = chat.messages.value[0]?.content;
export const held: Ref<WasmModel | undefined> = model as Ref<WasmModel | undefined>;
export const ready: boolean = status.value === 'ready';
retry();
export const count = derived(createChat(createModel('/a.gguf')), ({ messages }) => messages.length);
`;

test('the types fit the packages', () => mustCompile('bindings-types.ts', TYPED));
