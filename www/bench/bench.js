// The page of bench.html: reads the address, measures, shows tables, posts the JSON. `data-state` of the root element
// is `ready`, `working`, `done` or `error`.

import { checkNames, wrong } from '../shared/address.js';
import { measure } from './measure.js';
import { bars, figure, markdown, nameOf, tables } from './report.js';
import { errorReport, postReport } from '../shared/post-report.js';

const BUILT_IN = 'models/storyteller.gguf';
const BACKENDS = ['auto', 'webgpu', 'cpu'];
/** Integers in the URL: the minimum, and the default. */
const NUMBERS = {
  prompt: { least: 1 },
  predict: { least: 1, otherwise: 128 },
  runs: { least: 1, otherwise: 3 },
  texts: { least: 1, otherwise: 1000 },
  context: { least: 2 },
  weight_bytes: { least: 1 },
};
const KNOWN = [
  'model',
  'backend',
  'precision',
  'kv',
  'per_layer',
  'temperature',
  'kernels',
  'schema',
  'draft',
  'repeat',
  'worker',
  'tune',
  'report',
  ...Object.keys(NUMBERS),
];

const $ = (id) => document.getElementById(id);
const form = $('settings');

let result;

// ---- settings -------------------------------------------------------------------------------------------------------

/** The value of a parameter as a number of at least `least`; `undefined` where it is missing or empty. */
function numberOf(query, name, least, isRight) {
  const text = query.get(name)?.trim();
  if (!text) return undefined;
  const value = Number(text);
  if (isRight(value) && value >= least) return value;
  throw wrong(`'${name}' is '${text}', not a number of at least ${least}`);
}

/** `load` refuses what it does not know. */
function wordOrNumber(text) {
  return /^\d+$/.test(text ?? '') ? Number(text) : text || undefined;
}

/** Settings of a measurement from the address. */
function settingsOf(query) {
  checkNames(query, KNOWN);
  const backend = query.get('backend') || 'auto';
  if (!BACKENDS.includes(backend)) throw wrong(`'backend' is '${backend}', not one of ${BACKENDS.join(', ')}`);
  const precision = query.get('precision') || 'auto'; // `load` refuses what it does not know
  const numbers = Object.entries(NUMBERS).map(([name, { least, otherwise }]) => [
    name,
    numberOf(query, name, least, Number.isSafeInteger) ?? otherwise,
  ]);
  const temperature = numberOf(query, 'temperature', 0, Number.isFinite) ?? 0;
  return {
    model: query.get('model') || BUILT_IN,
    backend,
    precision,
    kvType: query.get('kv') || 'f16',
    perLayerEmbeddings: wordOrNumber(query.get('per_layer')),
    temperature,
    schema: schemaOf(query),
    repeat: query.get('repeat') === '1',
    draft: draftOf(query),
    kernels: query.get('kernels') === '1',
    worker: query.get('worker') === '1',
    tune: query.get('tune') === '1',
    ...Object.fromEntries(numbers),
  };
}

/** Records without end: keys that are forced, numbers, a choice, and texts of which the model writes every token. */
const RECORDS = {
  type: 'array',
  minItems: 10_000,
  items: {
    type: 'object',
    properties: {
      id: { type: 'integer', minimum: 0, maximum: 99_999 },
      title: { type: 'string', minLength: 20, maxLength: 80 },
      kind: { enum: ['city', 'river', 'mountain', 'forest'] },
      visited: { type: 'boolean' },
      note: { type: 'string', minLength: 100, maxLength: 200 },
    },
    required: ['id', 'title', 'kind', 'visited', 'note'],
    additionalProperties: false,
  },
};

/**
 * Drafts: `prompt`, `auto`, or `0`. By default there are some where the prompt repeats itself: what a model writes by
 * itself may repeat itself, too, and would be another measurement.
 */
