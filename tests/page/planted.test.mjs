// Every kernel's test fails when its shader is broken: planted.json holds bugs of the kind that people make, one or
// more for each shader, and for each of them some kernel case must find a wrong value.
//
// After changes to shaders or cases, `WEBGGUF_BLESS=1 node --test tests/page/planted.test.mjs` writes anew which case
// notices, so that it is tried first.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { readJson, ROOT } from '../../tools/common.mjs';
import { openSite } from './site.mjs';

const LIST = path.join(ROOT, 'tests', 'planted.json');
const BLANK = '<!doctype html><title>planted bugs</title>';

const send = (type, text) => (_, response) => response.writeHead(200, { 'Content-Type': type }).end(text);
const site = await openSite({
  routes: {
    '/planted.html': send('text/html', BLANK),
    '/planting.js': send('text/javascript', fs.readFileSync(new URL('planting.js', import.meta.url), 'utf8')),
  },
});
const page = await site.open('/planted.html');

/** By file, its bugs: text `from` becomes `to`, in the shaders of `stem` alone where several import the file. */
const bugs = readJson(LIST);
const isShared = (file) => file.startsWith('shared/');

/** The stretches of a shader between its imports, which stand in what the browser compiles as they are. */
function parts(file) {
  const text = fs.readFileSync(path.join(ROOT, 'shaders', `${file}.wgsl`), 'utf8');
  return text.split(/^#import .*\n/m).filter((part) => part.length > 0);
}

/** Plants a bug; what `prove` says. */
function plant(file, { stem = file, from, to, case: hint }, only = false) {
  const [part, ...more] = parts(file).filter((text) => text.includes(from));
  assert.ok(part && more.length === 0 && part.split(from).length === 2, `${file} must have once: ${from}`);
  const bug = { stem, head: parts(stem)[0], part, planted: part.replace(from, () => to), hint, only };
  return page.evaluate(async (given) => (await import('/planting.js')).prove(given), bug);
}

/** Plants all bugs of some files and fails with those that nobody noticed. */
async function plantAll(t, files) {
  const counts = { noticed: 0, skipped: 0 };
  const wrong = [];
  for (const [file, bug] of files.flatMap((name) => bugs[name].map((each) => [name, each]))) {
    const { outcome, reason, tried, case: name } = await plant(file, bug);
    if (outcome in counts) counts[outcome] += 1;
    else wrong.push(`${file}: ${outcome} by ${tried} cases: ${bug.from} -> ${bug.to}${reason ? `: ${reason}` : ''}`);
    if (outcome === 'noticed') bug.case = name;
  }
  wrong.forEach((line) => console.log(line));
  t.diagnostic(`${counts.noticed} bugs noticed, ${wrong.length} not, ${counts.skipped} skipped`);
  if (process.env.WEBGGUF_BLESS) fs.writeFileSync(LIST, written(bugs));
  assert.deepEqual(wrong, []);
}

/** The list as it stands in the file. */
function written(list) {
  const line = (key, value) => `"${key}": ${JSON.stringify(value)}`;
  const bug = (given) => {
    const lines = ['from', 'to', 'stem', 'case'].filter((key) => key in given).map((key) => line(key, given[key]));
    return `    { ${lines.join(',\n      ')} }`;
  };
  const file = ([name, all]) => `  ${JSON.stringify(name)}: [\n${all.map(bug).join(',\n')}\n  ]`;
  return `{\n${Object.entries(list).map(file).join(',\n')}\n}\n`;
}

test('a case notices every bug planted in a kernel', async (t) => {
  await plantAll(
    t,
    Object.keys(bugs).filter((file) => !isShared(file)),
  );
});

test('a case notices every bug planted in what kernels share', async (t) => {
  await plantAll(t, Object.keys(bugs).filter(isShared));
});

test('neither a message of the compiler nor a change without effect counts as noticed', async () => {
  const [bug] = bugs.fill;
  const refused = await plant('fill', { ...bug, to: `${bug.to} nonsense` }, true);
  assert.equal(refused.outcome, 'refused', JSON.stringify(refused));
  assert.match(refused.reason, /^fill: /);
  const same = await plant('fill', { ...bug, to: `${bug.from} /* nothing new */` }, true);
  assert.deepEqual({ outcome: same.outcome, tried: same.tried }, { outcome: 'survived', tried: 1 });
  const noticed = await plant('fill', bug, true);
  assert.match(noticed.reason, /^fill .*element \d+ is .*, expected /);
});
