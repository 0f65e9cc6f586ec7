// `Gpu` and `Tensor` over a mock of the engine: numbers to bytes and back, lifetimes, wrong use, names of operations.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { beforeEach, test } from 'node:test';
import { calls, api, withCode } from './api.mjs';
import { SAMPLES } from './samples.mjs';

const { Gpu, Tensor } = api;
await api.init({ wasm: new Uint8Array([0]) });
const OPERATIONS = new URL('../../src/tensor/op.rs', import.meta.url);

beforeEach(() => Object.assign(calls, { runs: [], freed: [], results: {}, error: undefined }));

const wrong = (pattern) => withCode('invalid_argument', pattern);

test('numbers keep their type, and their values as far as the type can', async () => {
  const gpu = await Gpu.create();
  assert.deepEqual(await gpu.tensor([1.5, -2, 1e9]).data(), Float32Array.of(1.5, -2, 1e9));
  assert.deepEqual(await gpu.tensor(Float64Array.of(0.1)).data(), Float32Array.of(0.1));
  assert.deepEqual(await gpu.tensor(Uint32Array.of(1, 2 ** 32 - 1)).data(), Uint32Array.of(1, 2 ** 32 - 1));
  assert.deepEqual(await gpu.tensor(Int32Array.of(-5, 7)).data(), Int32Array.of(-5, 7));
  assert.deepEqual(await gpu.tensor([1, -1], [2], 'i32').data(), Int32Array.of(1, -1));
  const half = await gpu.tensor([1, 0.1, 65504, 7], [4], 'f16').data();
  assert.deepEqual(half, Float32Array.of(1, 0.0999755859375, 65504, 7));
  const brain = await gpu.tensor([1, 0.1, 3 * 2 ** 100], [3], 'bf16').data();
  assert.deepEqual(brain, Float32Array.of(1, 0.10009765625, 3 * 2 ** 100));
  const scalar = gpu.tensor([3], []);
  assert.deepEqual([scalar.shape, scalar.size, await scalar.item(), String(scalar)], [[], 1, 3, '[] f32']);
  assert.deepEqual(await gpu.zeros([2, 3], 'u32').data(), new Uint32Array(6));
});

test('every f16 comes back as it went, and numbers between go to the nearest', async () => {
  const gpu = await Gpu.create();
  const bits = Uint16Array.from({ length: 65536 }, (_, i) => i).filter((i) => (i & 0x7fff) <= 0x7c00);
  const values = await gpu.tensor(bits, [bits.length], 'f16').data();
  assert.equal(values[1], 2 ** -24);
  assert.equal(values[0x3c01], 1 + 2 ** -10);
  assert.deepEqual(await gpu.tensor(values, [bits.length], 'f16').data(), values);
  const cases = [
    [1 + 2 ** -11, 1],
    [1 + 3 * 2 ** -11, 1 + 2 ** -9],
    [65519, 65504],
    [65520, Infinity],
    [2 ** -25, 0],
    [1.5 * 2 ** -24, 2 ** -23],
    [-Infinity, -Infinity],
    [NaN, NaN],
    [-0, -0],
    [1023.7 * 2 ** -24, 2 ** -14],
  ];
  const found = await gpu
    .tensor(
      cases.map(([value]) => value),
      [cases.length],
      'f16',
    )
    .data();
  assert.deepEqual(
    [...found],
    cases.map(([, expected]) => expected),
  );
  const brain = await gpu.tensor([1 + 2 ** -8, 1 + 3 * 2 ** -8, NaN, 3.4e38], [4], 'bf16').data();
  assert.deepEqual([...brain], [1, 1 + 2 ** -6, NaN, Infinity]);
});

test('wrong data and shapes are refused with both numbers', async () => {
  const gpu = await Gpu.create();
  assert.throws(() => gpu.tensor([1, 2, 3], [2, 2]), wrong(/\[2, 2\] f32 has 4 elements, the data 3/));
  assert.throws(() => gpu.tensor([1, 2], [-2]), wrong(/array of sizes, found \[-2\]/));
  assert.throws(() => gpu.tensor([1, 2], 2), wrong(/array of sizes, found 2/));
  assert.throws(() => gpu.tensor([1], [1], 'f64'), wrong(/no dtype 'f64'; there are f32, f16/));
  assert.throws(() => gpu.tensor([1.5], [1], 'u32'), wrong(/integers that fit \(element 0 is 1.5\)/));
  assert.throws(() => gpu.tensor([1, -1], [2], 'u32'), wrong(/element 1 is -1/));
  assert.throws(() => gpu.tensor('abc', [3]), wrong(/needs an array of numbers, found 'abc'/));
  assert.throws(() => gpu.tensor([1], [32], 'q8_0'), wrong(/GGUF blocks in a Uint8Array/));
  assert.throws(() => gpu.tensor(new Uint8Array(4), [4], 'f32'), wrong(/f32 needs numbers/));
  await assert.rejects(gpu.tensor([1, 2]).item(), wrong(/\[2\] f32 has 2 elements/));
});

