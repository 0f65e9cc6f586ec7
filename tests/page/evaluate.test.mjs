// www/evaluate.html, the headless entry: what it reports is right and complete. llama_cpp.test.mjs goes through all
// models; here are two.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import path from 'node:path';
import { readJson } from '../../tools/common.mjs';
import { patched } from '../js/gguf_patch.mjs';
import { longTest, testIf } from '../long.mjs';
import {
  agree,
  expectations,
  jsonUrl,
  MODELS,
  openSite,
  PREDICT,
  reportOf,
  sameGreedy,
  SMALL,
  STORYTELLER,
} from './site.mjs';

const MODELS_HERE = ['qwen3-q4_0', 'llama-q4_1-split'];

let deliver = () => {};
const site = await openSite({ onReport: (value) => deliver(value) });

/** Opens the page with these parameters and returns the JSON that it posts. */
async function evaluate({ adapters = [], ...parameters }) {
  const query = new URLSearchParams({ ...parameters, report: '/result' });
  for (const [url, scale] of adapters) {
    query.append('adapter', url);
    if (scale !== undefined) query.append('scale', scale);
  }
  const arrived = new Promise((resolve) => {
    deliver = resolve;
  });
  const page = await site.open(`/evaluate.html?${query}`);
  try {
    const result = await reportOf(page, arrived);
    const shown = await page.locator('body').innerText();
    return { result, shown };
  } finally {
    await page.close();
  }
}

async function succeed(parameters) {
  const { result } = await evaluate(parameters);
  assert.equal(result.error, undefined, JSON.stringify(result.error));
  return result;
}

/** The model that `npm test` runs on the GPU. */
const QUICK = 'qwen3-q4_0';

for (const backend of ['webgpu', 'cpu']) {
  for (const model of expectations().filter(({ name }) => MODELS_HERE.includes(name))) {
    const declare = testIf(backend === 'cpu' || model.name === QUICK);
    declare(`${model.name} on ${backend}: the page reports what llama.cpp says`, async () => {
      const greedy = await succeed({ model: model.url, ids: model.prompt, predict: PREDICT, backend });
      assert.deepEqual(greedy.ids, model.prompt);
      assert.equal(greedy.info.backend, backend);
      sameGreedy(greedy.generated, model.exact);
      const forced = await succeed({ model: model.url, ids: model.forced, evaluate: 1, backend });
      assert.deepEqual(forced.ids, model.forced);
      agree(forced.evaluation, model.exact);
    });
  }
}

/** The address of an adapter of the fixtures. */
const adapterUrl = (name) => `/fixtures/adapters/${name}`;

for (const backend of ['webgpu', 'cpu']) {
  testIf(backend === 'cpu')(`adapters on ${backend}: the next token is llama.cpp's`, async () => {
    const said = readJson(path.join(MODELS, '../adapters/expectations.json'));
    for (const name of ['llama-f32', 'phi3-q8_0']) {
      const { url } = expectations().find((model) => model.name === name);
      const { ids, cases } = said[name];
      // On the GPU the last alone: tests/forward_adapters.rs has all.
      const chosen = cases.slice(backend === 'webgpu' ? -1 : -3);
      for (const { adapters: files, scales, logits } of chosen) {
        const adapters = files.map((file, i) => [adapterUrl(file), scales[i]]);
        const found = await succeed({ model: url, ids, predict: 1, backend, adapters });
        const best = logits.indexOf(Math.max(...logits));
        assert.deepEqual(found.generated, [best], `${files} ${scales}`);
        const logprob = logits[best] - Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit), 0));
        assert.ok(Math.abs(found.generatedLogprobs[0] - logprob) < 0.02, `${files}: ${found.generatedLogprobs}`);
      }
    }
  });
}

test("PEFT's safetensors say what the GGUF of the same adapter says", async () => {
  const { ids, cases } = readJson(path.join(MODELS, '../adapters/expectations.json'))['llama-f32'];
  const { url } = expectations().find((model) => model.name === 'llama-f32');
  const query = { model: url, ids, evaluate: 1, predict: 1, backend: 'cpu' };
  const found = [];
  for (const name of ['llama-f32.all.gguf', 'peft/adapter_model.safetensors']) {
    found.push(await succeed({ ...query, adapters: [[adapterUrl(name), 1]] }));
  }
  assert.deepEqual(found[1].evaluation, found[0].evaluation);
  const { logits } = cases[0];
  assert.deepEqual(found[1].generated, [logits.indexOf(Math.max(...logits))]);
});

