// A part of a WebAssembly module that is linked later.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { must, ROOT } from '../../tools/common.mjs';
import { split } from '../../tools/wasm_split.mjs';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'split-'));
after(() => fs.rmSync(folder, { recursive: true, force: true }));

/** As wasm-dis writes it: `sum` and what it alone calls are to go; `twice` is called from both sides. */
const MODULE = `(module
 (type $0 (func (param i32) (result i32)))
 (type $1 (func (param i32 f64) (result i32)))
 (import "host" "note" (func $note (param i32)))
 (global $count (mut i32) (i32.const 0))
 (memory $0 1)
 (data $0 (i32.const 8) "\\05\\00\\00\\00")
 (table $0 2 2 funcref)
 (elem $0 (i32.const 1) func $"<tensor as Sum>::by table")
 (export "memory" (memory $0))
 (export "run" (func $run))
 (export "direct" (func $tensor::sum))
 (export "by_table" (func $by_table))
 (export "count" (func $count_of))
 (func $run (param $0 i32) (result i32)
  (call $twice
   (call $tensor::sum
    (local.get $0)
    (f64.const 1.5)
   )
  )
 )
 (func $twice (param $0 i32) (result i32)
  (i32.mul
   (local.get $0)
   (i32.const 2)
  )
 )
 (func $tensor::sum (param $0 i32) (param $1 f64) (result i32)
  (global.set $count
   (i32.add
    (global.get $count)
    (i32.const 1)
   )
  )
  (call $note
   (local.get $0)
  )
  (i32.add
   (call $only_here
    (call $twice
     (local.get $0)
    )
   )
   (i32.trunc_f64_s
    (local.get $1)
   )
  )
 )
 (func $only_here (param $0 i32) (result i32)
  (i32.add
   (local.get $0)
   (i32.load
    (i32.const 8)
   )
  )
 )
 (func $"<tensor as Sum>::by table" (param $0 i32) (result i32)
  (call $only_here
   (local.get $0)
  )
 )
 (func $by_table (param $0 i32) (result i32)
  (call_indirect $0 (type $0)
   (local.get $0)
   (i32.const 1)
  )
 )
 (func $count_of (result i32)
  (global.get $count)
 )
)
`;
const FEATURES = ['bulk-memory', 'mutable-globals', 'reference-types', 'nontrapping-float-to-int'].map(
  (feature) => `--enable-${feature}`,
);
const isTensor = (name) => /^<?tensor\b/.test(name);

async function assembled(text, name = 'module') {
  const [from, to] = ['wat', 'wasm'].map((kind) => path.join(folder, `${name}.${kind}`));
  fs.writeFileSync(from, text);
  const program = path.join(ROOT, 'node_modules', 'binaryen', 'bin', 'wasm-as');
  await must(process.execPath, [program, ...FEATURES, from, '-o', to], { quiet: true });
  return fs.readFileSync(to);
}

test('a module does without its part what needs none, and all of it when the part is linked', async () => {
  const { rest, part, count } = split(MODULE, isTensor);
  assert.equal(count, 3, 'the two of tensors, and what they alone call');
  const notes = [];
  const { instance } = await WebAssembly.instantiate(await assembled(rest), { host: { note: (x) => notes.push(x) } });
  const { run, direct, by_table: byTable, count: counted } = instance.exports;
  assert.equal(counted(), 0);
  for (const call of [() => run(3), () => direct(3, 1), () => byTable(3)])
    assert.throws(call, WebAssembly.RuntimeError);
  const bytes = await assembled(part);
  await WebAssembly.instantiate(bytes, { module: instance.exports });
  assert.deepEqual([run(3), direct(3, 1.5), byTable(3)], [24, 12, 8]);
  assert.deepEqual([notes, counted()], [[3, 3], 2], 'the module has the imports and the globals');
  const functions = ({ module }) => WebAssembly.Module.exports(module).filter(({ kind }) => kind === 'function');
  assert.equal(functions({ module: new WebAssembly.Module(bytes) }).length, 0);
});

