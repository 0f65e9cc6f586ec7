// What must hold on any machine, on models of more than 200 MB with a vocabulary of 128 thousand tokens: memory stays
// small, generating makes nothing, and the page's thread is never held for long.
//
// Nothing here is asserted by a clock on the wall. A task counts by the time that its thread was really running, which
// other programs on a busy machine do not lengthen.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { longTest } from '../long.mjs';
import { DEEP, WIDE, largeModel } from './large_model.mjs';
import { openSite } from './site.mjs';
import { traceTasks } from './tasks.mjs';

const MB = 1e6;
/** The longest that the page may wait for its thread: 25 ms on a machine of 2024, and this on half of one. */
const LONGEST_MS = 100;

const blank = (request, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const [deep, wide] = [largeModel(DEEP), largeModel(WIDE)];
const site = await openSite({ routes: { '/blank': blank, '/deep.gguf': deep.route, '/wide.gguf': wide.route } });

/** Runs `work(webgguf, url)` in a fresh page; gives what it returns and the tasks of the page's thread meanwhile. */
async function traced(work, url) {
  const page = await site.open('/blank');
  try {
    const run = () =>
      page.evaluate(
        async ([source, argument]) => (0, eval)(`(${source})`)(await import('/dist/index.js'), argument),
        [work.toString(), url],
      );
    const { result, tasks } = await traceTasks(site.browser, page, run);
    assert.deepEqual(page.crashes, []);
    return { result, tasks };
  } finally {
    await page.close();
  }
}

/** No task held the thread for long; `context` prints how close it was. */
function isResponsive(context, tasks) {
  const [first] = tasks;
  assert.ok(tasks.length > 10 && first.cpu_ms > 0, 'the trace holds no tasks');
  const show = ({ cpu_ms, wall_ms, at_ms }) =>
    `${cpu_ms.toFixed(1)} ms at ${at_ms.toFixed(0)} (${wall_ms.toFixed(1)} by the wall)`;
  context.diagnostic(`longest tasks: ${tasks.slice(0, 4).map(show).join(', ')}`);
  assert.ok(first.cpu_ms < LONGEST_MS, `a task held the page's thread for ${show(first)}`);
}

longTest('on the GPU: memory, calls per token, and a page that answers', async (t) => {
  assert.ok(deep.tensorBytes > 200 * MB);
  const { result, tasks } = await traced(async ({ WasmModel }, url) => {
    const { watchCalls, watchCreated } = await import('/bench/meter.js');
    // Bytes of the buffers that are really there, to hold `gpuBytes` against.
    let bytes = 0;
    const { createBuffer } = GPUDevice.prototype;
    GPUDevice.prototype.createBuffer = function (descriptor) {
      bytes += descriptor.size;
      return createBuffer.call(this, descriptor);
    };
    const { destroy } = GPUBuffer.prototype;
    GPUBuffer.prototype.destroy = function () {
      bytes -= this.size;
      return destroy.call(this);
    };
    const model = await WasmModel.load(url, { backend: 'webgpu' });
    const generate = async (length, maxTokens) => {
      await model.reset();
      const ids = Uint32Array.from({ length }, (_, i) => (i * 7919) % 128_000);
      const generation = model.generate(ids, { maxTokens, temperature: 0, ignoreEos: true });
      return (await generation.result).ids.length;
    };
    await generate(24, 1);
    const created = watchCreated();
    const counted = async (tokens) => {
      const calls = watchCalls();
      const n = await generate(1, tokens);
      calls.stop();
      return { n, counts: calls.counts, most: calls.flying.most };
    };
    // The difference: what a run does once does not count.
    const [one, many] = [await counted(1), await counted(5)];
    const tokens = many.n - one.n;
    const perToken = Object.entries(many.counts).map(([name, count]) => [name, (count - one.counts[name]) / tokens]);
    return {
      tokens,
      perToken: Object.fromEntries(perToken),
      inFlight: many.most,
      created: { ...created.counts },
      info: model.info,
      wasmBytes: await model.wasmMemoryBytes(),
      bytes,
    };
  }, '/deep.gguf');

  const { info, perToken } = result;
  const mostWasm = deep.headerBytes + 64 * MB;
  t.diagnostic(`${(result.wasmBytes / MB).toFixed(1)} MB of WebAssembly memory, at most ${(mostWasm / MB).toFixed(1)}`);
  assert.ok(result.wasmBytes <= mostWasm, `${result.wasmBytes} bytes of WebAssembly memory, more than ${mostWasm}`);
  const most = 1.03 * deep.tensorBytes + deep.cacheBytes(info.contextLength) + 150 * MB;
  t.diagnostic(`${(info.gpuBytes / MB).toFixed(1)} MB on the GPU, at most ${(most / MB).toFixed(1)}`);
  assert.ok(info.gpuBytes > deep.tensorBytes, `${info.gpuBytes} bytes on the GPU`);
  assert.ok(info.gpuBytes <= most, `${info.gpuBytes} bytes on the GPU, more than ${most}`);
  assert.equal(info.gpuBytes, result.bytes, 'model.info knows all buffers');

  assert.equal(result.tokens, 4);
  assert.deepEqual(result.created, {}, 'something was made while generating');
  assert.ok(perToken.submits > 0 && perToken.submits <= 1, `${perToken.submits} submits per token`);
  assert.equal(perToken.passes, perToken.submits);
  assert.ok(perToken.write_buffers <= 1, `${perToken.write_buffers} writeBuffer calls per token`);
  const back = perToken.read_back_bytes;
  assert.ok(back >= 16 && back <= 64, `${back} bytes are read back per token`);
  assert.ok(perToken.dispatches <= 7 * info.layers + 6, `${perToken.dispatches} dispatches per token`);
  assert.ok(result.inFlight >= 2, 'a token is waited for before the next is submitted');
  isResponsive(t, tasks);
});

test('on the CPU, with layers as wide as those of a 1B model: a page that answers', async (t) => {
  assert.ok(wide.tensorBytes > 200 * MB);
  const { result, tasks } = await traced(async ({ WasmModel }, url) => {
    const model = await WasmModel.load(url, { backend: 'cpu' });
    const ids = Uint32Array.from({ length: 40 }, (_, i) => (i * 7919) % 128_000);
    const { ids: generated } = await model.generate(ids, { maxTokens: 3, temperature: 0, ignoreEos: true }).result;
    return { tokens: generated.length, wasmBytes: await model.wasmMemoryBytes() };
  }, '/wide.gguf');
  assert.equal(result.tokens, 3);
  // WebAssembly's memory never shrinks, so a second copy of the embeddings would be in it.
  const mostWasm = wide.headerBytes + wide.tensorBytes + 64 * MB;
  t.diagnostic(`${(result.wasmBytes / MB).toFixed(1)} MB of WebAssembly memory, at most ${(mostWasm / MB).toFixed(1)}`);
  assert.ok(result.wasmBytes <= mostWasm, `${result.wasmBytes} bytes of WebAssembly memory, more than ${mostWasm}`);
  isResponsive(t, tasks);
});

test('a tokenizer alone: a page that answers', async (t) => {
  const { result, tasks } = await traced(async ({ Tokenizer }, url) => {
    const tokenizer = await Tokenizer.load(url);
    const text = 'The test of a tokenizer is what comes back.';
    return [text, tokenizer.detokenize(tokenizer.tokenize(text))];
  }, '/deep.gguf');
  assert.equal(result[1], result[0]);
  isResponsive(t, tasks);
});
