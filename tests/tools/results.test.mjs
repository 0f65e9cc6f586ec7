// Rows of the page of results: those of the project say what its records say, a result of bench.html becomes a link and
// the link the same row again, and nothing else is taken from a link, which anybody may write.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../tools/common.mjs';
import { summaryOf } from '../../www/bench/results.js';
import { formOf, fragmentOf, lineOf, readRows, rowIn, rowOf, sorted } from '../../www/results/rows.js';

const TODAY = Date.parse('2026-11-26T12:00:00Z');
const RUN = { prompt_n: 512, n: 128, pp: 15_912.345, tg: 1129.123, ttft_ms: 30 };

/** A result as bench.html reports it. */
const result = (more = {}) =>
  summaryOf({
    date: '2026-11-25T10:00:00.000Z',
    user_agent: 'Mozilla/5.0 (Linux; Android 16) AppleWebKit/537.36 Chrome/156.0.0.0 Mobile Safari/537.36',
    adapter: 'qualcomm adreno-7xx',
    features: ['shader-f16', 'subgroups'],
    settings: { model: 'me/private:Q4_0', prompt: 512, predict: 128, runs: 3, temperature: 0, draft: '0' },
    info: { name: 'Small & good', architecture: 'llama', quantization: 'Q4_0', layers: 2, backend: 'webgpu' },
    load_ms: { ready: 900.126 },
    runs: [RUN],
    median: RUN,
    ...more,
  });

const ROW = {
  model: 'Small good',
  type: 'Q4_0',
  device: 'qualcomm adreno-7xx',
  features: 'shader-f16, subgroups',
  browser: 'Chrome 156, Android',
  date: '2026-11-25',
  prompt: 512,
  predict: 128,
  prefill: 15_910,
  decode: 1129,
  load_ms: 900.1,
};

/** A link to `ROW` with some fields changed, or left out where they are `undefined`. */
function linkWith(changes) {
  const fields = Object.entries({ v: 1, ...ROW, ...changes }).filter(([, value]) => value !== undefined);
  return `#${new URLSearchParams(fields)}`;
}

/** What a record says of the day of a row: a record of several days has a section for each. */
function dayOf({ date, record: name }, text) {
  const [, section] = text.split(`\n## ${date}\n`);
  assert.ok(section || name.startsWith(date), `${name} is not of ${date}`);
  return section?.split('\n## ')[0] ?? text;
}

test('every row of the project says where it was measured, and its numbers stand there', () => {
  const rows = readRows(fs.readFileSync(path.join(ROOT, 'www/results/measured.jsonl'), 'utf8'));
  assert.ok(rows.length > 10);
  for (const row of rows.filter(({ record }) => record)) {
    const record = fs.readFileSync(path.join(ROOT, 'docs/records', row.record), 'utf8');
    const day = dayOf(row, record);
    const { prefill, decode, load_ms = [] } = row;
    const seconds = [load_ms].flat().map((ms) => String(ms / 1000));
    const speeds = [prefill, decode].flat().map((value) => value.toLocaleString('en'));
    for (const number of [...speeds, ...seconds]) {
      assert.match(day, new RegExp(`(?<![\\d.,])${number}(?![\\d]|[.,]\\d)`), `${row.model} in ${row.record}`);
    }
    assert.ok(day.includes(row.type) && record.includes(row.device.split(' ')[1]), lineOf(row));
  }
});

test('a result becomes a link, and the link the same row', () => {
  const row = rowOf(result());
  assert.deepEqual(row, ROW);
  assert.deepEqual(rowIn(`#${fragmentOf(row)}`, TODAY), ROW);
  assert.ok(!fragmentOf(row).includes('private'), 'the file is nobody’s business');
  const bare = rowOf(result({ adapter: '', features: [], load_ms: {} }));
  assert.deepEqual([bare.device, 'features' in bare, 'load_ms' in bare], ['CPU', false, false]);
  assert.deepEqual(rowIn(`#${fragmentOf(bare)}`, TODAY), bare);
  const line = `${JSON.stringify({ ...JSON.parse(lineOf(row)), issue: 7 })}\n`;
  assert.deepEqual(readRows(line, TODAY), [{ ...ROW, issue: 7 }]);
  assert.equal(rowIn('', TODAY), undefined);
  assert.equal(rowIn('#', TODAY), undefined);
});

test('names that a file or a device made up to harm lose what is markup, and still make a link', () => {
  const name = `<img src=x onerror=alert(1)>|\u202e\`x\` ${'long '.repeat(100)}`;
  const row = rowOf(result({ info: { ...result().info, name }, user_agent: '<b>x'.repeat(90), adapter: name }));
  assert.match(row.model, /^img src=x onerror=alert\(1\) x long/);
  assert.ok(row.model.length <= 80 && row.device.length <= 120 && row.browser.length <= 60);
  assert.deepEqual(rowIn(`#${fragmentOf(row)}`, TODAY), row);
});

test('what cannot be compared has no link: embeddings, drafts, repeated prompts, schemas, no decode speed', () => {
  const { settings, info } = result();
  for (const more of [
    { info: { ...info, pooling: 'mean' } },
    { settings: { ...settings, draft: 'auto' } },
    { settings: { ...settings, repeat: true } },
    { settings: { ...settings, schema: '1' } },
    { median: { ...RUN, tg: null } },
    { date: 'never' },
  ]) {
    assert.equal(rowOf(result(more)), undefined, JSON.stringify(more));
  }
});

