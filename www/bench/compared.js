// Results beside each other: those that this browser keeps, the one of a link, and the one that was just measured.

import { fragmentOf, rowOf } from '../results/rows.js';
import { curveCard } from './chart.js';
import { comparison, curves } from './compare.js';
import { card, element } from './parts.js';
import { dayOf, isSameModel, readResults, speedOf, summaryOf, titleOf, writeResults } from './results.js';
import { remove, save, saved } from './saved.js';
import { linkOf, resultIn } from './share.js';

const $ = (id) => document.getElementById(id);
/** How long a button asks whether it was meant, and says what it did. */
const [ASK_MS, TOLD_MS] = [4000, 2500];
const NOT_KEPT = 'This browser keeps nothing for this page.';

/** What is shown; `ticked` are keys of results that are kept. */
const shown = { now: undefined, linked: undefined, ticked: new Set() };

/** What is compared, the newest last: what is kept, then the link's, then this run's. */
function entries() {
  const isTicked = ([key, { date }]) => shown.ticked.has(key) && date !== shown.now?.date;
  const kept = saved().filter(isTicked);
  return [
    ...kept.map(([, result]) => ({ label: dayOf(result.date) || 'saved', result })),
    ...(shown.linked ? [{ label: 'from the link', result: shown.linked }] : []),
    ...(shown.now ? [{ label: 'this run', result: shown.now }] : []),
  ];
}

function redraw() {
  const all = entries();
  $('compared').replaceChildren(
    ...(all.length > 1 ? [card(comparison(all))] : []),
    ...(all.length > 0 ? curves(all).map(curveCard) : []),
  );
}

/** Compares the newest kept result of the same model, where none is compared yet. */
function tickSame(result) {
  const isKept = ([key, other]) => isSameModel(other, result) && other.date !== result.date && key;
  if (saved().some(([key]) => shown.ticked.has(key))) return;
  const [key] = saved().findLast(isKept) ?? [];
  if (key) shown.ticked.add(key);
}

/** Says something for a while in place of a button's words. */
export function told(button, words) {
  button.dataset.words ??= button.textContent;
  button.textContent = words;
  setTimeout(() => {
    button.textContent = button.dataset.words;
  }, TOLD_MS);
}

/** Copies a text, or says that the browser forbids it. */
export async function copy(text, button) {
  const copied = await navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  );
  told(button, copied ? 'Copied' : 'The browser forbids it');
}

// ---- what is kept ---------------------------------------------------------------------------------------------------

/** Deletes at the second click. */
function deleteSoon(button, key) {
  if (button.classList.contains('asking')) {
    remove(key);
    shown.ticked.delete(key);
    list();
    ($('saved').querySelector('input') ?? $('import')).focus();
    return;
  }
  button.classList.add('asking');
  button.textContent = 'Delete for good?';
  setTimeout(() => {
    button.classList.remove('asking');
    button.textContent = 'Delete';
  }, ASK_MS);
}

function item([key, result], i) {
  const name = `saved-${i}`;
  const tick = element('input', { type: 'checkbox', id: name, checked: shown.ticked.has(key) });
  tick.addEventListener('change', () => {
    if (tick.checked) shown.ticked.add(key);
    else shown.ticked.delete(key);
    redraw();
  });
  const label = element('label', { htmlFor: name }, [
    element('strong', { textContent: titleOf(result) }),
    element('span', { textContent: speedOf(result) }),
  ]);
  const button = (textContent, work) => {
    const made = element('button', { type: 'button', className: 'link', textContent });
    made.setAttribute('aria-describedby', name);
    made.addEventListener('click', () => work(made));
    return made;
  };
  const remover = button('Delete', (made) => deleteSoon(made, key));
  const sharer = button('Copy link', async (made) => copy(await linkOf(result), made));
  return element('li', {}, [tick, label, element('span', { className: 'does' }, [sharer, remover])]);
}

function list() {
  const all = saved();
  $('saved').replaceChildren(...all.map(item).reverse());
  $('none-saved').hidden = all.length > 0;
  $('export').hidden = all.length === 0;
  redraw();
}

/** Keeps a result and compares with it from now on. */
function keep(result, button) {
  if (save(result) === undefined) return told(button, NOT_KEPT);
  list();
  told(button, 'Saved');
}

function exportAll() {
  const text = writeResults(saved().map(([, result]) => result));
  const href = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  element('a', { href, download: 'webgguf-bench.json' }).click();
  setTimeout(() => URL.revokeObjectURL(href), 1000);
}

async function importFile(file) {
  try {
    const keys = readResults(await file.text()).map(save);
    const kept = keys.filter(Boolean);
    kept.forEach((key) => shown.ticked.add(key));
    $('saved-status').textContent = kept.length < keys.length ? NOT_KEPT : `${kept.length} imported`;
  } catch (error) {
    $('saved-status').textContent = `${file.name}: ${error.message}`;
  }
  list();
}

// ---- a link's -------------------------------------------------------------------------------------------------------

/** Reads the result of the address, and shows it. Returns it, where there is one. */
async function readLink() {
  shown.linked = undefined;
  let words = '';
  try {
    shown.linked = await resultIn(location.hash);
    if (shown.linked) {
      words = `${titleOf(shown.linked)}: ${speedOf(shown.linked)}`;
      tickSame(shown.linked);
    }
  } catch (error) {
    words = error.message;
  }
  $('linked-words').textContent = words;
  $('linked').hidden = words === '';
  $('keep-linked').hidden = !shown.linked;
  list();
  return shown.linked;
}

// ---- for the page ---------------------------------------------------------------------------------------------------

/** Shows a result that was just measured beside the others; `undefined` where there is none. */
export function showBeside(result) {
  shown.now = result && summaryOf(result);
  if (shown.now) tickSame(shown.now);
  const row = shown.now && rowOf(shown.now);
  $('among').hidden = !row;
  if (row) $('among').href = `results.html#${fragmentOf(row)}`;
  list();
}

/**
 * Makes buttons and lists work.
 * @param {(result: object) => void} onLink is told the result of a link that the page was opened with
 */
export async function startComparing(onLink) {
  $('save').addEventListener('click', ({ target }) => keep(shown.now, target));
  $('copy-link').addEventListener('click', async ({ target }) => copy(await linkOf(shown.now), target));
  $('keep-linked').addEventListener('click', ({ target }) => keep(shown.linked, target));
  $('export').addEventListener('click', exportAll);
  $('import').addEventListener('change', async ({ target }) => {
    if (target.files[0]) await importFile(target.files[0]);
    target.value = '';
  });
  const read = async () => {
    const linked = await readLink();
    if (linked) onLink(linked);
  };
  addEventListener('hashchange', read);
  addEventListener('storage', list); // another tab has saved or deleted
  await read();
}
