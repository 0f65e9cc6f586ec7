import { models } from 'webgguf/models';
import { chooser, modelsFor } from '../load.js';
import { answer } from './answer.js';
import { readFile } from './files.js';
import { Library, placeOf, textOf } from './library.js';
import { SAMPLES } from './samples.js';
import { nameOf, view } from './viewer.js';

// Others by their addresses: ?model=… for what writes, ?embedder=…, and ?budget= in bytes.
const address = new URLSearchParams(location.search);
const USUAL = { source: 'Qwen/Qwen3-0.6B-GGUF:Q8_0', words: 'BGE small and Qwen3 0.6B, 676 MB' };
const EMBEDDER = { source: 'ChristianAzinn/bge-small-en-v1.5-gguf:Q8_0' };
/** What this embedder was trained to read before a question. */
const QUERY = 'Represent this sentence for searching relevant passages: ';
const BUDGET = Number(address.get('budget')) || 1.5e9;
const PASSAGES = 4;

const [drop, choose, samples, reading, refused, list, menu, note, form, question, find, stop, status, bar, error, out] =
  [
    ...['drop', 'choose', 'samples', 'reading', 'refused', 'files', 'model', 'note', 'ask', 'question', 'find', 'stop'],
    ...['status', 'bar', 'error', 'answer'],
  ].map((id) => document.getElementById(id));
const [found, passages, budget] = ['found', 'passages', 'budget'].map((id) => document.getElementById(id));
const choices = modelsFor(USUAL);
const chosen = chooser(menu, choices);
const library = new Library();
let app;
let controller;
/** The passages that the numbers in the answer mean. */
let cited = [];

const element = (tag, className, ...children) => {
  const made = Object.assign(document.createElement(tag), { className });
  made.append(...children);
  return made;
};

function button(className, label, click, ...children) {
  const made = element('button', className, ...children);
  made.type = 'button';
  if (label) made.setAttribute('aria-label', label);
  made.addEventListener('click', click);
  return made;
}

// ---- models ---------------------------------------------------------------------------------------------------------

const isUsual = () => chosen() === USUAL.source;

/** The two models within the budget. Where there is one file alone, it is read as an embedder, too. */
function begin() {
  const onProgress = ({ stage, fraction = 0 }) => tell(`${stage} ${Math.round(fraction * 100)} %`, fraction);
  const usual = { worker: true, onProgress };
  const writer = { ...usual, source: chosen(), ...(isUsual() && { contextLength: 4096 }) };
  const named = address.get('embedder') ?? (isUsual() && EMBEDDER.source);
  const embedder = { ...usual, ...(named ? { source: named } : { source: chosen(), pooling: 'mean' }) };
  return models({ budget: BUDGET, models: { embedder, writer } });
}

/** What each model takes now, and what the button loads. */
function showMemory() {
  for (const { name, state, bytes } of app.list()) {
    const words = state === 'loaded' ? `${Math.round(bytes / 1e6)} MB` : state === 'loading' ? 'loading' : '–';
    document.getElementById(`${name}-bytes`).textContent = words;
  }
  const isLoaded = app.list().every(({ state }) => state !== 'idle');
  const [name, size] = choices[Math.max(0, menu.selectedIndex)].words.split(', ');
  form.querySelector('.main').textContent = size && !isLoaded ? `Ask (loads ${name}, ${size})` : 'Ask';
}

/** Another choice: the models of the last one go, and so do their vectors. */
async function changeModels() {
  const old = app;
  app = begin();
  library.forget();
  note.hidden = isUsual() || address.has('model');
  showMemory();
  await old?.free();
}

function tell(text, fraction) {
  status.textContent = text;
  bar.hidden = fraction === undefined;
  bar.value = fraction ?? 0;
  showMemory();
}

// ---- files ----------------------------------------------------------------------------------------------------------

async function add(files) {
  refused.replaceChildren();
  for (const [at, file] of files.entries()) {
    reading.textContent = `reading file ${at + 1} of ${files.length}`;
    try {
      list.append(rowOf(library.add(await readFile(file))));
    } catch (failure) {
      refused.append(element('li', '', nameOf(file.name), ` ${failure.message}`));
    }
  }
  reading.textContent = '';
}

