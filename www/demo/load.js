// Loading a model in place of the one there is, and what the page says when that fails.

import { cache, DownloadControl, WasmModel } from '../../dist/index.js';
import { $, announce } from './dom.js';
import { showNoModel } from './model-card.js';
import { BUILT_IN, foreignFiles, hostsOf, originOf, originOfFiles } from './origins.js';
import { meteredWords, watchNetwork } from './phone.js';
import { applySettings, loadOptions } from './settings.js';
import { closeBox, current, hideBox, keepFocus, setState, settle, showBox, showView } from './state.js';
import { marksOf } from './thoughts.js';
import { oneLine } from './one-line.js';
import { bytes, explain, progressWords, warningWords } from './words.js';

/** Set by demo.js: `taken(before)` once a model is there in place of that of `before`, and `newChat()`. */
export const hooks = { taken: () => {}, newChat: () => {} };

/**
 * Loads a model in place of the one there is, which is freed when the new one's header is accepted: what fails before
 * (an address, a download that does not begin, another kind of file) leaves model and chat as they were. A newer call
 * cancels an older one.
 */
export async function load(origin) {
  current.loading?.abort();
  const mine = new AbortController();
  current.loading = mine;
  const download = pausable();
  await current.running?.stop();
  if (current.loading !== mine) return;
  showLoading(origin.label);
  const options = loadOptions();
  const isDownload = await isToCome(origin);
  if (current.loading !== mine) return;
  let freed;
  const onProgress = (progress) => {
    if (progress.loaded > 0) freed ??= freeModel(origin.label);
    if (current.loading === mine) showProgress(progress, isDownload);
  };
  const onWarning = (warning) => showWarning(warning, origin);
  try {
    const { source, mmproj } = origin;
    const given = { ...options, ...(mmproj && { mmproj }), download, signal: mine.signal };
    const model = await WasmModel.load(source, { ...given, onProgress, onWarning });
    const marks = await marksOf(model);
    if (current.loading !== mine) return await model.free();
    current.loading = undefined;
    takeModel({ model, origin, options, marks });
  } catch (error) {
    if (current.loading !== mine) return; // the newer load speaks now
    current.loading = undefined;
    showLoadFailure(error, { origin, freed, cancelled: mine.signal.aborted });
  }
}

/** Makes room for the model `label`. Returns where the freed one came from; nothing where there was none. */
function freeModel(label) {
  if (!current.model) return undefined;
  void current.model.free();
  current.model = undefined;
  showNoModel(label);
  return current.origin;
}

function takeModel({ model, origin, ...more }) {
  freeModel(origin.label); // where the load reported no progress
  const before = current.origin;
  Object.assign(current, { model, origin, ...more });
  hooks.taken(before);
  announce(`${origin.label} is ready`);
  settle();
}

/** The storyteller is small and ships with the page: nobody misses it in the cache. */
function showWarning(warning, origin) {
  $('model-note').hidden = origin === BUILT_IN && warning.code !== 'device_lost';
  $('model-note').textContent = warningWords(warning);
}

function showLoading(label) {
  hideBox();
  $('loading-name').textContent = label;
  $('loading-words').textContent = 'starting';
  $('loading-bar').removeAttribute('value');
  $('loading-pause').hidden = true;
  $('reload').hidden = true;
  $('model-note').hidden = true;
  if (!current.model) showNoModel(label);
  showView('chat');
  setState('loading');
  $('loading').scrollIntoView({ block: 'nearest' });
}

/** Whether a file has to be downloaded. An encoder that the hub chooses counts as one: its name is not known yet. */
async function isToCome({ source, mmproj }) {
  const isMissing = async (file) => typeof file === 'string' && !(await cache.has(file).catch(() => false));
  return mmproj === true || (await isMissing(source)) || isMissing(mmproj);
}

function showProgress(progress, isDownload) {
  $('loading-pause').hidden = !isDownload || (progress.stage !== 'download' && !current.download.paused);
  keepFocus();
  loadingWords = progressWords(progress);
  showWords();
  if (!progress.fraction) $('loading-bar').removeAttribute('value');
  else $('loading-bar').value = progress.fraction;
}

// ---- pausing --------------------------------------------------------------------------------------------------------

/** How far the load is, and why it is paused where nobody asked for that. */
let loadingWords = '';
let pausedWhy = '';

function showWords() {
  const paused = current.download.paused;
  $('loading-pause').textContent = paused ? 'Resume' : 'Pause';
  $('loading-words').textContent = paused ? `paused at ${loadingWords}${pausedWhy}` : loadingWords;
}

/** A control for the next load. */
function pausable() {
  const download = new DownloadControl();
  Object.assign(current, { download });
  loadingWords = 'starting';
  pausedWhy = '';
  download.addEventListener('change', () => {
    if (current.download !== download || !current.loading) return;
    if (!download.paused) pausedWhy = '';
    showWords();
    announce(download.paused ? `the download is paused${pausedWhy}` : 'the download goes on');
  });
  return download;
}

export function togglePause() {
  const { download } = current;
  if (download.paused) download.resume();
  else download.pause();
}

// Who began on another network did not ask for a download that is paid by the byte.
watchNetwork((isMetered) => {
  const { download } = current;
  if (!current.loading || (isMetered ? $('loading-pause').hidden || download.paused : !pausedWhy)) return;
  pausedWhy = isMetered ? ': this device is on a mobile network now' : '';
  togglePause();
});

