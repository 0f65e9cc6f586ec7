// The declarations of the WebAssembly modules are written by hand, since wasm-bindgen says `any` where it matters. Here
// they are compared with what wasm-bindgen has exported, and their objects with the structs of Rust.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { filesUnder, ROOT } from '../../tools/common.mjs';
import { exportsOf, importedMembers, interfaceOf, namesSet, structFields } from './declarations.mjs';

const read = (file) => fs.readFileSync(path.join(ROOT, file), 'utf8');

/** What wasm-bindgen adds to each class and module, and what runs when a module starts. */
const OWN = new Set(['constructor', 'free', '__destroy_into_raw', '__wrap', 'length', 'name', 'prototype']);
const OWN_EXPORTS = new Set(['default', 'initSync', 'start']);

const isClass = (value) => Object.getOwnPropertyNames(value.prototype ?? {}).includes('free');

/** The numbers of arguments of what a class has, by name; of a field `undefined`. */
function membersOf(Class) {
  const of = (object, prefix) =>
    Object.entries(Object.getOwnPropertyDescriptors(object))
      .filter(([name]) => !OWN.has(name))
      .map(([name, { value }]) => [`${prefix}${name}`, value?.length]);
  return new Map([...of(Class.prototype, ''), ...of(Class, 'static ')]);
}

/** Where what is exported differs from what is declared. */
function differences(declared, exported) {
  const found = [];
  const compare = (name, [ours, theirs]) => {
    if (theirs === 'missing') found.push(`${name} is declared and not exported`);
    else if (ours === 'missing') found.push(`${name} is exported and not declared`);
    else if (ours !== theirs) found.push(`${name} is declared with ${ours} arguments and has ${theirs}`);
  };
  const both = (ours, theirs) => new Set([...ours.keys(), ...theirs.keys()]);
  const classes = new Map(Object.entries(exported).filter(([, value]) => isClass(value)));
  for (const name of both(declared.classes, classes)) {
    const ours = declared.classes.get(name);
    const theirs = classes.get(name);
    if (!ours || !theirs) compare(name, [ours ? '' : 'missing', theirs ? '' : 'missing']);
    if (!ours || !theirs) continue;
    const members = membersOf(theirs);
    const count = (from, key, value) => (from.has(key) ? value : 'missing');
    for (const key of both(ours, members)) {
      if (key === 'free') continue;
      // wasm-bindgen's classes have a constructor in any case.
      if (key === 'constructor') compare(`${name}.constructor`, [ours.get(key).count, theirs.length]);
      else compare(`${name}.${key}`, [count(ours, key, ours.get(key)?.count), count(members, key, members.get(key))]);
    }
  }
  const isFunction = ([name, value]) => typeof value === 'function' && !isClass(value) && !OWN_EXPORTS.has(name);
  const functions = new Map(Object.entries(exported).filter(isFunction));
  declared.functions.delete('init');
  for (const name of both(declared.functions, functions)) {
    compare(name, [declared.functions.get(name) ?? 'missing', functions.get(name)?.length ?? 'missing']);
  }
  return found;
}

for (const [declarations, glue] of [
  ['js/wasm/webgguf.d.ts', 'dist/wasm/webgguf.js'],
  ['js/grammar/webgguf_grammar.d.ts', 'dist/grammar/webgguf_grammar.js'],
  ['js/media/webgguf_media.d.ts', 'dist/media/webgguf_media.js'],
]) {
  test(`${declarations} declares what wasm-bindgen exports`, async () => {
    const declared = exportsOf(read(declarations));
    assert.ok(declared.classes.size > 1, 'classes');
    assert.deepEqual(differences(declared, await import(path.join(ROOT, glue))), []);
  });
}

test('a difference between declarations and exports is found', () => {
  class Handle {
    static load(sources, options) {}
    next() {}
    run(name, inputs) {}
    get id() {
      return 1;
    }
    free() {}
  }
  const exported = { Handle, Other: class extends Handle {}, open: (_file) => {} };
  const members = 'static load(a: A[], b?: (c: C, d: D) => void): void; next(): number; run(a: A, b: B): void;';
  const declare = (text) => differences(exportsOf(text), { Handle, open: exported.open });
  const open = 'export function open(file: File): void;';
  const body = `private constructor(); ${members} readonly id: number; free(): void;`;
  const whole = `export class Handle { ${body} }\n${open}`;
  assert.deepEqual(declare(whole), []);
  assert.deepEqual(declare(whole.replace('next()', 'further()')), [
    'Handle.further is declared and not exported',
    'Handle.next is exported and not declared',
  ]);
  assert.deepEqual(declare(whole.replace('a: A, b: B', 'a: A')), ['Handle.run is declared with 1 arguments and has 2']);
  assert.deepEqual(declare(whole.replace('static load', 'load')), [
    'Handle.load is declared and not exported',
    'Handle.static load is exported and not declared',
  ]);
  assert.deepEqual(declare(whole.replace('readonly id: number;', '')), ['Handle.id is exported and not declared']);
  assert.deepEqual(declare(whole.replace('file: File', '')), ['open is declared with 0 arguments and has 1']);
  assert.deepEqual(declare(whole.replace('class Handle', 'class Handles')), [
    'Handles is declared and not exported',
    'Handle is exported and not declared',
  ]);
});

test('the mock of the WebAssembly has only what is declared', async () => {
  const mock = await import('./mock_wasm.mjs');
  const { classes } = exportsOf(read('js/wasm/webgguf.d.ts'));
  for (const [name, members] of classes) {
    const Mock = mock[name];
    for (const [key, count] of Mock ? membersOf(Mock) : []) {
      if (count === undefined) continue;
      assert.ok(members.has(key), `${name}.${key} of the mock is not declared`);
      assert.ok(count <= members.get(key).count, `${name}.${key} of the mock takes ${count} arguments`);
    }
  }
});