test('freed tensors, those of others and no tensors at all are refused by name', async () => {
  const [gpu, other] = [await Gpu.create(), await Gpu.create()];
  const [a, b] = [gpu.tensor([1, 2], [1, 2]), gpu.tensor([1, 2], [2, 1])];
  b.free();
  b.free();
  assert.equal(b.freed, true);
  assert.throws(() => gpu.matmul(a, b), wrong(/matmul: b \(\[2, 1\] f32\) was freed/));
  await assert.rejects(b.data(), wrong(/data: the tensor \(\[2, 1\] f32\) was freed/));
  assert.throws(() => other.neg(a), wrong(/neg: x \(\[1, 2\] f32\) belongs to another Gpu/));
  assert.throws(() => gpu.add(a, [1, 2]), wrong(/add: b must be a tensor, found an array of 2/));
  assert.throws(() => gpu.add(1, 2), wrong(/add: one of a and b must be a tensor/));
  assert.throws(() => gpu.matmul(a), wrong(/matmul: b must be a tensor, found undefined/));
  assert.throws(() => gpu.softmax(a, { mask: 3 }), wrong(/softmax: mask must be a tensor, found 3/));
  assert.throws(() => gpu.softmax(a, null), wrong(/softmax: the options must be an object, found null/));
  assert.throws(() => gpu.neg(a, 3), wrong(/neg: the options must be an object, found 3/));
  assert.equal(calls.freed.length, 1);
  gpu.destroy();
  gpu.destroy();
  assert.throws(() => gpu.neg(a), wrong(/the Gpu was destroyed/));
  a.free();
});

test('a scope frees what it made and keeps what it returns', async () => {
  const gpu = await Gpu.create();
  const x = gpu.tensor([1, 2]);
  const made = [];
  const note = (tensor) => {
    made.push(tensor);
    return tensor;
  };
  const { y, rest } = gpu.scope(() => {
    const inner = gpu.scope(() => note(gpu.exp(note(gpu.neg(x)))));
    note(gpu.abs(x, { inPlace: true }));
    return { y: note(gpu.add(inner, x)), rest: 3 };
  });
  assert.deepEqual(
    made.map(({ freed }) => freed),
    [true, true, false, false],
  );
  assert.equal(made[2], x, 'in place gives the same tensor');
  assert.deepEqual([y.freed, rest, x.freed], [false, 3, false]);
  assert.throws(
    () =>
      gpu.scope(() => {
        note(gpu.neg(x));
        throw new Error('mine');
      }),
    /mine/,
  );
  assert.equal(made.at(-1).freed, true);
  assert.throws(() => gpu.scope(async () => {}), wrong(/must not be async/));
  gpu.free(x, [y], { z: gpu.neg(x) });
  assert.equal(calls.runs.length, 6);
  assert.ok(x.freed && y.freed);
});

test('formulas become steps, each expression once', async () => {
  const gpu = await Gpu.create();
  const [a, b] = [gpu.tensor([1]), gpu.tensor([2])];
  gpu.fuse([a, b], (x, y) => {
    const shared = x.silu();
    return shared.mul(y).where(shared.add(0.5), 2);
  });
  assert.deepEqual(calls.runs[0].options.steps, [
    { op: 'silu', args: ['in0'] },
    { op: 'mul', args: ['s0', 'in1'] },
    { op: 'add', args: ['s0', 0.5] },
    { op: 'where', args: ['s1', 's2', 2] },
  ]);
  gpu.fuse([a], (x) => x);
  assert.deepEqual(calls.runs[1].options.steps, [{ op: 'copy', args: ['in0'] }]);
  const long = (steps) => (x) => Array.from({ length: steps }).reduce((sum) => sum.add(1), x);
  gpu.fuse([a], long(16));
  assert.throws(() => gpu.fuse([a], long(17)), wrong(/17 steps, at most 16/));
  assert.throws(() => gpu.fuse([a], () => 3), wrong(/must return an expression, found 3/));
  assert.throws(() => gpu.fuse([a], (x) => x.add('1')), wrong(/add takes expressions and numbers, found '1'/));
  assert.throws(() => gpu.fuse(a, (x) => x), wrong(/must be an array of tensors/));
});

test("the engine's errors come out with their code", async () => {
  const gpu = await Gpu.create();
  const x = gpu.tensor([1]);
  calls.error = Object.assign(new Error('matmul: a is [1] f32 and b [1] f32'), { code: 'invalid_argument' });
  assert.throws(() => gpu.matmul(x, x), wrong(/a is \[1\] f32 and b/));
  calls.error = Object.assign(new Error('no adapter'), { code: 'webgpu_unavailable' });
  await assert.rejects(Gpu.create(), withCode('webgpu_unavailable'));
});

/** Names of the table in op.rs. */
function operations() {
  const source = fs.readFileSync(OPERATIONS, 'utf8');
  const arms = source.matchAll(/^ {8}((?:"\w+"(?: \| )?)+) =>/gm);
  return [...arms].flatMap(([, names]) => [...names.matchAll(/"(\w+)"/g)].map(([, name]) => name));
}

test('every method names an operation that the engine knows, and every operation has a method', async () => {
  const gpu = await Gpu.create();
  for (const [, call] of SAMPLES) call(gpu);
  const asked = new Set(calls.runs.map(({ op }) => op));
  const known = new Set(operations());
  assert.ok(known.size > 0, 'op.rs has no table');
  assert.deepEqual(
    [...asked].filter((op) => !known.has(op)),
    [],
    'unknown to the engine',
  );
  assert.deepEqual(
    [...known].filter((op) => !asked.has(op)),
    [],
    'without a method, or not in samples.mjs',
  );
});

test('every method of Gpu has a sample', () => {
  const own = new Set(['constructor', 'create', 'zeros', 'free', 'destroy', 'scope', 'tune', 'run', 'one', 'keep']);
  const methods = [];
  for (let proto = Gpu.prototype; proto !== Object.prototype; proto = Object.getPrototypeOf(proto)) {
    methods.push(...Object.getOwnPropertyNames(proto));
  }
  const sampled = new Set(SAMPLES.map(([method]) => method));
  assert.deepEqual(
    methods.filter((name) => !own.has(name) && !sampled.has(name)),
    [],
  );
  const named = methods.filter((name) => name !== 'constructor');
  assert.equal(new Set(named).size, named.length, 'no group of operations hides another');
  assert.ok(Tensor.prototype[Symbol.dispose]);
});
