// Scripts that are loaded when they are first needed: what their absence is, and that a page may have them early.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { dist, withCode } from './api.mjs';

const { fetched } = await import(`${dist}engine/fetched.js`);
const { allFetched, files: ofSources } = await import(`${dist}engine/files.js`);
const { later } = await import(`${dist}engine/later.js`);
const { pageFiles } = await import(`${dist}load/page-files.js`);
const { onDemand } = await import(`${dist}model/on-demand.js`);
const { openaiFiles } = await import(`${dist}openai/files.js`);
const { WebggufError } = await import(`${dist}errors.js`);

afterEach(() => Reflect.deleteProperty(globalThis, 'ServiceWorkerGlobalScope'));

const missing = () => Promise.reject(new TypeError('Failed to fetch dynamically imported module: x.js'));

test('a script that cannot be loaded is download_failed, and the next call may have it', async () => {
  let isOffline = true;
  const files = allFetched({ x: async (n) => (isOffline ? missing() : n + 1) });
  await assert.rejects(files.x(1), withCode('download_failed', /offline.*init\(\{ preload: true \}\).*x\.js/));
  isOffline = false;
  assert.equal(await files.x(1), 2);
});

test('in a service worker it is feature_missing, which names the file to import', async () => {
  globalThis.ServiceWorkerGlobalScope = class {};
  await assert.rejects(fetched(missing), withCode('feature_missing', /webgguf\/preload\.js/));
});

test('errors of our own pass', async () => {
  const own = new WebggufError('download_failed', 'so');
  await assert.rejects(
    fetched(() => Promise.reject(own)),
    (error) => error === own,
  );
});

/** Every `import(…)` in the package's source, with its file. */
function importsIn(folder) {
  const root = fileURLToPath(new URL(`../../${folder}`, import.meta.url));
  const files = fs.readdirSync(root, { recursive: true }).filter((name) => /(?<!\.d)\.ts$/.test(name));
  return files.flatMap((name) => {
    const lines = fs.readFileSync(path.join(root, name), 'utf8').split('\n');
    return lines
      .filter((line) => /(?<!typeof )\bimport\((?!\))/.test(line) && !/^\s*(\*|\/[/*])/.test(line))
      .map((line) => `${name}: ${line.trim()}`);
  });
}

test('every import() says what is wrong where it fails', () => {
  // Each in a registry of `allFetched`, or with an error of its own.
  const known = new RegExp(
    [
      '^(engine/files|engine/later|load/page-files|model/on-demand|openai/files)\\.ts: ',
      'fetched\\(\\(\\) => import\\(',
      '^engine/worker-side\\.ts: .*script\\)',
      '^tensor/gpu\\.ts: .*shaders\\.js',
    ].join('|'),
  );
  assert.deepEqual(
    importsIn('js').filter((line) => !known.test(line)),
    [],
  );
});

test('preload.js has all that is loaded later', async () => {
  const registries = [ofSources, later, onDemand, pageFiles, openaiFiles];
  const names = registries.flatMap((registry) => Object.keys(registry).map((name) => [registry, name]));
  const before = registries.map((registry) => ({ ...registry }));
  await import(`${dist}preload.js`);
  for (const [registry, name] of names) {
    if (registry === ofSources && ['startWorker', 'preload'].includes(name)) continue;
    assert.notEqual(registry[name], before[registries.indexOf(registry)][name], name);
    assert.equal(typeof (await registry[name]()), 'object', name);
  }
});
