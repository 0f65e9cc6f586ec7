import { downloading, modelOf, modelsFor } from '../load.js';
import { createFiles } from './files.js';

// GGUFs on Hugging Face's hub: embedders, which a model that writes is not. The second one sees and hears.
const READS = { source: 'ChristianAzinn/bge-small-en-v1.5-gguf:Q8_0', words: 'BGE small, 37 MB' };
const SEES = { source: 'ggml-org/embeddinggemma-2-GGUF:Q8_0', words: 'EmbeddingGemma 2 and its encoders' };
const NOTES = [
  'The meeting moved to Thursday at ten.',
  'Water the plants on Monday.',
  'The invoice of the plumber is paid.',
  'Anna prefers tea to coffee.',
  'The key of the bicycle is in the blue drawer.',
  'Flight to Lisbon: gate 14, boarding at 6:40.',
];

const [notes, search, modelName, status, error, results] = [
  'notes',
  'search',
  'model',
  'status',
  'error',
  'results',
].map((id) => document.getElementById(id));
notes.value = NOTES.join('\n');
const button = search.querySelector('.main');

/** `?mmproj=` names the encoders of the model that `?model=` names. */
const encoders = new URLSearchParams(location.search).get('mmproj');
const [asked] = modelsFor(READS, { isSmallEnough: false });
const isAsked = asked !== READS;

/** Whether there are pictures or sounds: then the model is one that sees and hears. */
const sees = () => Boolean(encoders) || files.list().length > 0;
const chosen = () => (isAsked || !sees() ? asked : SEES);
const options = () => (sees() ? { mmproj: encoders ?? true } : {});
const withModel = modelOf(() => chosen().source, status, options);

/** What the button will download; nothing once that is there. */
const loaded = new Set();
function showModel() {
  const { source, words } = chosen();
  button.textContent = loaded.has(source) ? 'Search' : downloading('Search', words);
  modelName.textContent = isAsked || !sees() ? '' : 'Pictures and sounds are read by EmbeddingGemma 2.';
}
const files = createFiles({ onChange: showModel, onRefused: (words) => (error.textContent = words) });
showModel();

/** The vectors of notes and files that were embedded before, by the model that made them. */
const known = new Map();

function vectorsOf(source) {
  if (!known.has(source)) known.set(source, new Map());
  return known.get(source);
}

/** EmbeddingGemma was trained with a prompt before each text; other models were not. */
const withTask = (model, task) => (model.info.architecture.startsWith('gemma-embedding') ? { task } : {});

/** Vectors of texts, of which only new ones go through the model, all at once. */
async function embedTexts(model, texts, vectors) {
  const unknown = [...new Set(texts)].filter((text) => !vectors.has(text));
  const made = await model.embed(unknown, { truncate: true, ...withTask(model, 'document') });
  unknown.forEach((text, index) => vectors.set(text, made[index]));
}

/** Vectors of files. One that cannot be read is named and left out, so that it does not end the search. */
async function embedFiles(model, items, vectors) {
  const unknown = items.filter(({ file }) => !vectors.has(file));
  for (const [at, { file, part }] of unknown.entries()) {
    status.textContent = `${file.name}, ${at + 1} of ${unknown.length} files`;
    try {
      vectors.set(file, await model.embed(part));
    } catch (failure) {
      if (!['invalid_argument', 'context_full', 'limit_exceeded'].includes(failure.code)) throw failure;
      error.textContent = `${file.name}: ${failure.message}`;
      files.remove(file);
    }
  }
}

// Vectors have the length 1, so this is the cosine of the angle between them.
const likeness = (a, b) => a.reduce((sum, value, index) => sum + value * b[index], 0);

function show(ranked) {
  const items = ranked.map(({ shown, score }) => {
    const item = document.createElement('li');
    item.style.setProperty('--score', Math.max(score, 0));
    const number = document.createElement('output');
    number.textContent = score.toFixed(2);
    item.append(shown(), number);
    return item;
  });
  results.replaceChildren(...items);
}

/** Shows notes, pictures and sounds, the nearest to the query first. */
async function find(model, source, query, texts) {
  const vectors = vectorsOf(source);
  const start = performance.now();
  const wanted = await model.embed(query, { truncate: true, ...withTask(model, 'search query') });
  await embedTexts(model, texts, vectors);
  await embedFiles(model, files.list(), vectors);
  const items = [
    ...texts.map((text) => ({ shown: () => text, vector: vectors.get(text) })),
    ...files.list().map(({ file, shown }) => ({ shown, vector: vectors.get(file) })),
  ];
  const scored = items
    .filter(({ vector }) => vector)
    .map(({ shown, vector }) => ({ shown, score: likeness(vector, wanted) }));
  show(scored.sort((a, b) => b.score - a.score));
  const ms = Math.round(performance.now() - start);
  const count = files.list().length;
  const counted = (number, what) => `${number} ${what}${number === 1 ? '' : 's'}`;
  const beside = count > 0 ? ` and ${counted(count, 'file')}` : '';
  status.textContent = `${counted(texts.length, 'note')}${beside} in ${ms} ms, ${wanted.length} dimensions`;
}

search.addEventListener('submit', async (event) => {
  event.preventDefault();
  const query = search.elements.query.value.trim();
  const texts = notes.value.split('\n').filter((line) => line.trim() !== '');
  if (query === '' || texts.length + files.list().length === 0) return;
  error.textContent = '';
  const { source } = chosen();
  button.disabled = true;
  try {
    await withModel((model) => {
      loaded.add(source);
      showModel();
      return find(model, source, query, texts);
    });
  } catch (failure) {
    status.textContent = '';
    error.textContent = failure.message;
  } finally {
    button.disabled = false;
  }
});
