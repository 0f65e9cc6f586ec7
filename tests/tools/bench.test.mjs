// Results of bench.html in files: what `npm run bench -- --compare` prints, what is taken from a file that anybody may
// have made, and the numbers behind the page's charts.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { CACHE, ROOT } from '../../tools/common.mjs';
import { roundValues } from '../../www/bench/chart.js';
import { changeOf, comparison, curves, curveTable, spreadOf } from '../../www/bench/compare.js';
import { lengthsThatFit, sumWhileAll } from '../../www/bench/curves.js';
import { browserOf, readResults, summaryOf, writeResults } from '../../www/bench/results.js';
import { parametersOf, settingsOf } from '../../www/bench/settings.js';
import { hide } from '../../www/shared/hide.js';

const FOLDER = path.join(CACHE, 'bench-compare');
fs.rmSync(FOLDER, { recursive: true, force: true });
fs.mkdirSync(FOLDER, { recursive: true });

const run = (tg) => ({ prompt_n: 512, n: 128, pp: 15_000 + tg, tg, ttft_ms: 30 });
const middle = (runs) => ({ tg: runs[1].tg, pp: runs[1].pp, ttft_ms: 30 });
const point = (over, speeds) => ({ ...over, runs: speeds.map(run), median: middle(speeds.map(run)) });

/** A result as bench.html reports it, as far as it is compared, with decode speeds that rise. */
function result(speeds, more = {}) {
  const runs = speeds.map(run);
  return {
    date: '2026-11-25T10:00:00.000Z',
    user_agent: 'Mozilla/5.0 (X11; Linux x86_64) HeadlessChrome/156.0.0.0 Safari/537.36',
    adapter: 'nvidia hopper',
    features: ['subgroups'],
    settings: { model: '/models/small.gguf', prompt: 512, predict: 128, runs: 3, temperature: 0, kernels: false },
    info: { name: 'small', architecture: 'llama', quantization: 'Q4_0', layers: 2, backend: 'webgpu', gpuBytes: 4e6 },
    load_ms: { download: 100, ready: 900 },
    runs,
    median: middle(runs),
    per_token: { dispatches: 100, submits: 1 },
    ...more,
  };
}

function fileOf(name, text) {
  const file = path.join(FOLDER, name);
  fs.writeFileSync(file, text);
  return file;
}

const tool = (...args) =>
  spawnSync(process.execPath, [path.join(ROOT, 'tools', 'bench.mjs'), ...args], { encoding: 'utf8' });

/** The cells of a row of a table in Markdown. */
function cellsOf(markdown, name) {
  const line = markdown.split('\n').find((row) => row.startsWith(`| ${name} |`));
  assert.ok(line, `no row ${name} in\n${markdown}`);
  return line
    .split('|')
    .slice(2, -1)
    .map((cell) => cell.trim());
}

test('two files side by side: medians, the spread of runs and the change', () => {
  const curve = { lengths: [point({ prompt_n: 2048 }, [800, 810, 820])] };
  const before = fileOf('before.json', JSON.stringify(result([1000, 1010, 1030], curve)));
  const now = fileOf('now.json', JSON.stringify(result([1100, 1111, 1120], { load_ms: { ready: 990 } })));
  const { status, stdout, stderr } = tool('--compare', before, '--result', now);
  assert.equal(status, 0, stderr);
  assert.deepEqual(cellsOf(stdout, 'decode'), ['1,010 (1,000–1,030)', '1,111 (1,100–1,120)', '+10.0 %']);
  assert.deepEqual(cellsOf(stdout, 'load, ms'), ['900', '990', '+10.0 %']);
  assert.deepEqual(cellsOf(stdout, 'decode after 2,048'), ['810 (800–820)', '–', '–']);
  assert.deepEqual(cellsOf(stdout, 'first token, ms'), ['30', '30', '0.0 %']);
  assert.deepEqual(cellsOf(stdout, 'model'), ['small Q4_0', 'small Q4_0', '']);
  assert.ok(!stdout.includes('| on |'), 'what is the same is not told twice');
});

test('slower is no failure, and runs that overlap are told', () => {
  const before = fileOf('fast.json', writeResults([result([1, 2, 3]), result([1000, 1010, 1030])].map(summaryOf)));
  const slow = { adapter: 'another', date: 'never' };
  const now = fileOf('slow.json', JSON.stringify(result([900, 905, 1001], slow)));
  const { status, stdout, stderr } = tool('--compare', before, '--result', now);
  assert.equal(status, 0, stderr);
  const [last, , change] = cellsOf(stdout, 'decode');
  assert.deepEqual([last, change], ['1,010 (1,000–1,030)', '−10.4 %, runs overlap']);
  assert.deepEqual(cellsOf(stdout, 'on'), ['nvidia hopper', 'another', '']);
  assert.equal(cellsOf(stdout, 'date')[1], '–');
});

