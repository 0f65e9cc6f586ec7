// npm test: which programs are known to have passed with the files that are here.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inputsOf, written } from '../../tools/unchanged.mjs';

const FILES = [
  ...['Cargo.lock', 'src/lib.rs', 'shaders/norm.wgsl', 'tests/common/cpu.rs', 'tests/fixtures/axes.json'],
  ...['tests/forward.rs', 'tests/forward_lanes/mod.rs', 'tests/forward_adapters.rs', 'tests/kernels.rs'],
  ...[
    'tests/fixtures/agreed/programs.txt',
    'tests/fixtures/dispatches.txt',
    'tests/page/demo.test.mjs',
    'tests/tensors/main.rs',
  ],
];
const SHARED = FILES.slice(0, 5);

test('a program is made of the crate, of its own files, and of what tests share', () => {
  assert.deepEqual(inputsOf('forward', FILES), [...SHARED, 'tests/forward.rs', 'tests/forward_lanes/mod.rs']);
  assert.deepEqual(inputsOf('forward_adapters', FILES), [...SHARED, 'tests/forward_adapters.rs']);
  assert.deepEqual(inputsOf('tensors', FILES), [...SHARED, 'tests/tensors/main.rs']);
});

test('digests are written in the order of their names', () => {
  const digests = new Map([
    ['kernels', 'b'],
    ['forward', 'a'],
  ]);
  assert.equal(written(digests), 'forward a\nkernels b\n');
});
