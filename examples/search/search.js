import { downloading, modelOf, modelsFor } from '../load.js';

// A GGUF on Hugging Face's hub: an embedder, which a model that writes is not.
const USUAL = { source: 'ChristianAzinn/bge-small-en-v1.5-gguf:Q8_0', words: 'BGE small, 37 MB' };
const [{ source: MODEL, words }] = modelsFor(USUAL, { isSmallEnough: false });
const NOTES = [
  'The meeting moved to Thursday at ten.',
  'Water the plants on Monday.',
  'The invoice of the plumber is paid.',
  'Anna prefers tea to coffee.',
  'The key of the bicycle is in the blue drawer.',
  'Flight to Lisbon: gate 14, boarding at 6:40.',
];

const [notes, search, status, error, results] = ['notes', 'search', 'status', 'error', 'results'].map((id) =>
  document.getElementById(id),
);
notes.value = NOTES.join('\n');

/** The vectors of texts that were embedded before. */
const known = new Map();
const withModel = modelOf(MODEL, status);
const button = search.querySelector('.main');
button.textContent = downloading('Search', words);

/** A vector for each text; only new ones go through the model, all at once. */
async function embed(model, texts) {
  const unknown = [...new Set(texts)].filter((text) => !known.has(text));
  const vectors = await model.embed(unknown, { truncate: true });
  unknown.forEach((text, index) => known.set(text, vectors[index]));
  return texts.map((text) => known.get(text));
}

// Vectors have the length 1, so this is the cosine of the angle between them.
const likeness = (a, b) => a.reduce((sum, value, index) => sum + value * b[index], 0);

function show(ranked) {
  const items = ranked.map(({ text, score }) => {
    const item = document.createElement('li');
    item.style.setProperty('--score', Math.max(score, 0));
    const number = document.createElement('output');
    number.textContent = score.toFixed(2);
    item.append(text, number);
    return item;
  });
  results.replaceChildren(...items);
}

/** Shows the texts, the nearest to the query first. */
async function find(model, query, texts) {
  const start = performance.now();
  const [wanted, ...vectors] = await embed(model, [query, ...texts]);
  const scored = texts.map((text, index) => ({ text, score: likeness(vectors[index], wanted) }));
  show(scored.sort((a, b) => b.score - a.score));
  const ms = Math.round(performance.now() - start);
  status.textContent = `${texts.length} notes in ${ms} ms, ${wanted.length} dimensions`;
}

search.addEventListener('submit', async (event) => {
  event.preventDefault();
  const query = search.elements.query.value.trim();
  const texts = notes.value.split('\n').filter((line) => line.trim() !== '');
  if (query === '' || texts.length === 0) return;
  error.textContent = '';
  try {
    await withModel((model) => {
      button.textContent = 'Search';
      return find(model, query, texts);
    });
  } catch (failure) {
    status.textContent = '';
    error.textContent = failure.message;
  }
});
