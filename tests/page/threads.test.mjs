// Threads of the CPU path on pages that are cross-origin isolated: texts and log-probabilities are those of one thread.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { serve } from '../../tools/serve.mjs';
import { openPage } from '../../tools/demo.mjs';
import { largeModel, WIDE } from './large_model.mjs';
import { openSite, SMALL } from './site.mjs';

const blank = (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const model = largeModel({ ...WIDE, hidden: 512, heads: 8, kvHeads: 2, ffn: 1024, context: 256 });
const routes = { '/blank': blank, '/model.gguf': model.route };
const site = await openSite({ isIsolated: true, routes });

/** Runs `work(package, argument)` in a fresh page of `open`. */
async function inPage(work, argument, open = site.open) {
  const page = await open('/blank');
  try {
    const run = async ([source, given]) => (0, eval)(`(${source})`)(await import('/dist/index.js'), given);
    const result = await page.evaluate(run, [work.toString(), argument]);
    assert.deepEqual(page.crashes, []);
    return result;
  } finally {
    await page.close();
  }
}

/** Loads a model in each of these ways, and writes after prompts of several lengths. */
async function texts({ WasmModel }, { url, ways }) {
  const found = [];
  for (const way of ways) {
    const model = await WasmModel.load(url, { backend: 'cpu', cache: false, ...way });
    const outcomes = [];
    for (const count of [1, 7, 45]) {
      await model.reset();
      const prompt = Uint32Array.from({ length: count }, (_, at) => 40 + ((at * at * 31) % 97));
      const { text, tokens } = await model.generate(prompt, { maxTokens: 5, ignoreEos: true, logprobs: 2 });
      outcomes.push({ text, tokens });
    }
    found.push({ threads: model.info.threads, outcomes: JSON.stringify(outcomes) });
    await model.free();
  }
  return { found, isIsolated: crossOriginIsolated };
}

test('texts and log-probabilities of several threads are those of one', async () => {
  const ways = [{ threads: 1 }, { threads: 3 }, { threads: 2, worker: true }, { threads: 2, precision: 'exact' }];
  const { found, isIsolated } = await inPage(texts, { url: '/model.gguf', ways });
  assert.equal(isIsolated, true);
  assert.deepEqual(
    found.map(({ threads }) => threads),
    [1, 3, 2, 2],
  );
  assert.ok(found[0].outcomes.length > 500, found[0].outcomes);
  assert.equal(found[1].outcomes, found[0].outcomes);
  assert.equal(found[2].outcomes, found[0].outcomes);
  assert.notEqual(found[3].outcomes, found[0].outcomes, 'exact products are not rounded');
});

test('by default there are as many threads as cores, and they end with the model', async () => {
  const page = await site.open('/blank');
  const count = await page.evaluate(async () => {
    const { WasmModel } = await import('/dist/index.js');
    globalThis.model = await WasmModel.load('/model.gguf', { backend: 'cpu', cache: false });
    return [globalThis.model.info.threads, Math.min(8, navigator.hardwareConcurrency)];
  });
  assert.ok(count[0] > 1 && count[0] <= count[1], `${count}`);
  assert.equal(page.workers().length, count[0] - 1);
  await page.evaluate(() => globalThis.model.free());
  while (page.workers().length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  await page.close();
});

/** Loads a model that speaks with each of these numbers of threads, and lets it say a sentence. */
async function sentences({ WasmModel }, { url, vocoder, ways }) {
  const found = [];
  for (const threads of ways) {
    const model = await WasmModel.load(url, { vocoder, threads, backend: 'cpu', cache: false, contextLength: 64 });
    const sound = await model.speech('Hello.', { temperature: 0, format: 'pcm' });
    found.push({ bytes: [...new Uint8Array(await sound.arrayBuffer())], threads: model.info.threads });
    await model.free();
  }
  return found;
}

test('encoders have threads of their own, compute the same with them, and end them', async () => {
  const page = await site.open('/blank');
  const [url, vocoder] = ['soprano-text', 'soprano'].map((name) => `/fixtures/encoders/${name}.gguf`);
  let most = 0;
  page.on('worker', () => {
    most = Math.max(most, page.workers().length);
  });
  const run = async ([source, given]) => (0, eval)(`(${source})`)(await import('/dist/index.js'), given);
  const [one, three] = await page.evaluate(run, [sentences.toString(), { url, vocoder, ways: [1, 3] }]);
  assert.deepEqual([one.threads, three.threads, most], [1, 3, 4]);
  assert.ok(one.bytes.length > 20_000, `${one.bytes.length} bytes`);
  assert.deepEqual(three.bytes, one.bytes);
  while (page.workers().length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual(page.crashes, []);
  await page.close();
});

test('a file that is cut short leaves no thread behind', async () => {
  const page = await site.open('/blank');
  const code = await page.evaluate(async () => {
    const { WasmModel } = await import('/dist/index.js');
    const whole = await (await fetch('/model.gguf')).arrayBuffer();
    const cut = new Blob([whole.slice(0, whole.byteLength - 1000)]);
    return WasmModel.load(cut.stream(), { backend: 'cpu', threads: 3 }).catch((error) => error.code);
  });
  assert.equal(code, 'bad_file');
  while (page.workers().length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  await page.close();
});

test('pages that are not isolated have one thread', async () => {
  const plain = await serve({ routes });
  after(() => plain.close());
  const open = (pathname) => openPage(site.browser, plain.url + pathname);
  const ways = [{ threads: 4 }, {}];
  const { found, isIsolated } = await inPage(texts, { url: SMALL, ways }, open);
  assert.equal(isIsolated, false);
  assert.deepEqual(
    found.map(({ threads }) => threads),
    [1, 1],
  );
});