test('what cannot be compared ends with 1 and says why', () => {
  const good = fileOf('good.json', JSON.stringify(result([1, 2, 3])));
  const wrong = [
    [['--compare', path.join(FOLDER, 'none.json')], /there is no file .*none\.json/],
    [['--compare', fileOf('half.json', '{"info"'), '--result', good], /half\.json: this is no JSON/],
    [['--compare', fileOf('other.json', '{"info":{},"runs":[]}'), '--result', good], /no result of bench\.html/],
    [['--compare', good, '--result', fileOf('empty.json', '{"webgguf_bench":1,"results":[]}')], /has no results/],
    [['--result', good], /add --compare FILE/],
  ];
  for (const [args, message] of wrong) {
    const { status, stderr } = tool(...args);
    assert.equal(status, 1, args.join(' '));
    assert.match(stderr, message);
  }
});

test('of what a file says only what is known is taken, in its type and size', () => {
  const evil = result([1, 2, 3], {
    adapter: 'x'.repeat(1e5),
    info: { name: { toString: 1 }, quantization: 7, architecture: '<b>', gpuBytes: '9', extra: 1 },
    runs: Array.from({ length: 1e4 }, () => ({ tg: 'fast', own: 1 })),
    lengths: [null, { prompt_n: '5', runs: 7 }],
    more: 1,
  });
  evil.settings.model = 'https://user:secret@example.org/a.gguf?token=1#x';
  evil.settings.draftModel = 'https://user:secret@example.org/b.gguf';
  const read = summaryOf(JSON.parse(JSON.stringify(evil)));
  assert.equal(read.adapter.length, 4000);
  assert.deepEqual(read.info, { architecture: '<b>', quantization: '', backend: '', gpuBytes: null });
  assert.equal(read.runs.length, 64);
  assert.deepEqual(read.runs[0], { tg: null });
  assert.equal(read.settings.model, 'https://example.org/a.gguf');
  assert.equal(read.settings.draftModel, 'https://example.org/b.gguf');
  assert.deepEqual(read.lengths[1], { prompt_n: null, runs: [], median: {} });
  assert.equal('more' in read, false);
  for (const value of [null, 5, [], {}, { info: {}, median: [], runs: [] }]) {
    assert.throws(() => summaryOf(value), { code: 'invalid_argument' }, JSON.stringify(value));
  }
  const entries = [read, summaryOf(result([1, 2, 3]))].map((one) => ({ label: 'a', result: one }));
  assert.ok(comparison(entries).rows.length > 5);
});

test('a result that was kept is read as it was', () => {
  const [back] = readResults(writeResults([summaryOf(result([1, 2, 3]))]));
  assert.deepEqual(back, summaryOf(result([1, 2, 3])));
  assert.deepEqual(readResults(JSON.stringify(result([1, 2, 3]))), [back]);
});

test('what a run was asked besides is kept, and told where it differs', () => {
  const asked = { ...result([1, 2, 3]).settings, repeat: true, draft: 'auto', worker: true, kvType: 'q8_0' };
  const [plain, other] = [result([1, 2, 3]), result([1, 2, 3], { settings: asked })].map(summaryOf);
  assert.deepEqual([other.settings.repeat, other.settings.draft], [true, 'auto']);
  const { rows } = comparison([plain, other].map((one) => ({ label: 'a', result: one })));
  const words = rows.find(([name]) => name === 'asked');
  assert.deepEqual(words.slice(1, 3), [
    '512 + 128 tokens, 3 runs',
    '512 + 128 tokens, 3 runs, q8_0, worker, repeat, drafts auto',
  ]);
});

test('charts have the points of each result, and their tables the same numbers', () => {
  const places = [512, 128].map((prompt_n) => point({ prompt_n }, [800, 810, 820]));
  const entries = [
    { label: 'a', result: summaryOf(result([1, 2, 3], { lengths: places })) },
    { label: 'b', result: summaryOf(result([1, 2, 3], { lengths: places.slice(0, 1) })) },
    { label: 'c', result: summaryOf(result([1, 2, 3])) },
  ];
  const [decode, prefill, ...others] = curves(entries);
  assert.deepEqual(others, []);
  assert.match(prefill.title, /Prefill/);
  assert.deepEqual(
    decode.series.map(({ label, points }) => [label, points.map(({ x }) => x)]),
    [
      ['a', [512, 128]],
      ['b', [512]],
    ],
  );
  const cell = '810 (800–820)';
  assert.deepEqual(curveTable(decode).rows, [
    ['128', cell, '–'],
    ['512', cell, cell],
  ]);
});

