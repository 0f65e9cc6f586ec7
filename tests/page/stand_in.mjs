// For tests of kernels on subgroup matrices, which run with a stand-in for what multiplies: their page, and their text.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { openSite } from './site.mjs';

/** The text of a file beside the tests. */
export const here = (name) => fs.readFileSync(new URL(name, import.meta.url), 'utf8');

/** An empty page that can import these scripts from beside the tests. */
export async function pageWith(...scripts) {
  const sent = (type, text) => (_, response) => response.writeHead(200, { 'Content-Type': type }).end(text);
  const routes = scripts.map((name) => [`/${name}`, sent('text/javascript', here(name))]);
  const blank = ['/blank.html', sent('text/html', '<!doctype html>')];
  const site = await openSite({ routes: Object.fromEntries([blank, ...routes]) });
  return site.open('/blank.html');
}

/** A text with one of its parts, which stands there once, replaced. */
export function replaced(text, part, by) {
  assert.equal(text.split(part).length, 2);
  return text.replace(part, () => by);
}
