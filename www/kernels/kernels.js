// The page of kernels.html: reads the address, lists cases, runs them, posts the JSON. `data-state` of the root element
// is `loading`, `ready`, `running`, `done` or `error`.

import { checkNames, wrong } from '../shared/address.js';
import { openCases, READING } from './cases.js';
import { ReadingCard } from './reading.js';
import { adapterName, count, markdown, report } from './report.js';
import { CaseTable, element } from './table.js';
import { errorReport, postReport } from '../shared/post-report.js';
import { hiddenNames, hide } from '../shared/hide.js';

const KNOWN = ['only', 'variant', 'each', 'seed', 'reading', 'hide', 'report'];
const $ = (id) => document.getElementById(id);
const root = document.documentElement;

let rows = [];
let facts;
let table;
let settings;
let status = 'all';
let stopped = false;
let readingCard;
let reading;

// ---- settings -------------------------------------------------------------------------------------------------------

function settingsOf(query) {
  checkNames(query, KNOWN);
  hide(hiddenNames(query));
  const seed = query.has('seed') ? Number(query.get('seed')) : Math.floor(Math.random() * 2 ** 32);
  if (!Number.isSafeInteger(seed) || seed < 0) throw wrong(`'seed' is '${query.get('seed')}', not an integer`);
  const each = Number(query.get('each') ?? Infinity);
  if (!(each >= 1)) throw wrong(`'each' is '${query.get('each')}', not a number of cases`);
  const asked = query.get('reading') ?? '';
  if (!['', '1'].includes(asked)) throw wrong(`'reading' is '${asked}', not 1`);
  const only = (query.get('only') ?? '')
    .split(',')
    .map((stem) => stem.trim())
    .filter(Boolean);
  const withReading = asked === '1' || only.includes(READING);
  return { only, variant: query.get('variant') ?? '', each, seed, withReading, report: query.get('report') };
}

// ---- showing --------------------------------------------------------------------------------------------------------

function setState(state, measures = false) {
  root.dataset.state = state;
  $('run').disabled = state === 'running' || rows.length === 0;
  $('measure').disabled = state === 'running';
  $('stop').hidden = state !== 'running' || measures;
  $('stop-measuring').hidden = !measures;
  $('filter').disabled = rows.length === 0;
  $('export').hidden = $('to-report').hidden = !reading && rows.every((row) => row.status === 'waiting');
}

const say = (text) => {
  $('step').textContent = text;
};

function showError(error) {
  $('error').hidden = false;
  $('error-code').textContent = error?.code ?? 'internal';
  $('error-message').textContent = error?.message ?? String(error);
}

function showDevice(rules) {
  $('device').hidden = false;
  $('adapter').textContent = adapterName(facts);
  const features = facts.features.length > 0 ? facts.features : ['no optional features'];
  $('features').replaceChildren(...features.map((textContent) => element('li', { textContent })));
  const limits = Object.entries(facts.limits ?? {}).map(([name, value]) =>
    element('div', {}, [
      element('dt', { textContent: name }),
      element('dd', { textContent: Number(value).toLocaleString('en') }),
    ]),
  );
  $('limits').replaceChildren(...limits);
  $('rules').replaceChildren(
    ...rules.map((rule) =>
      element('div', {}, [
        element('dt', { textContent: `${rule.kernel}, ${rule.problem}` }),
        element('dd', { textContent: rule.choice }),
      ]),
    ),
  );
  $('rules-box').hidden = rules.length === 0;
}

const CHIPS = ['all', 'passed', 'failed', 'skipped', 'waiting'];

function showCounts() {
  const counts = count(rows);
  const chips = CHIPS.filter((name) => name === 'all' || name === status || counts[name] > 0).map((name) => {
    const textContent = `${counts[name].toLocaleString('en')} ${name}`;
    const made = element('button', { type: 'button', textContent, ariaPressed: String(name === status) });
    made.dataset.status = name;
    return made;
  });
  $('chips').replaceChildren(...chips);
}