test('the part of one module does not fit another', async () => {
  const [one, other] = [MODULE, MODULE.replace('const 1.5', 'const 2.5')].map((text) => split(text, isTensor));
  const { instance } = await WebAssembly.instantiate(await assembled(one.rest), { host: { note: () => {} } });
  const bytes = await assembled(other.part);
  await assert.rejects(WebAssembly.instantiate(bytes, { module: instance.exports }), WebAssembly.LinkError);
});

test('a part of nothing is refused, and so is one that needs its own module', () => {
  assert.throws(() => split(MODULE, () => false), /no function belongs to the part/);
  const passive = MODULE.replace('(i32.load\n    (i32.const 8)\n   )', '(memory.init $0 (i32.const 0))');
  assert.throws(() => split(passive, isTensor), /has \(memory\.init\), which needs its own module/);
});

test('what a part and one that is linked after it alone use lies in the former', async () => {
  const first = split(MODULE, (name) => name === 'tensor::sum');
  const isOfSecond = (name) => name.startsWith('<tensor');
  assert.equal(split(first.rest, isOfSecond).count, 1, 'the export for the first part keeps it');
  const second = split(first.rest, isOfSecond, first.added);
  assert.equal(second.count, 2, 'with only_here');
  const [rest, ...parts] = await Promise.all(
    [second.rest, second.part, first.part].map(async (text, index) => assembled(text, `lent-${index}`)),
  );
  const { instance } = await WebAssembly.instantiate(rest, { host: { note: () => {} } });
  await WebAssembly.instantiate(parts[0], { module: instance.exports });
  assert.equal(instance.exports.by_table(3), 8);
  await WebAssembly.instantiate(parts[1], { module: instance.exports });
  assert.deepEqual([instance.exports.run(3), instance.exports.direct(3, 1.5)], [24, 12]);
});

test('a stub of one part can be an entry of another, with its own signature', async () => {
  const isSum = (name) => name === 'tensor::sum';
  const first = split(MODULE, isSum);
  const second = split(first.rest, isSum);
  const bytes = await assembled(second.rest, 'stub');
  const { instance } = await WebAssembly.instantiate(bytes, { host: { note: () => {} } });
  for (const [name, { part }] of Object.entries({ second, first })) {
    await WebAssembly.instantiate(await assembled(part, name), { module: instance.exports });
  }
  assert.equal(instance.exports.direct(3, 1.5), 12);
});

test('a second part that the first one calls is refused, since either may be linked alone', () => {
  const { rest } = split(MODULE, isTensor);
  assert.throws(() => split(rest, (name) => name === 'twice'), /another part calls twice of the part/);
});

test('a second part is taken out of what the first one leaves, and either may be linked alone', async () => {
  const first = split(MODULE, isTensor);
  const second = split(first.rest, (name) => name === 'count_of');
  const [rest, ...parts] = await Promise.all(
    [second.rest, first.part, second.part].map(async (text, index) => assembled(text, `module-${index}`)),
  );
  const host = { note: () => {} };
  const start = async (order) => {
    const { instance } = await WebAssembly.instantiate(rest, { host });
    for (const part of order) await WebAssembly.instantiate(parts[part], { module: instance.exports });
    return instance.exports;
  };
  assert.equal((await start([1])).count(), 0, 'the second one alone');
  const alone = await start([0]);
  assert.deepEqual([alone.direct(3, 1.5), alone.by_table(3)], [12, 8], 'the first one alone');
  assert.throws(() => alone.count(), WebAssembly.RuntimeError);
  for (const order of [
    [0, 1],
    [1, 0],
  ]) {
    const { run, direct, by_table: byTable, count } = await start(order);
    assert.deepEqual([run(3), direct(3, 1.5), byTable(3), count()], [24, 12, 8, 2]);
  }
  const names = WebAssembly.Module.exports(new WebAssembly.Module(rest)).map(({ name }) => name);
  assert.deepEqual(names, [...new Set(names)]);
  assert.equal(names.filter((name) => name.startsWith('memory ')).length, 2, 'a hash for each part');
});