function rowOf(file) {
  const size = `${file.passages.length} ${file.passages.length === 1 ? 'passage' : 'passages'}`;
  const words = file.isCut ? `${size}, its beginning alone` : size;
  const name = button('name', '', () => view(file), nameOf(file.name));
  const remove = button('', `Remove ${file.name}`, () => {
    const next = (row.nextElementSibling ?? row.previousElementSibling)?.querySelector('.remove') ?? choose;
    row.remove();
    next.focus();
    void library.remove(file);
  });
  remove.textContent = 'Remove';
  remove.classList.add('remove');
  const row = element('li', '', name, element('span', 'soft', words), remove);
  return row;
}

choose.addEventListener('change', async () => {
  await add([...choose.files]);
  choose.value = '';
});
samples.addEventListener('click', () => {
  samples.hidden = true;
  choose.focus();
  return add(SAMPLES);
});
for (const type of ['dragover', 'dragleave', 'drop']) {
  addEventListener(type, (event) => {
    if (!event.dataTransfer?.types.includes('Files')) return;
    event.preventDefault(); // else the browser would leave the page for the file
    drop.classList.toggle('over', type === 'dragover');
    if (type === 'drop' && event.dataTransfer.files.length > 0) void add([...event.dataTransfer.files]);
  });
}

// ---- questions ------------------------------------------------------------------------------------------------------

function showPassages(list) {
  cited = list;
  found.hidden = list.length === 0;
  passages.replaceChildren(
    ...list.map((passage, at) => {
      const open = citation(at + 1);
      return element('li', 'card', open, ' ', nameOf(placeOf(passage)), element('p', '', textOf(passage)));
    }),
  );
}

function citation(number) {
  const passage = cited[number - 1];
  const label = `Passage ${number}, in ${placeOf(passage)}`;
  return button('cite', label, () => view(passage.file, passage), `[${number}]`);
}

/** Adds text to the answer, with numbers of passages as buttons; what may become a number waits. */
function writer() {
  let waiting = '';
  return (text) => {
    waiting += text;
    const parts = waiting.split(/(\[\d\])/);
    waiting = /\[\d?$/.exec(parts.at(-1))?.[0] ?? '';
    parts[parts.length - 1] = parts.at(-1).slice(0, parts.at(-1).length - waiting.length);
    out.append(...parts.map((part) => (/^\[\d\]$/.test(part) ? citation(Number(part[1])) : part)));
  };
}

/** The passages for a question; all that have no vector get one before. */
function search(asked, signal) {
  const embed = async (model) => {
    const onDone = (done, all) => tell(`embedding: ${done} of ${all} passages`, done / all);
    await library.index(model, onDone, signal);
    tell('searching', 1);
    const vector = await model.embed(isUsual() ? QUERY + asked : asked, { truncate: true, signal });
    return library.find(asked, vector, PASSAGES);
  };
  return app.use('embedder', embed, { signal });
}

async function run(asked, hasAnswer, signal) {
  const best = await search(asked, signal);
  showPassages(best);
  if (best.length === 0) return 'No passage has anything of the question.';
  if (!hasAnswer) return `${best.length} passages, the best first`;
  const write = (model) => {
    tell('reading the passages', undefined);
    out.hidden = false;
    return answer(model, asked, best, { onPassages: showPassages, onText: writer(), signal });
  };
  await app.use('writer', write, { signal });
  return 'done: press a number to see the passage in its file';
}

async function ask(hasAnswer) {
  const asked = question.value.trim();
  out.replaceChildren();
  out.hidden = true;
  error.textContent = '';
  showPassages([]);
  if (library.files.length === 0) error.textContent = 'There are no files yet: add some, or take the three small ones.';
  if (library.files.length === 0 || asked === '') return;
  controller = new AbortController();
  const { signal } = controller;
  setBusy(true);
  try {
    tell(await run(asked, hasAnswer, signal));
  } catch (failure) {
    tell(signal.aborted ? 'stopped' : '');
    if (!signal.aborted) error.textContent = failure.message;
  }
  setBusy(false);
}

function setBusy(isBusy) {
  const submit = form.querySelector('.main');
  const hadFocus = [submit, find, stop].includes(document.activeElement);
  for (const each of [submit, find, menu, samples]) each.disabled = isBusy;
  for (const each of list.querySelectorAll('.remove')) each.disabled = isBusy;
  stop.hidden = !isBusy;
  bar.hidden = true;
  if (hadFocus) (isBusy ? stop : submit).focus();
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  void ask(true);
});
find.addEventListener('click', () => ask(false));
stop.addEventListener('click', () => controller.abort());
menu.addEventListener('change', changeModels);
budget.textContent = `${(BUDGET / 1e9).toFixed(1)} GB`;
await changeModels();
