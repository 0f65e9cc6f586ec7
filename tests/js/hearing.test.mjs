// A model that writes while it hears, in Node.js, on the CPU path, against llama.cpp: rows of sounds with the silence
// around them, and each token that is written; and what is refused.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { openai } from '../../dist/openai/index.js';
import { WasmModel } from '../../dist/index.js';
import { ENCODERS, FIXTURES, blob, expectationsOf, open } from './encoders.mjs';
import { patched, U32 } from './gguf_patch.mjs';
import { BEFORE, BEHIND, DELAY, HEARING, heard, watched } from './hearing.mjs';
import { differenceOfSome, soundOf } from './sounds.mjs';
import { spoken } from './voice.mjs';

/** How far rows are apart, at most: keys and values are rounded to f16 here, and were not when llama.cpp was asked. */
const ROWS = 4e-4;

for (const [name, merge] of Object.entries(HEARING)) {
  test(`${name}: rows and tokens as llama.cpp has them`, async () => {
    const expected = expectationsOf(name);
    const model = await open(expected);
    for (const { samples, count, ids, ...some } of expected.cases) {
      const { samples: own } = soundOf(samples);
      assert.equal(count, BEFORE + Math.ceil(samples / (320 * merge)) + DELAY + BEHIND);
      const { result: found, rows } = await watched(() => heard(model, own, `${samples}`));
      assert.equal(rows.length, count, `${samples} samples`);
      const apart = differenceOfSome(rows, some);
      assert.ok(apart < ROWS, `${samples} samples: rows differ by ${apart}`);
      assert.deepEqual(found.ids, ids, `${samples} samples`);
      assert.equal(found.text, await model.detokenize(ids));
    }
    await model.free();
  });
}

test('two sounds at once, and a text between their tokens, change nothing', async () => {
  const expected = expectationsOf('voxtral_rt');
  const model = await open(expected);
  const [one, other] = expected.cases;
  const [first, second] = await Promise.all([
    heard(model, soundOf(one.samples).samples, 'one'),
    heard(model, soundOf(other.samples).samples, 'other'),
    model.generate('ab', { maxTokens: 9, temperature: 0 }).result,
  ]);
  assert.deepEqual([first.ids, second.ids], [one.ids, other.ids]);
  const fresh = await open(expected);
  const texts = await Promise.all(
    [model, fresh].map((each) => each.generate('ab cd', { maxTokens: 9, temperature: 0 }).result),
  );
  assert.deepEqual([...texts[0].ids], [...texts[1].ids], 'no row is left');
  await Promise.all([model.free(), fresh.free()]);
});

test('transcriptions are what is heard, whole, as it is written and live', async () => {
  const expected = expectationsOf('voxtral_rt-odd');
  const model = await open(expected);
  const { samples, ids } = expected.cases[1];
  const file = soundOf(samples);
  const words = (await model.detokenize(ids)).trim();
  assert.notEqual(words, '');
  assert.deepEqual(await model.audio.transcriptions.create({ file }), { text: words });
  const client = openai({ model });
  assert.equal(await client.audio.transcriptions.create({ file, response_format: 'text', language: 'en' }), words);
  const events = [];
  for await (const event of await model.audio.transcriptions.create({ file, stream: true })) events.push(event);
  const { type, text, usage } = events.pop();
  assert.deepEqual([type, text], ['transcript.text.done', words]);
  assert.equal(usage.output_tokens, ids.length);
  assert.ok(events.length > 2, 'piece by piece');
  assert.equal(events.map(({ delta }) => delta).join(''), words);
  await model.free();
});

