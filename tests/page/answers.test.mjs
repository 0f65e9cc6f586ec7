// www/answers.html: real models agree with llama.cpp; one that is asked for other answers does not, and the page says
// so.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import path from 'node:path';
import { readJson } from '../../tools/common.mjs';
import { longTest } from '../long.mjs';
import { MODELS, openSite, reportOf, screenshot } from './site.mjs';

const MODEL = 'qwen3-q4_0';
let deliver = () => {};
const onReport = (value) => deliver(value);
const site = await openSite({ onReport });

/** Routes: the models' folder, but llama.cpp's answers are changed: another id at `at`, with a clear lead. */
function mistaken(at) {
  const entry = readJson(path.join(MODELS, `${MODEL}.json`));
  entry.exact.greedy[at] += 1;
  entry.exact.greedy_margin[at] = 1;
  const answer = (type, text) => (_, response) => response.writeHead(200, { 'Content-Type': type }).end(text);
  const json = (value) => answer('application/json', JSON.stringify(value));
  return {
    '/fixtures/models/models.txt': answer('text/plain', `${MODEL}\nabsent\n`),
    [`/fixtures/models/${MODEL}.json`]: json(entry),
    '/fixtures/models/absent.json': json({ ...entry, files: ['absent.gguf'] }),
  };
}

const elsewhere = await openSite({ onReport, routes: mistaken(40) });

/** Opens the page with `report`; what it posts, and what `look` finds once it has. */
async function reported(from, parameters, look = () => {}) {
  const arrived = new Promise((resolve) => {
    deliver = resolve;
  });
  const page = await from.open(`/answers.html?${new URLSearchParams({ ...parameters, report: '/result' })}`);
  try {
    const result = await reportOf(page, arrived);
    await page.waitForFunction(() => !document.documentElement.hidden);
    await look(page);
    return result;
  } finally {
    await page.close();
  }
}

test('a model agrees with llama.cpp, rounded and exact', async () => {
  const result = await reported(site, { only: MODEL }, async (page) => {
    assert.match(await page.innerText('#rows'), /qwen3-q4_0\s+exact\s+64 of 64\s+100 %/);
    assert.match(await page.innerText('#step'), /2 agree, 0 do not, 0 waiting; reported/);
    await screenshot(page, 'answers');
    await page.setViewportSize({ width: 360, height: 800 });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 360), 'the page is wider than a phone');
    await screenshot(page, 'answers-360');
  });
  assert.deepEqual([result.passed, result.failed], [2, 0]);
  assert.deepEqual(
    result.models.map(({ name, precision, equal, of }) => [name, precision, equal, of]),
    [
      [MODEL, 'auto', 64, 64],
      [MODEL, 'exact', 64, 64],
    ],
  );
  assert.ok(result.models[1].top1 >= 0.99 && result.models[1].logprob_off < 0.01);
});

longTest('other answers, and a model that is not there, fail and are told', async () => {
  const result = await reported(elsewhere, { precision: 'exact' }, async (page) => {
    assert.match(await page.innerText('#rows'), /40 of 64[^]*absent\.gguf[^]*404/);
    assert.equal(await page.locator('tr[data-status="failed"]').count(), 2);
  });
  assert.deepEqual([result.passed, result.failed], [0, 2]);
  assert.equal(result.models[0].equal, 40);
});

for (const [query, message] of [
  ['?model=x', /unknown parameter 'model'/],
  ['?only=nothing', /no model is called 'nothing'/],
  ['?fixtures=/nowhere/', /\/nowhere\/models\.txt: 404; 'fixtures' says where/],
]) {
  test(`${query} is refused with a message`, async () => {
    const page = await site.open(`/answers.html${query}`);
    await page.waitForFunction(() => document.documentElement.dataset.state === 'error');
    assert.match(await page.innerText('#error'), message);
    await page.close();
  });
}