longTest('text is tokenized like llama.cpp does', async () => {
  // The page adds no BOS, llama.cpp's ids have one where the file asks for it: the Qwens do not.
  for (const { name, url, text, text_ids: ids } of expectations().filter((model) => model.name.startsWith('qwen'))) {
    const { tokenized } = await succeed({ model: url, tokenize: jsonUrl([text, '']) });
    assert.deepEqual(tokenized, [ids, []], name);
  }
});

longTest('the golden story of the built-in model is the same on GPU and CPU', async (t) => {
  const { prompt, exact } = readJson(path.join(MODELS, 'storyteller.json'), {});
  if (!prompt) return t.skip('tests/fixtures/models/storyteller.json is not there');
  const query = { model: STORYTELLER, ids: prompt, predict: PREDICT };
  const gpu = await succeed({ ...query, backend: 'webgpu' });
  const cpu = await succeed({ ...query, backend: 'cpu' });
  sameGreedy(gpu.generated, exact);
  assert.equal(gpu.text, cpu.text);
  assert.deepEqual(gpu.generated, cpu.generated);
});

test('factors beside matrices are refused on the GPU by name, and computed on the CPU', async () => {
  const data = Buffer.from(Float32Array.of(0.6).buffer);
  const change = (tensors) =>
    tensors.flatMap((of) => {
      const name = of.name.replace('weight', 'scale');
      return of.name.endsWith('attn_k.weight') ? [of, { name, dims: [1], type: 0, data }] : [of];
    });
  const file = patched(fs.readFileSync(path.join(MODELS, 'llama-f32.gguf')), { change });
  const page = await site.open('/evaluate.html');
  const [gpu, cpu] = await page.evaluate(async (base64) => {
    const { WasmModel } = await import('/dist/index.js');
    const bytes = Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
    const load = async (backend) => {
      const model = await WasmModel.load(new Blob([bytes]), { backend });
      const { text } = await model.generate([5, 6, 7], { maxTokens: 3, ignoreEos: true });
      await model.free();
      return typeof text;
    };
    const outcome = (backend) => load(backend).catch(({ code, message }) => `${code}: ${message}`);
    return [await outcome('webgpu'), await outcome('cpu')];
  }, Buffer.from(file).toString('base64'));
  await page.close();
  assert.match(gpu, /^unsupported_architecture: tensor blk\.0\.attn_k\.scale: .*backend 'cpu'/);
  assert.equal(cpu, 'string');
});

test('ids may come from a URL, a prompt as text', async () => {
  const [model] = expectations();
  const inline = await succeed({ model: model.url, ids: model.prompt, predict: 4, backend: 'cpu' });
  const listed = await succeed({ model: model.url, ids: `@${jsonUrl(model.prompt)}`, predict: 4, backend: 'cpu' });
  assert.deepEqual(listed.generated, inline.generated);
  const text = await succeed({ model: model.url, prompt: 'The river', predict: 4, backend: 'cpu', context: 64 });
  assert.equal(text.info.contextLength, 64);
  assert.equal(text.generated.length, 4);
  assert.equal(typeof text.text, 'string');
  assert.ok(text.wasmMemoryBytes > 0);
});

const FAILURES = [
  {
    what: 'a missing model',
    query: { model: '/nothing.gguf', prompt: 'a', predict: 1 },
    code: 'download_failed',
    says: /404/,
  },
  {
    what: 'an adapter of another model',
    query: { model: SMALL, ids: '5', predict: 1, adapters: [[adapterUrl('phi3-q8_0.all.gguf')]] },
    code: 'bad_file',
    says: /expected general.architecture \w+, found phi3/,
  },
  { what: 'a page instead of a model', query: { model: '/index.html', prompt: 'a', predict: 1 }, code: 'bad_file' },
  {
    what: 'an id outside the vocabulary',
    query: { model: SMALL, ids: '999999', predict: 1 },
    code: 'invalid_argument',
  },
  {
    what: 'a prompt longer than the context',
    code: 'context_full',
    query: { model: SMALL, ids: Array(40).fill(5), predict: 1, context: 32 },
  },
];

for (const { what, query, code, says = /./ } of FAILURES) {
  test(`${what} is reported as ${code}`, async () => {
    const { result, shown } = await evaluate({ ...query, backend: 'cpu' });
    assert.equal(result.error?.code, code, JSON.stringify(result).slice(0, 300));
    assert.match(result.error.message, says);
    assert.match(shown, new RegExp(code), 'the page shows it too');
  });
}
