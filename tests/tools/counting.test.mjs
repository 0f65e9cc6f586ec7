// The numbers at the end of `npm test` are only as good as the reading of each runner's output.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import path from 'node:path';
import { ROOT } from '../../tools/common.mjs';
import { countCargo, countNode } from '../../tools/test.mjs';

const CARGO = `
running 3 tests
test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s
running 4 tests
test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.20s
`;
const NODE = 'ℹ tests 7\nℹ suites 1\nℹ pass 4\nℹ fail 1\nℹ cancelled 0\nℹ skipped 1\nℹ todo 1\nℹ duration_ms 9\n';

test('cargo lines add up over binaries', () => {
  assert.deepEqual(countCargo({ code: 101, output: CARGO }), { passed: 5, failed: 1, skipped: 1 });
});

test('a build that fails before any test counts as a failure', () => {
  assert.deepEqual(countCargo({ code: 101, output: 'error[E0308]' }), { passed: 0, failed: 1, skipped: 0 });
  assert.deepEqual(countNode({ code: 1, output: '' }), { passed: 0, failed: 1, skipped: 0 });
});

test('node lines are read', () => {
  assert.deepEqual(countNode({ code: 1, output: NODE }), { passed: 4, failed: 1, skipped: 2 });
});

test('an unknown suite stops with the names there are', () => {
  const { status, stderr } = spawnSync(process.execPath, [path.join(ROOT, 'tools/test.mjs'), '--only', 'nonsense']);
  assert.equal(status, 1);
  assert.match(String(stderr), /no suite nonsense[\s\S]*host, /);
});
