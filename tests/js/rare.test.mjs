// The shaders and tables that few models or devices need: a load fetches them when WebAssembly asks, once.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { api, dist, plan, resetMock, seen, withCode } from './api.mjs';

const { WasmModel, init } = api;
const { files } = await import(`${dist}engine/files.js`);
const { hasRare } = await import(`${dist}wasm/give-needed.js`);
await init({ wasm: new Uint8Array(8) });

beforeEach(resetMock);

const load = () => WasmModel.load(new Blob([Uint8Array.of(1, 2, 3)]), { backend: 'cpu' });
const { rare, device } = files;

test('a load that needs none fetches none', async () => {
  files.rare = () => assert.fail('it was fetched');
  await load();
  assert.deepEqual([seen.rare, hasRare()], [[], false]);
});

test('a load whose file cannot be fetched says which one, and the next load fetches it', async () => {
  plan.isRare = true;
  files.rare = () => Promise.reject(new TypeError('Failed to fetch'));
  await assert.rejects(load(), withCode('download_failed', /wasm\/rare\.js.*Failed to fetch/));
  assert.equal(hasRare(), false);
  files.rare = rare;
  await load();
  assert.equal(seen.rare.length, 1);
});

test('they are given once, whole', async () => {
  plan.isRare = true;
  await load();
  await load();
  assert.deepEqual([seen.rare, hasRare()], [[], true], 'the test before has given them');
  const { rareShaders, grids } = await rare();
  assert.match(rareShaders, /^#file wkv\n.*^#file shared\/weights_iq2_xxs\n/ms);
  assert.equal(Buffer.from(grids, 'base64').length, 9216);
});

test('shaders of devices are fetched where WebAssembly asks for them, and apart from the others', async () => {
  plan.isOfDevice = true;
  files.device = () => Promise.reject(new TypeError('Failed to fetch'));
  await assert.rejects(load(), withCode('download_failed', /wasm\/device\.js.*Failed to fetch/));
  files.device = device;
  await load();
  await load();
  assert.deepEqual([seen.rare.length, seen.device.length], [0, 1]);
  assert.match(seen.device[0], /^#file .*#file mat_mul_subgroup_matrix\n/ms);
});