const HOSTILE = [
  [{ v: undefined }, /the link holds no result/],
  [{ v: 2 }, /its version is '2', not 1/],
  [{ decode: undefined }, /'decode' is missing/],
  [{ model: '' }, /'model' is no text/],
  [{ model: 'x'.repeat(81) }, /'model' has 81 characters, more than 80/],
  [{ device: '<img src=x onerror=alert(1)>' }, /'device' is 'img src=x onerror=alert\(1\)', with characters/],
  [{ device: 'a&lt;b' }, /'device' is .*with characters/],
  [{ model: '[x](javascript:1)|`' }, /'model' is .*with characters/],
  [{ browser: 'a\u202eb' }, /'browser' is 'a b', with characters/],
  [{ browser: 'a\u0000b' }, /'browser' is 'a b', with characters/],
  [{ type: 'Q4\nQ5' }, /'type' is 'Q4 Q5', with characters/],
  ...['fast', '-1', '0', '1e9', '0x10', 'Infinity', 'NaN', '1,000', ' 5', '12345678901', '5e-324', '1000000.5'].map(
    (decode) => [{ decode }, /'decode' is '.*', not a number from 0.001 to 1000000/],
  ),
  [{ decode: '' }, /'decode' is '', not a number/],
  [{ prompt: '1.5' }, /'prompt' is '1.5', not an integer from 1 to 10000000/],
  [{ predict: '1' }, /'predict' is '1', not an integer from 2/],
  ...['yesterday', '2026-13-01', '2026-02-30', '2024-12-31', '2026-11-28', '+002026-11-25', '2026-11-25T00:00'].map(
    (date) => [{ date }, /'date' is '.*', not a day from 2025-01-01 to today/],
  ),
  [{ issue: 7 }, /there is no field 'issue'/],
  [{ record: '2026-11-23-the-first-three-days.md' }, /there is no field 'record'/],
  [{ __proto__x: 1 }, /there is no field '__proto__x'/],
];

test('a link with anything else is refused, with the name of the field', () => {
  assert.deepEqual(rowIn(linkWith({}), TODAY), ROW);
  for (const [changes, message] of HOSTILE) {
    assert.throws(
      () => rowIn(linkWith(changes), TODAY),
      { code: 'invalid_argument', message },
      JSON.stringify(changes),
    );
  }
  const others = [
    [`${linkWith({})}&model=other`, /'model' is there twice/],
    [`${linkWith({})}&__proto__=1`, /there is no field '__proto__'/],
    [`${linkWith({})}&constructor=1`, /there is no field 'constructor'/],
    [`#${'a'.repeat(2001)}`, /2001 characters after its #, more than 2000/],
    ['#main', /the link holds no result/],
    ['#%', /the link holds no result/],
  ];
  for (const [hash, message] of others) {
    assert.throws(() => rowIn(hash, TODAY), { code: 'invalid_argument', message }, hash.slice(0, 80));
  }
});

test('a line of the file that is no row is named', () => {
  const good = JSON.stringify({ ...ROW, issue: 7 });
  for (const [line, message] of [
    ['{', /^line 2 of the results: /],
    ['null', /^line 2 of the results: /],
    [lineOf(ROW), /line 2 .*either 'record' or 'issue'/],
    [JSON.stringify({ ...ROW, issue: 7, record: '2026-11-25-a.md' }), /line 2 .*either 'record' or 'issue'/],
    [JSON.stringify({ ...ROW, record: '../../x.md' }), /line 2 .*'record' is/],
    [JSON.stringify({ ...ROW, issue: 7, decode: [2, 1] }), /line 2 .*'decode' is '2,1'/],
    [JSON.stringify({ ...ROW, issue: 7, prompt: [1, 2] }), /line 2 .*'prompt' is '1,2', not an integer/],
  ]) {
    assert.throws(() => readRows(`${good}\n${line}`, TODAY), { code: 'invalid_argument', message }, line);
  }
});

test('the form that a link opens is one of the repository, and has the fields that it fills in', () => {
  const form = new URL(formOf(ROW));
  assert.equal(form.origin + form.pathname, 'https://github.com/webgguf/webgguf/issues/new');
  const { template, title, row, ...others } = Object.fromEntries(form.searchParams);
  assert.deepEqual(others, {});
  assert.equal(title, 'Result: Small good Q4_0, qualcomm adreno-7xx');
  assert.deepEqual(JSON.parse(row), ROW);
  assert.match(fs.readFileSync(path.join(ROOT, '.github/ISSUE_TEMPLATE', template), 'utf8'), /^ {4}id: row$/m);
  const most = Object.fromEntries(Object.entries(ROW).map(([name, value]) => [name, String(value).repeat(12)]));
  assert.ok(formOf(most).length < 8000, 'GitHub takes addresses of 8 KB');
});

test('rows are sorted by numbers, by the middle of pairs and by names with numbers; what is missing is last', () => {
  const rows = [
    { model: 'a10', decode: [5, 15] },
    { model: 'a9', decode: 11, load_ms: 3 },
    { model: 'B', decode: 9, load_ms: 20 },
  ];
  const order = (field, isFalling) => sorted(rows, { field, isFalling }).map(({ model }) => model);
  assert.deepEqual(order('decode', true), ['a9', 'a10', 'B']);
  assert.deepEqual(order('decode', false), ['B', 'a10', 'a9']);
  assert.deepEqual(order('model', false), ['a9', 'a10', 'B']);
  assert.deepEqual(order('load_ms', true), ['B', 'a9', 'a10']);
  assert.deepEqual(order('load_ms', false), ['a9', 'B', 'a10']);
});
