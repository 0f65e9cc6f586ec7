// The options of the sampler in TypeScript and in Rust: the same rows, and what both sides refuse.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { WasmModel } from '../../dist/index.js';
import { openai } from '../../dist/openai/index.js';
import { SAMPLING, SAMPLING_ROWS } from '../../dist/sampling.js';
import { ROOT } from '../../tools/common.mjs';

/** Rows of `src/sampler/options.rs`: name, least and most. */
function rustRows() {
  const text = fs.readFileSync(path.join(ROOT, 'src', 'sampler', 'options.rs'), 'utf8');
  const row = /^ {4}\w+: (\w+) = [^,]+, "(\w+)", (\S+) => (\S+);$/gm;
  const number = (written) =>
    ({ 'f32::MIN_POSITIVE': 2 ** -126, 'u32::MAX': 2 ** 32 - 1 })[written] ?? Number(written.replaceAll(/_|u64$/g, ''));
  return [...text.matchAll(row)].map(([, type, name, least, most]) => {
    return { name, isInteger: type.startsWith('u'), least: number(least), most: number(most) };
  });
}

test('TypeScript and Rust have the same options with the same ranges', () => {
  const rows = SAMPLING_ROWS.map(([name, { least, most, isInteger = false }]) => ({ name, isInteger, least, most }));
  assert.deepEqual(rustRows(), rows);
});

test('each range is the one that its message names', () => {
  const named = { '2^53 - 1': Number.MAX_SAFE_INTEGER, '2^32 - 1': 2 ** 32 - 1 };
  for (const [name, { words, least, most, isInteger }] of SAMPLING_ROWS) {
    const [, kind, from, to] = /^an? (number|integer) (?:from|above) (\S+) (?:to|and at most) (.+)$/.exec(words);
    assert.equal(kind === 'integer', isInteger === true, name);
    assert.ok(Math.abs(Number(from) - least) < 1e-30, `${name} from ${from}`);
    assert.equal(named[to] ?? Number(to), most, name);
  }
  assert.equal(SAMPLING.topP.openai, 'top_p');
});

test('drySequenceBreakers: the breakers of llama.cpp by default, and what is given in their place', async () => {
  const model = await WasmModel.load(new Blob([fs.readFileSync(path.join(ROOT, 'www/models/storyteller.gguf'))]), {
    backend: 'cpu',
  });
  const prompt = 'Once upon a time, there was a hedgehog named Quill. Quill the hedgehog';
  const dry = { maxTokens: 12, ignoreEos: true, dryMultiplier: 50, dryAllowedLength: 1 };
  const text = async (further) => (await model.generate(prompt, { ...dry, ...further })).text;
  const repeated = ' lived in a burrow under a hedge in a forest';
  assert.ok((await text({ dryMultiplier: 0 })).startsWith(repeated));
  const usual = await text({});
  assert.match(usual, /^ lived in a burrow under a hedge in an/, '"in" is not followed by "a" once more');
  assert.equal(await text({ drySequenceBreakers: ['\n', ':', '"', '*'] }), usual);
  assert.equal(await text({ drySequenceBreakers: ['burrow'] }), usual, 'it stands before the repetition');
  // In one token, and in several.
  for (const breaker of [' in', 'hedge in']) {
    assert.ok((await text({ drySequenceBreakers: [breaker] })).startsWith(repeated), breaker);
  }
  const { completions } = openai({ model });
  const request = { prompt, max_tokens: 12, temperature: 0, dry_multiplier: 50, dry_allowed_length: 1 };
  const { choices } = await completions.create({ ...request, dry_sequence_breakers: [' in'] });
  assert.ok(choices[0].text.startsWith(repeated), choices[0].text);
  const words = /'drySequenceBreakers' must be an array of at most 32 texts of 1 to 40 characters/;
  for (const drySequenceBreakers of ['.', [''], [1], Array(33).fill('a'), ['a'.repeat(41)]]) {
    await assert.rejects(text({ drySequenceBreakers }), { code: 'invalid_argument', message: words });
  }
  await model.free();
});
