// Models in workers of their own, in a browser: the same answers, errors and cancelling as in the page's thread, from
// every kind of source; a worker that dies; and what is left when a model was freed.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { DEEP, largeModel } from './large_model.mjs';
import { badRoutes, MODELS, SMALL, STORYTELLER, openSite, until } from './site.mjs';
import { SOURCES } from './sources.mjs';
import { traceTasks } from './tasks.mjs';

const file = path.join(MODELS, path.basename(SMALL));
const blank = (request, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const deep = largeModel(DEEP);
const stalled = badRoutes.stalled(file);
let stalledRequests = 0;
const site = await openSite({
  routes: {
    '/blank': blank,
    '/deep.gguf': deep.route,
    '/bad/cut.gguf': badRoutes.cut(file),
    '/bad/plain.gguf': badRoutes.plain(file),
    '/bad/resumable.gguf': badRoutes.resumable(file),
    '/bad/stalled.gguf': (...args) => {
      stalledRequests += 1;
      return stalled(...args);
    },
  },
});
const page = await site.open('/blank');

/** Runs `work(package, argument)` in the page. */
const api = (work, argument, where = page) =>
  where.evaluate(
    async ([source, value]) => (0, eval)(`(${source})`)(await import('/dist/index.js'), value),
    [work.toString(), argument],
  );

/** The same work with the model in a worker and in the page's thread. */
async function both(work, argument) {
  const results = [];
  for (const worker of [true, false]) results.push(await api(work, { ...argument, worker }));
  assert.deepEqual(results[0], results[1]);
  return results[0];
}

/** Workers end a moment after `terminate`. */
async function noWorkers(where = page) {
  await until(() => where.workers().length === 0, 'no worker is left');
}

for (const [name, make] of Object.entries(SOURCES)) {
  test(`source: ${name}`, async () => {
    const ids = await both(
      async ({ WasmModel }, { source, url, worker }) => {
        const model = await WasmModel.load(await (0, eval)(`(${source})`)(url), { backend: 'cpu', worker });
        const { ids } = await model.generate([5, 6, 7, 8], { temperature: 0, maxTokens: 8, ignoreEos: true });
        await model.free();
        return [...ids];
      },
      { source: make.toString(), url: SMALL },
    );
    assert.equal(ids.length, 8);
    await noWorkers();
  });
}

test('source: a split file, found by its first part', async () => {
  const ids = await both(
    async ({ WasmModel }, { url, worker }) => {
      const model = await WasmModel.load(url, { backend: 'cpu', worker });
      const { ids } = await model.generate([5, 6], { maxTokens: 4, ignoreEos: true });
      await model.free();
      return [...ids];
    },
    { url: '/fixtures/models/llama-q4_1-split-00001-of-00002.gguf' },
  );
  assert.equal(ids.length, 4);
});

for (const backend of ['webgpu', 'cpu']) {
  test(`${backend}: texts, ids, evaluations and templates are the same`, async () => {
    const {
      story,
      usage,
      pieces,
      backend: where,
    } = await both(
      async ({ WasmModel }, { url, backend, worker }) => {
        const model = await WasmModel.load(url, { backend, worker });
        const options = { maxTokens: 12, temperature: 0.8, seed: 7, ignoreEos: true };
        const generation = model.generate('Once upon a time', options);
        let joined = '';
        let pieces = 0;
        for await (const piece of generation) {
          joined += piece.text;
          pieces += 1;
        }
        const story = await generation;
        const longer = await model.generate([...(await model.tokenize('Once upon a time')), ...story.ids], options);
        const { top1, logprobs, logits } = await model.evaluate(story.ids, { logits: true });
        const { info } = model;
        const messages = [{ role: 'user', content: 'Hi!' }];
        const chat = info.hasChatTemplate && (await model.applyChatTemplate(messages));
        const back = await model.detokenize(await model.tokenize('The hedgehog went home.'));
        await model.free();
        return {
          ...{ story: story.text, joined, chat, back, backend: info.backend, variants: info.variants },
          ...{ ids: [...story.ids], next: [...longer.ids], usage: longer.usage, top1: [...top1] },
          ...{ logprobs: [...logprobs], logits: logits.length, pieces: pieces > 0 },
        };
      },
      { url: backend === 'cpu' ? STORYTELLER : '/fixtures/models/llama-q8_0.gguf', backend },
    );
    assert.ok(story.length > 0 && pieces);
    assert.ok(usage.totalTokens > 12);
    assert.equal(where, backend);
  });
}

for (const backend of ['webgpu', 'cpu']) {
  test(`${backend}: sessions keep, fork and share what was read`, async () => {
    const found = await both(
      async ({ WasmModel }, { url, backend, worker }) => {
        const model = await WasmModel.load(url, { backend, worker, contextLength: 256 });
        const options = { maxTokens: 6, temperature: 0, ignoreEos: true };
        const system = 'You tell stories about animals that live in the forest, in the fields and by the river.';
        const session = model.session({ system });
        const first = await session.send('Tell me about a hare.', options);
        const fork = await session.fork();
        const [left, right] = [await session.send('And then?', options), await fork.send('Why?', options)];
        // Another session with the same start takes over what the first has read of it.
        const late = model.session({ messages: fork.messages.slice(0, 3) });
        const same = await late.send('Why?', options);
        await model.reset();
        const alone = await model.generate(fork.messages.slice(0, 4), options);
        const counted = await late.countTokens();
        await session.free();
        await model.free();
        return {
          ...{ texts: [first.text, left.text, right.text, same.text, alone.text], counted },
          ...{ cached: [first, left, right, same].map(({ usage }) => usage.cachedTokens) },
          ...{ prompts: [first, left, right, same].map(({ usage }) => usage.promptTokens) },
        };
      },
      { url: STORYTELLER, backend },
    );
    const [first, left, right, same, alone] = found.texts;
    assert.ok(first.length > 0 && left.length > 0, JSON.stringify(found));
    assert.deepEqual([same, alone], [right, right], JSON.stringify(found));
    assert.equal(found.cached[0], 0);
    found.cached.slice(1).forEach((cached, i) => {
      assert.ok(cached >= 32 && cached < found.prompts[i + 1], JSON.stringify(found));
    });
    await noWorkers();
  });
}

test('embedders and rerankers give the same', async () => {
  const found = await both(
    async ({ WasmModel }, { embedder, reranker, worker }) => {
      const model = await WasmModel.load(embedder, { backend: 'cpu', worker });
      const vectors = await model.embed(['the river', [5, 6, 7]], { dimensions: 8 });
      await model.free();
      const judge = await WasmModel.load(reranker, { backend: 'cpu', worker });
      const scores = await judge.rank('the river', ['the old bridge', 'bread'], { truncate: true });
      await judge.free();
      return { vectors: vectors.map((vector) => [...vector]), scores };
    },
    { embedder: '/fixtures/embedders/bert-f16.gguf', reranker: '/fixtures/embedders/bert-rank-f32.gguf' },
  );
  assert.deepEqual([found.vectors[0].length, found.scores.length], [8, 2]);
});

test('progress is the same', async () => {
  const stages = await both(
    async ({ WasmModel }, { url, worker }) => {
      const events = [];
      const model = await WasmModel.load(url, { backend: 'cpu', worker, onProgress: (event) => events.push(event) });
      await model.free();
      const last = events.filter(({ stage }) => stage === 'download').at(-1);
      return { stages: [...new Set(events.map(({ stage }) => stage))], last, end: events.at(-1) };
    },
    { url: SMALL },
  );
  assert.deepEqual(stages.end, { stage: 'ready', loaded: 1, total: 1, fraction: 1 });
});

test('errors are the same', async () => {
  const errors = await both(
    async ({ WasmModel, WebggufError }, { small, worker }) => {
      const caught = (promise) =>
        promise.then(
          () => null,
          // How much came of a file that is cut is a matter of luck.
          (error) => {
            const { name, code, message } = error;
            return [error instanceof WebggufError, name, code, message.replace(/after \d+ of/, 'after … of')];
          },
        );
      const load = (source, options = {}) => caught(WasmModel.load(source, { backend: 'cpu', worker, ...options }));
      const model = await WasmModel.load(small, { backend: 'cpu', contextLength: 16, worker });
      const errors = [
        ...[await load(42), await load([]), await load('/nothing.gguf'), await load('/dist/index.js')],
        ...[await load('/bad/cut.gguf'), await load(fetch('/nothing.gguf')), await load(new Uint8Array(7))],
        ...[await load(small, { contextLength: 1e9 }), await load({ size: 5, read: () => 7 })],
        await load({ size: 5, read: () => Promise.reject(new RangeError('no disk')) }),
        ...[await caught(model.generate(Array(20).fill(5)).result), await caught(model.embed('x'))],
        ...[await caught(model.detokenize([1e6])), await caught(model.applyChatTemplate([]))],
      ];
      await model.free();
      return [...errors, await caught(model.tokenize('x'))];
    },
    { small: SMALL },
  );
  for (const error of errors) assert.deepEqual(error?.slice(0, 2), [true, 'WebggufError'], String(error));
  await noWorkers();
});

test('an abort ends a load at once, also while nothing comes', async () => {
  for (const delay of [-1, 0, 300]) {
    const { name, turns } = await api(async ({ WasmModel }, wait) => {
      const controller = new AbortController();
      let [turns, counting] = [0, undefined];
      const abort = () => {
        controller.abort();
        counting = setInterval(() => (turns += 1));
      };
      if (wait < 0) abort();
      else setTimeout(abort, wait);
      const loading = WasmModel.load('/bad/stalled.gguf', { signal: controller.signal, worker: true });
      return loading
        .then(
          () => ({}),
          (error) => ({ name: error.name, turns }),
        )
        .finally(() => clearInterval(counting));
    }, delay);
    assert.equal(name, 'AbortError');
    // A connection that stalls is given up by itself after a time that has several times as many turns.
    assert.ok(turns < 2000, `${turns} turns of the page`);
  }
  await noWorkers();
});

for (const stage of ['download', 'upload', 'compile', 'ready']) {
  test(`an abort at ${stage} ends a load on the GPU`, async () => {
    const outcome = await api(
      async ({ WasmModel }, [wanted, url]) => {
        const controller = new AbortController();
        const onProgress = (event) => {
          if (event.stage === wanted) controller.abort();
        };
        const load = WasmModel.load(url, { signal: controller.signal, onProgress, backend: 'webgpu', worker: true });
        return load.then(
          () => 'loaded',
          (error) => error.name,
        );
      },
      [stage, SMALL],
    );
    assert.equal(outcome, 'AbortError');
    await noWorkers();
  });
}

test('what onProgress throws comes out of load', async () => {
  const message = await api(async ({ WasmModel }, url) => {
    const mine = new Error('mine');
    const onProgress = () => {
      throw mine;
    };
    return WasmModel.load(url, { backend: 'cpu', worker: true, onProgress }).catch((error) => error === mine);
  }, SMALL);
  assert.equal(message, true);
  await noWorkers();
});

test('leaving the loop, a signal and stop end the text, and the model goes on', async () => {
  const found = await api(async ({ WasmModel }, url) => {
    const model = await WasmModel.load(url, { backend: 'cpu', worker: true });
    const options = { maxTokens: 2000, ignoreEos: true, temperature: 0 };
    const left = model.generate('Once upon a time', options);
    for await (const { text } of left) if (text) break;
    const controller = new AbortController();
    const aborted = model.generate('Once upon a time', { ...options, signal: controller.signal });
    await aborted.next();
    const waited = model.generate('Then', { ...options, signal: controller.signal }).result;
    controller.abort('enough');
    const reasons = [
      await aborted.next().catch(String),
      await aborted.result.catch(String),
      await waited.catch(String),
    ];
    const stopped = model.generate('Once', options);
    await stopped.next();
    await model.stop();
    const results = [await left, await stopped];
    const { ids } = await model.generate('Once', { maxTokens: 5, ignoreEos: true });
    await model.free();
    return { reasons, ended: results.map(({ finishReason }) => finishReason), ids: ids.length };
  }, STORYTELLER);
  assert.deepEqual(found, { reasons: Array(3).fill('enough'), ended: ['abort', 'abort'], ids: 5 });
});

/** Ends the only worker. */
async function killWorker() {
  assert.equal(page.workers().length, 1);
  await page.workers()[0].evaluate(() => globalThis.close());
}

test('a worker that dies in mid-stream: every call ends with a code, and the page goes on', async () => {
  await page.exposeFunction('killWorker', killWorker);
  const running = api(async ({ WasmModel }, url) => {
    const caught = (promise) => promise.then(String, ({ code, message }) => ({ code, message }));
    const model = await WasmModel.load(url, { backend: 'cpu', worker: true });
    let wrote = 0;
    let killed;
    const read = async () => {
      for await (const { ids } of model.generate('Once', { ignoreEos: true })) {
        // The worker writes a little ahead, so it is in the middle of the text.
        if ((wrote += ids.length) > 3) await (killed ??= globalThis.killWorker());
      }
    };
    const errors = await Promise.all([caught(read()), caught(model.generate('x').result), caught(model.evaluate([5]))]);
    errors.push(await caught(model.tokenize('x')));
    await model.free();
    const again = await WasmModel.load(url, { backend: 'cpu', worker: true });
    const { ids } = await again.generate('Once', { maxTokens: 5, ignoreEos: true });
    await again.free();
    return { errors, ids: ids.length };
  }, STORYTELLER);
  const { errors, ids } = await running;
  for (const { code, message } of errors) {
    assert.equal(code, 'worker_lost');
    assert.match(message, /the worker with the model was ended; load the model again/);
  }
  assert.deepEqual([errors.length, ids], [4, 5]);
  await noWorkers();
});

test('a worker that dies while loading rejects the load', async () => {
  const before = stalledRequests;
  const loading = api(async ({ WasmModel }) => {
    const load = WasmModel.load('/bad/stalled.gguf', { worker: true });
    return load.catch(({ code }) => code);
  });
  await until(() => stalledRequests > before, 'the model is asked for');
  await killWorker();
  assert.equal(await loading, 'worker_lost');
});

/** Bytes in memory of the process that runs the page, as Linux counts them; `undefined` elsewhere. */
async function residentBytes() {
  const session = await site.browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  const sizes = processInfo
    .filter(({ type }) => type === 'renderer')
    .map(({ id }) => {
      const status = fs.existsSync(`/proc/${id}/status`) ? fs.readFileSync(`/proc/${id}/status`, 'utf8') : '';
      return Number(/RssAnon:\s+(\d+)/.exec(status)?.[1] ?? NaN) * 1024;
    });
  return Math.max(...sizes);
}

test('freeing gives back what a model of 200 MB took, and the page was never held', async (t) => {
  const other = await site.open('/blank');
  try {
    const run = () =>
      api(
        async ({ WasmModel }, url) => {
          globalThis.model = await WasmModel.load(url, { backend: 'cpu', worker: true });
          await globalThis.model.generate([5, 6, 7], { maxTokens: 2, ignoreEos: true });
        },
        '/deep.gguf',
        other,
      );
    const empty = await residentBytes();
    const { tasks } = await traceTasks(site.browser, other, run);
    const full = await residentBytes();
    await other.evaluate(() => globalThis.model.free());
    await noWorkers(other);
    // A process gives its memory back little by little.
    let freed = await residentBytes();
    for (let i = 0; i < 240 && freed - empty > 0.2 * (full - empty); i += 1) {
      await other.waitForTimeout(500);
      freed = await residentBytes();
    }
    const megabytes = [empty, full, freed].map((bytes) => Math.round(bytes / 1e6));
    t.diagnostic(`longest task ${tasks[0].cpu_ms.toFixed(1)} ms; MB before, loaded, freed: ${megabytes}`);
    assert.ok(tasks[0].cpu_ms < 50, `a task held the page's thread for ${tasks[0].cpu_ms} ms`);
    if (Number.isNaN(full)) return t.skip('no /proc: memory was not measured');
    assert.ok(full - empty > 150e6, `a model took ${full - empty} bytes`);
    assert.ok(freed - empty < 0.2 * (full - empty), `MB before, loaded, freed: ${megabytes}`);
  } finally {
    await other.close();
  }
});

test('no error went uncaught meanwhile', () => assert.deepEqual(page.crashes, []));
