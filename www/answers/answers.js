// The page of answers.html: small models in every weight format, whose answers on this device are compared with those
// of llama.cpp. `data-state` of the root element is `ready`, `running`, `done` or `error`.

import { WasmModel } from '../../dist/index.js';
import { checkNames, wrong } from '../shared/address.js';
import { hiddenNames, hide } from '../shared/hide.js';
import { compareForced, compareGreedy, nearTieWhereRounded } from './compare.js';
import { element } from '../kernels/table.js';
import { checkOwn } from '../shared/elsewhere.js';
import { errorReport, postReport } from '../shared/post-report.js';

const KNOWN = ['only', 'backend', 'precision', 'hide', 'fixtures', 'report'];
const $ = (id) => document.getElementById(id);
const root = document.documentElement;
const query = new URLSearchParams(location.search);
const folder = query.get('fixtures') ?? '/fixtures/models/';
const backend = query.get('backend') ?? 'webgpu';

let rows = [];
let adapter = '';
let stopped = false;

// ---- showing --------------------------------------------------------------------------------------------------------

function setState(state) {
  root.dataset.state = state;
  $('run').disabled = state === 'running' || rows.length === 0;
  $('stop').hidden = state !== 'running';
}

function showError(error) {
  $('error').hidden = false;
  $('error-code').textContent = error?.code ?? 'internal';
  $('error-message').textContent = error?.message ?? String(error);
}

const percent = (share) => `${(100 * share).toFixed(share === 1 ? 0 : 1)} %`;

/** The cells of a row after its name and precision. */
function words({ status, greedy, forced, ms, reason }) {
  if (reason) return [reason];
  if (!greedy) return ['', '', '', status];
  const compared = forced ? [percent(forced.share), forced.off.toExponential(1).replace('e-', 'e−')] : ['', ''];
  return [`${greedy.equal} of ${greedy.of}`, ...compared, `${(ms / 1000).toFixed(1)} s`];
}

function showRow(row) {
  const texts = words(row.result ?? { status: row.status });
  const cells = texts.map((textContent) => element('td', { textContent }));
  if (texts.length === 1) [cells[0].colSpan, cells[0].className] = [4, 'why'];
  const head = element('th', { scope: 'row', textContent: row.name });
  row.line.replaceChildren(head, element('td', { textContent: row.precision }), ...cells);
  row.line.dataset.status = row.status;
}

function showCounts() {
  const count = (status) => rows.filter((row) => row.status === status).length;
  $('step').textContent = `${count('passed')} agree, ${count('failed')} do not, ${count('waiting')} waiting`;
  $('bar').value = rows.length === 0 ? 0 : 1 - count('waiting') / rows.length;
}

// ---- running --------------------------------------------------------------------------------------------------------

/** The model's answers on this device, compared with llama.cpp's. */
async function answer({ url, precision, prompt, forced: given, exact, rounding }) {
  const begun = performance.now();
  const model = await WasmModel.load(url, { backend, precision, cache: false });
  try {
    adapter = model.info.adapter || model.info.backend;
    const options = { temperature: 0, ignoreEos: true, maxTokens: exact.greedy.length };
    const { ids } = await model.generate(prompt, options).result;
    const nearTie = precision === 'exact' ? undefined : nearTieWhereRounded({ rounding });
    const greedy = compareGreedy([...ids], exact, { nearTie });
    // Log-probabilities are computed without rounding whatever the precision: once is enough.
    const forced = precision === 'exact' ? compareForced(await model.evaluate(given), exact) : undefined;
    const agrees = greedy.agrees && (forced?.agrees ?? true);
    return { status: agrees ? 'passed' : 'failed', greedy, forced, ms: performance.now() - begun };
  } finally {
    await model.free();
  }
}

async function runRow(row) {
  row.status = 'running';
  showRow(row);
  try {
    row.result = await answer(row);
  } catch (error) {
    row.result = { status: 'failed', reason: `${error?.code ?? error?.name}: ${error?.message ?? error}` };
  }
  row.status = row.result.status;
  showRow(row);
}

async function run() {
  if (root.dataset.state === 'running') return;
  stopped = false;
  setState('running');
  for (const row of rows) {
    if (stopped) break;
    await runRow(row);
    $('adapter').textContent = adapter;
    showCounts();
  }
  setState('done');
}

// ---- reporting ------------------------------------------------------------------------------------------------------

function result() {
  const ran = rows.filter((row) => row.result);
  const count = (status) => ran.filter((row) => row.status === status).length;
  const models = ran.map(({ name, precision, result: { status, reason, greedy, forced, ms } }) => ({
    name,
    precision,
    status,
    reason,
    equal: greedy?.equal,
    of: greedy?.of,
    top1: forced?.share,
    logprob_off: forced?.off,
    ms,
  }));
  return { adapter, backend, userAgent: navigator.userAgent, passed: count('passed'), failed: count('failed'), models };
}

async function post(value) {
  const failure = await postReport(query.get('report'), value);
  $('step').textContent += failure ? `; reporting failed: ${failure}` : '; reported';
}

// ---- start ----------------------------------------------------------------------------------------------------------

async function fetched(name) {
  const url = folder + name;
  const response = await fetch(url).catch(() => undefined);
  if (response?.ok) return response;
  throw wrong(`${url}: ${response?.status ?? 'not reachable'}; 'fixtures' says where the models are`);
}

/** What llama.cpp says of each model that models.txt names, or of those of `only`. */
async function expectations(only) {
  const names = (await (await fetched('models.txt')).text()).split('\n').filter(Boolean);
  const missing = only.find((name) => !names.includes(name));
  if (missing) throw wrong(`no model is called '${missing}'; there are ${names.join(', ')}`);
  const read = async (name) => (await fetched(`${name}.json`)).json();
  const wanted = names.filter((name) => only.length === 0 || only.includes(name));
  return Promise.all(
    wanted.map(async (name) => {
      const entry = await read(name);
      return { ...(entry.same_as && (await read(entry.same_as))), ...entry, name };
    }),
  );
}

async function start() {
  checkNames(query, KNOWN);
  hide(hiddenNames(query));
  checkOwn({ fixtures: folder });
  const only = (query.get('only') ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
  const precisions = query.has('precision') ? [query.get('precision')] : ['auto', 'exact'];
  rows = (await expectations(only)).flatMap((entry) => {
    const url = new URL(folder + entry.files[0], location.href).href;
    return precisions.map((precision) => ({ ...entry, url, precision, status: 'waiting', line: element('tr') }));
  });
  $('rows').replaceChildren(...rows.map((row) => row.line));
  rows.forEach(showRow);
  showCounts();
  setState('ready');
  if (!query.has('report')) return;
  await run();
  await post(result());
}

$('run').addEventListener('click', run);
$('stop').addEventListener('click', () => {
  stopped = true;
});

try {
  await start();
} catch (error) {
  console.error(error);
  showError(error);
  setState('error');
  $('step').textContent = 'No model has run yet';
  if (query.has('report')) await post(errorReport(error));
}
root.hidden = false;
