// `?report=` of the pages: a link must not make a page post what it found to somebody else's server.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { serve } from '../../tools/serve.mjs';
import { openSite, SMALL } from './site.mjs';

const received = [];
const allow = (response) => {
  response.setHeader('Access-Control-Allow-Origin', '*');
  response.setHeader('Access-Control-Allow-Headers', '*');
};
/** Somebody else's server, which would be glad of a report. */
const elsewhere = await serve({
  routes: {
    '/take': (request, response) => {
      received.push(request.method);
      allow(response);
      response.writeHead(204).end();
    },
  },
});
after(() => elsewhere.close());
const site = await openSite({
  onReport: (value) => received.push(value),
  routes: {
    '/away': (_request, response) => response.writeHead(307, { Location: `${elsewhere.url}/take` }).end(),
  },
});

/** What `postReport` says about an address, and what arrived anywhere. */
async function post(url) {
  received.length = 0;
  const page = await site.open('/evaluate.html');
  const failure = await page.evaluate(async (address) => {
    const { postReport } = await import('./shared/post-report.js');
    return postReport(address, { found: 1 });
  }, url);
  await page.close();
  return { failure, received: [...received] };
}

test('a report goes to the page’s own origin', async () => {
  for (const url of ['/result', `${site.url}/result`]) {
    assert.deepEqual(await post(url), { failure: undefined, received: [{ found: 1 }] });
  }
});

for (const url of [`${elsewhere.url}/take`, `//${new URL(elsewhere.url).host}/take`, 'data:,x', 'http://']) {
  test(`nothing is posted to ${url.replace(/\d+(?=\/)/, 'PORT')}`, async () => {
    const failure = `${url} is not an address on ${site.url}`;
    assert.deepEqual(await post(url), { failure, received: [] });
  });
}

test('nothing follows a redirect to another origin', async () => {
  assert.deepEqual(await post('/away'), { failure: 'not reachable', received: [] });
});

test('a page says that it did not report', async () => {
  received.length = 0;
  const query = new URLSearchParams({ model: SMALL, prompt: 'a', predict: 1, backend: 'cpu' });
  query.set('report', `${elsewhere.url}/take`);
  const page = await site.open(`/evaluate.html?${query}`);
  await page.waitForFunction(() => /reporting failed/.test(document.querySelector('#status').textContent));
  assert.match(await page.textContent('#status'), /reporting failed: http.* is not an address on http/);
  assert.deepEqual(received, []);
  await page.close();
});
