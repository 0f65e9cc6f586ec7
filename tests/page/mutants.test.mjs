// Mutation testing of the shaders: a line `// mutant: A => B` in a shader says that the next line is wrong with B in
// place of its A, and some kernel case must find a wrong value then: it kills the mutant.
//
// Only those are run whose shader, imports or cases have changed since they were last killed: see mutant_digests.mjs.
// `npm run mutants` runs all, and writes which case killed each (tests/fixtures/mutants.json: that case is tried first)
// and their digests. `npm run mutants -- changed` runs what has changed, and writes the same.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { readJson, ROOT } from '../../tools/common.mjs';
import { shaderFiles, shaderText } from '../../tools/shaders.mjs';
import { areKilled, digestOf, digestWith, keepDigests } from './mutant_digests.mjs';
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

/** Shader text as the crate holds it: build.rs cuts the same. */
function strip(text) {
  const code = text.split('\n').map((line) => line.replace(/(^ +)|( *(\/\/.*)?$)/g, ''));
  return code
    .filter(Boolean)
    .map((line) => `${line}\n`)
    .join('');
}

/** The texts of a shader between its imports, which stand in what the browser compiles as they are. */
function parts(file) {
  return shaderText(file).split(/^#import .*\n/m);
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

const mutants = [...shaderFiles.keys()].sort().flatMap((file) => parts(file).flatMap((part) => mutantsOf(file, part)));

/** Runs cases on a mutant; what `kill` in the page says. */
function run({ file, name, ...mutant }, only = false) {
  const given = { ...mutant, fingerprint: fingerprint(mutant.kernel), hint: kills[file]?.[name], only };
  return page.evaluate(async (what) => (await import('/mutants.js')).kill(what), given);
}

/** `all` or `changed`: which mutants run, and what they show is kept. */
const RECORD = process.env.WEBGGUF_MUTANTS;
/** Files and kernels of which a mutant was not killed. */
const survived = [];

/** Runs cases on some mutants and fails with those that survive. */
async function killAll(t, isChosen) {
  const wanted = mutants.filter(({ file }) => isChosen(file));
  const chosen = RECORD === 'all' ? wanted : wanted.filter(({ file, kernel }) => !areKilled(file, kernel));
  const counts = { killed: 0, skipped: 0 };
  const wrong = [];
  for (const mutant of chosen) {
    const { file, name } = mutant;
    const { outcome, reason, tried, case: by } = await run(mutant);
    if (outcome in counts) counts[outcome] += 1;
    else {
      wrong.push(`${file}: ${outcome} after ${tried} cases: ${name}${reason ? `: ${reason}` : ''}`);
      survived.push(mutant);
    }
    mutant.case = outcome === 'killed' ? by : kills[file]?.[name];
  }
  for (const line of wrong) console.log(line);
  const before = wanted.length - chosen.length;
  t.diagnostic(`${counts.killed} killed, ${wrong.length} not, ${counts.skipped} skipped, ${before} killed before`);
  if (RECORD) record(chosen);
  else if (chosen.length > 0) t.diagnostic('`npm run mutants -- changed` keeps what was killed');
  assert.deepEqual(wrong, []);
}

/** Writes which case killed each of `chosen`, and forgets mutants that are no more. */
function record(chosen) {
  for (const { file, name, case: by } of chosen) kills[file] = { ...kills[file], [name]: by };
  const now = {};
  for (const { file, name } of mutants) now[file] = { ...now[file], [name]: kills[file]?.[name] };
  fs.writeFileSync(KILLS, `${JSON.stringify(now, null, 2)}\n`);
  const isLeft = ({ file, kernel }) => survived.some((of) => of.file === file && of.kernel === kernel);
  keepDigests(
    mutants,
    chosen.filter((mutant) => !isLeft(mutant)),
  );
}

test('a case kills every mutant of a kernel', async (t) => {
  await killAll(t, (file) => !isShared(file));
});

test('a case kills every mutant of what kernels share', async (t) => {
  await killAll(t, isShared);
});

test('a digest is of a shader, of what it imports, and of its cases', () => {
  const { file, kernel } = mutants.find((mutant) => mutant.file === 'softmax');
  const before = digestOf(file, kernel);
  for (const of of ['shaders/tensor/softmax.wgsl', 'src/kernels/softmax/cases.rs', 'src/kernels/softmax/mod.rs']) {
    assert.notEqual(digestWith(of, 'let changed = 1;', file, kernel), before, `another text of ${of}`);
    assert.equal(digestWith(of, '// a comment', file, kernel), before, `a comment in ${of}`);
  }
  assert.equal(digestWith('shaders/tensor/rope.wgsl', 'let changed = 1;', file, kernel), before, 'another shader');
  const imports = digestOf('mat_vec', 'mat_vec');
  assert.notEqual(digestWith('shaders/weights/weights_q4_0.wgsl', 'let changed = 1;', 'mat_vec', 'mat_vec'), imports);
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
