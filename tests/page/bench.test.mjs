// www/bench.html reports what it promises, and what it counts keeps the rules that hold on any machine, without a
// clock: nothing is made while generating, one submit per token, few bytes back, few dispatches.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { markdown } from '../../www/bench/report.js';
import { longTest } from '../long.mjs';
import { openSite, reportOf, screenshot } from './site.mjs';

const MODEL = '/fixtures/models/qwen3-q4_0.gguf';
const SMALL_RUN = { model: MODEL, prompt: 32, predict: 16, runs: 1, backend: 'webgpu' };
const MAKING = [
  'createBuffer',
  'createBindGroup',
  'createComputePipeline',
  'createComputePipelineAsync',
  'createShaderModule',
];

let deliver = () => {};
const site = await openSite({ onReport: (value) => deliver(value) });

/** Opens the page with these parameters; gives what it posts and what `look` finds on it then. */
async function bench(parameters, look = () => {}) {
  const arrived = new Promise((resolve) => {
    deliver = resolve;
  });
  const page = await site.open(`/bench.html?${new URLSearchParams({ ...parameters, report: '/result' })}`);
  try {
    const result = await reportOf(page, arrived);
    await page.waitForFunction(() => ['done', 'error'].includes(document.documentElement.dataset.state));
    return { result, seen: await look(page), shown: await page.locator('main').innerText() };
  } finally {
    await page.close();
  }
}

const positive = (value, name) => assert.ok(Number.isFinite(value) && value > 0, `${name} is ${value}`);

longTest('an embedder: texts and tokens per second of many inputs in one call', async () => {
  const asked = { model: '/fixtures/embedders/bert-f16.gguf', texts: 40, prompt: 9, runs: 2, backend: 'webgpu' };
  const { result, shown } = await bench(asked, (page) => screenshot(page, 'bench-embedder'));
  assert.equal(result.error, undefined, JSON.stringify(result.error));
  assert.equal(result.runs.length, 2);
  for (const { n, prompt_n, ms, texts_per_second, pp } of result.runs) {
    assert.deepEqual([n, prompt_n], [40, 9]);
    positive(ms, 'ms');
    assert.ok(Math.abs(texts_per_second - 40_000 / ms) < 1e-6 && Math.abs(pp - 9 * texts_per_second) < 1e-6);
  }
  assert.match(shown, /texts\/s/);
  assert.match(markdown(result), /texts\/s/);
});

