// The page of device.html: what the browser tells of this device, what fits it, and the built-in model as a check.
// `data-state` of the root element is `loading`, `ready`, `running`, `done` or `error`.

import { findAdapter } from '../../dist/engine/adapter.js';
import { WasmModel } from '../../dist/index.js';
import { CATALOGUE, deviceFacts, sizeOf, verdict } from '../demo/catalogue.js';
import { $, copy, make } from '../demo/dom.js';
import { bytes, rate } from '../demo/words.js';
import { answerOf, CHECKED, featureRows, limitRows, markdown, nameOf } from './facts.js';

const root = document.documentElement;
const MODEL = new URL('models/storyteller.gguf', location.href).href;
const PROMPT = 'Once upon a time';
const facts = { agent: navigator.userAgent, adapter: 'none', features: [], limits: [] };

const row = (words, value) => make('div', {}, make('dt', { textContent: words }), make('dd', { textContent: value }));

// ---- the device -----------------------------------------------------------------------------------------------------

function showAnswer(answer) {
  facts.answer = answer;
  $('answer').dataset.level = answer.level;
  $('answer-words').textContent = answer.words;
  $('answer-advice').textContent = answer.advice;
}

function showAdapter(adapter) {
  const features = featureRows(adapter.features);
  facts.features = features.filter(({ has }) => has).map(({ name }) => name);
  facts.limits = limitRows(adapter.limits);
  facts.adapter = nameOf(adapter.info);
  $('adapter').textContent = facts.adapter;
  $('features').replaceChildren(...features.map(({ name, has }) => row(name, has ? 'yes' : 'no')));
  const lines = facts.limits.map(([name, ...values]) =>
    make('tr', {}, make('th', { scope: 'row', textContent: name }), ...values.map((value) => make('td', {}, value))),
  );
  $('limits').replaceChildren(...lines);
  $('gpu').hidden = false;
}

function showRest({ memory, room }) {
  const rows = [
    ['Memory, rounded by the browser', memory ? `${memory} GB${memory >= 8 ? ' or more' : ''}` : 'not told'],
    ['Room to keep models', room > 0 ? bytes(room) : 'none'],
    ['Processor threads', String(navigator.hardwareConcurrency ?? 'not told')],
  ];
  $('rest').replaceChildren(...rows.map(([words, value]) => row(words, value)));
}

function showFits(device) {
  const items = CATALOGUE.map((entry) => {
    const { level, words } = verdict(entry, device);
    const fits = make('span', { className: 'verdict', textContent: words });
    fits.dataset.level = level;
    const query = new URLSearchParams({ model: entry.source, ...(entry.mmproj && { mmproj: entry.mmproj }) });
    const link = make('a', { href: `./?${query}`, textContent: 'Try it' });
    link.ariaLabel = `Try it: ${entry.name}`;
    const name = make('strong', {}, entry.name);
    return make('li', {}, name, make('span', { className: 'size' }, bytes(sizeOf(entry))), fits, link);
  });
  $('fits').replaceChildren(...items);
}

async function look() {
  const adapter = await findAdapter();
  const wasm = typeof WebAssembly === 'object';
  const software = Boolean(adapter?.info?.isFallbackAdapter);
  showAnswer(
    answerOf({ wasm, secure: isSecureContext, webgpu: Boolean(navigator.gpu), adapter: Boolean(adapter), software }),
  );
  if (adapter) showAdapter(adapter);
  const device = await deviceFacts();
  showRest(device);
  showFits(device);
}

// ---- the check ------------------------------------------------------------------------------------------------------

async function write(model) {
  const generation = model.generate(PROMPT, { maxTokens: 100, temperature: 0 });
  $('story').textContent = PROMPT;
  $('story').hidden = false;
  for await (const { text } of generation) $('story').textContent += text;
  return generation;
}

function showModel({ info }, { timings }) {
  const { verdict: checked, wrong, replaced } = info.selfCheck;
  const backend = info.backend === 'webgpu' ? 'GPU' : 'CPU';
  const speed = `${rate(timings.tokensPerSecond)} tokens/s`;
  facts.model = { backend, verdict: checked, wrong, rate: speed, variants: info.variants };
  $('checked').textContent = [CHECKED[checked], ...replaced, ...wrong].join(' ');
  $('check-facts').replaceChildren(row('Ran on', backend), row('Speed of this tiny model', speed));
  $('variants').replaceChildren(...info.variants.map((name) => make('li', { textContent: name })));
  $('kernels').hidden = info.variants.length === 0;
  $('check-result').hidden = false;
}

async function check() {
  root.dataset.state = 'running';
  $('check').disabled = true;
  $('check-error').textContent = '';
  const onProgress = ({ stage, fraction = 0 }) => {
    $('check-step').textContent = `${stage} ${Math.round(100 * fraction)} %`;
  };
  try {
    const model = await WasmModel.load(MODEL, { onProgress, worker: true });
    try {
      showModel(model, await write(model));
    } finally {
      await model.free();
    }
    $('check-step').textContent = 'Done';
    root.dataset.state = 'done';
  } catch (error) {
    $('check-step').textContent = '';
    $('check-error').textContent = `It did not work: ${error.message} (${error.code ?? 'internal'})`;
    root.dataset.state = 'error';
  }
  $('check').disabled = false;
}

$('check').addEventListener('click', check);
$('copy').addEventListener('click', () => copy($('copy'), markdown(facts)));
await look();
root.dataset.state = 'ready';
