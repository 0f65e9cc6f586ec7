// Files that users give, read as streams while the browser collects garbage.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openSite } from './site.mjs';

const blank = (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
const site = await openSite({ routes: { '/blank': blank }, args: ['--js-flags=--expose-gc'] });

test('a blob is read to its end where nothing but its reader knows of it', async () => {
  const page = await site.open('/blank');
  const found = await page.evaluate(async () => {
    const { openSources } = await import('/dist/load/sources.js');
    const collecting = setInterval(globalThis.gc, 5);
    const read = async () => {
      const [source] = await openSources(new Blob([new Uint8Array(64e6)]), new AbortController().signal);
      let [bytes, buffers] = [0, 0];
      for (let piece = await source.next(); piece; piece = await source.next()) {
        bytes += piece.length;
        buffers = Math.max(buffers, piece.buffer.byteLength);
      }
      return { bytes, buffers };
    };
    const late = new Promise((resolve) => setTimeout(resolve, 240_000, 'never ends'));
    return Promise.race([read(), late]).finally(() => clearInterval(collecting));
  });
  assert.deepEqual(found, { bytes: 64e6, buffers: 1 << 20 });
  await page.close();
});
