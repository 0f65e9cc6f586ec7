// A model that writes while it hears, in a page: it hears what llama.cpp hears, on the GPU, and in a worker, all of a
// sound at once, and while it arrives.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectationsOf, open } from '../js/encoders.mjs';
import { soundOf } from '../js/sounds.mjs';
import { spoken } from '../js/voice.mjs';
import { openEvaluation } from './site.mjs';

const { site } = await openEvaluation();

/** Log-probabilities of what the CPU path hears, in Node.js. */
async function likelyOn(expected) {
  const model = await open(expected);
  const logprobs = [];
  for (const { samples } of expected.cases) {
    const file = soundOf(samples);
    logprobs.push((await model.audio.transcriptions.create({ file, include: ['logprobs'] })).logprobs);
  }
  await model.free();
  return logprobs;
}

for (const options of [{ backend: 'webgpu' }, { backend: 'cpu', worker: true }, { backend: 'webgpu', worker: true }]) {
  test(`words of a sound with ${JSON.stringify(options)}, and how likely they are`, async () => {
    const page = await site.open('/blank');
    const expected = expectationsOf('voxtral_rt-odd');
    const cases = expected.cases.map(({ samples, ids }) => ({ samples: [...soundOf(samples).samples], ids }));
    const likely = await likelyOn(expected);
    const found = await page.evaluate(
      async ({ options, cases, text, encoder }) => {
        const { WasmModel } = await import('/dist/index.js');
        const mmproj = `/fixtures/encoders/${encoder}`;
        const model = await WasmModel.load(`/fixtures/models/${text}`, { ...options, mmproj });
        const answers = [];
        for (const { samples, ids } of cases) {
          const file = { samples: Float32Array.from(samples), sampleRate: 16000 };
          const { text: words } = await model.audio.transcriptions.create({ file });
          const { logprobs } = await model.audio.transcriptions.create({ file, include: ['logprobs'] });
          answers.push([words, (await model.detokenize(ids)).trim(), logprobs]);
        }
        const { backend } = model.info;
        await model.free();
        return { answers, backend };
      },
      { ...expected, options, cases },
    );
    await page.close();
    assert.equal(found.backend, options.backend);
    for (const [words, heard] of found.answers) assert.equal(words, heard);
    assert.ok(found.answers.every(([words]) => words !== ''));
    found.answers.forEach(([, , logprobs], sound) => {
      assert.ok(logprobs.length > 5 && logprobs.length === likely[sound].length, `${logprobs.length} tokens`);
      for (const [at, { token, logprob }] of logprobs.entries()) {
        const wanted = likely[sound][at];
        assert.equal(token, wanted.token);
        const apart = Math.abs(logprob - wanted.logprob);
        assert.ok(apart < 2e-3, `token ${at} of sound ${sound}: ${logprob}, ${apart} from the CPU's`);
      }
    });
  });
}

for (const options of [{ backend: 'webgpu' }, { backend: 'webgpu', worker: true }]) {
  test(`a sound that arrives with ${JSON.stringify(options)}`, async () => {
    const page = await site.open('/blank');
    const expected = expectationsOf('voxtral_rt');
    const cases = expected.cases.map(({ samples, ids }) => ({ samples: [...soundOf(samples).samples], ids }));
    // Longer than the rings that hold keys and values.
    const long = [...soundOf(150_000).samples];
    const { samples, sampleRate } = spoken();
    const found = await page.evaluate(
      async ({ options, cases, long, voice, sampleRate, text, encoder }) => {
        const { WasmModel } = await import('/dist/index.js');
        const { listen } = await import('/dist/voice/index.js');
        const { Ear } = await import('/dist/voice/ear.js');
        const { openai } = await import('/dist/openai/index.js');
        const mmproj = `/fixtures/encoders/${encoder}`;
        const model = await WasmModel.load(`/fixtures/models/${text}`, { ...options, mmproj });
        const hear = async (samples, size) => {
          const [ear, ids, { signal }] = [new Ear(model, 'test'), [], new AbortController()];
          for (let at = 0; at < samples.length; at += size) {
            const piece = Float32Array.from(samples.slice(at, at + size));
            for await (const { id } of ear.hear(piece, at + size >= samples.length, signal)) if (id) ids.push(id);
          }
          return ids;
        };
        const answers = [];
        for (const { samples, ids } of cases) {
          for (const size of [samples.length, 977, 1280, 5003]) answers.push([await hear(samples, size), ids]);
        }
        const whole = await hear(long, long.length);
        for (const size of [1931, 20011]) answers.push([await hear(long, size), whole]);
        const before = model.info.gpuBytes;
        const sounds = async function* () {
          for (let at = 0; at < voice.length; at += 2000) {
            yield { samples: Float32Array.from(voice.slice(at, at + 2000)), sampleRate };
          }
        };
        const events = [];
        const ears = options.worker ? openai({ model }) : model;
        for await (const { type, start, text, tokens } of await listen(sounds(), { model: ears, logprobs: 0 })) {
          events.push([type, start, text, tokens?.map((token) => token.text).join('')]);
        }
        const after = model.info.gpuBytes;
        await model.free();
        return { answers, events, bytes: [before, after], count: whole.length };
      },
      { ...expected, options, cases, long, voice: [...samples], sampleRate },
    );
    await page.close();
    for (const [number, [ids, wanted]] of found.answers.entries()) assert.deepEqual(ids, wanted, `sound ${number}`);
    assert.ok(found.count > 120, `${found.count} tokens`);
    assert.equal(found.bytes[0], found.bytes[1]);
    const finals = found.events.filter(([type]) => type === 'final');
    assert.equal(finals.length, 2, 'two sentences');
    for (const [, start, words, tokens] of finals) {
      assert.equal(tokens.trim(), words);
      const written = found.events.filter((event) => event[0] === 'partial' && event[1] === start);
      assert.ok(written.length > 1 && written.at(-1)[2] === words, `${written.length} times, then ${words}`);
    }
  });
}
