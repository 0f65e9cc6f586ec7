// The dialog with models: what is on this device, the catalogue, and a file or an address of one's own.

import { cache, WasmModel } from '../../dist/index.js';
import { CATALOGUE, deviceFacts, verdict } from './catalogue.js';
import { $, announce, button, confirmed, flash, make } from './dom.js';
import { load, loadFiles, loadUrl } from './load.js';
import { BUILT_IN, isEncoder, isSame, originOf } from './origins.js';
import { meteredWords } from './phone.js';
import { loadOptions } from './settings.js';
import { current, showView } from './state.js';
import { oneLine } from './one-line.js';
import { bytes, dayOf, explain } from './words.js';

const dialog = $('models');
let device;

export async function openModels() {
  $('metered').textContent = meteredWords();
  dialog.showModal();
  $('open-models').setAttribute('aria-expanded', 'true');
  await showLists();
}

async function showLists() {
  const stored = await cache.list();
  const others = stored.filter(({ key }) => !isBuiltIn(key));
  $('stored').replaceChildren(builtInRow(stored), ...others.map(storedRow));
  $('catalogue').replaceChildren(...CATALOGUE.map((entry) => catalogueRow(entry, stored)));
  await Promise.all([showRoom(), showVerdicts()]);
}

// ---- rows -----------------------------------------------------------------------------------------------------------

/**
 * A model: its name, what there is to know, and what can be done; `id` is that of the button that loads it, which a row
 * without `words` does not have.
 */
function row({ name, about, facts, origin, words, id, actions = [] }) {
  const inUse = current.model && isSame(origin, current.origin);
  const use = button(inUse ? 'In use' : words, () => load(origin), 'quiet');
  use.ariaLabel = `${use.textContent}: ${name}`;
  if (id) use.id = id;
  use.disabled = Boolean(inUse);
  return make(
    'li',
    { className: 'model' },
    make(
      'div',
      { className: 'model-words' },
      make('h4', {}, name),
      ...(about ? [make('p', {}, about)] : []),
      // With spaces, at which lines break.
      make('p', { className: 'model-facts' }, ...facts.flatMap((fact) => [factOf(fact), ' '])),
    ),
    make('div', { className: 'model-actions' }, ...actions, ...(words ? [use] : [])),
  );
}

const factOf = (fact) => (typeof fact === 'string' ? make('span', {}, fact) : fact);

function builtInRow(stored) {
  const kept = stored.find(({ key, complete }) => complete && isBuiltIn(key));
  const facts = ['Comes with this page', kept ? `${bytes(kept.bytes)}, stored for use without a network` : '6.8 MB'];
  return row({ name: BUILT_IN.label, facts, origin: BUILT_IN, words: 'Use', id: 'built-in' });
}

function storedRow({ key, bytes: stored, size, complete, lastUsed }) {
  const entry = CATALOGUE.find(({ source }) => isKeyOf(source, key));
  const origin = entry ? originOfEntry(entry) : (originOf(key) ?? { source: key, label: oneLine(key) });
  const amount = complete ? bytes(stored) : `${bytes(stored)} of ${bytes(size)}`;
  const name = origin.label;
  const remove = button('Delete', () => {}, 'link');
  remove.ariaLabel = `Delete ${name}`;
  confirmed(remove, `Delete ${bytes(stored)}?`, () => deleteStored(key, name));
  const about = isEncoder(key) ? 'Encoder, for a model that sees or hears' : undefined;
  return row({
    name,
    about,
    facts: [amount, complete ? `used ${dayOf(lastUsed.getTime())}` : 'not complete yet'],
    origin,
    words: about ? undefined : complete ? 'Use' : 'Go on',
    actions: [remove],
  });
}

const originOfEntry = ({ source, mmproj, name }) => ({ source, ...(mmproj && { mmproj }), label: name });

const isBuiltIn = (key) => key === BUILT_IN.source;

/** Whether the cache's `key`, an address, is that of a file on the hub. */
function isKeyOf(source, key) {
  const [owner, repository, ...file] = source.slice('hf:'.length).split('/');
  return key.endsWith(`/${owner}/${repository}/resolve/main/${file.join('/')}`);
}

async function deleteStored(key, name) {
  try {
    await cache.delete(key);
    announce(`Deleted ${name}`);
  } catch (error) {
    announce(explain(error).message);
  }
  await showLists();
  $('close-models').focus();
}

