// Pages whose surroundings are odd: trusted types, sandboxed frames, GPUs that do not answer, service workers, networks
// that go, libraries that patch promises, processors without SIMD.

import assert from 'node:assert/strict';
import http from 'node:http';
import { after, test } from 'node:test';
import { openBrowser } from '../../tools/browser.mjs';
import { openPage } from '../../tools/demo.mjs';
import { openSite, SMALL, STORYTELLER } from './site.mjs';

const page =
  (policy, body = '') =>
  (_, response) => {
    const headers = { 'Content-Type': 'text/html', ...(policy && { 'Content-Security-Policy': policy }) };
    response.writeHead(200, headers).end(`<!doctype html><link rel="icon" href="data:,">${body}`);
  };
const script = (text) => (_, response) => response.writeHead(200, { 'Content-Type': 'text/javascript' }).end(text);
const TRUSTED = "require-trusted-types-for 'script'";
const INNER = `<script type="module">
  const said = {};
  const step = async (name, work) => {
    said[name] = await work().then(String, ({ name, code, message }) => [name, code, message].join(' '));
  };
  const { WasmModel, cache } = await import('/dist/index.js');
  for (const worker of [false, true]) {
    await step('worker ' + worker, async () => {
      const model = await WasmModel.load('${SMALL}', { backend: 'cpu', worker, onWarning() {} });
      const { text } = await model.generate('a', { maxTokens: 3, ignoreEos: true });
      await model.free();
      return text.length > 0;
    });
  }
  for (const call of ['list', 'clear', 'persist']) await step(call, async () => JSON.stringify(await cache[call]()));
  for (const call of ['has', 'delete']) await step(call, () => cache[call]('x'));
  await step('estimate', async () => JSON.stringify(await cache.estimate()));
  parent.postMessage(said, '*');
</script>`;
const WORKER = `import { WasmModel } from '/dist/index.js';
  oninstall = () => skipWaiting();
  onactivate = (event) => event.waitUntil(clients.claim());
  onmessage = (event) => event.waitUntil((async () => {
    const said = {};
    const step = async (name, work) => {
      const failed = ({ name, code, message }) => [name, code, message].join(' ');
      said[name] = await work().then((text) => typeof text, failed);
    };
    const model = await WasmModel.load('${STORYTELLER}', { backend: 'cpu' });
    const messages = [{ role: 'user', content: 'hi' }];
    await step('text', async () => (await model.generate('Once', { maxTokens: 2 })).text);
    await step('messages', async () => (await model.generate(messages, { maxTokens: 2 })).text);
    await step('session', async () => (await model.session().send('hi', { maxTokens: 2 })).text);
    await step('chat', async () =>
      (await model.chat.completions.create({ messages, max_tokens: 2 })).choices[0].message.content);
    await step('grammar', async () =>
      (await model.generate('Once', { maxTokens: 9, grammar: { choice: ['yes', 'no'] } })).text);
    await model.free();
    event.source.postMessage(said);
  })());`;

const site = await openSite({
  routes: {
    '/blank': page(),
    '/trusted': page(TRUSTED),
    '/trusted-webgguf': page(`${TRUSTED}; trusted-types webgguf`),
    '/trusted-own': page(`${TRUSTED}; trusted-types own`),
    '/sandbox': page(
      '',
      '<iframe sandbox="allow-scripts" src="/inner"></iframe><script>onmessage = ({ data }) => (said = data);</script>',
    ),
    '/inner': page('', INNER),
    '/bare-worker.js': script(WORKER),
    '/preloaded-worker.js': script(`import '/dist/preload.js'; ${WORKER}`),
  },
});

/** Runs `work(argument)` in a fresh page; `init` runs before its scripts. */
async function inPage(work, argument, { at = '/blank', init, context } = {}) {
  const opened = context ? await context.newPage() : await (await site.browser.newContext()).newPage();
  if (init) await opened.addInitScript(init);
  await opened.goto(site.url + at);
  try {
    return await opened.evaluate(
      async ([source, given]) => {
        try {
          return await (0, eval)(`(${source})`)(given);
        } catch ({ name, code, message }) {
          return { name, code, message };
        }
      },
      [work.toString(), argument],
    );
  } finally {
    await opened.close();
  }
}

const loadInWorker = async ([url, how]) => {
  const { WasmModel, init } = await import('/dist/index.js');
  if (how === 'given') await init({ worker: '/dist/worker.js' });
  if (how === 'trusted') {
    const policy = window.trustedTypes.createPolicy('own', { createScriptURL: (address) => address });
    await init({ worker: policy.createScriptURL('/dist/worker.js') });
  }
  const model = await WasmModel.load(url, { backend: 'cpu', worker: true });
  await model.free();
  return 'works';
};

