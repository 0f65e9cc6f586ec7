import { downloading, modelOf, modelsFor } from '../load.js';

// A GGUF on Hugging Face's hub, whose encoder reads a source: the storyteller has none.
const [MODEL] = modelsFor(
  { source: 'Felladrin/gguf-flan-t5-large:Q8_0', words: 'Flan-T5 large, about 830 MB' },
  { isSmallEnough: false },
);
const LANGUAGES = { en: 'English', de: 'German', fr: 'French', es: 'Spanish', ro: 'Romanian' };
const TEXT = `The library opens at nine in the morning. On Sundays it is closed.

You may borrow up to ten books for four weeks. If nobody else is waiting for a book, you can keep it for four more.

There is a quiet room on the second floor. Please leave your coat and your bag at the entrance.`;

const [from, to, text, translate, stop, status, progress, error, translated] = [
  ...['from', 'to', 'text', 'translate', 'stop', 'status', 'progress', 'error', 'translated'],
].map((id) => document.getElementById(id));
for (const menu of [from, to]) menu.append(...Object.entries(LANGUAGES).map(([code, name]) => new Option(name, code)));
to.value = 'de';
text.value = TEXT;
translate.textContent = downloading('Translate', MODEL.words);

const withModel = modelOf(MODEL.source, status);
let controller;

/** What the model reads: MADLAD-400 finds out by itself which language a text is in. */
const sourceOf = (model, paragraph) =>
  /madlad/i.test(model.info.name ?? MODEL.source)
    ? `<2${to.value}> ${paragraph}`
    : `translate ${LANGUAGES[from.value]} to ${LANGUAGES[to.value]}: ${paragraph}`;

/** Writes the translation of a paragraph into the page as it comes. A translation is seldom thrice as long. */
async function translateParagraph(model, paragraph, signal) {
  const source = sourceOf(model, paragraph);
  const maxTokens = 3 * (await model.tokenize(source)).length + 20;
  const place = document.createElement('p');
  place.lang = to.value;
  translated.append(place);
  const generation = model.generate({ source }, { temperature: 0, repetitionPenalty: 1.1, maxTokens, signal });
  for await (const { text: piece } of generation) place.append(piece);
  const { finishReason } = await generation.result;
  place.classList.toggle('cut', finishReason === 'length');
}

/** Translates all paragraphs, and says how far it is. */
async function translateAll(model, paragraphs, signal) {
  translated.hidden = progress.hidden = false;
  progress.max = paragraphs.length;
  const start = performance.now();
  for (const [done, paragraph] of paragraphs.entries()) {
    progress.value = done;
    status.textContent = `paragraph ${done + 1} of ${paragraphs.length}`;
    await translateParagraph(model, paragraph, signal);
    signal.throwIfAborted();
  }
  progress.value = paragraphs.length;
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const count = paragraphs.length === 1 ? 'a paragraph' : `${paragraphs.length} paragraphs`;
  status.textContent = `translated ${count} in ${seconds} s`;
}

translate.addEventListener('click', async () => {
  const paragraphs = text.value.split(/\n\s*\n/).flatMap((paragraph) => paragraph.replaceAll(/\s+/g, ' ').trim() || []);
  error.textContent = '';
  if (paragraphs.length === 0) {
    error.textContent = 'There is no text to translate.';
    return;
  }
  controller = new AbortController();
  const { signal } = controller;
  translated.replaceChildren();
  translate.disabled = true;
  stop.hidden = false;
  try {
    await withModel((model) => translateAll(model, paragraphs, signal));
  } catch (failure) {
    status.textContent = signal.aborted ? 'stopped' : '';
    if (!signal.aborted) error.textContent = failure.message;
  }
  translate.textContent = 'Translate';
  translate.disabled = false;
  stop.hidden = progress.hidden = true;
});

stop.addEventListener('click', () => controller.abort());
