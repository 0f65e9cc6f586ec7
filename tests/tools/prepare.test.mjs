// Preparing a machine, and the stages of a build.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { lacksLockedVersion } from '../../tools/bindgen.mjs';
import { readJson, ROOT } from '../../tools/common.mjs';
import { isTaken } from '../../tools/dawn-setup.mjs';
import { stepsFor } from '../../tools/prepare.mjs';
import { describeSizes, listSizes } from '../../tools/sizes.mjs';
import { openStages } from '../../tools/stages.mjs';

test('a lock file is given up only where the registry lacks a version of it', () => {
  const lacking = 'error: failed to select a version for the requirement `webpki-roots = "^1.0.10"` (locked to 1.0.11)';
  assert.ok(lacksLockedVersion(`    Updating crates.io index\n${lacking}\ncandidate versions found: 1.0.10`));
  for (const other of [
    'error: failed to select a version for the requirement `webpki-roots = "^2"`',
    'error: failed to download from the registry',
    'error: checksum for `webpki-roots v1.0.11` changed between lock files (locked to 1.0.11)',
  ]) {
    assert.ok(!lacksLockedVersion(other), other);
  }
});

test('to start takes Node.js and Rust, and nothing that only tests need', () => {
  const names = stepsFor(false).map(({ name }) => name);
  assert.deepEqual(names, ['Node.js', 'Rust for wasm32-unknown-unknown', 'npm packages']);
  assert.ok(stepsFor(true).some(({ name }) => name === 'chromedriver'));
});

test('Dawn takes lavapipe from Mesa 25 on, and any driver of a GPU', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'webgguf-drivers-'));
  const takes = (library_path, api_version) => {
    const file = path.join(folder, 'driver.json');
    fs.writeFileSync(file, JSON.stringify({ ICD: { library_path, api_version } }));
    return isTaken(file);
  };
  try {
    assert.equal(takes('/x/libvulkan_lvp.so', '1.1.230'), false, 'Mesa 22.3');
    assert.equal(takes('/x/libvulkan_lvp.so', '1.4.305'), true, 'Mesa 25.0');
    assert.equal(takes('/x/libvulkan_radeon.so', '1.3.230'), true);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
});

test('--check without a browser says so before anything is built', () => {
  const env = { ...process.env, CHROME: path.join(ROOT, 'no-browser-here') };
  const { status, stdout, stderr } = spawnSync(process.execPath, [path.join(ROOT, 'tools/start.mjs'), '--check'], {
    env,
  });
  assert.equal(status, 1);
  assert.equal(String(stdout), '');
  assert.match(String(stderr), /--check opens the page in Chrome or Chromium, and none was found\n.*set CHROME/);
});

// ---- the build ------------------------------------------------------------------------------------------------------

const FOLDER = '.cache/stages-test';

test('a stage is done once for the same inputs and outputs; one that failed is done again', async () => {
  const [file, output] = [path.join(ROOT, FOLDER, 'stamps.json'), `${FOLDER}/output`];
  fs.rmSync(path.join(ROOT, FOLDER), { recursive: true, force: true });
  fs.mkdirSync(path.join(ROOT, FOLDER), { recursive: true });
  let works = 0;
  const work = async () => fs.writeFileSync(path.join(ROOT, output), String((works += 1)));
  const run = (inputs, task = work) => openStages(file, { quiet: true }).run('one', inputs, [output], task);
  await run('a');
  await run('a');
  assert.equal(works, 1);
  await run('b');
  assert.equal(works, 2, 'other inputs');
  fs.writeFileSync(path.join(ROOT, output), 'changed');
  await run('b');
  assert.equal(works, 3, 'what it wrote has changed');
  await assert.rejects(
    run('c', async () => assert.fail('no compiler')),
    /no compiler/,
  );
  await run('c');
  assert.equal(works, 4);
  fs.rmSync(path.join(ROOT, FOLDER), { recursive: true });
});

test('stages beside each other keep the stamps of both', async () => {
  const file = path.join(ROOT, FOLDER, 'stamps.json');
  const stages = openStages(file, { quiet: true });
  let meet;
  const met = new Promise((resolve) => (meet = resolve));
  await Promise.all([stages.run('slow', 'a', [], () => met), stages.run('fast', 'b', [], async () => meet())]);
  assert.deepEqual(Object.keys(readJson(file)).sort(), ['fast', 'slow']);
  fs.rmSync(path.join(ROOT, FOLDER), { recursive: true });
});

test('sizes are one line, and a list on demand', () => {
  const list = [
    { file: 'dist/index.js', raw: 5000, gzip: 2000 },
    { file: 'dist/training/index.js', raw: 3000, gzip: 1000 },
  ];
  assert.match(
    describeSizes(list),
    /^package: until a first answer [\d,]+ of 760,000 bytes gzipped, all 2 files 3,000/,
  );
  assert.ok(!describeSizes(list).includes('\n'));
  assert.equal(listSizes(list).split('\n').length, 4);
});
