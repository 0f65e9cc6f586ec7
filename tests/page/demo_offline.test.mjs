// What is kept of the demo page, and when it is used: where the server is down, or somebody else answers in its place,
// the page opens as it was; and all files of a page are of one version.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, test } from 'node:test';
import { ROOT } from '../../tools/common.mjs';
import { waitForState } from '../../tools/demo.mjs';
import { openSite, until } from './site.mjs';

const site = await openSite();
const SCRIPTED = fs.readFileSync(path.join(ROOT, 'tests', 'page', 'scripted_model.js'), 'utf8');
const LOGIN = '<!doctype html><title>Login</title><script src="login.js"></script><h1>Please log in</h1>';

/** A server in front of that of the page: `now.answer(request, response)` may answer in its place. */
async function front() {
  const now = { version: 1, answer: () => false, count: 0 };
  const server = http.createServer(async (request, response) => {
    now.count += 1;
    if (await now.answer(request, response)) return;
    const { pathname } = new URL(request.url, 'http://localhost');
    const found = await fetch(site.url + request.url, { method: request.method });
    const type = found.headers.get('content-type');
    let bytes = Buffer.from(await found.arrayBuffer());
    if (pathname === '/dist/index.js') bytes = Buffer.from(SCRIPTED);
    // A busy machine is no slow network.
    if (/worker\.js$/.test(pathname))
      bytes = Buffer.from(String(bytes).replace(/PATIENCE = \d+/, 'PATIENCE = 600_000'));
    if (/html/.test(type)) bytes = Buffer.from(String(bytes).replace('<html', `<html data-version="${now.version}"`));
    if (/^\/demo\/.*\.js$/.test(pathname)) {
      const mark = `globalThis.versions = [...(globalThis.versions ?? []), ${now.version}];`;
      bytes = Buffer.from(`${bytes}\n${mark}\n`);
    }
    response.writeHead(found.status, { 'content-type': type, 'cache-control': 'no-store' }).end(bytes);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { now, close, url: `http://127.0.0.1:${server.address().port}` };
}

/** Another site, to which somebody may lead. */
const elsewhere = http.createServer((_, response) =>
  response.writeHead(200, { 'content-type': 'text/html' }).end(LOGIN),
);
await new Promise((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
after(() => elsewhere.close());

/** Opens the page until it is kept, and gives it to `work` with the server in front of it. */
async function withKept(work) {
  const { now, url, close } = await front();
  const context = await site.browser.newContext();
  try {
    const page = await context.newPage();
    page.log = [];
    page.crashes = [];
    await page.goto(`${url}/?backend=cpu`);
    await page.locator('#offline').waitFor();
    await page.waitForFunction(() => navigator.serviceWorker.controller);
    await work({ page, now, url: `${url}/?backend=cpu` });
  } finally {
    await context.close();
    close();
  }
}

/** Versions of the files that a page consists of, each once. */
const versionsOf = (page) =>
  page.evaluate(() => [...new Set([Number(document.documentElement.dataset.version), ...(globalThis.versions ?? [])])]);

const send = (response, status, type, body, headers = {}) => {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store', ...headers }).end(body);
  return true;
};
const isScript = ({ url }) => /\.js($|\?)/.test(url);
const TROUBLES = {
  'a server that answers 500': (_, response) => send(response, 500, 'text/html', '<h1>500</h1>'),
  'a server that answers 503': (_, response) => send(response, 503, 'text/html', '<h1>503</h1>'),
  'a server that answers 429': (_, response) => send(response, 429, 'text/plain', 'too many'),
  'a server that wants a password': (_, response) => send(response, 403, 'text/html', LOGIN),
  'a login page of another site': (_, response) =>
    send(response, 302, 'text/html', '', { location: `http://127.0.0.1:${elsewhere.address().port}/login` }),
  'a login page of this site': ({ url }, response) =>
    url.startsWith('/login')
      ? send(response, 200, 'text/html', LOGIN)
      : send(response, 302, 'text/html', '', { location: '/login' }),
  'somebody who answers in its place': (_, response) => send(response, 200, 'text/html', LOGIN),
  'somebody who answers scripts': (request, response) => isScript(request) && send(response, 200, 'text/html', LOGIN),
  'scripts that are gone': (request, response) => isScript(request) && send(response, 404, 'text/plain', 'no'),
  'scripts that the server cannot give': (request, response) =>
    isScript(request) && send(response, 503, 'text/plain', 'no'),
  'one script that is missing': ({ url }, response) => /words\.js/.test(url) && send(response, 502, 'text/plain', 'no'),
  'a connection that breaks': (_, response) => {
    response.destroy();
    return true;
  },
  'a body that breaks off': (_, response) => {
    response.writeHead(200, { 'content-type': 'text/html', 'content-length': 10_000 });
    response.write('<!doctype html>', () => response.destroy());
    return true;
  },
};

test('the page opens as it was, whatever answers in place of its server', async () => {
  await withKept(async ({ page, now, url }) => {
    now.answer = ({ url: asked }, response) => asked.startsWith('/?') && send(response, 410, 'text/plain', 'gone');
    await page.goto(url);
    assert.equal(await page.innerText('body'), 'gone', 'a page that is gone is gone');
    for (const [what, answer] of Object.entries(TROUBLES)) {
      now.answer = answer;
      await page.goto(url);
      assert.equal(await page.title(), 'webgguf', what);
      await waitForState(page, ['ready']);
      assert.deepEqual(await versionsOf(page), [1], what);
    }
  });
});

/** Waits until what is kept is of the version, by what a page gets without a network. */
const kept = (page) =>
  page.evaluate(async () => {
    const names = (await caches.keys()).sort().reverse();
    const whole = [];
    for (const name of names) if (await (await caches.open(name)).match('/whole')) whole.push(name);
    const found = await (await caches.open(whole[0])).match('/');
    return Number(/data-version="(\d)"/.exec(await found.text())[1]);
  });

test('a new version is seen at once, and kept as a whole', async () => {
  await withKept(async ({ page, now, url }) => {
    now.version = 2;
    await page.goto(url);
    await waitForState(page, ['ready']);
    assert.deepEqual(await versionsOf(page), [2]);
    await until(async () => (await kept(page)) === 2, 'the new version is kept');
    now.answer = TROUBLES['a server that answers 503'];
    await page.goto(url);
    await waitForState(page, ['ready']);
    assert.deepEqual(await versionsOf(page), [2]);
  });
});

test('a page never gets files of two versions', async () => {
  await withKept(async ({ page, now, url }) => {
    // The new version begins at the nth request of a visit; some of its files cannot be had.
    for (const at of [1, 4]) {
      for (const fails of [/nothing/, /words|chats/, /demo\/demo\.js/]) {
        now.count = 0;
        now.version = 1;
        now.answer = (request, response) => {
          if (now.count >= at) now.version = 2;
          return now.count >= at && fails.test(request.url) && send(response, 503, 'text/plain', 'no');
        };
        await page.goto(url);
        await page.waitForLoadState('load');
        const versions = await versionsOf(page);
        // What the server mixes by itself, in the middle of a visit, is not for this page to mend.
        if (at === 1) assert.equal(versions.length, 1, `without ${fails}: ${versions}`);
        now.answer = TROUBLES['a server that answers 503'];
        await page.goto(url);
        await waitForState(page, ['ready']);
        assert.equal((await versionsOf(page)).length, 1, 'what is kept is of one version');
      }
    }
  });
});

test('a version of which a file cannot be had is not kept', async () => {
  await withKept(async ({ page, now, url }) => {
    now.version = 2;
    let refused = 0;
    now.answer = (request, response) =>
      /words\.js/.test(request.url) && ++refused && send(response, 503, 'text/plain', 'no');
    await page.goto(url);
    await page.waitForLoadState('load');
    // The worker fetches all files anew behind the page, which asks for this one first.
    await until(() => refused >= 2, 'the worker asks for the file, too');
    // What it should not keep it would have kept after some of these looks.
    for (let look = 0; look < 60 && (await kept(page)) === 1; look += 1) await page.waitForTimeout(50);
    assert.equal(await kept(page), 1);
    now.answer = TROUBLES['a server that answers 503'];
    await page.goto(url);
    await waitForState(page, ['ready']);
    assert.deepEqual(await versionsOf(page), [1]);
  });
});

test('files that change while they are fetched are not kept as one version', async () => {
  const { now, url, close } = await front();
  const context = await site.browser.newContext();
  try {
    const page = await context.newPage();
    page.log = [];
    page.crashes = [];
    await page.goto(`${url}/?backend=cpu`);
    await waitForState(page, ['ready']);
    now.count = 0;
    now.answer = () => {
      if (now.count === 25) now.version = 2;
      return false;
    };
    await page.locator('#offline').waitFor();
    now.answer = TROUBLES['a server that answers 503'];
    await page.goto(`${url}/?backend=cpu`);
    await waitForState(page, ['ready']);
    assert.equal((await versionsOf(page)).length, 1);
  } finally {
    await context.close();
    close();
  }
});