function applyFilter() {
  const words = $('filter').value.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (row) => {
    if (status !== 'all' && row.status !== status) return false;
    const text = `${row.kernel} ${row.variant} ${row.case} ${row.status}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  const total = table.filter(fits, words.length > 0 || status !== 'all');
  $('nothing').hidden = total > 0;
  $('run').textContent = total < rows.length ? `Run these ${total.toLocaleString('en')}` : 'Run all';
  return rows.filter(fits);
}

/** Opens the case that the address names after its #. */
function openLinked() {
  if (location.hash.length < 2) return;
  const id = decodeURIComponent(location.hash.slice(1));
  const row = rows.find((candidate) => candidate.id === id);
  if (!row) return say(`no case here is called ${id}`);
  $('filter').value = '';
  status = 'all';
  showCounts();
  applyFilter();
  table.choose(row);
}

// ---- running --------------------------------------------------------------------------------------------------------

/** Lets the page handle input and draw, without the delay of a timer. */
function turn() {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}

async function runRow(row) {
  row.status = 'running';
  table.update(row);
  try {
    row.result = await row.work();
    row.status = row.result.status;
  } catch (error) {
    row.result = { reason: `${error?.code ?? error?.name ?? 'error'}: ${error?.message ?? error}` };
    row.status = 'failed';
  }
  table.update(row);
}

function progress(done, total, started) {
  $('bar').value = done / total;
  const { failed } = count(rows);
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  say(`${done.toLocaleString('en')} of ${total.toLocaleString('en')}, ${failed} failed, ${seconds} s`);
  showCounts();
}

async function run(chosen) {
  if (root.dataset.state === 'running' || chosen.length === 0) return;
  stopped = false;
  setState('running');
  const started = performance.now();
  let [done, drawn] = [0, 0];
  for (const row of chosen) {
    await runRow(row);
    await turn();
    done += 1;
    if (performance.now() - drawn > 100) {
      drawn = performance.now();
      progress(done, chosen.length, started);
    }
    if (stopped) break;
  }
  progress(done, chosen.length, started);
  table.flush();
  finish(chosen);
}

function finish(chosen) {
  setState('done');
  const failed = chosen.filter((row) => row.status === 'failed');
  if (failed.length > 0 && failed.length <= 30) failed.forEach((row) => table.reveal(row));
  const { passed, skipped } = count(chosen);
  say(`${stopped ? 'Stopped' : 'Done'}: ${passed} passed, ${failed.length} failed, ${skipped} skipped`);
}

async function measure() {
  if (root.dataset.state === 'running') return;
  stopped = false;
  setState('running', true);
  reading = await readingCard.measure(() => stopped);
  setState('done');
}

// ---- reporting ------------------------------------------------------------------------------------------------------

const result = () => report(rows, facts, { seed: settings.seed, userAgent: navigator.userAgent, reading });

async function post(url, value) {
  const failure = await postReport(url, value);
  say(`${$('step').textContent}; ${failure ? `reporting failed: ${failure}` : 'reported'}`);
}

async function copy(text, button) {
  const words = button.textContent;
  const copied = await navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  );
  button.textContent = copied ? 'Copied' : 'The browser forbids it';
  setTimeout(() => {
    button.textContent = words;
  }, 1500);
}

function save(text, type, name) {
  const href = URL.createObjectURL(new Blob([text], { type }));
  element('a', { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}

const json = () => `${JSON.stringify(result(), null, 2)}\n`;

$('copy-markdown').addEventListener('click', ({ target }) => copy(markdown(result()), target));
$('copy-json').addEventListener('click', ({ target }) => copy(json(), target));
$('save-markdown').addEventListener('click', () => save(markdown(result()), 'text/markdown', 'webgguf-kernels.md'));
$('save-json').addEventListener('click', () => save(json(), 'application/json', 'webgguf-kernels.json'));
$('run').addEventListener('click', () => run(applyFilter()));
$('measure').addEventListener('click', measure);
for (const id of ['stop', 'stop-measuring'])
  $(id).addEventListener('click', () => {
    stopped = true;
  });
$('fold').addEventListener('click', () => table?.fold());
$('to-report').addEventListener('click', () => $('export').scrollIntoView({ block: 'center' }));
$('filter').addEventListener('input', () => applyFilter());
$('chips').addEventListener('click', ({ target }) => {
  const { status: chosen } = target.dataset;
  if (!chosen) return;
  status = chosen;
  showCounts();
  applyFilter();
});
addEventListener('hashchange', openLinked);

// ---- start ----------------------------------------------------------------------------------------------------------

async function start() {
  settings = settingsOf(new URLSearchParams(location.search));
  $('seed').textContent = settings.seed;
  const opened = await openCases(settings, say);
  ({ rows, facts } = opened);
  table = new CaseTable($('groups'), rows, run);
  readingCard = new ReadingCard(opened.reading, facts);
  $('controls').classList.toggle('no-cases', rows.length === 0);
  showDevice(opened.rules);
  showCounts();
  setState('ready');
  say([`${rows.length.toLocaleString('en')} cases`, ...opened.notes].join('; '));
  openLinked();
  if (!settings.report) return;
  await run(rows);
  if (settings.withReading) await measure();
  await post(settings.report, result());
  root.hidden = false;
}

try {
  await start();
} catch (error) {
  console.error(error);
  showError(error);
  setState('error');
  const url = settings?.report ?? new URLSearchParams(location.search).get('report');
  say('No case has run yet');
  if (url) await post(url, errorReport(error));
}