test('log-probabilities are of the tokens that are text, whole, as it is written and in segments', async () => {
  const expected = expectationsOf('voxtral_rt-odd');
  const { samples, ids } = expected.cases[1];
  // One of the tokens that are written is no text, as those are that published models write in silence.
  const bytes = fs.readFileSync(path.join(FIXTURES, 'models', expected.text));
  const types = bytes.indexOf('tokenizer.ggml.token_type') + 'tokenizer.ggml.token_type'.length + 16;
  bytes.writeInt32LE(3, types + 4 * ids[3]);
  const mmproj = blob(path.join(ENCODERS, expected.encoder));
  const model = await WasmModel.load(new Blob([bytes]), { backend: 'cpu', mmproj });
  const [file, include] = [soundOf(samples), ['logprobs']];
  const texts = await Promise.all(ids.map((id) => model.detokenize([id])));
  const { text, logprobs } = await model.audio.transcriptions.create({ file, include });
  assert.ok(logprobs.length > 5 && logprobs.length < ids.length, `${logprobs.length} of ${ids.length} tokens are text`);
  assert.deepEqual(
    logprobs.map(({ token }) => token),
    texts.filter((each) => each !== ''),
  );
  assert.equal(
    Buffer.from(logprobs.flatMap(({ bytes }) => bytes))
      .toString()
      .trim(),
    text,
  );
  assert.ok(logprobs.every(({ logprob }) => logprob < 0 && logprob > -9));
  const events = [];
  for await (const event of await model.audio.transcriptions.create({ file, include, stream: true })) {
    events.push(event);
  }
  const last = events.pop();
  assert.deepEqual([last.text, last.logprobs], [text, logprobs]);
  const given = events.flatMap((event) => event.logprobs);
  assert.deepEqual(given, logprobs.slice(0, given.length));
  assert.ok(events.length > 2 && events.every((event) => event.logprobs.length > 0));
  const said = await heard(model, file.samples, 'likely', undefined, undefined, 2);
  assert.deepEqual(
    said.tokens.map(({ logprob }) => logprob),
    logprobs.map(({ logprob }) => logprob),
  );
  assert.ok(
    said.tokens.every(({ id, top, logprob }) => top.length === 2 && top[0].id === id && logprob >= top[1].logprob),
  );
  const response_format = 'verbose_json';
  const { segments } = await model.audio.transcriptions.create({ file: spoken(), response_format });
  assert.equal(segments.length, 2);
  for (const segment of segments) {
    assert.ok(segment.avg_logprob < -0.01, `${segment.avg_logprob}`);
    assert.equal((await model.detokenize(segment.tokens)).trim(), segment.text);
  }
  await model.free();
});

test('it ends with the token that ends a text, and with its signal', async () => {
  const expected = expectationsOf('voxtral_rt');
  const { samples, ids } = expected.cases[0];
  const file = fs.readFileSync(path.join(FIXTURES, 'models', expected.text));
  const at = ids.findIndex((id) => id !== ids[0]);
  const text = new Blob([patched(file, { set: [['tokenizer.ggml.eos_token_id', U32, ids[at]]] })]);
  const mmproj = blob(path.join(ENCODERS, expected.encoder));
  const model = await WasmModel.load(text, { backend: 'cpu', mmproj });
  const found = await heard(model, soundOf(samples).samples, 'ends');
  assert.deepEqual(found.ids, ids.slice(0, at));
  const controller = new AbortController();
  const events = await model.audio.transcriptions.create(
    { file: soundOf(samples), stream: true },
    { signal: controller.signal },
  );
  controller.abort(new Error('enough'));
  await assert.rejects(async () => {
    for await (const _ of events);
  }, /enough/);
  await model.free();
});

test('what cannot be heard is refused', async () => {
  const expected = expectationsOf('voxtral_rt');
  const model = await open(expected, { contextLength: 60 });
  const content = [{ type: 'audio', audio: soundOf(8000) }];
  const refused = { code: 'invalid_argument', message: /call audio.transcriptions.create/ };
  await assert.rejects(model.generate([{ role: 'user', content }]).result, refused);
  const long = { code: 'context_full', message: /^audio: 2 seconds take 74 tokens, the context holds 60$/ };
  await assert.rejects(model.audio.transcriptions.create({ file: soundOf(32000) }), long);
  await model.free();
});