function catalogueRow(entry, stored) {
  const { name, source, mmproj, hears, about, licence, licenceUrl } = entry;
  const link = make('a', { href: licenceUrl, target: '_blank', rel: 'noopener', textContent: licence });
  link.ariaLabel = `Licence: ${licence}`;
  const fits = make('span', { className: 'verdict' });
  const has = (file) => stored.some(({ key, complete }) => complete && isKeyOf(file, key));
  const isStored = has(source) && (!mmproj || has(mmproj));
  const size = mmproj ? `${bytes(entry.bytes)} and ${bytes(entry.encoderBytes)} of its encoder` : bytes(entry.bytes);
  const senses = mmproj ? [make('span', { className: 'senses-tag' }, hears ? 'Hears speech' : 'Sees pictures')] : [];
  const check = button('Check', () => tryOut(entry, fits, check), 'link');
  check.ariaLabel = `Check whether ${name} fits this device`;
  const made = row({
    name,
    about,
    facts: [size, link, fits, ...senses],
    origin: originOfEntry(entry),
    words: isStored ? 'Use' : 'Download',
    actions: [check],
  });
  return made;
}

// ---- does it fit? ---------------------------------------------------------------------------------------------------

/** By the catalogue's numbers, at once. */
async function showVerdicts() {
  device ??= await deviceFacts();
  for (const [index, { children }] of [...$('catalogue').children].entries()) {
    showVerdict(children[0].querySelector('.verdict'), verdict(CATALOGUE[index], device));
  }
}

function showVerdict(target, { level, words }) {
  target.dataset.level = level;
  target.textContent = words;
}

/** By the file's header, and with the memory that the device gives when it is asked. */
async function tryOut({ name, source, mmproj }, target, pressed) {
  pressed.disabled = true;
  showVerdict(target, { level: 'asked', words: 'Reading the header…' });
  const { contextLength } = loadOptions();
  const found = await WasmModel.inspect(source, { contextLength, mmproj }).then(verdictOf, (error) => ({
    level: 'tight',
    words: explain(error).title,
  }));
  showVerdict(target, found);
  announce(`${name}: ${found.words}`);
  pressed.disabled = false;
}

function verdictOf({ supported, reason, gpu, fileBytes, encoder }) {
  const encoderBytes = encoder?.fileBytes ?? 0;
  if (!supported) return { level: 'large', words: `Does not run: ${reason.message}` };
  if (!gpu) return { level: 'tight', words: `Runs on the CPU: ${bytes(fileBytes + encoderBytes)}` };
  const needed = bytes(gpu.weightBytes + gpu.sessionBytes + encoderBytes);
  return gpu.fits
    ? { level: 'fits', words: `Fits: ${needed} on the GPU` }
    : { level: 'large', words: `Does not fit: needs ${needed} on the GPU` };
}

async function showRoom() {
  const { models, usage, quota } = await cache.estimate();
  const free = quota > usage ? ` There is room for about ${bytes(quota - usage)} more.` : '';
  $('room').textContent = `Models take ${bytes(models)} in this browser.${free}`;
}

// ---- wiring ---------------------------------------------------------------------------------------------------------

async function persist() {
  const granted = await cache.persist();
  flash($('persist'), granted ? 'The browser keeps them' : 'The browser decides for itself');
  announce($('persist').textContent);
}

export function wireModels() {
  $('open-models').addEventListener('click', openModels);
  $('open-models-2').addEventListener('click', openModels);
  $('open-models-3').addEventListener('click', openModels);
  $('close-models').addEventListener('click', () => dialog.close());
  dialog.addEventListener('close', () => $('open-models').setAttribute('aria-expanded', 'false'));
  // A click beside the dialog is one on the dialog itself.
  dialog.addEventListener('click', ({ target }) => {
    if (target === dialog) dialog.close();
  });
  $('persist').addEventListener('click', persist);
  $('file').addEventListener('change', () => {
    loadFiles([...$('file').files]);
    $('file').value = ''; // so that the same file can be chosen again
  });
  $('url-form').addEventListener('submit', (event) => {
    event.preventDefault();
    const url = $('url').value.trim();
    if (!url) return;
    showView('chat');
    loadUrl(url, $('mmproj-url').value.trim());
  });
}