test('lines of a chart are at round values that hold the most', () => {
  assert.deepEqual(roundValues(1120), [0, 500, 1000, 1500]);
  assert.deepEqual(roundValues(40), [0, 10, 20, 30, 40]);
  assert.deepEqual(roundValues(0), [0, 1]);
  for (const most of [0.003, 7, 99.9, 100, 101, 16_311]) {
    const values = roundValues(most);
    assert.ok(values.at(-1) >= most && values.at(-2) < most && values.length <= 5, `${most}: ${values}`);
  }
});

test('sequences together: tokens while all are written, and none where they never are', () => {
  const text = (from, to) => Array.from({ length: (to - from) / 10 + 1 }, (_, i) => [from + 10 * i, 1]);
  // Both are written from 100 to 200: ten tokens each after the first moment.
  assert.equal(sumWhileAll([text(0, 200), text(100, 300)]), (20 / 100) * 1000);
  assert.equal(sumWhileAll([text(0, 50), text(100, 300)]), null);
  assert.equal(sumWhileAll([text(0, 50), []]), null);
});

test('lengths that the context has room for', () => {
  const fit = (lengths, contextLength) => lengthsThatFit({ lengths, predict: 28 }, { contextLength });
  assert.deepEqual(fit('auto', 4096), [32, 128, 512, 2048, 4068]);
  assert.deepEqual(fit('auto', 600), [32, 128, 572]);
  assert.deepEqual(fit([5, 572], 600), [5, 572]);
  assert.throws(() => fit([573], 600), /a length of 573 and predict 28 are more than the context of 600/);
  assert.equal(fit(undefined, 600), undefined);
});

test('settings are the same once they were written as parameters', () => {
  const address = 'model=a.gguf&prompt=9&kv=q8_0&per_layer=512&lengths=64, 16 64&parallel=3&worker=1&temperature=0.5';
  const settings = settingsOf(
    new URLSearchParams(`${address}&schema={"type":"object"}&precision=exact&draft_model=b.gguf`),
  );
  assert.deepEqual([settings.lengths, settings.draftModel, settings.draft], [[16, 64], 'b.gguf', 'model']);
  assert.deepEqual(settingsOf(new URLSearchParams(parametersOf(settings))), settings);
  const hidden = settingsOf(new URLSearchParams('hide=shader-f16, subgroups'));
  assert.equal(hidden.hide, 'shader-f16,subgroups');
  assert.deepEqual(settingsOf(new URLSearchParams(parametersOf(hidden))), hidden);
  for (const [text, message] of [
    ['hide=f16', /'hide' has 'f16', not one of/],
    ['hide=subgroups&worker=1', /'hide' does not reach a 'worker'/],
    ['lengths=0', /'lengths' is '0'/],
    ['lengths=a', /'lengths' is 'a'/],
    ['parallel=9', /'parallel' is '9', not a number from 1 to 8/],
  ]) {
    assert.throws(() => settingsOf(new URLSearchParams(text)), { code: 'invalid_argument', message });
  }
});

test('what a page hides is hidden, and nothing else', () => {
  class Names {
    has(name) {
      return ['shader-f16', 'subgroups'].includes(name);
    }
  }
  class Words {
    has(name) {
      return name === 'packed_4x8_integer_dot_product';
    }
  }
  hide(['shader-f16', 'packed_4x8_integer_dot_product'], { GPUSupportedFeatures: Names, WGSLLanguageFeatures: Words });
  const [names, words] = [new Names(), new Words()];
  assert.deepEqual(
    ['shader-f16', 'subgroups', 'other'].map((name) => names.has(name)),
    [false, true, false],
  );
  assert.equal(words.has('packed_4x8_integer_dot_product'), false);
});

test('a change has a direction, and none where nothing is known', () => {
  const [two, four] = [spreadOf([2], 2), spreadOf([4, 3, 5], 4)];
  assert.equal(changeOf(two, four), '+100.0 %');
  assert.equal(changeOf(four, two), '−50.0 %');
  assert.equal(changeOf(undefined, two), '–');
  assert.equal(spreadOf([null], null), undefined);
});

test('browsers by the name that they add to those of others', () => {
  const chrome = 'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36';
  assert.equal(browserOf(chrome), 'Chrome 156');
  assert.equal(browserOf(`${chrome} Edg/156.0.0.0`), 'Edge 156');
  assert.equal(browserOf('Mozilla/5.0 (X11) Gecko/20100101 Firefox/153.0'), 'Firefox 153');
  assert.equal(browserOf('Mozilla/5.0 AppleWebKit/605.1 (KHTML) Version/26.1 Mobile/15E Safari/604.1'), 'Safari 26');
  assert.equal(browserOf('curl'), 'curl');
});