test('a run on the GPU: every field is there, and generating keeps to the rules', async () => {
  const { result, shown } = await bench(SMALL_RUN, (page) => screenshot(page, 'bench'));
  assert.equal(result.error, undefined, JSON.stringify(result.error));
  assert.equal(result.info.backend, 'webgpu');
  assert.ok(result.adapter.length > 0);
  assert.deepEqual(result.features, result.info.features);
  positive(result.load_ms.ready, 'load_ms.ready');
  for (const name of ['download', 'compile']) {
    positive(result.load_stages.find(({ stage }) => stage === name).to, `the end of ${name}`);
    // A stage that ends at the same tick of the clock as the one before has no time of its own.
    assert.ok(result.load_ms[name] >= 0, `load_ms.${name}`);
  }

  const [run] = result.runs;
  assert.equal(result.runs.length, 1);
  assert.equal(run.prompt_n, 32);
  assert.equal(run.n, 16);
  for (const name of ['pp', 'tg', 'ttft_ms']) {
    positive(run[name], name);
    assert.equal(result.median[name], run[name]);
  }

  const { per_token, created_while_generating: created, created_while_loading: before, info } = result;
  for (const name of ['createBuffer', 'createBindGroup', 'createShaderModule']) {
    positive(before[name], `${name} while loading`);
  }
  for (const name of MAKING) assert.equal(created[name] ?? 0, 0, `${name} was called while generating`);
  assert.equal(per_token.counted_tokens, 16);
  assert.ok(per_token.dispatches >= info.layers, `${per_token.dispatches} dispatches were seen per token`);
  const most = 7 * info.layers + 6;
  assert.ok(per_token.dispatches <= most, `${per_token.dispatches} dispatches per token, more than ${most}`);
  assert.equal(per_token.dispatches, info.dispatchesPerToken);
  // One for each token. The pass of the prompt is cut into several where it takes long, as on a busy machine.
  assert.ok(per_token.submits > 0 && per_token.submits <= 1.25, `${per_token.submits} submits per token`);
  assert.equal(per_token.passes, per_token.submits);
  assert.ok(per_token.write_buffers <= 1, `${per_token.write_buffers} writeBuffer calls per token`);
  const back = per_token.read_back_bytes;
  assert.ok(back >= 4 && back <= 64, `${back} bytes are read back per token`);
  assert.ok(per_token.most_in_flight >= 2, 'a token is waited for before the next is submitted');

  assert.ok(result.read_bandwidth.bytes_per_second > 0 || result.read_bandwidth.skipped);
  for (const part of ['load', 'generate']) assert.ok(result.longest_block[part].timer_gap_ms >= 0);
  assert.match(shown, /Copy Markdown/);
  assert.match(markdown(result), /^## .*decode [\d.,]+ tok\/s/);
});

longTest('kernels are timed by leaving them out, but for those that choose the token', async () => {
  const { result } = await bench({ ...SMALL_RUN, prompt: 8, predict: 4, kernels: 1 });
  assert.equal(result.error, undefined, JSON.stringify(result.error));
  const { rows } = result.kernels;
  const perToken = rows.reduce((sum, row) => sum + row.per_token, 0);
  assert.equal(perToken, result.per_token.dispatches);
  const commits = rows.filter(({ note }) => note === 'not measurable this way').map(({ kernel }) => kernel);
  assert.deepEqual(commits, ['argmax_merge']);
  const timed = rows.filter(({ per_token, note }) => per_token > 0 && !note);
  assert.ok(timed.length >= 5, `only ${timed.length} kernels of a token were timed`);
  for (const { kernel, token_us } of timed) assert.ok(Number.isFinite(token_us), `${kernel}: ${token_us}`);
});

test('on the CPU there is nothing of WebGPU to count', async () => {
  const { result } = await bench({ ...SMALL_RUN, backend: 'cpu' });
  assert.equal(result.error, undefined, JSON.stringify(result.error));
  assert.equal(result.info.backend, 'cpu');
  assert.equal(result.per_token, null);
  positive(result.median.tg, 'tg');
});

test('errors are posted and shown with their code', async () => {
  const wrong = [
    [{ ...SMALL_RUN, runs: 'many' }, 'invalid_argument', /'runs' is 'many'/],
    [{ ...SMALL_RUN, prompts: 5 }, 'invalid_argument', /unknown parameter 'prompts'/],
    [{ ...SMALL_RUN, prompt: 510 }, 'invalid_argument', /prompt 510 and predict 16/],
    [{ ...SMALL_RUN, model: '/nothing.gguf' }, 'download_failed', /nothing/],
  ];
  for (const [parameters, code, message] of wrong) {
    const { result, shown } = await bench(parameters);
    assert.equal(result.error?.code, code, JSON.stringify(result));
    assert.match(result.error.message, message);
    assert.ok(shown.includes(code) && shown.includes(result.error.message), shown);
  }
});

longTest('operations of webgguf/compute: a row for each shape, with the rate that its time gives', async () => {
  const arrived = new Promise((resolve) => {
    deliver = resolve;
  });
  const query = new URLSearchParams({ small: 1, batches: 3, batch_ms: 1, report: '/result' });
  const page = await site.open(`/bench-compute.html?${query}`);
  const { error, rows, peak, wait_ms: wait } = await reportOf(page, arrived);
  await page.close();
  assert.equal(error, undefined, JSON.stringify(error));
  positive(wait, 'wait');
  const parts = ["'s gradient: weights, of a part", "'s gradient: products, of a part", ' and its gradient'];
  const attention = ['', ' with lse', ...parts].map((part) => `attention${part}`);
  const products = ['matmul, transposed', 'matmul'];
  const names = ['conv2d', 'fft', 'knn', ...attention, ...products, 'sum'];
  assert.deepEqual([...new Set(rows.map(({ operation }) => operation))], names);
  positive(rows.at(-1).of_bandwidth, 'sum');
  for (const { operation, ms, best, worst, gflops, of_flops: share } of rows.slice(0, -1)) {
    positive(share, operation);
    assert.ok(best <= ms && ms <= worst, `${operation}: ${best}, ${ms}, ${worst}`);
    assert.ok(Math.abs(share * peak.gflops - gflops) < 1e-6 * gflops, operation);
  }
});
