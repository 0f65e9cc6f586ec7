// What `cargo publish` would upload: the crate's own files, and nothing of what lies beside them on this machine.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { cargoHome, ROOT, which } from '../../tools/common.mjs';

const OWN =
  /^(?:(?:src|shaders)\/|examples\/(?:bench|generate|tensors)\.rs$|build\.rs$|Cargo\.(?:toml|toml\.orig|lock)$)/;
const ABOUT = /^(?:README\.md|CHANGELOG\.md|LICENSE-\w+|\.cargo_vcs_info\.json)$/;

test('the published crate has its sources and what describes them', () => {
  const cargo = which('cargo', [path.join(cargoHome(), 'bin')]);
  const stdio = ['ignore', 'pipe', 'ignore'];
  const list = execFileSync(cargo, ['package', '--list', '--allow-dirty', '--offline'], { cwd: ROOT, stdio });
  const files = String(list).trim().split('\n');
  assert.ok(
    files.includes('src/lib.rs') && files.includes('build.rs') && files.includes('README.md'),
    `${files.length}`,
  );
  assert.deepEqual(
    files.filter((file) => !OWN.test(file) && !ABOUT.test(file)),
    [],
  );
});