// ---- objects --------------------------------------------------------------------------------------------------------

const types = filesUnder('js').filter((file) => file.endsWith('.ts'));

/** The members of an interface of js/, wherever it is. */
function declaredIn(name) {
  const plain = name.split('.')[0];
  const files = types.filter((file) => new RegExp(`^export interface ${plain}\\b`, 'm').test(read(file)));
  assert.equal(files.length, 1, `one file declares ${plain}`);
  return interfaceOf(read(files[0]), name);
}

/** Fields that TypeScript adds to what Rust gives. */
const ADDED = {
  ModelInfo: ['tools', 'endOfText', 'media', 'encoders', 'vocoder', 'threads', 'tuning', 'shared'],
  Inspected: ['draft', 'encoder', 'advice'],
  Usage: ['promptTokensDetails'],
  GenerationResult: ['tokens'],
};
/** Fields that a union has besides the interface. */
const IN_UNION = { Inspected: ['supported', 'reason'] };

/** A struct of Rust that becomes an object, or a function that makes one, and the interface that describes it. */
const GIVEN = [
  ['src/web/info.rs', structFields, 'Info', 'ModelInfo'],
  ['src/runtime/load/verdict.rs', structFields, 'SelfCheck', 'SelfCheck'],
  ['src/web/inspect.rs', structFields, 'Inspection', 'Inspected'],
  ['src/web/inspect.rs', structFields, 'Gpu', 'Inspected.gpu'],
  ['src/web/results.rs', structFields, 'Usage', 'Usage'],
  ['src/web/results.rs', structFields, 'Timings', 'Timings'],
  ['src/web/results.rs', namesSet, 'result', 'GenerationResult'],
  ['src/web/results.rs', namesSet, 'evaluation', 'Evaluation'],
  ['src/web/engine.rs', structFields, 'Started', 'StartedText'],
  ['src/web/engine.rs', namesSet, 'next', 'Piece'],
  ['src/web/logprobs.rs', namesSet, 'chosen', 'ChosenToken'],
  ['src/web/logprobs.rs', namesSet, 'probability', 'TokenProbability'],
  ['src/web/constraint.rs', namesSet, 'tokens', 'VocabularyTokens'],
  ['src/web/vocabulary.rs', structFields, 'ChatTemplate', 'ChatTemplate'],
  ['src/web/encoder.rs', structFields, 'Info', 'EncoderInfo'],
  ['src/web/tensor.rs', structFields, 'Handle', 'TensorHandle'],
  ['src/web/tensor.rs', structFields, 'DeviceFacts', 'DeviceFacts'],
];

for (const [file, fieldsOf, name, declared] of GIVEN) {
  test(`${declared} has the fields of ${name} in ${file}`, () => {
    const fields = fieldsOf(read(file), name);
    assert.ok(fields.length > 0, 'fields');
    const added = ADDED[declared] ?? [];
    const ours = [...declaredIn(declared).keys(), ...(IN_UNION[declared] ?? [])].filter((key) => !added.includes(key));
    assert.deepEqual(ours.sort(), fields.sort());
  });
}

/** Options that Rust reads, who declares them, and those that an encoder's `load` adds. */
const TAKEN = [
  ['src/web/load.rs', 'LoadOptions', 'WasmLoadOptions', ['part']],
  ['src/web/generate_options.rs', 'JsGenerateOptions', 'WasmGenerateOptions', []],
];

for (const [file, name, declared, added] of TAKEN) {
  test(`${name} in ${file} reads the fields of ${declared}`, () => {
    const ours = [...declaredIn(declared).keys(), ...added];
    assert.deepEqual(ours.sort(), structFields(read(file), name).sort());
  });
}

test('Rust reads the options that inspect is given', () => {
  const declared = /type OfInspection = ([^;]+);/.exec(read('js/wasm/webgguf.d.ts'))[1];
  const ours = [...[...declared.matchAll(/'(\w+)'/g)].map(([, name]) => name), 'backend', 'ownSources'];
  assert.deepEqual(ours.sort(), structFields(read('src/web/inspect.rs'), 'Options').sort());
});

/** Types of JavaScript whose methods Rust calls. */
const CALLED = [
  ['src/web/source.rs', 'ByteSource', declaredIn],
  ['src/web/threads.rs', 'CpuThreads', declaredIn],
  ['src/web/constraint.rs', 'Matcher', (name) => exportsOf(read('js/grammar/webgguf_grammar.d.ts')).classes.get(name)],
];

for (const [file, type, members] of CALLED) {
  test(`${type} has what ${file} calls`, () => {
    const called = importedMembers(read(file), type);
    assert.ok(called.size > 3, 'calls');
    const declared = members(type);
    for (const [name, count] of called) {
      assert.ok(declared.has(name), `${type}.${name}`);
      const { count: ours, type: written } = declared.get(name);
      // A field may hold a function: its type has the arguments.
      const taken = ours ?? (/=>/.test(written) ? written.slice(0, written.lastIndexOf('=>')).split(',').length : 0);
      assert.equal(taken, count ?? taken, `arguments of ${type}.${name}`);
    }
  });
}

test('TypeScript and the shim of Rust wait equally long for an adapter', () => {
  const ms = /PATIENCE = (\d+)_000;/.exec(read('js/engine/adapter.ts'));
  const seconds = /PATIENCE = (\d+);/.exec(read('src/gpu/platform/web/request_device.js'));
  assert.equal(ms[1], seconds[1]);
});