for (const [at, how, says] of [
  ['/trusted', 'plain'],
  ['/trusted', 'given'],
  ['/trusted-webgguf', 'plain'],
  ['/trusted-own', 'plain', /trusted types: allow the policy 'webgguf'/],
  ['/trusted-own', 'trusted'],
]) {
  test(`trusted types: ${at}, worker ${how}`, async () => {
    const found = await inPage(loadInWorker, [SMALL, how], { at });
    if (!says) return assert.equal(found, 'works');
    assert.equal(found.code, 'feature_missing');
    assert.match(found.message, says);
  });
}

test('a sandboxed frame has models, in a worker too, and a cache without anything', async () => {
  // The frame's origin is `null`, so that even its own server has to allow it: CORS.
  const open = http.createServer(async ({ url }, response) => {
    const found = await fetch(site.url + url);
    const type = found.headers.get('content-type') ?? 'application/octet-stream';
    response.writeHead(found.status, { 'Content-Type': type, 'Access-Control-Allow-Origin': '*' });
    response.end(Buffer.from(await found.arrayBuffer()));
  });
  await new Promise((resolve) => open.listen(0, '127.0.0.1', resolve));
  const opened = await openPage(site.browser, `http://127.0.0.1:${open.address().port}/sandbox`);
  try {
    await opened.waitForFunction(() => window.said);
    const { estimate, ...said } = await opened.evaluate(() => window.said);
    const works = { 'worker false': 'true', 'worker true': 'true' };
    assert.deepEqual(said, {
      ...works,
      list: '[]',
      clear: 'undefined',
      persist: 'false',
      has: 'false',
      delete: 'false',
    });
    assert.deepEqual(JSON.parse(estimate), { models: 0, usage: 0, quota: 0 });
  } finally {
    await opened.close();
    open.closeAllConnections();
    open.close();
  }
});

const backendOf = async (url) => {
  const warnings = [];
  const { WasmModel } = await import('/dist/index.js');
  const model = await WasmModel.load(url, { onWarning: ({ message }) => warnings.push(message) });
  const { backend, backendReason } = model.info;
  await model.free();
  const refused = await WasmModel.load(url, { backend: 'webgpu' }).then(
    async (it) => (await it.free(), 'works'),
    ({ code, message }) => `${code}: ${message}`,
  );
  return { backend, backendReason, warnings, refused };
};

/** Seconds pass at once. */
const quick = () => {
  const { setInterval: real } = window;
  window.setInterval = (work, ms, ...rest) => real(work, ms / 100, ...rest);
};
const FAULTS = {
  'requestAdapter never answers': [`GPU.prototype.requestAdapter = () => new Promise(() => {});`, /no answer for 15 s/],
  'requestAdapter throws': [
    `GPU.prototype.requestAdapter = () => { throw new TypeError('WebGPU is switched off'); };`,
    /WebGPU is switched off/,
  ],
  'requestAdapter of the object throws': [
    `Object.defineProperty(navigator.gpu, 'requestAdapter', { value: () => { throw new Error('wrapped'); } });`,
    /wrapped/,
  ],
  'requestAdapter rejects': [
    `GPU.prototype.requestAdapter = async () => { throw new Error('no driver'); };`,
    /no driver/,
  ],
  'there is no adapter': [`GPU.prototype.requestAdapter = async () => null;`, /offers no WebGPU adapter/],
  'requestDevice never answers': [
    `GPUAdapter.prototype.requestDevice = () => new Promise(() => {});`,
    /no answer for 15 s/,
  ],
  'requestDevice throws': [
    `GPUAdapter.prototype.requestDevice = () => { throw new TypeError('no device today'); };`,
    /the adapter gave no device/,
  ],
  'requestDevice rejects': [
    `GPUAdapter.prototype.requestDevice = async () => { throw new DOMException('lost', 'OperationError'); };`,
    /the adapter gave no device/,
  ],
};

for (const [what, [fault, reason]] of Object.entries(FAULTS)) {
  test(`${what}: the CPU takes over and says why, and WebGPU is refused`, async () => {
    const found = await inPage(backendOf, SMALL, { init: `(${quick})(); ${fault}` });
    assert.equal(found.backend, 'cpu', JSON.stringify(found));
    assert.match(found.backendReason, reason);
    assert.deepEqual(found.warnings, [`the model runs on the CPU: ${found.backendReason}`]);
    assert.match(found.refused, /^webgpu_unavailable: /);
    assert.match(found.refused, reason);
  });
}

test('an adapter that comes late is taken by the next load', async () => {
  const late = `const real = GPU.prototype.requestAdapter; let calls = 0;
    GPU.prototype.requestAdapter = function (...args) {
      if ((calls += 1) > 1) return real.apply(this, args);
      return new Promise((resolve) => setTimeout(() => resolve(null), 20_000));
    };`;
  const { backendReason, refused } = await inPage(backendOf, SMALL, { init: `(${quick})(); ${late}` });
  assert.match(backendReason, /no answer for 15 s/);
  assert.equal(refused, 'works');
});

