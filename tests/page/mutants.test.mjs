// Mutation testing of the shaders: a line `// mutant: A => B` in a shader says that the next line is wrong with B in
// place of its A, and some kernel case must find a wrong value then: it kills the mutant.
//
// tests/fixtures/mutants.json says which case killed each the last time; that case is tried first, then all others.
// `WEBGGUF_BLESS=1 node --test tests/page/mutants.test.mjs` writes it anew.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { filesUnder, readJson, ROOT } from '../../tools/common.mjs';
import { openSite } from './site.mjs';

const KILLS = path.join(ROOT, 'tests', 'fixtures', 'mutants.json');
const BLANK = '<!doctype html><title>mutants</title>';
const MARKER = /^ *\/\/ mutant(?: \((.*)\))?: (.*?) =>(?: (.*))?$/;

const send = (type, text) => (_, response) => response.writeHead(200, { 'Content-Type': type }).end(text);
const site = await openSite({
  routes: {
    '/mutants.html': send('text/html', BLANK),
    '/mutants.js': send('text/javascript', fs.readFileSync(new URL('mutants.js', import.meta.url), 'utf8')),
  },
});
const page = await site.open('/mutants.html');

/** By shader file, by mutant the name of the case that killed it. */
const kills = readJson(KILLS, {});
const isShared = (file) => file.startsWith('shared/');

/** Shader text as the crate holds it: src/kernels/wgsl.rs cuts the same. */
function strip(text) {
  const code = text.split('\n').map((line) => line.replace(/(^ +)|( *(\/\/.*)?$)/g, ''));
  return code
    .filter(Boolean)
    .map((line) => `${line}\n`)
    .join('');
}

/** The texts of a shader between its imports, which stand in what the browser compiles as they are. */
function parts(file) {
  const text = fs.readFileSync(path.join(ROOT, 'shaders', `${file}.wgsl`), 'utf8');
  return text.split(/^#import .*\n/m);
}

/** What tells a kernel's shader from others: the longest of its parts. */
function fingerprint(kernel) {
  return parts(kernel)
    .map(strip)
    .reduce((a, b) => (b.length > a.length ? b : a));
}

/** The mutants that the markers in one part of a file ask for, one for each kernel that a marker names. */
function mutantsOf(file, part) {
  const lines = part.split('\n');
  return lines.flatMap((marker, at) => {
    const [, kernels = file, from, to = ''] = MARKER.exec(marker) ?? [];
    if (from === undefined) return [];
    const target = lines.findIndex((line, i) => i > at && !MARKER.test(line));
    const mutated = lines
      .with(
        target,
        lines[target].replace(from, () => to),
      )
      .join('\n');
    assert.notEqual(mutated, part, `${file}: ${from} does not stand in the line after: ${marker}`);
    const name = (kernel) => [from, '=>', to, isShared(file) && `(${kernel})`].filter(Boolean).join(' ');
    const make = (kernel) => ({ file, name: name(kernel), kernel, original: strip(part), mutated: strip(mutated) });
    return kernels.split(', ').map(make);
  });
}

const files = filesUnder('shaders').map((file) => file.replace(/^shaders\/(.*)\.wgsl$/, '$1'));
const mutants = files.flatMap((file) => parts(file).flatMap((part) => mutantsOf(file, part)));

/** Runs cases on a mutant; what `kill` in the page says. */
function run({ file, name, ...mutant }, only = false) {
  const given = { ...mutant, fingerprint: fingerprint(mutant.kernel), hint: kills[file]?.[name], only };
  return page.evaluate(async (what) => (await import('/mutants.js')).kill(what), given);
}

/** Runs cases on some mutants and fails with those that survive. */
async function killAll(t, chosen) {
  const counts = { killed: 0, skipped: 0 };
  const wrong = [];
  for (const mutant of chosen) {
    const { file, name } = mutant;
    const { outcome, reason, tried, case: by } = await run(mutant);
    if (outcome in counts) counts[outcome] += 1;
    else wrong.push(`${file}: ${outcome} after ${tried} cases: ${name}${reason ? `: ${reason}` : ''}`);
    mutant.case = outcome === 'killed' ? by : kills[file]?.[name];
  }
  for (const line of wrong) console.log(line);
  t.diagnostic(`${counts.killed} killed, ${wrong.length} not, ${counts.skipped} skipped`);
  if (process.env.WEBGGUF_BLESS) record(chosen);
  assert.deepEqual(wrong, []);
}

/** Writes which case killed each of `chosen`, and forgets mutants that are no more. */
function record(chosen) {
  for (const { file, name, case: by } of chosen) kills[file] = { ...kills[file], [name]: by };
  const now = {};
  for (const { file, name } of mutants) now[file] = { ...now[file], [name]: kills[file]?.[name] };
  fs.writeFileSync(KILLS, `${JSON.stringify(now, null, 2)}\n`);
}

test('a case kills every mutant of a kernel', async (t) => {
  await killAll(
    t,
    mutants.filter(({ file }) => !isShared(file)),
  );
});

test('a case kills every mutant of what kernels share', async (t) => {
  await killAll(
    t,
    mutants.filter(({ file }) => isShared(file)),
  );
});

test('neither a message of the compiler nor a change without effect kills a mutant', async () => {
  const mutant = mutants.find(({ file }) => file === 'fill');
  const refused = await run({ ...mutant, mutated: `${mutant.mutated} nonsense` }, true);
  assert.equal(refused.outcome, 'refused', JSON.stringify(refused));
  assert.match(refused.reason, /^fill: /);
  const same = await run({ ...mutant, mutated: `${mutant.original} // nothing new` }, true);
  assert.deepEqual({ outcome: same.outcome, tried: same.tried }, { outcome: 'survived', tried: 1 });
  const killed = await run(mutant, true);
  assert.match(killed.reason, /^fill .*element \d+ is .*, expected /);
});
