// Gaps in texts, with a vocabulary that has tokens for them, on the CPU.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { WasmModel } from '../../dist/index.js';
import { openai } from '../../dist/openai/index.js';
import { ARRAY, I32, patched, STRING, stringsOf } from './gguf_patch.mjs';

const STORYTELLER = new Uint8Array(fs.readFileSync(new URL('../../www/models/storyteller.gguf', import.meta.url)));

/** The storyteller with these control tokens in the place of its last ones. */
function withTokens(names) {
  const tokens = stringsOf(STORYTELLER, 'tokenizer.ggml.tokens');
  const types = tokens.map((_, id) => (id < 3 ? 3 : 1));
  for (const [place, name] of names.entries()) {
    tokens[tokens.length - 1 - place] = name;
    types[tokens.length - 1 - place] = 3;
  }
  return patched(STORYTELLER, {
    set: [
      ['tokenizer.ggml.tokens', ARRAY, [STRING, tokens]],
      ['tokenizer.ggml.token_type', ARRAY, [I32, types]],
    ],
  });
}

test('a gap is filled where the vocabulary has tokens for it, whose names in the texts are text', async () => {
  const request = { prompt: 'Once upon <|fim_middle|> a time', suffix: 'the end.', temperature: 0, max_tokens: 6 };
  const families = [
    [['<|fim_prefix|>', '<|fim_suffix|>', '<|fim_middle|>'], (p, s, [pre, suf, mid]) => [pre, ...p, suf, ...s, mid]],
    [['<fim_prefix>', '<fim_suffix>', '<fim_middle>'], (p, s, [pre, suf, mid]) => [pre, ...p, suf, ...s, mid]],
    [['[PREFIX]', '[SUFFIX]'], (p, s, [pre, suf]) => [suf, ...s, pre, ...p]],
  ];
  for (const [names, order] of families) {
    const model = await WasmModel.load(withTokens(names));
    const ids = [];
    for (const name of names) ids.push(...(await model.tokenize(name, { parseSpecial: true })));
    assert.equal(ids.length, names.length, names[0]);
    const [bos] = await model.tokenize('', { addSpecial: true });
    const prompt = order(await model.tokenize(request.prompt), await model.tokenize(request.suffix), ids);
    const expected = await model.generate(bos === undefined ? prompt : [bos, ...prompt], { maxTokens: 6, minP: 0.05 });
    const { choices, usage } = await openai({ model }).completions.create(request);
    assert.equal(choices[0].text, expected.text, names[0]);
    assert.equal(usage.prompt_tokens, expected.usage.promptTokens, names[0]);
    await model.free();
  }
});
