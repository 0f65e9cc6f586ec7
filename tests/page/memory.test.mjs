// What is left after a model was loaded, wrote and was freed, many times over: WebAssembly's memory, JavaScript's heap,
// and buffers and devices of the GPU. And what a long conversation leaves behind. Every run does a few cycles and a few
// thousand tokens: `WEBGGUF_CYCLES=200` and `WEBGGUF_TOKENS=100000` for more.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { longTest, testIf } from '../long.mjs';
import { countGpu } from './count_gpu.js';
import { openSite, STORYTELLER } from './site.mjs';

const blank = (request, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const site = await openSite({ routes: { '/blank': blank } });

/** What is in use may grow by this part. */
const MOST_GROWTH = 0.05;
const CYCLES = Number(process.env.WEBGGUF_CYCLES ?? 20);
const TOKENS = Number(process.env.WEBGGUF_TOKENS ?? 1000);

/** A conversation with this many tokens is long: memory must have settled. */
const LONG = 100_000;
/** The same of models. */
const MANY = 200;
/** Bytes of the heap that code and its statistics may take in the first thousands of tokens. */
const SETTLING = 256 << 10;

/** Cycles of a text, a session and a fork of it. What is left on the GPU after each, and WebAssembly's memory. */
const RUN = async ({ url, backend, count }) => {
  const { WasmModel } = await import('/dist/index.js');
  const options = { maxTokens: 4, temperature: 0.8, seed: 1, ignoreEos: true };
  const left = [];
  let wasm;
  for (let i = 0; i < count; i += 1) {
    const model = await WasmModel.load(url, { backend, contextLength: 128 });
    await model.generate('Once upon a time', options);
    const session = model.session();
    await session.send('Tell me about a hare.', options);
    const fork = await session.fork();
    await fork.send('And then?', options);
    await fork.free();
    wasm = await model.wasmMemoryBytes();
    await model.free();
    left.push({ ...globalThis.live });
  }
  return { left, wasm, most: globalThis.most };
};

/** Bytes in memory of the browser's processes of a type, as Linux counts them; NaN elsewhere. */
async function residentBytes(type) {
  const session = await site.browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  const sizes = processInfo
    .filter((info) => info.type === type)
    .map(({ id }) => {
      const status = fs.existsSync(`/proc/${id}/status`) ? fs.readFileSync(`/proc/${id}/status`, 'utf8') : '';
      return Number(/RssAnon:\s+(\d+)/.exec(status)?.[1] ?? NaN) * 1024;
    });
  return Math.max(...sizes);
}

/** Bytes of JavaScript's heap that are in use: the least of some looks, since garbage goes when it likes. */
async function heapOf(devtools) {
  let least = Infinity;
  for (let i = 0; i < 6; i += 1) {
    await devtools.send('HeapProfiler.collectGarbage');
    least = Math.min(least, (await devtools.send('Runtime.getHeapUsage')).usedSize);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return least;
}

const NOTHING = { bytes: 0, buffers: 0, devices: 0 };

test('on the GPU no buffer and no device is left', async () => {
  const page = await site.open('/blank');
  await page.evaluate(countGpu);
  const { left, most } = await page.evaluate(RUN, { url: STORYTELLER, backend: 'webgpu', count: 2 });
  assert.ok(most > 3 << 20, `the weights are counted: ${most} bytes`);
  assert.deepEqual(left, [NOTHING, NOTHING]);
  await page.close();
});

longTest(`${CYCLES} models leave no memory behind`, async (t) => {
  const page = await site.open('/blank');
  await page.evaluate(countGpu);
  const devtools = await page.context().newCDPSession(page);
  const after = async (count) => {
    const { wasm } = await page.evaluate(RUN, { url: STORYTELLER, backend: 'cpu', count });
    return { wasm, heap: await heapOf(devtools), process: await residentBytes('renderer') };
  };
  // The first ones fill what is kept on purpose: tables, and the code that the browser compiles.
  const [first, last] = [await after(30), await after(CYCLES)];
  for (const [name, bytes] of Object.entries(last)) {
    const words = `${name}: ${first[name]} bytes before, ${bytes} after ${CYCLES} cycles`;
    t.diagnostic(words);
    // What a process holds besides goes up and down.
    const settling = name === 'heap' && CYCLES < MANY ? SETTLING : 0;
    if (name !== 'process') assert.ok(bytes <= first[name] * (1 + MOST_GROWTH) + settling, words);
  }
});

/**
 * A session that drops its oldest turns, on a model that stays loaded: goes on until it has read and written `tokens`
 * more tokens. Gives the bytes on the GPU then, and WebAssembly's memory.
 */
const TALK = async ({ url, backend, tokens }) => {
  const { WasmModel } = await import('/dist/index.js');
  globalThis.model ??= await WasmModel.load(url, { backend, contextLength: 128 });
  const { model } = globalThis;
  globalThis.session ??= model.session({ system: 'You tell stories.', overflow: 'truncate' });
  let done = 0;
  let turns = 0;
  for (; done < tokens; turns += 1) {
    const options = { maxTokens: 24, temperature: 0.8, seed: turns, ignoreEos: true };
    const { usage } = await globalThis.session.send(`What did animal number ${turns % 10} do?`, options);
    done += usage.promptTokens - usage.cachedTokens + usage.completionTokens;
  }
  const { messages } = globalThis.session;
  return { wasm: await model.wasmMemoryBytes(), gpu: globalThis.live.bytes, turns, messages: messages.length };
};

// A GPU that is a program on the CPU takes ten times as long.
for (const [backend, count] of [
  ['cpu', TOKENS],
  ['webgpu', Number(process.env.WEBGGUF_GPU_TOKENS ?? TOKENS / 10)],
]) {
  testIf(backend === 'cpu')(`${count} tokens in one session leave no memory behind: ${backend}`, async (t) => {
    const page = await site.open('/blank');
    await page.evaluate(countGpu);
    const devtools = await page.context().newCDPSession(page);
    const after = async (tokens) => {
      const { turns, messages, ...sizes } = await page.evaluate(TALK, { url: STORYTELLER, backend, tokens });
      assert.ok(turns > tokens / 128 && messages < 12, `${turns} turns, of which ${messages} messages are left`);
      const heap = await heapOf(devtools);
      const [renderer, gpuProcess] = [await residentBytes('renderer'), await residentBytes('GPU')];
      return { ...sizes, heap, renderer, gpuProcess };
    };
    // The first ones fill what is kept on purpose: a cache of the context, and the code that the browser compiles.
    const [first, last] = [await after(Math.min(count, 2000)), await after(count)];
    for (const [name, bytes] of Object.entries(last)) {
      const words = `${name}: ${first[name]} bytes before, ${bytes} after ${count} tokens`;
      t.diagnostic(words);
      // The heap settles within some thousand tokens. What processes hold besides goes up and down, and counts where
      // it has had time to add up.
      const settling = name === 'heap' && count < LONG ? SETTLING : 0;
      const isProcess = name === 'renderer' || name === 'gpuProcess';
      if (!isProcess || count >= LONG) {
        assert.ok(!(bytes > first[name] * (1 + MOST_GROWTH) + settling), words);
      }
    }
    await page.close();
  });
}
