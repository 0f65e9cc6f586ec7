// The options of the sampler in TypeScript and in Rust: the same rows, and what both sides refuse.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
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
