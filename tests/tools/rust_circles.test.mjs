// What keeps src/runtime/ readable: files that reach each other by imports can be read only together, and none do; it
// is the same on every host; one file has what a session does.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { filesUnder, ROOT } from '../../tools/common.mjs';
import { circlesIn } from '../js/circles.mjs';
import { importsOf } from './rust_imports.mjs';

const RUNTIME = 'src/runtime/mod.rs';

const readText = (file) => fs.readFileSync(path.join(ROOT, file), 'utf8');

/** The texts of src/runtime/ by file. */
function runtime() {
  const listed = execFileSync('git', ['ls-files', 'src/runtime'], { cwd: ROOT, encoding: 'utf8' });
  const files = listed.split('\n').filter((file) => file.endsWith('.rs'));
  return new Map(files.map((file) => [file, readText(file)]));
}

test('files of the runtime do not import each other in a circle', () => {
  const graph = importsOf(runtime(), RUNTIME);
  assert.ok(graph.size > 60, 'files');
  assert.ok(graph.get('src/runtime/read.rs').includes('src/runtime/gpu/session.rs'), 'imports');
  assert.deepEqual(circlesIn(graph), []);
});

test('circles through lists, `super` and the crate are found', () => {
  const texts = {
    'src/runtime/mod.rs': 'pub use gpu::lane::Lane;',
    'src/runtime/read.rs': 'use super::gpu::{\n    lane::{Lane, Other as Two},\n    queue,\n};\nuse crate::Result;',
    'src/runtime/gpu/mod.rs': 'mod lane;',
    'src/runtime/gpu/lane.rs': 'pub(super) use crate::runtime::drive::{drive};',
    'src/runtime/drive.rs': 'fn a() {\n    use super::read::all;\n}',
    'src/runtime/gpu/queue.rs': 'use crate::Result;\n#[cfg(test)]\nmod tests {\n    use super::super::lane;\n}',
  };
  const circlesOf = (given) => circlesIn(importsOf(new Map(Object.entries(given)), 'src/runtime/mod.rs'));
  const circle = ['src/runtime/drive.rs', 'src/runtime/gpu/lane.rs', 'src/runtime/read.rs'];
  assert.deepEqual(circlesOf(texts), [circle]);
  assert.deepEqual(circlesOf({ ...texts, 'src/runtime/drive.rs': '' }), []);
});

const rustFiles = (folder) => filesUnder(folder).filter((file) => file.endsWith('.rs'));
const linesWith = (files, pattern) =>
  files.flatMap((file) =>
    readText(file)
      .split('\n')
      .filter((line) => pattern.test(line)),
  );

test('the runtime is the same on every host but for a few lines, and nothing is borrowed while a call waits', () => {
  assert.ok(linesWith(rustFiles('src/runtime'), /wasm32/).length <= 5, 'lines about wasm32 in src/runtime');
  const session = rustFiles('src/runtime').filter((file) => /^impl GpuSession\b/m.test(readText(file)));
  assert.deepEqual(session, ['src/runtime/gpu/session.rs']);
  assert.deepEqual(linesWith(rustFiles('src'), /await_holding_refcell_ref/), []);
});
