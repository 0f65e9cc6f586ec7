// Preparing a machine: when a lock file of a published crate is given up.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lacksLockedVersion } from '../../tools/bindgen.mjs';

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
