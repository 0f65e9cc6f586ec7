// The numbers at the end of `npm test` are only as good as the reading of each runner's output.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { test } from 'node:test';
import path from 'node:path';
import { filesUnder, ROOT } from '../../tools/common.mjs';
import { browserPrograms } from '../../tools/browser-tests.mjs';
import { countCargo, countNode } from '../../tools/counting.mjs';

const CARGO = `
running 3 tests
test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s
running 4 tests
test sums ... FAILED

failures:

---- sums stdout ----
assertion left == right failed

failures:
    sums

test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.20s
`;
const NODE = 'ℹ tests 7\nℹ suites 1\nℹ pass 4\nℹ fail 1\nℹ cancelled 0\nℹ skipped 1\nℹ todo 1\nℹ duration_ms 9\n';

test('cargo lines add up over binaries', () => {
  const { told, ...counts } = countCargo({ code: 101, output: CARGO });
  assert.deepEqual(counts, { passed: 5, failed: 1, skipped: 1 });
  assert.match(told, /^failures:\n\n---- sums stdout[^]*left == right[^]* {4}sums\n\n$/);
});

test('a build that fails before any test counts as a failure', () => {
  const counts = { passed: 0, failed: 1, skipped: 0, told: 'error[E0308]' };
  assert.deepEqual(countCargo({ code: 101, output: 'error[E0308]' }), counts);
  assert.deepEqual(countNode({ code: 1, output: '' }), { ...counts, told: '' });
});

test('node lines are read', () => {
  assert.deepEqual(countNode({ code: 1, output: NODE }), { passed: 4, failed: 1, skipped: 2, told: '' });
});

test('what node’s runner says of a failed test is kept', () => {
  const source = "require('node:test').test('sums', () => require('node:assert').equal(1, 2, 'one is not two'))";
  // Without this variable it is a run of its own and no part of this one.
  const env = { ...process.env, NODE_TEST_CONTEXT: '' };
  const { status, stdout } = spawnSync(process.execPath, ['--test-reporter=spec', '-e', source], { env });
  const { told, ...counts } = countNode({ code: status, output: String(stdout) });
  assert.deepEqual(counts, { passed: 0, failed: 1, skipped: 0 });
  assert.match(told, /^\n[^]*sums[^]*one is not two/);
});

test('an unknown suite stops with the names there are', () => {
  const { status, stderr } = spawnSync(process.execPath, [path.join(ROOT, 'tools/test.mjs'), '--only', 'nonsense']);
  assert.equal(status, 1);
  assert.match(String(stderr), /no suite nonsense[\s\S]*host, /);
});

test('every program with tests in a browser is built for it', () => {
  // A program is a file of tests/ or a folder with a main.rs; its other files are modules.
  const files = filesUnder('tests').filter((file) => file.endsWith('.rs') && !/^tests\/(fixtures|common)\//.test(file));
  const withTests = files.filter((file) =>
    /#\[wasm_bindgen_test\b/.test(fs.readFileSync(path.join(ROOT, file), 'utf8')),
  );
  const programOf = (file) => path.basename(file.split('/')[1], '.rs');
  const modules = {
    forward_drafts: 'forward',
    forward_lanes: 'forward',
    forward_models: 'forward',
    forward_prefixes: 'forward',
    forward_rows: 'forward',
  };
  const expected = new Set(withTests.map((file) => modules[programOf(file)] ?? programOf(file)));
  assert.deepEqual(new Set(browserPrograms()), expected);
});
