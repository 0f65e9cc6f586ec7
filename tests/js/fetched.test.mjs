// Scripts that are loaded when they are first needed: what their absence is, and that a page may have them early.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { dist, withCode } from './api.mjs';

const { allFetched, fetched } = await import(`${dist}engine/fetched.js`);
const { later } = await import(`${dist}engine/later.js`);
const { onDemand } = await import(`${dist}model/on-demand.js`);
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
      '^(engine/later|model/on-demand)\\.ts: ',
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
  const names = [...Object.keys(onDemand), ...Object.keys(later)].filter(
    (name) => !/^(startWorker|preload)$/.test(name),
  );
  const before = new Map(names.map((name) => [name, onDemand[name] ?? later[name]]));
  await import(`${dist}preload.js`);
  for (const name of names) {
    const now = onDemand[name] ?? later[name];
    assert.notEqual(now, before.get(name), name);
    assert.equal(typeof (await now()), 'object', name);
  }
});
