// Tokenizers in a browser, where decompositions and small letters are those of JavaScript.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../tools/common.mjs';
import { openSite } from './site.mjs';

const { vocabularies } = JSON.parse(fs.readFileSync(path.join(ROOT, 'tests/fixtures/tokenizer/cases.json'), 'utf8'));
const blank = (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const site = await openSite({ routes: { '/blank': blank } });

/** Ids of texts, by a vocabulary of the fixtures. */
async function tokenized(vocabulary, texts) {
  const page = await site.open('/blank');
  try {
    const work = async ([url, texts]) => {
      const { Tokenizer } = await import('/dist/index.js');
      const tokenizer = await Tokenizer.load(url);
      return texts.map((text) => [...tokenizer.tokenize(text, { addSpecial: false })]);
    };
    return await page.evaluate(work, [`/fixtures/tokenizer/${vocabulary}`, texts]);
  } finally {
    await page.close();
  }
}

for (const vocabulary of ['wordpiece.gguf', 'wordpiece-cased.gguf', 'unigram.gguf']) {
  test(`${vocabulary}: ids are those of its library`, async () => {
    const { cases } = vocabularies.find((it) => it.vocabulary === vocabulary);
    assert.ok(
      cases.some(([text]) => /\p{Lu}/u.test(text) && /[^\0-\x7f]/.test(text)),
      'the cases say nothing',
    );
    assert.deepEqual(
      await tokenized(
        vocabulary,
        cases.map(([text]) => text),
      ),
      cases.map(([, ids]) => ids),
    );
  });
}

test('each letter becomes small by itself', async () => {
  const [large, small, atEnd] = await tokenized('wordpiece.gguf', ['ΟΔΟΣ ÀB', 'οδοσ àb', 'οδος ab']);
  assert.deepEqual(large, small);
  assert.ok(large.length > 0 && atEnd.length > 0);
});
