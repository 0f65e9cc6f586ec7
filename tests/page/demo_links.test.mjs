// Links to the demo and to other pages, which anybody may have made: no other site is asked for anything before a
// click, and whoever clicks has seen what is asked for, and where.

import assert from 'node:assert/strict';
import http from 'node:http';
import { after, test } from 'node:test';
import { openPage, waitForState } from '../../tools/demo.mjs';
import { plant, scriptedDemo } from './demo_scripted.mjs';
import { jsonUrl, openSite, SMALL } from './site.mjs';

const site = await openSite();

/** Another site, which notes what it is asked. */
const asked = [];
const elsewhere = http.createServer((request, response) => {
  asked.push(`${request.method} ${request.url}`);
  response.writeHead(200, { 'access-control-allow-origin': '*' }).end('[]');
});
await new Promise((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
after(() => elsewhere.close());
const OTHER = `http://127.0.0.1:${elsewhere.address().port}`;

/** Opens `path` with the hub in reach of nobody; returns the page, and what the hub was asked. */
async function open(path, context) {
  const hub = [];
  await context.route(
    ({ hostname }) => /(^|\.)(huggingface|hf)\.co$/.test(hostname),
    (route) => {
      hub.push(route.request().url());
      return route.abort();
    },
  );
  const page = await openPage(context, site.url + path);
  return { page, hub };
}

const HUB = 'hf:Qwen/Qwen3-0.6B-GGUF/Qwen3-0.6B-Q8_0.gguf';
/** Links, and what the card has to name. */
const LINKS = [
  [{ model: `${OTHER}/a/model.gguf` }, [`${OTHER}/a/model.gguf`]],
  [{ model: SMALL, mmproj: `${OTHER}/mmproj.gguf` }, [`${OTHER}/mmproj.gguf`]],
  [{ model: '/models/storyteller.gguf', mmproj: `${OTHER}/m.gguf` }, [`${OTHER}/m.gguf`]],
  [{ model: HUB }, ['huggingface.co', 'Qwen/Qwen3-0.6B-GGUF/Qwen3-0.6B-Q8_0.gguf']],
  [
    { model: HUB, mmproj: `${OTHER}/m.gguf` },
    ['huggingface.co', 'Qwen/Qwen3-0.6B-GGUF/Qwen3-0.6B-Q8_0.gguf', `${OTHER}/m.gguf`],
  ],
  [{ model: 'nobody/Qwen3-0.6B-GGUF:Q4_K_M' }, ['huggingface.co', 'nobody/Qwen3-0.6B-GGUF', 'Q4_K_M']],
  [{ model: 'nobody/Qwen3@evil:Q4_K_M', mmproj: 'auto' }, ['nobody/Qwen3@evil', 'mmproj']],
  [{ model: 'hf:nobody/known-name' }, ['huggingface.co', 'nobody/known-name']],
  [{ model: 'https://huggingface.co/nobody/x-GGUF' }, ['huggingface.co', 'nobody/x-GGUF']],
  [{ model: 'https://huggingface.co@127.0.0.1:1/x.gguf' }, ['127.0.0.1:1']],
  [{ model: `${OTHER}/%E2%80%AEfugg.gguf`, prompt: `![](${OTHER}/pixel.png)` }, [OTHER]],
];

test('a link asks no other site, whatever it carries, and the card names every file and its host', async () => {
  for (const [query, named] of LINKS) {
    const context = await site.browser.newContext({ serviceWorkers: 'block' });
    const { page, hub } = await open(`/?backend=cpu&${new URLSearchParams(query)}`, context);
    await waitForState(page, ['empty']);
    const card = await page.innerText('#error');
    const what = JSON.stringify(query);
    for (const words of named) assert.ok(card.includes(words), `${what}: the card names ${words}: ${card}`);
    assert.doesNotMatch(card, /\u202e/, what);
    assert.deepEqual([asked, hub], [[], []], what);
    assert.ok(await page.isVisible('#error button:text("Use Storyteller")'), what);
    await context.close();
  }
});

test('an encoder from elsewhere is asked about where its model is stored, and where it was loaded last', async () => {
  const withScripted = scriptedDemo(site);
  await withScripted(async (page) => {
    const stored = (keys) =>
      page.addInitScript((list) => {
        const facts = { bytes: 1, size: 1, complete: true, lastUsed: new Date() };
        globalThis.storedModels = list.map((key) => ({ key, ...facts }));
      }, keys);
    const visit = async (query) => {
      await page.goto(`${site.url}/?${new URLSearchParams(query)}`);
      await waitForState(page, ['ready', 'empty']);
      return page.evaluate(() => document.documentElement.dataset.state);
    };
    const model = `${OTHER}/model.gguf`;
    const mmproj = `${OTHER}/mmproj.gguf`;
    await stored([model]);
    assert.equal(await visit({ model }), 'ready', 'what is stored as a whole is loaded');
    assert.equal(await visit({ model, mmproj }), 'empty', 'the encoder is not');
    assert.equal(await visit({ model: '/chat-1b.gguf' }), 'ready');
    assert.equal(await visit({ model: '/chat-1b.gguf', mmproj }), 'empty', 'beside the model of the last visit');
    await stored([model, mmproj]);
    assert.equal(await visit({ model, mmproj }), 'ready', 'both are stored');
    assert.deepEqual(asked, []);
  });
});

test('addresses that no page can ask are none', async () => {
  await scriptedDemo(site)(async (page) => {
    const found = await page.evaluate(async () => {
      const { foreignFiles, originOf } = await import('./demo/origins.js');
      const none = ['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', 'hf:', 'https://', 'http://['];
      return {
        none: none.filter((text) => originOf(text) !== undefined),
        labels: ['/100%.gguf', 'owner/repo:Q4_K_M'].map((text) => originOf(text).label),
        files: foreignFiles({ source: 'http://[' }).length,
      };
    });
    assert.deepEqual(found, { none: [], labels: ['100%.gguf', 'owner/repo:Q4_K_M'], files: 1 });
  });
});

test('a link opens without the form of an earlier question', async () => {
  await scriptedDemo(site)(async (page) => {
    await page.click('#json-mode');
    const opened = async (query) => {
      await page.goto(`${site.url}/${query}`);
      await waitForState(page, ['ready']);
      return page.isVisible('#schema');
    };
    assert.equal(await opened(''), true, 'a visit goes on as the last one was');
    assert.equal(await opened('?prompt=Hello'), false);
    assert.equal(await opened('?model=/chat-1b.gguf'), false);
    assert.equal(await opened(''), true, 'the link changed nothing for later visits');
  });
});

/** Pages that do something when they are opened, with addresses of another site. */
const PAGES = {
  'answers.html': { fixtures: `${OTHER}/models/` },
  'answers.html?report=/result': { fixtures: `${OTHER}/models/` },
  'bench.html?report=/result': { model: `${OTHER}/m.gguf` },
  'bench.html?report=/result&model=/fixtures/models/llama-bf16.gguf': { draft_model: `${OTHER}/m.gguf` },
  'evaluate.html?prompt=a': { model: `${OTHER}/m.gguf` },
  [`evaluate.html?prompt=a&model=${SMALL}&mmproj=`]: { mmproj: `${OTHER}/m.gguf` },
  [`evaluate.html?prompt=a&model=${SMALL}&x=`]: { adapter: `${OTHER}/a.gguf` },
  [`evaluate.html?model=${SMALL}`]: { ids: `@${OTHER}/ids.json` },
  [`evaluate.html?model=${SMALL}&tokenize=`]: { tokenize: `${OTHER}/texts.json` },
  [`evaluate.html?model=${SMALL}&embed=`]: { embed: `${OTHER}/texts.json` },
  [`evaluate.html?model=${SMALL}&y=`]: { parts: `@${jsonUrl([{ image: `${OTHER}/a.png` }])}` },
  [`evaluate.html?model=${SMALL}&z=`]: { parts: `@${OTHER}/parts.json` },
  'train.html?backend=cpu': { model: `${OTHER}/m.gguf`, adapter: `${OTHER}/a.gguf` },
  'device.html?x=': { model: `${OTHER}/m.gguf` },
};

test('no page asks another site because a link names it', async () => {
  const context = await site.browser.newContext({ serviceWorkers: 'block' });
  for (const [path, query] of Object.entries(PAGES)) {
    const [name, given = ''] = path.split('?');
    const all = new URLSearchParams(given);
    for (const [key, value] of Object.entries(query)) all.set(key, value);
    for (const key of ['x', 'y', 'z']) all.delete(key);
    const page = await openPage(context, `${site.url}/${name}?${all}`);
    await page.waitForFunction(
      () => !['loading', 'running', undefined].includes(document.documentElement.dataset.state),
    );
    assert.deepEqual(asked, [], path);
    await page.close();
  }
  await context.close();
});

test('a link of an answer is asked nothing before it is pressed, its name included', async () => {
  await scriptedDemo(site)(async (page) => {
    await plant(page, { turns: [{ answer: `[words](${OTHER}/a) ![picture](${OTHER}/b.png) <${OTHER}/c>` }] });
    await page.goto(`${site.url}/`);
    await waitForState(page, ['ready']);
    assert.equal(await page.locator('.assistant a').count(), 3);
    assert.equal(await page.getAttribute('meta[http-equiv="x-dns-prefetch-control"]', 'content'), 'off');
    assert.deepEqual(asked, []);
  });
});
