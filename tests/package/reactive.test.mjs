// Models and all that comes of them in the states of Vue and Alpine, over a mock of the WebAssembly.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { beforeEach, test } from 'node:test';
import { api, plan, resetMock } from '../js/api.mjs';
import { installClients, tool } from './install.mjs';

await installClients();
const require = createRequire(import.meta.url);
const { isReactive, reactive, readonly, ref } = require(tool('vue', 'index.js'));
// Alpine wants a page, of which its states use nothing.
const nothing = class {};
const document = { createElement: () => ({}) };
Object.assign(globalThis, { document, Element: nothing, MutationObserver: nothing, window: { Element: nothing } });
const { default: Alpine } = await import(tool('alpinejs', 'dist/module.esm.js'));
for (const name of ['document', 'window']) delete globalThis[name];
await api.init({ wasm: new Uint8Array(8) });

beforeEach(() => {
  resetMock();
  Object.assign(plan, { contextLength: 10000, tokenMs: 0, writes: 'Hello', template: 'x' });
});

const STATES = {
  "Vue's ref": (value) => ref(value).value,
  "Vue's ref of an object": (value) => ref({ value }).value.value,
  "Vue's reactive": (value) => reactive({ value }).value,
  "Vue's reactive itself": (value) => reactive(value),
  "Vue's reactive list": (value) => reactive([value])[0],
  "Vue's reactive map": (value) => reactive(new Map([['a', value]])).get('a'),
  "Vue's readonly": (value) => readonly({ value }).value,
  "Alpine's data": (value) => Alpine.reactive({ value }).value,
};

for (const [state, put] of Object.entries(STATES)) {
  test(`${state}: a model, its sessions, tensors and the control of a download work`, async () => {
    const download = put(new api.DownloadControl());
    let changes = 0;
    download.addEventListener('change', () => (changes += 1));
    download.pause();
    download.resume();
    assert.equal(changes, 2);
    const model = put(await api.WasmModel.load(Uint8Array.of(1), { download }));
    assert.ok(!isReactive(model), 'it stays what it is');
    assert.equal((await put(model.generate('x'))).text, 'Hello');
    const messages = reactive([{ role: 'user', content: 'x' }]);
    assert.equal((await model.generate(messages)).text, 'Hello');
    const { choices } = await model.chat.completions.create({ messages });
    assert.equal(choices[0].message.content, 'Hello');
    const session = put(model.session({ messages }));
    await session.send('hi');
    assert.equal(session.messages.length, 3);
    const gpu = put(await api.Gpu.create());
    const x = put(gpu.tensor([1, 2], [2]));
    gpu.free(gpu.add(x, x));
    await model.free();
  });
}