function draftOf(query) {
  const choices = { prompt: 'prompt', auto: undefined, 0: false };
  const text = query.get('draft') || (query.get('repeat') === '1' ? 'auto' : '0');
  if (!Object.hasOwn(choices, text)) throw wrong(`'draft' is '${text}', not one of ${Object.keys(choices).join(', ')}`);
  return choices[text];
}

/** The JSON schema that answers follow: `1` for {@link RECORDS}, or its text; `undefined` for none. */
function schemaOf(query) {
  const text = query.get('schema')?.trim();
  if (!text || text === '1') return text && RECORDS;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw wrong(`'schema' is neither 1 nor JSON: ${error.message}`);
  }
}

function fillForm(query) {
  for (const field of form.elements) {
    if (!field.name || !query.has(field.name)) continue;
    if (field.type === 'checkbox') field.checked = query.get(field.name) === '1';
    else field.value = query.get(field.name);
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

const SVG = 'http://www.w3.org/2000/svg';

function element(name, properties = {}, children = []) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function shape(name, attributes, text = '') {
  const made = document.createElementNS(SVG, name);
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  made.textContent = text;
  return made;
}

/** Bars across the whole width, whatever it is, with text that keeps its size. */
function chart({ title, rows }) {
  const [step, most] = [40, Math.max(...rows.map(({ value }) => value), Number.MIN_VALUE)];
  const svg = shape('svg', { width: '100%', height: rows.length * step, role: 'img' });
  const words = rows.map(({ label, value }) => `${label} ${figure(value)}`);
  svg.append(shape('title', {}, `${title}: ${words.join(', ')}`));
  rows.forEach(({ label, value }, i) => {
    const y = i * step;
    svg.append(
      shape('text', { x: 0, y: y + 14 }, label),
      shape('text', { x: '100%', y: y + 14, class: 'value' }, figure(value)),
      shape('rect', { x: 0, y: y + 20, width: '100%', height: 8, rx: 4, class: 'track' }),
      shape('rect', { x: 0, y: y + 20, width: `${Math.max(0.5, (100 * value) / most)}%`, height: 8, rx: 4 }),
    );
  });
  return svg;
}

function pairs(rows) {
  const cell = (kind, textContent) => element(kind, { textContent });
  const pair = ([name, value]) => element('div', {}, [cell('dt', name), cell('dd', value)]);
  return element('dl', {}, rows.map(pair));
}

function grid(head, rows) {
  const cells = (kind, texts) =>
    element(
      'tr',
      {},
      texts.map((textContent) => element(kind, { textContent })),
    );
  const table = element('table', {}, [
    element('thead', {}, [cells('th', head)]),
    element(
      'tbody',
      {},
      rows.map((row) => cells('td', row)),
    ),
  ]);
  return element('div', { className: 'scroll', tabIndex: 0 }, [table]);
}

function card({ title, head, rows, note }) {
  const words = note ? [element('p', { className: 'hint', textContent: note })] : [];
  const body = head ? grid(head, rows) : pairs(rows);
  return element('section', { className: 'card' }, [element('h2', { textContent: title }), ...words, body]);
}

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
  $('chart').replaceChildren(chart(drawn));
  $('tables').replaceChildren(...tables(result).map(card));
}

function setState(state) {
  document.documentElement.dataset.state = state;
  const failed = Boolean(result?.error);
  $('working').hidden = state !== 'working';
  $('result').hidden = state !== 'done';
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
  setState(state);
  $('status').textContent = state + (await report(query.get('report')));
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

$('copy-json').addEventListener('click', ({ target }) => copy(JSON.stringify(result, null, 2), target));
$('copy-markdown').addEventListener('click', ({ target }) => copy(markdown(result), target));
form.addEventListener('submit', (event) => {
  event.preventDefault();
  if (document.documentElement.dataset.state === 'working') return;
  const query = queryFromForm(new URLSearchParams(location.search));
  history.replaceState(null, '', query.size > 0 ? `?${query}` : location.pathname);
  run(query);
});

const asked = new URLSearchParams(location.search);
fillForm(asked);
if (asked.has('report')) run(asked);
else setState('ready');
