// The package's own functions in a browser: every kind of source, what generate promises, and every wrong use.
//
// `api` runs a function in a page, with the package as its first argument.

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { badRoutes, MODELS, SMALL, STORYTELLER, openSite } from './site.mjs';
import { SOURCES } from './sources.mjs';

const file = path.join(MODELS, path.basename(SMALL));
const blank = (request, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const site = await openSite({
  routes: {
    '/blank': blank,
    '/bad/cut.gguf': badRoutes.cut(file),
    '/bad/plain.gguf': badRoutes.plain(file),
    '/bad/resumable.gguf': badRoutes.resumable(file),
    '/bad/stalled.gguf': badRoutes.stalled(file),
  },
});
const page = await site.open('/blank');

/** Runs `work(package, argument)` in the page. */
const api = (work, argument) =>
  page.evaluate(
    async ([source, value]) => (0, eval)(`(${source})`)(await import('/dist/index.js'), value),
    [work.toString(), argument],
  );

/** Runs `work` in the page and returns what it throws: `{name, code, message}`, or null. */
const failure = (work, argument) =>
  page.evaluate(
    async ([source, value]) => {
      try {
        await (0, eval)(`(${source})`)(await import('/dist/index.js'), value);
        return null;
      } catch ({ name, code, message }) {
        return { name, code, message };
      }
    },
    [work.toString(), argument],
  );

async function fails(code, says, work, argument) {
  const error = await failure(work, argument);
  assert.equal(error?.code, code, `${JSON.stringify(error)}`);
  assert.match(error.message, says);
}

// ---- sources --------------------------------------------------------------------------------------------------------

const GREEDY = async ({ WasmModel }, { make, url }) => {
  const model = await WasmModel.load(await (0, eval)(`(${make})`)(url), { backend: 'cpu' });
  const { ids } = await model.generate([5, 6, 7, 8], { temperature: 0, maxTokens: 8, ignoreEos: true }).result;
  await model.free();
  return [...ids];
};

for (const [name, make] of Object.entries(SOURCES)) {
  test(`source: ${name}`, async () => {
    const ids = await api(GREEDY, { make: make.toString(), url: SMALL });
    const wanted = await api(GREEDY, { make: SOURCES.ArrayBuffer.toString(), url: SMALL });
    assert.equal(ids.length, 8);
    assert.deepEqual(ids, wanted);
  });
}

test('source: the parts of a split file, in any order, or found by the first', async () => {
  const urls = [1, 2].map((part) => `/fixtures/models/llama-q4_1-split-0000${part}-of-00002.gguf`);
  const whole = await api(GREEDY, { make: SOURCES.string.toString(), url: '/fixtures/models/llama-q4_1.gguf' });
  for (const list of [urls, urls.toReversed(), urls[0]]) {
    assert.deepEqual(await api(GREEDY, { make: SOURCES.string.toString(), url: list }), whole);
  }
});

test('progress goes through its stages and reaches every end', async () => {
  const seen = await api(async ({ WasmModel }, url) => {
    const events = [];
    const model = await WasmModel.load(url, { onProgress: (event) => events.push(event) });
    await model.free();
    return events;
  }, SMALL);
  const size = (await (await fetch(site.url + SMALL)).arrayBuffer()).byteLength;
  assert.equal(seen.at(-1).stage, 'ready');
  assert.equal(seen.filter(({ stage }) => stage === 'ready').length, 1);
  const downloads = seen.filter(({ stage }) => stage === 'download');
  assert.equal(downloads.at(-1).loaded, size);
  assert.equal(downloads.at(-1).total, size);
  assert.equal(downloads.at(-1).fraction, 1);
  const order = ['download', 'upload', 'compile', 'ready'];
  for (const { stage, fraction } of seen) {
    assert.ok(order.includes(stage), stage);
    assert.ok(fraction === undefined || (fraction >= 0 && fraction <= 1), `${stage} ${fraction}`);
  }
});

test('a signal cancels loading at once, before and in the middle', async () => {
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
      const loading = WasmModel.load('/bad/stalled.gguf', { signal: controller.signal });
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
});

test('a signal cancels a load on the GPU at any stage', async () => {
  for (const stage of ['download', 'upload', 'compile']) {
    const outcome = await api(
      async ({ WasmModel }, [wanted, url]) => {
        const controller = new AbortController();
        const onProgress = (event) => {
          if (event.stage === wanted) controller.abort();
        };
        const load = WasmModel.load(url, { signal: controller.signal, onProgress, backend: 'webgpu' });
        return load.then(
          async (model) => {
            await model.free();
            return 'loaded';
          },
          (error) => error.name,
        );
      },
      [stage, SMALL],
    );
    assert.equal(outcome, 'AbortError', `cancelled at ${stage}`);
  }
});

// ---- generating -----------------------------------------------------------------------------------------------------

const RANDOM = '/fixtures/models/llama-q8_0.gguf';

/** Runs `work` with a model, which stays loaded for the next test: making pipelines takes seconds without a GPU. */
const withModel = (work, { url = STORYTELLER, backend = 'cpu', ...argument } = {}) =>
  page.evaluate(
    async ([source, from, where, value]) => {
      const library = await import('/dist/index.js');
      const models = (globalThis.models ??= {});
      const model = (models[from + where] ??= await library.WasmModel.load(from, { backend: where }));
      await model.reset();
      return (0, eval)(`(${source})`)(model, value, library);
    },
    [work.toString(), url, backend, argument],
  );

for (const backend of ['webgpu', 'cpu']) {
  test(`${backend}: the same seed writes the same text, another seed another`, async () => {
    const [one, same, other] = await withModel(
      async (model) => {
        const write = async (seed) => {
          await model.reset();
          const options = { maxTokens: 24, temperature: 1, ignoreEos: true, seed };
          return [...(await model.generate('Once upon a time', options).result).ids];
        };
        return [await write(7), await write(7), await write(8)];
      },
      { url: RANDOM, backend },
    );
    assert.equal(one.length, 24);
    assert.deepEqual(one, same);
    assert.notDeepEqual(one, other);
  });

  test(`${backend}: a prompt that goes on re-uses the cache, and writes what a fresh one writes`, async () => {
    const { first, second, fresh } = await withModel(
      async (model) => {
        const options = { maxTokens: 12, temperature: 0, ignoreEos: true };
        const prompt = await model.tokenize('Once upon a time there was a hedgehog', { addSpecial: true });
        const run = async (ids) => {
          const { text, usage, ids: made } = await model.generate(ids, options).result;
          return { text, usage, ids: [...made] };
        };
        const first = await run(prompt);
        const longer = [...prompt, ...first.ids];
        const second = await run(longer);
        await model.reset();
        return { first, second, fresh: await run(longer) };
      },
      { url: RANDOM, backend },
    );
    assert.equal(first.usage.cachedTokens, 0);
    assert.ok(second.usage.cachedTokens >= first.usage.promptTokens, JSON.stringify(second.usage));
    assert.equal(fresh.usage.cachedTokens, 0);
    assert.deepEqual(second.ids, fresh.ids);
    assert.equal(second.usage.totalTokens, second.usage.promptTokens + second.usage.completionTokens);
  });

  test(`${backend}: leaving the loop and a signal end the text, and the model goes on`, async () => {
    const { pieces, left, aborted, after } = await withModel(
      async (model) => {
        const options = { maxTokens: 200, ignoreEos: true, temperature: 0 };
        const generation = model.generate('Once upon a time', options);
        let pieces = 0;
        for await (const piece of generation) {
          pieces += 1;
          if (piece.text && pieces >= 3) break;
        }
        const left = (await generation.result).finishReason;
        const controller = new AbortController();
        const other = model.generate('Once upon a time', { ...options, signal: controller.signal });
        const loop = async () => {
          for await (const piece of other)
            if (piece.text) controller.abort(`after ${other.partial.startsWith(piece.text)}`);
        };
        const aborted = [await loop().catch(String), await other.result.catch(String), other.partial !== ''];
        const after = (await model.generate('Once', { maxTokens: 5, ignoreEos: true }).result).ids.length;
        return { pieces, left, aborted, after };
      },
      { url: RANDOM, backend },
    );
    assert.ok(pieces >= 3);
    assert.deepEqual([left, aborted, after], ['abort', ['after true', 'after true', true], 5]);
  });
}

test('pieces together are the text, tokens the ids, timings are sound', async () => {
  const { text, joined, ids, pieceIds, result } = await withModel(async (model) => {
    const generation = model.generate([{ role: 'user', content: 'Tell me a story about a cat.' }], {
      maxTokens: 40,
      seed: 3,
    });
    let joined = '';
    const pieceIds = [];
    for await (const piece of generation) {
      joined += piece.text;
      pieceIds.push(...piece.ids);
    }
    const result = await generation.result;
    return { text: result.text, joined, ids: [...result.ids], pieceIds, result: { ...result, ids: [] } };
  });
  assert.equal(joined, text);
  assert.deepEqual(pieceIds, ids);
  assert.ok(['stop', 'length'].includes(result.finishReason));
  assert.equal(result.usage.completionTokens, ids.length);
  for (const value of Object.values(result.timings))
    assert.ok(Number.isFinite(value) && value > 0, JSON.stringify(result.timings));
});

test('a stop string ends the text, also across tokens, and is not part of it', async () => {
  const { full, stop, stopped } = await withModel(async (model) => {
    const options = { maxTokens: 40, temperature: 0, ignoreEos: true };
    const full = (await model.generate('Once upon a time', options).result).text;
    const stop = full.slice(30, 42);
    const generation = model.generate('Once upon a time', { ...options, stop: ['never there', stop] });
    let joined = '';
    for await (const { text } of generation) joined += text;
    const { text, finishReason } = await generation.result;
    return { full, stop, stopped: { text, joined, finishReason } };
  });
  assert.equal(stopped.text, full.slice(0, full.indexOf(stop)));
  assert.equal(stopped.joined, stopped.text);
  assert.equal(stopped.finishReason, 'stop');
});

test('text survives tokenize and detokenize, and evaluate has its shapes', async () => {
  const { back, evaluation, ids, vocabulary } = await withModel(async (model) => {
    const ids = await model.tokenize('The hedgehog went home.');
    const { top1, logprobs, logits } = await model.evaluate(ids, { logits: true });
    const evaluation = { top1: [...top1], logprobs: [...logprobs], logits: logits.length };
    const { vocabularySize: vocabulary } = model.info;
    let [best, at] = [-Infinity, 0];
    for (let id = 0; id < vocabulary; id += 1) if (logits[id] > best) [best, at] = [logits[id], id];
    return { back: await model.detokenize(ids), evaluation: { ...evaluation, best: at }, ids: [...ids], vocabulary };
  });
  assert.equal(back.trim(), 'The hedgehog went home.');
  assert.equal(evaluation.top1.length, ids.length);
  assert.equal(evaluation.logprobs.length, ids.length - 1);
  assert.equal(evaluation.logits, ids.length * vocabulary);
  assert.equal(evaluation.top1[0], evaluation.best);
});

test('evaluate in a context that is shorter than what the GPU evaluates at once', async () => {
  const [short, cpu] = await api(async ({ WasmModel }, url) => {
    const evaluated = async (options) => {
      const model = await WasmModel.load(url, options);
      const { logprobs, logits } = await model.evaluate([5, 6, 7, 8, 9], { logits: true });
      await model.free();
      return { logprobs: [...logprobs], last: [...logits.slice(-16)] };
    };
    return [await evaluated({ backend: 'webgpu', contextLength: 5 }), await evaluated({ backend: 'cpu' })];
  }, RANDOM);
  for (const key of ['logprobs', 'last']) {
    short[key].forEach((value, at) => {
      assert.ok(Math.abs(value - cpu[key][at]) < 0.05, `${key} ${at}: ${value}, on the CPU ${cpu[key][at]}`);
    });
  }
});

test('a tokenizer reads only the head of the file', async () => {
  const { ids, wanted, read, size } = await api(async ({ Tokenizer, WasmModel }, url) => {
    const bytes = await (await fetch(url)).arrayBuffer();
    let read = 0;
    const source = {
      size: bytes.byteLength + 200_000_000, // as if there were many more weights
      read(offset, length) {
        read += length;
        const piece = new Uint8Array(length);
        piece.set(new Uint8Array(bytes.slice(offset, offset + length)));
        return piece;
      },
    };
    const tokenizer = await Tokenizer.load(source);
    const ids = [...tokenizer.tokenize('a silver key')];
    tokenizer.free();
    const model = await WasmModel.load(bytes, { backend: 'cpu' });
    const wanted = [...(await model.tokenize('a silver key'))];
    await model.free();
    return { ids, wanted, read, size: source.size };
  }, STORYTELLER);
  assert.ok(ids.length >= 3);
  assert.deepEqual(ids, wanted);
  assert.ok(read < size / 10, `${read} bytes of ${size} were read`);
});

test('inspect reads only the header, and says what the model takes', async () => {
  const found = await api(async ({ WasmModel }, url) => {
    const bytes = await (await fetch(url)).arrayBuffer();
    let read = 0;
    const source = {
      size: bytes.byteLength + 200_000_000, // as if there were many more weights
      read(offset, length) {
        read += length;
        const piece = new Uint8Array(length);
        piece.set(new Uint8Array(bytes.slice(offset, offset + length)));
        return piece;
      },
    };
    const small = await WasmModel.inspect(source, { backend: 'webgpu', contextLength: 64 });
    const large = await WasmModel.inspect(bytes, { backend: 'webgpu', contextLength: 128 });
    const model = await WasmModel.load(bytes, { backend: 'webgpu', contextLength: 128 });
    const { info } = model;
    await model.free();
    const blocks = await WasmModel.inspect(bytes, { backend: 'webgpu', contextLength: 128, kvType: 'q8_0' });
    const { advice, gpu: advised } = await WasmModel.inspect(source, { backend: 'webgpu', memoryBytes: 1e9 });
    const { advice: tight } = await WasmModel.inspect(bytes, { backend: 'webgpu', memoryBytes: 50e6 });
    const rounded = { kvType: 'q8_0', precision: 'fast' };
    const quantised = await WasmModel.load(bytes, { backend: 'webgpu', contextLength: 128, ...rounded });
    const { kvType, gpuBytes } = quantised.info;
    const { ids } = await quantised.generate('Once upon a time '.repeat(8), { maxTokens: 8 }).result;
    const fetched = performance.getEntriesByType('resource').map(({ name }) => name.split('/').pop());
    await quantised.free();
    const advices = { advice, advised, tight };
    return {
      ...{ small, large, read, size: source.size, info, blocks, advices },
      quantised: { kvType, gpuBytes, ids: ids.length, fetched },
    };
  }, STORYTELLER);
  const { small, large, info, blocks, quantised, advices } = found;
  assert.ok(found.read < found.size / 10, `${found.read} bytes of ${found.size} were read`);
  assert.equal(small.supported, true);
  for (const key of ['architecture', 'quantization', 'parameters', 'layers', 'vocabularySize']) {
    assert.equal(small[key], info[key], key);
  }
  assert.equal(small.gpu.fits, true);
  assert.equal(small.gpu.contextLength, 64);
  assert.equal(large.gpu.weightBytes, small.gpu.weightBytes);
  assert.ok(large.gpu.sessionBytes > small.gpu.sessionBytes);
  const planned = large.gpu.weightBytes + large.gpu.sessionBytes;
  assert.ok(planned <= info.gpuBytes && planned > 0.9 * info.gpuBytes, `${planned} of ${info.gpuBytes} bytes`);
  assert.deepEqual(
    [info.kvType, large.gpu.kvType, blocks.gpu.kvType, quantised.kvType],
    ['f16', 'f16', 'q8_0', 'q8_0'],
  );
  assert.equal(quantised.ids, 8);
  const fetched = ['rare.js', 'device.js'].filter((file) => quantised.fetched.includes(file));
  assert.deepEqual(fetched, ['rare.js', 'device.js'], 'shaders of caches of blocks, and of products of bytes');
  const saved = large.gpu.sessionBytes - blocks.gpu.sessionBytes;
  assert.ok(saved > 0, `${saved} bytes less with q8_0`);
  assert.equal(info.gpuBytes - quantised.gpuBytes, saved);
  const { advice, advised, tight } = advices;
  assert.deepEqual([advice.fits, advice.kvType], [true, 'f16']);
  assert.equal(advice.contextLength, small.trainedContextLength);
  const { weightBytes, sessionBytes } = advised;
  assert.ok(advice.bytes >= 1e8 + weightBytes + sessionBytes - 1 && advice.bytes < 1.1e8 + weightBytes + sessionBytes);
  assert.equal(tight.fits, false);
  const bytes = small.tensors.reduce((sum, tensor) => sum + tensor.bytes, 0);
  assert.ok(bytes < small.fileBytes && small.fileBytes <= found.size);
  assert.equal(small.tensors[0].shape.length, 2);
});

test('inspect has no GPU where load would take the CPU', async () => {
  const [automatic, asked, cpu] = await api(async ({ WasmModel }, url) => {
    const bytes = await (await fetch(url)).arrayBuffer();
    const options = [{}, { backend: 'webgpu' }, { backend: 'cpu' }];
    const found = options.map((each) => WasmModel.inspect(bytes, { contextLength: 64, ...each }));
    return Promise.all(found.map(async (each) => typeof (await each).gpu?.adapter));
  }, STORYTELLER);
  assert.deepEqual({ automatic, asked, cpu }, { automatic: 'undefined', asked: 'string', cpu: 'undefined' });
});

test('inspect says why a model does not run', async () => {
  const { supported, reason, architecture, gpu } = await api(async ({ WasmModel }, url) => {
    const bytes = new Uint8Array(await (await fetch(url)).arrayBuffer());
    const text = new TextDecoder('latin1').decode(bytes);
    // The architecture's value: llama becomes clara.
    const key = text.indexOf('general.architecture') + 'general.architecture'.length + 4 + 8;
    bytes.set(new TextEncoder().encode('clara'), key);
    return WasmModel.inspect(bytes);
  }, STORYTELLER);
  assert.deepEqual([supported, architecture, gpu], [false, 'clara', undefined]);
  assert.equal(reason.code, 'unsupported_architecture');
  assert.match(reason.message, /clara/);
});

test('an unknown architecture is refused by its name before any weight is read', async () => {
  const names = ['mamba3', 'bart', 'deepseek32', 'kimi-linear'];
  const found = await api(
    async ({ WasmModel }, [url, names]) => {
      const bytes = new Uint8Array(await (await fetch(url)).arrayBuffer());
      // Behind the key and the type of its value: the length of `llama` in eight bytes, and `llama`.
      const key = 'general.architecture';
      const at = new TextDecoder('latin1').decode(bytes).indexOf(key) + key.length + 4;
      const refusal = async (name) => {
        const length = new BigUint64Array([BigInt(name.length)]);
        const file = new Blob([bytes.slice(0, at), length, name, bytes.slice(at + 8 + 5)]);
        let read = 0;
        const source = {
          size: file.size + 200_000_000, // as if there were many more weights
          async read(offset, length) {
            read += length;
            const piece = new Uint8Array(length);
            piece.set(new Uint8Array(await file.slice(offset, offset + length).arrayBuffer()));
            return piece;
          },
        };
        const { supported, reason } = await WasmModel.inspect(source);
        const error = await WasmModel.load(source).catch((error) => error);
        return { supported, reason, code: error.code, message: error.message, share: read / source.size };
      };
      return Promise.all(names.map(refusal));
    },
    [STORYTELLER, names],
  );
  for (const [i, { supported, reason, code, message, share }] of found.entries()) {
    const said = new RegExp(`architecture "${names[i]}" is not supported, the nearest known is "[a-z]`);
    assert.equal(supported, false);
    assert.match(reason.message, said);
    assert.deepEqual([reason.code, code], ['unsupported_architecture', 'unsupported_architecture']);
    assert.match(message, said);
    assert.ok(share < 0.1, `${names[i]}: ${share} of the file was read`);
  }
});

// ---- wrong use ------------------------------------------------------------------------------------------------------

test('wrong sources are refused with their code', async () => {
  const load = ({ WasmModel }, source) => WasmModel.load(source);
  await fails('invalid_argument', /./, load, 42);
  await fails('invalid_argument', /./, load, []);
  await fails('download_failed', /404/, load, '/nothing.gguf');
  await fails('download_failed', /./, load, 'http://127.0.0.1:1/unreachable.gguf');
  await fails('download_failed', /./, load, '/bad/cut.gguf');
  await fails('bad_file', /gguf/i, load, '/dist/index.js');
  await fails('bad_file', /gguf/i, ({ WasmModel }, source) => WasmModel.inspect(source), '/dist/index.js');
});

test('a file truncated in any section is a bad file or a broken read', async () => {
  for (const bytes of [0, 3, 4, 10, 24, 100, 5000, 60_000, 108_000]) {
    const error = await failure(
      async ({ WasmModel }, [url, end]) => {
        const whole = await (await fetch(url)).arrayBuffer();
        await WasmModel.load(whole.slice(0, end), { backend: 'cpu' });
      },
      [SMALL, bytes],
    );
    assert.ok(['bad_file', 'download_failed'].includes(error?.code), `${bytes} bytes: ${JSON.stringify(error)}`);
  }
});

test('wrong options name themselves', async () => {
  const wrong = [
    { temperature: NaN },
    { topP: 2 },
    { maxTokens: 0 },
    { maxTokens: NaN },
    { topK: 1.5 },
    { seed: -1 },
    { stop: '' },
  ];
  const errors = await withModel(
    async (model, { wrong: list }) =>
      list.map((options) => {
        try {
          // JSON has no NaN.
          const [name, value] = Object.entries(options)[0];
          model.generate('a', { [name]: value === null ? NaN : value });
          return null;
        } catch ({ code, message }) {
          return { code, message };
        }
      }),
    { url: SMALL, backend: 'cpu', wrong: JSON.parse(JSON.stringify(wrong)) },
  );
  errors.forEach((error, i) => {
    assert.equal(error?.code, 'invalid_argument', JSON.stringify(wrong[i]));
    assert.match(error.message, new RegExp(Object.keys(wrong[i])[0]));
  });
});

test('generate during generate waits for it', async () => {
  const { second, first } = await withModel(
    async (model) => {
      const running = model.generate('Once upon a time', { maxTokens: 10, ignoreEos: true });
      await running.next();
      const { ids } = await model.generate('x', { maxTokens: 4, ignoreEos: true });
      return { second: ids.length, first: (await running.result).ids.length };
    },
    { url: RANDOM, backend: 'webgpu' },
  );
  assert.deepEqual({ second, first }, { second: 4, first: 10 });
});

test('a prompt longer than the context is refused', async () => {
  for (const backend of ['webgpu', 'cpu']) {
    await fails(
      'context_full',
      /\d+.*\d+/,
      async ({ WasmModel }, [url, where]) => {
        const model = await WasmModel.load(url, { backend: where, contextLength: 16 });
        try {
          await model.generate(Array(20).fill(5)).result;
        } finally {
          await model.free();
        }
      },
      [SMALL, backend],
    );
  }
});

test('use after free is refused, freeing twice is fine', async () => {
  await fails(
    'invalid_argument',
    /freed/,
    async ({ WasmModel }, url) => {
      const model = await WasmModel.load(url, { backend: 'cpu' });
      await model.free();
      await model.free();
      model.generate('x');
    },
    SMALL,
  );
});

test('without WebGPU, webgpu is refused and auto takes the CPU', async () => {
  const other = await site.browser.newPage();
  await other.addInitScript(() => Object.defineProperty(Navigator.prototype, 'gpu', { get: () => undefined }));
  await other.goto(`${site.url}/blank`);
  const outcome = await other.evaluate(async (url) => {
    const { WasmModel } = await import('/dist/index.js');
    const refused = await WasmModel.load(url, { backend: 'webgpu' }).then(
      () => null,
      ({ code }) => code,
    );
    const model = await WasmModel.load(url);
    return { refused, backend: model.info.backend, gpu: model.hasGpu() };
  }, SMALL);
  assert.deepEqual(outcome, { refused: 'webgpu_unavailable', backend: 'cpu', gpu: false });
  await other.close();
});

test('loading and freeing again and again keeps the memory in bounds', async () => {
  const sizes = await api(async ({ WasmModel }, url) => {
    const bytes = [];
    for (let round = 0; round < 6; round += 1) {
      const model = await WasmModel.load(url, { backend: round % 2 ? 'webgpu' : 'cpu' });
      await model.generate([5, 6, 7], { maxTokens: 3, ignoreEos: true }).result;
      bytes.push(await model.wasmMemoryBytes());
      await model.free();
    }
    return bytes;
  }, SMALL);
  assert.equal(sizes.at(-1), sizes[1], `bytes of WebAssembly memory by round: ${sizes}`);
});

test('no error went uncaught meanwhile', () => assert.deepEqual(page.crashes, []));
