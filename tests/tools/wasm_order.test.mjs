// The order of functions in the WebAssembly.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import zlib from 'node:zlib';
import { goodOrder, namedInOrder } from '../../tools/wasm_order.mjs';
import { CODE_SECTION, CUSTOM_SECTION, number, sectionIn, sectionOf } from '../../tools/wasm_sections.mjs';

/** Pseudo-random bytes. */
function noise(seed, length) {
  let state = seed;
  return Buffer.from(
    Array.from({ length }, () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return state >>> 24;
    }),
  );
}

/** Functions of `kinds` kinds, those of a kind far from each other. */
function functions(kinds, each) {
  return Array.from({ length: kinds * each }, (_, i) => Buffer.concat([noise(1 + (i % kinds), 4000), noise(i, 40)]));
}

test('functions that are alike become neighbours, and each is there once', () => {
  const bodies = functions(20, 6);
  const order = goodOrder(bodies);
  assert.deepEqual(
    [...order].sort((a, b) => a - b),
    bodies.map((_, i) => i),
  );
  const kinds = order.map((index) => index % 20);
  const changes = kinds.filter((kind, i) => i > 0 && kind !== kinds[i - 1]).length;
  assert.equal(changes, 19, `${kinds}`);
  const size = (list) => zlib.gzipSync(Buffer.concat(list)).length;
  assert.ok(size(order.map((i) => bodies[i])) * 4 < size(bodies));
});

test('no functions, one, and equal ones', () => {
  assert.deepEqual(goodOrder([]), []);
  assert.deepEqual(goodOrder([Buffer.of(1)]), [0]);
  assert.deepEqual(goodOrder([Buffer.alloc(9), Buffer.alloc(9)]), [0, 1]);
});

test('the names sort functions into that order, behind those that are imported', () => {
  const bodies = functions(3, 2);
  const code = Buffer.concat([number(6), ...bodies.flatMap((body) => [number(body.length), body])]);
  const imported = Buffer.concat([
    number(1),
    number(1),
    Buffer.from('m'),
    number(1),
    Buffer.from('f'),
    Buffer.of(0, 0),
  ]);
  const header = Buffer.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
  const module = Buffer.concat([header, sectionOf(2, imported), sectionOf(CODE_SECTION, code)]);
  const named = namedInOrder(module);
  assert.deepEqual(named.subarray(0, module.length), module);
  const names = sectionIn(named, CUSTOM_SECTION);
  assert.equal(names.subarray(1, 5).toString(), 'name');
  // Behind title, number and length of the map: how many, then index, length and six digits of each.
  const entries = names.subarray(7);
  assert.equal(entries[0], 6);
  const found = Array.from({ length: 6 }, (_, i) => entries.subarray(1 + 8 * i, 9 + 8 * i));
  assert.deepEqual(
    found.map((entry) => entry[0]),
    [1, 2, 3, 4, 5, 6],
  );
  const places = found.map((entry) => Number(entry.subarray(2).toString()));
  goodOrder(bodies).forEach((index, place) => assert.equal(places[index], place));
});
