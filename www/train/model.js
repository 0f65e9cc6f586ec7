// The model: the storyteller that comes with the page, one of the catalogue, an address or a file.

import { WasmModel } from '../../dist/index.js';
import { CATALOGUE } from '../demo/catalogue.js';
import { $, announce, make } from '../demo/dom.js';
import { BUILT_IN, originOf, originOfFiles } from '../demo/origins.js';
import { amount, bytes, progressWords, warningWords } from '../demo/words.js';
import { current, hideError, setState, settle, showError } from './state.js';

/** Set by train.js: called once another model is there. */
export const hooks = { taken: () => {} };

/** Models that write text; those that see have an encoder, which is not trained. */
const TEXTS = CATALOGUE.filter(({ mmproj }) => !mmproj);
/** Where the address of the page asks for the CPU, which does not train: for looking at examples alone. */
const backend = new URLSearchParams(location.search).get('backend') ?? 'webgpu';

/** Loads a model in place of the one there is, and says whether it is there. A newer call cancels an older one. */
export async function load(origin) {
  current.loading?.abort();
  const mine = new AbortController();
  current.loading = mine;
  hideError();
  showLoading(origin.label);
  try {
    const model = await open(origin, mine.signal);
    if (current.loading !== mine) {
      await model.free();
      return false;
    }
    void current.model?.free();
    Object.assign(current, { model, origin, adapter: undefined, loading: undefined });
    showModel();
    announce(`${origin.label} is ready`);
    hooks.taken();
  } catch (error) {
    if (current.loading !== mine) return false; // the newer load speaks now
    current.loading = undefined;
    showModel();
    if (!mine.signal.aborted) showError(error, undefined, [['Try again', () => load(origin)], ...wayOut(origin)]);
  }
  settle();
  return current.origin === origin && Boolean(current.model);
}

/** In a worker, so that the page can be used while the model learns. */
function open({ source }, signal) {
  const onWarning = (warning) => showNote(warningWords(warning));
  return WasmModel.load(source, { backend, worker: true, signal, onProgress: showProgress, onWarning });
}

const wayOut = (origin) =>
  current.model || origin === BUILT_IN ? [] : [['Use the built-in storyteller', () => load(BUILT_IN)]];

function showLoading(label) {
  $('model-name').textContent = label;
  $('loading-words').textContent = 'starting';
  $('loading-bar').removeAttribute('value');
  $('model-facts').replaceChildren();
  showNote('');
  setState('loading');
}

function showProgress(progress) {
  $('loading-words').textContent = progressWords(progress);
  if (progress.fraction) $('loading-bar').value = progress.fraction;
  else $('loading-bar').removeAttribute('value');
}

function showNote(words) {
  $('model-note').hidden = words === '';
  $('model-note').textContent = words;
}

/** What is loaded now. */
function showModel() {
  const { model, origin } = current;
  $('model-name').textContent = model ? origin.label : 'none';
  const { info } = model ?? {};
  const facts = info
    ? [
        ['Weights', `${amount(info.parameters)}, ${info.quantization}`],
        ['Runs on', info.backend === 'webgpu' ? 'GPU (WebGPU)' : 'CPU'],
        ['Examples', info.hasChatTemplate ? 'chats and texts' : 'texts'],
      ]
    : [];
  $('model-facts').replaceChildren(
    ...facts.map(([name, value]) => make('div', {}, make('dt', {}, name), make('dd', {}, value))),
  );
  if (info?.backend === 'cpu') showNote('On the CPU the model writes, but does not learn: training needs WebGPU.');
}

/** Files from the picker or a drop. */
export function loadFiles(files) {
  if (files.length > 0) void load(originOfFiles(files));
}

function showAbout() {
  const { bytes: size, about, licence } = TEXTS[$('catalogue').value] ?? {};
  $('catalogue-about').textContent = size
    ? `${about}. ${bytes(size)} from Hugging Face, kept in this browser; licence ${licence}.`
    : 'Small, and it comes with this page: for a first try.';
}

function loadChosen() {
  const entry = TEXTS[$('catalogue').value];
  void load(entry ? { source: entry.source, label: entry.name } : BUILT_IN);
}

export function wireModel() {
  const options = TEXTS.map(({ name, bytes: size }, value) => make('option', { value }, `${name}, ${bytes(size)}`));
  $('catalogue').append(make('option', { value: '' }, `${BUILT_IN.label}, 6.8 MB`), ...options);
  $('catalogue').addEventListener('change', showAbout);
  $('load-catalogue').addEventListener('click', loadChosen);
  $('loading-cancel').addEventListener('click', () => {
    $('loading-words').textContent = 'cancelling';
    current.loading?.abort();
  });
  $('model-file').addEventListener('change', () => {
    loadFiles([...$('model-file').files]);
    $('model-file').value = ''; // so that the same file can be chosen again
  });
  $('url-form').addEventListener('submit', (event) => {
    event.preventDefault();
    const url = $('url').value.trim();
    if (!url) return;
    const origin = originOf(url);
    if (origin) void load(origin);
    else showError(new Error(url), 'This is not a web address');
  });
  showAbout();
}