for (const [name, isWhole] of [
  ['bare', false],
  ['preloaded', true],
]) {
  test(`a ${name} service worker ${isWhole ? 'chats' : 'writes, and says what is missing for chats'}`, async () => {
    const context = await site.browser.newContext();
    const ask = async (url) => {
      await navigator.serviceWorker.register(url, { type: 'module' });
      const { active } = await navigator.serviceWorker.ready;
      return new Promise((resolve) => {
        navigator.serviceWorker.onmessage = ({ data }) => resolve(data);
        active.postMessage(1);
      });
    };
    const said = await inPage(ask, `/${name}-worker.js`, { context });
    await context.close();
    const { text, ...others } = said;
    assert.equal(text, 'string');
    for (const [call, found] of Object.entries(others)) {
      if (isWhole) assert.equal(found, 'string', call);
      else assert.match(found, /^WebggufError feature_missing .*preload\.js/, call);
    }
  });
}

for (const preload of [false, true]) {
  const what = preload ? 'after preload all goes on' : 'what is missing is download_failed, until it is back';
  test(`without a network, ${what}`, async () => {
    const context = await site.browser.newContext();
    const opened = await context.newPage();
    await opened.goto(`${site.url}/blank`);
    await opened.evaluate(
      async ([url, preload]) => {
        const { WasmModel, init } = await import('/dist/index.js');
        await init({ preload });
        const model = await WasmModel.load(url, { backend: 'cpu' });
        const messages = [{ role: 'user', content: 'x' }];
        window.calls = {
          grammar: async () =>
            (await model.generate('Once', { maxTokens: 9, grammar: { choice: ['yes', 'no'] } })).text,
          chat: async () =>
            (await model.chat.completions.create({ messages, max_tokens: 2 })).choices[0].message.content,
          embeddings: () => model.embeddings.create({ input: 'x' }),
          adapter: () => model.addAdapter(new Blob([new Uint8Array(8)])),
        };
        window.run = async () => {
          const said = {};
          for (const [name, call] of Object.entries(window.calls)) {
            said[name] = await call().then(
              () => 'works',
              ({ name, code }) => `${name} ${code}`,
            );
          }
          return said;
        };
      },
      [STORYTELLER, preload],
    );
    await context.setOffline(true);
    const offline = await opened.evaluate(() => window.run());
    await context.setOffline(false);
    const online = await opened.evaluate(() => window.run());
    await context.close();
    // A storyteller embeds nothing, and eight zeros are no adapter.
    const works = { grammar: 'works', chat: 'works', embeddings: online.embeddings, adapter: online.adapter };
    assert.deepEqual(online, works);
    assert.match(online.adapter, /bad_file|invalid_argument/);
    const failed = Object.fromEntries(Object.keys(works).map((name) => [name, 'WebggufError download_failed']));
    assert.deepEqual(offline, preload ? works : failed);
  });
}

test('chats work beside a library that replaces Promise.race by one for arrays', async () => {
  const patched = () => {
    for (const name of ['race', 'all', 'any', 'allSettled']) {
      const real = Promise[name];
      // As of zone.js for script tags, whose promises of an iterator never settle.
      Promise[name] = function (values) {
        return Array.isArray(values) ? real.call(this, values) : new Promise(() => {});
      };
    }
  };
  const chat = async (url) => {
    const { WasmModel } = await import('/dist/index.js');
    const model = await WasmModel.load(url, { backend: 'cpu' });
    const messages = [{ role: 'user', content: 'x' }];
    const { choices } = await model.chat.completions.create({ messages, max_tokens: 2, n: 2 });
    let chunks = 0;
    for await (const _ of await model.chat.completions.create({ messages, max_tokens: 2, stream: true })) chunks += 1;
    return [choices.length, chunks > 1];
  };
  assert.deepEqual(await inPage(chat, STORYTELLER, { init: `(${patched})()` }), [2, true]);
});

test('a processor without SIMD is feature_missing by that name', async () => {
  const flags = ['sse3', 'ssse3', 'sse4-1', 'sse4-2', 'avx', 'avx2'].map((name) => `--no-enable-${name}`);
  const old = await openBrowser({ args: [`--js-flags=${flags.join(' ')}`] });
  after(() => old.close());
  const opened = await openPage(old, `${site.url}/blank`);
  const { code, message } = await opened.evaluate(async (url) => {
    const { WasmModel } = await import('/dist/index.js');
    return WasmModel.load(url, { backend: 'cpu' }).catch(({ code, message }) => ({ code, message }));
  }, SMALL);
  await opened.close();
  assert.equal(code, 'feature_missing');
  assert.match(message, /no SIMD/);
});
