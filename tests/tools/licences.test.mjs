// What the package has of others, and that the lock file holds all that `npm ci` installs.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { must, readJson, ROOT } from '../../tools/common.mjs';
import { isPermissive } from '../../tools/licences.mjs';

const read = (name) => fs.readFileSync(path.join(ROOT, name), 'latin1');
const [list, ...texts] = read('THIRD-PARTY.txt').split('\n\n\n');

test('every crate whose code a module has is named, with a licence and a text', () => {
  for (const module of ['dist/wasm/webgguf_bg.wasm', 'dist/grammar/webgguf_grammar_bg.wasm']) {
    // Messages of panics name source files.
    const crates = [...read(module).matchAll(/registry\/([a-z0-9_-]+)-(\d+\.\d+\.\d+)\//g)];
    assert.ok(crates.length > 10, `${module}: ${crates.length} crates`);
    for (const [, name, version] of crates) {
      const entry = list.split('\n\n').find((text) => text.startsWith(`${name} ${version}\n`));
      assert.ok(entry?.includes(module), `${name} ${version} is in ${module}`);
      assert.ok(
        texts.some((text) => text.includes(`\n${name} ${version}\n`)),
        `${name}: no text`,
      );
    }
  }
  for (const name of ['The Rust standard library', 'ggml', 'llguidance', 'wasm-bindgen']) {
    assert.ok(list.includes(name), name);
  }
  assert.ok(!/proptest|pollster|serde_derive/.test(list), 'tests and macros are not in the package');
});

test('no licence asks for more than a notice', () => {
  const licences = [...list.matchAll(/^ {2}licence: (.*)$/gm)].map(([, licence]) => licence);
  assert.ok(licences.length > 50, `${licences.length} licences`);
  assert.deepEqual(
    licences.filter((licence) => !isPermissive(licence)),
    [],
  );
  for (const licence of ['Apache-2.0/MIT', '(MIT OR Apache-2.0) AND Unicode-3.0', 'MIT OR GPL-3.0']) {
    assert.ok(isPermissive(licence), licence);
  }
  for (const licence of ['GPL-3.0', 'LGPL-2.1 OR AGPL-3.0', 'MIT AND MPL-2.0', '', 'SSPL-1.0']) {
    assert.ok(!isPermissive(licence), licence);
  }
});

test('`npm ci` installs from the lock file alone, on every system, and by checksum', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'webgguf-lock-'));
  try {
    for (const name of ['package.json', 'package-lock.json', '.npmrc']) {
      fs.copyFileSync(path.join(ROOT, name), path.join(folder, name));
    }
    await must('npm', ['ci', '--dry-run', '--offline', '--ignore-scripts'], { cwd: folder, quiet: true });
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
  const { '': _, ...packages } = readJson(path.join(ROOT, 'package-lock.json')).packages;
  for (const [name, { integrity, resolved }] of Object.entries(packages)) {
    assert.match(integrity, /^sha512-/, name);
    assert.equal(resolved, undefined, `${name}: any registry will do`);
  }
});
