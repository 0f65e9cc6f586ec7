// A thought that is closed when its budget is spent, in the page and on the GPU in a worker: what was put in is read by
// the model, and the answer is what follows it.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../tools/common.mjs';
import { patched, STRING } from '../js/gguf_patch.mjs';
import { openSite } from './site.mjs';

const TEMPLATE = "{% for m in messages %}{{ m.content }}{% endfor %}<think>{{ '\\n' }}";
const storyteller = fs.readFileSync(path.join(ROOT, 'www', 'models', 'storyteller.gguf'));
const thinker = patched(storyteller, { set: [['tokenizer.chat_template', STRING, TEMPLATE]] });
const site = await openSite({
  routes: {
    '/blank': (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>'),
    '/thinker.gguf': (_, response) => response.writeHead(200, { 'Content-Length': thinker.length }).end(thinker),
  },
});

/** Runs in the page. */
async function answers({ backend, worker, parallel }) {
  const { WasmModel } = await import('/dist/index.js');
  const model = await WasmModel.load('/thinker.gguf', { backend, worker, parallel });
  const messages = [{ role: 'user', content: 'Tell me about a hare.' }];
  const request = { messages, temperature: 0, max_tokens: 36, reasoning_budget: 10 };
  const all = await Promise.all([0, 1].map(() => model.chat.completions.create(request)));
  const ids = async (text) => [...(await model.tokenize(text, { parseSpecial: true }))];
  const prompt = [
    ...(await model.tokenize(`${messages[0].content}<think>\n`, { addSpecial: true, parseSpecial: true })),
  ];
  const thought = await model.generate(prompt, { maxTokens: 10, draft: false });
  const closing = await ids('\n</think>\n\n');
  const maxTokens = 36 - 10 - closing.length;
  const answer = await model.generate([...prompt, ...thought.ids, ...closing], { maxTokens, draft: false });
  await model.free();
  const said = all.map(({ choices: [{ message }], usage }) => [
    message.reasoning_content,
    message.content,
    usage.prompt_tokens,
    usage.completion_tokens,
  ]);
  return { said, wanted: [thought.text.trim(), answer.text.trimStart(), prompt.length, 36] };
}

for (const [name, options] of [
  ['in the page', { backend: 'cpu', worker: false }],
  ['on the GPU in a worker, two at once', { backend: 'webgpu', worker: true, parallel: 2 }],
]) {
  test(`${name}: the answer follows the thought that was closed`, async () => {
    const page = await site.open('/blank');
    const { said, wanted } = await page.evaluate(answers, options);
    assert.ok(wanted[0].length > 10 && wanted[1].length > 30, JSON.stringify(wanted));
    assert.deepEqual(said, [wanted, wanted]);
    assert.deepEqual(page.crashes, []);
    await page.close();
  });
}
