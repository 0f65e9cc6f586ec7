// The page of bench.html: reads the address, measures, shows tables, posts the JSON. `data-state` of the root element
// is `ready`, `working`, `done` or `error`.

import { isElsewhere } from '../shared/elsewhere.js';
import { hide } from '../shared/hide.js';
import { errorReport, postReport } from '../shared/post-report.js';
import { barChart } from './chart.js';
import { copy, showBeside, startComparing } from './compared.js';
import { measure } from './measure.js';
import { card } from './parts.js';
import { bars, figure, markdown, nameOf, tables } from './report.js';
import { BUILT_IN, parametersOf, settingsOf } from './settings.js';

const $ = (id) => document.getElementById(id);
const form = $('settings');

let result;
/** Parameters that the form adds to: those of the address, or of a link's result. */
let base = new URLSearchParams(location.search);

// ---- settings -------------------------------------------------------------------------------------------------------

function fillForm(query) {
  for (const field of form.elements) {
    if (!field.name || !query.has(field.name)) continue;
    const value = query.get(field.name);
    if (field.type === 'checkbox') field.checked = value === '1';
    else if (!field.options || [...field.options].some((option) => option.value === value)) field.value = value;
  }
}

/** The form's fields over what else the address asked for; empty ones are left out. */
function queryFromForm(query) {
  const fields = [...form.elements].filter(({ name }) => name);
  const names = fields.map(({ name }) => name);
  const kept = [...query].filter(([name]) => !names.includes(name));
  const given = [...new FormData(form)].filter(([, value]) => value.trim() !== '');
  return new URLSearchParams([...kept, ...given]);
}

// ---- showing --------------------------------------------------------------------------------------------------------

function show() {
  const { median, load_ms, info } = result;
  $('model-name').textContent = `${nameOf(info)}, ${info.quantization}, on ${result.adapter || 'the CPU'}`;
  $('decode').textContent = figure(info.pooling ? median.texts_per_second : median.tg);
  $('decode-unit').textContent = info.pooling ? 'texts/s' : 'decode, tokens/s';
  $('prefill').textContent = figure(median.pp);
  $('first-token').textContent = figure(info.pooling ? median.ms : median.ttft_ms);
  $('first-token-unit').textContent = info.pooling ? 'ms for all texts' : 'ms to first token';
  $('load').textContent = figure(load_ms.ready);
  const drawn = bars(result);
  $('chart-title').textContent = drawn.title;
  $('chart').replaceChildren(barChart(drawn));
  $('tables').replaceChildren(...tables(result).map(card));
}

function setState(state) {
  document.documentElement.dataset.state = state;
  const failed = Boolean(result?.error);
  $('working').hidden = state !== 'working';
  $('result').hidden = state !== 'done';
  $('tables').hidden = state !== 'done';
  $('copies').hidden = state !== 'done';
  $('error').hidden = !failed;
  $('run').disabled = state === 'working';
  $('run').textContent = result ? 'Run again' : 'Run';
  $('settings-card').open = state === 'ready' || state === 'error';
  if (!failed) return;
  $('error-code').textContent = result.error.code;
  $('error-message').textContent = result.error.message;
}

function say(text, fraction) {
  $('step').textContent = text;
  if (fraction === undefined) $('bar').removeAttribute('value');
  else $('bar').value = fraction;
}

// ---- running --------------------------------------------------------------------------------------------------------

async function measured(query) {
  try {
    const settings = settingsOf(query);
    hide(settings.hide?.split(',') ?? []);
    const webgguf = await import('../../dist/index.js').catch((error) => {
      throw Object.assign(new Error(`the package did not load: ${error.message}`), { code: 'download_failed' });
    });
    return await measure(webgguf, settings, say);
  } catch (error) {
    console.error(error);
    return errorReport(error);
  }
}

async function report(url) {
  if (!url) return '';
  const failure = await postReport(url, result);
  return failure ? `, but reporting failed: ${failure}` : ', reported';
}

async function run(query) {
  result = undefined;
  setState('working');
  say('starting');
  result = await measured(query);
  const state = result.error ? 'error' : 'done';
  if (!result.error) show();
  showBeside(result.error ? undefined : result);
  setState(state);
  $('status').textContent = state + (await report(query.get('report')));
}

$('copy-json').addEventListener('click', ({ target }) => copy(JSON.stringify(result, null, 2), target));
$('copy-markdown').addEventListener('click', ({ target }) => copy(markdown(result), target));
form.addEventListener('submit', (event) => {
  event.preventDefault();
  if (document.documentElement.dataset.state === 'working') return;
  const query = queryFromForm(base);
  history.replaceState(null, '', (query.size > 0 ? `?${query}` : location.pathname) + location.hash);
  run(query);
});

/** What a link's result was asked is asked here, too, so that `Run` measures the same; not a file of its server. */
function askAsThere({ settings }) {
  const { model = BUILT_IN, ...others } = parametersOf(settings);
  base = new URLSearchParams(model === BUILT_IN || model.startsWith('/') ? others : { model, ...others });
  fillForm(base);
}

const asked = new URLSearchParams(location.search);
fillForm(asked);
startComparing((linked) => asked.size === 0 && askAsThere(linked));
// Another site is asked for nothing before a click.
const isForeign = ['model', 'draft_model'].some((name) => isElsewhere(asked.get(name) ?? undefined));
if (asked.has('report') && !isForeign) run(asked);
else setState('ready');