export function cancelLoading() {
  $('loading-words').textContent = 'cancelling';
  current.loading?.abort();
}

// ---- failures -------------------------------------------------------------------------------------------------------

const stillLoaded = () => current.model && `${current.origin.label} is still loaded, and your chat is as it was.`;

function showLoadFailure(error, { origin, freed, cancelled }) {
  if (!current.model) showNoModel('none');
  const lost = freed && `${freed.label} had to make room for it and is no longer loaded.`;
  const fate = stillLoaded() ?? lost ?? '';
  if (cancelled) {
    const actions = [...(current.model ? [] : actionsFor(['again'], origin)), ...wayOut(origin, freed)];
    showBox({ title: 'Loading was cancelled', advice: fate || 'No model is loaded.', actions, calm: true });
    return;
  }
  showError(error, origin, { freed, fate });
}

/** The buttons that words.js offers by name; `origin` is what to load again. */
function actionsFor(offer, origin) {
  const actions = {
    again: ['Try again', () => load(origin)],
    cpu: ['Run on the CPU', () => loadOnCpu(origin)],
    new: ['New chat', hooks.newChat],
    page: ['Reload the page', () => location.reload()],
  };
  return offer.map((name) => actions[name]);
}

function loadOnCpu(origin) {
  applySettings({ 'backend-choice': 'cpu' });
  load(origin);
}

/** What to do about the model: nothing where there is one, else another one. */
function wayOut(origin, freed) {
  if (current.model) return [['Close', closeBox]];
  const again =
    freed && freed !== BUILT_IN && freed !== origin ? [[`Load ${freed.label} again`, () => load(freed)]] : [];
  const builtIn = origin === BUILT_IN ? [] : [['Use the built-in storyteller', () => load(BUILT_IN)]];
  return [...again, ...builtIn];
}

/** `origin` is what to load again, `freed` what had to make room for it, `fate` says what became of the old model. */
export function showError(error, origin = current.origin, { freed, fate = '' } = {}) {
  console.error(error);
  const { offer, advice, ...words } = explain(error);
  showBox({
    ...words,
    advice: `${advice} ${fate}`.trim(),
    actions: [...actionsFor(offer, origin), ...wayOut(origin, freed)],
  });
}

// ---- sources --------------------------------------------------------------------------------------------------------

/** Files from the picker or a drop. */
export function loadFiles(files) {
  if (files.length > 0) load(originOfFiles(files, current.model && current.origin));
}

export function loadUrl(url, mmproj) {
  const origin = originOf(url, mmproj);
  if (origin) return load(origin);
  const advice = ['Give the whole address of a GGUF file: https://…/model.gguf.', stillLoaded()]
    .filter(Boolean)
    .join(' ');
  showBox({ title: `${oneLine(url)} is not a web address`, advice, actions: wayOut() });
}

const KEPT = 'It is downloaded and kept in this browser.';

/** Hosts in words. */
const listed = (hosts) => hosts.join(' and ');

/**
 * Asks before a model is loaded that a link named; `instead` is what is loaded otherwise, `size` the bytes of its files
 * where the page knows them. Nobody is asked for anything before an answer, not for the size either. Every file is
 * named with its host and its whole address, and the button that downloads says the size.
 */
export function offerModel(origin, { instead, size }) {
  const files = foreignFiles(origin);
  const hosts = listed(hostsOf(files));
  const first = size
    ? [`Download ${bytes(size)}`, () => load(origin)]
    : [`Ask ${hosts} how large ${files.length > 1 ? 'they are' : 'it is'}`, () => offerWithSize(origin, instead)];
  showBox({
    title: `Load ${origin.label}?`,
    advice: `The link that opened this page asks for a model from ${hosts}. ${KEPT} ${meteredWords()}`.trim(),
    files,
    actions: [first, [`Use ${instead.label}`, () => load(instead)]],
    calm: true,
  });
}

/** Asks the hosts for the size, then the person again. */
async function offerWithSize(origin, instead) {
  const files = foreignFiles(origin);
  const hosts = listed(hostsOf(files));
  $('error-advice').textContent = `Asking ${hosts} …`;
  for (const button of $('error-actions').children) button.disabled = true;
  const { contextLength } = loadOptions();
  const { source, mmproj } = origin;
  const asked = await WasmModel.inspect(source, { contextLength, ...(mmproj && { mmproj }) }).then(
    ({ fileBytes, encoder }) => {
      const size = bytes(fileBytes + (encoder?.fileBytes ?? 0));
      const have = files.length > 1 ? 'The files have' : `The file on ${hosts} has`;
      return { advice: `${have} ${size}. ${KEPT} ${meteredWords()}`.trim(), words: `Download ${size}` };
    },
    (error) => ({ advice: `${hosts} does not say: ${explain(error).message}`, words: 'Download it, of unknown size' }),
  );
  if (current.loading || current.model) return; // the person has chosen another one meanwhile
  const actions = [
    [asked.words, () => load(origin)],
    [`Use ${instead.label}`, () => load(instead)],
  ];
  showBox({ title: `Load ${origin.label}?`, advice: asked.advice, files, actions, calm: true });
  announce(asked.advice);
}

export function showMissingFile(name) {
  showBox({
    title: `Choose ${name} again`,
    advice:
      'This chat was with a file from your device, which the page cannot open by itself. Choose it again to go on.',
    actions: [
      ['Choose the file', () => $('file').click()],
      ['Use the built-in storyteller', () => load(BUILT_IN)],
    ],
    calm: true,
  });
}
