import { cache, WasmModel } from 'webgguf';
import { modelsFor } from '../load.js';

// A GGUF on Hugging Face's hub.
const [{ source: MODEL, words }] = modelsFor({
  source: 'Qwen/Qwen3-0.6B-GGUF:Q8_0',
  words: 'Qwen3 0.6B, downloads 639 MB',
});

const [load, forget, progress, error, ask, answer] = ['load', 'forget', 'progress', 'error', 'ask', 'answer'].map(
  (id) => document.getElementById(id),
);

if (words) load.textContent = `Keep the model here: ${words}`;

/** What the three boxes at the top say. */
function check(id, isGood, words) {
  const box = document.getElementById(id);
  const small = document.createElement('small');
  small.textContent = words;
  box.classList.toggle('good', isGood);
  box.replaceChildren(box.firstChild, small);
}

/** Whether a resource is a part of the page, rather than data that it asked for. */
function isPart({ name, initiatorType }) {
  return !/fetch|xmlhttprequest/.test(initiatorType) || new URL(name).pathname.endsWith('.wasm');
}

/**
 * Has the service worker keep the page: the files that it was loaded from so far. `isAll`: the WebAssembly is among
 * them, so that the worker may drop those of an older version.
 */
async function keepPage(isAll = false) {
  await navigator.serviceWorker.register('sw.js');
  const { active } = await navigator.serviceWorker.ready;
  const resources = performance
    .getEntriesByType('resource')
    .filter(isPart)
    .map(({ name }) => name);
  const files = [...new Set([location.origin + location.pathname, ...resources])];
  const { port1, port2 } = new MessageChannel();
  const answered = new Promise((resolve) => {
    port1.onmessage = resolve;
  });
  active.postMessage({ files, isAll }, [port2]);
  const { kept, reason } = (await answered).data;
  check('page', kept, kept ? 'is kept here' : `not kept: ${reason}`);
}

function showNetwork() {
  check('network', navigator.onLine, navigator.onLine ? 'is there' : 'is away, and not needed');
}
addEventListener('online', showNetwork);
addEventListener('offline', showNetwork);

async function showStored() {
  const isStored = await cache.has(MODEL);
  const { models } = await cache.estimate(); // bytes of all models of this origin
  check('model', isStored, isStored ? `is kept here; models: ${(models / 1e6).toFixed(1)} MB` : 'not kept yet');
  load.hidden = isStored;
  forget.hidden = !isStored;
}

let model;
async function loadModel() {
  load.disabled = true;
  progress.hidden = false;
  error.textContent = '';
  try {
    // Not in a worker: its script would have to lie below sw.js for the service worker to serve it.
    model = await WasmModel.load(MODEL, { onProgress: ({ fraction = 0 }) => (progress.value = fraction) });
    await keepPage(true);
    ask.hidden = false;
  } catch (failure) {
    error.textContent = failure.message;
  }
  load.disabled = false;
  progress.hidden = true;
  await showStored();
}

load.addEventListener('click', async () => {
  await cache.persist(); // asks the browser not to delete it when the disk gets full
  await loadModel();
});

forget.addEventListener('click', async () => {
  await model?.free();
  model = undefined;
  ask.hidden = answer.hidden = true;
  await cache.delete(MODEL);
  await showStored();
});

ask.addEventListener('submit', async (event) => {
  event.preventDefault();
  await model.stop();
  answer.hidden = false;
  answer.textContent = error.textContent = '';
  const messages = [{ role: 'user', content: ask.elements.question.value }];
  try {
    for await (const { text } of model.generate(messages, { maxTokens: 200, temperature: 0.7, topP: 0.9 })) {
      answer.textContent += text;
    }
  } catch (failure) {
    error.textContent = failure.message;
  }
});

showNetwork();
check('page', false, 'not kept yet');
keepPage().catch((failure) => check('page', false, failure.message));
await showStored();
if (await cache.has(MODEL)) await loadModel();
