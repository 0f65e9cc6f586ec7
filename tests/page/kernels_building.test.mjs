// kernels.html while the server builds what it runs: it says so, and goes on once that is there.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitForState } from '../../tools/demo.mjs';
import { openSite } from './site.mjs';

let isBuilding = true;
let asked = 0;
const MODULE = `export default async () => {};
  export class Harness {
    static open = async () => new Harness();
    list = () => [];
    large = () => [];
    facts = () => ({ adapter: { description: 'of a test' }, features: [], limits: {} });
    rules = () => [];
  }`;
const send = (response, status, type, body) => response.writeHead(status, { 'Content-Type': type }).end(body);
const site = await openSite({
  routes: {
    '/harness/status.json': (_, response) => {
      asked += 1;
      send(response, 404, 'application/json', JSON.stringify({ building: isBuilding, command: 'npm run x' }));
    },
    '/harness/webgguf.js': (_, response) =>
      isBuilding ? send(response, 503, 'application/json', '{}') : send(response, 200, 'text/javascript', MODULE),
  },
});

test('the page says that the kernels are being built, and goes on once they are', async () => {
  const page = await site.open('/kernels.html');
  await page.getByText('The kernels are being built').waitFor();
  isBuilding = false;
  await waitForState(page, ['ready']);
  assert.ok(asked >= 2);
  assert.doesNotMatch(await page.innerText('#step'), /could not be loaded/);
  await page.close();
});
