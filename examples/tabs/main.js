import { chooser, modelOf, modelsFor } from '../load.js';

// A GGUF on Hugging Face's hub.
const MODELS = modelsFor({ source: 'Qwen/Qwen3-0.6B-GGUF:Q8_0', words: 'Qwen3 0.6B, downloads 639 MB' });

const [menu, form, another, stop, error, story, tabs, loaded, memory] = [
  ...['model', 'write', 'another', 'stop', 'error', 'story', 'tabs', 'loaded', 'memory'],
].map((id) => document.getElementById(id));
const chosen = chooser(menu, MODELS);
another.href = location.href;

// Two tabs write at the same time; a third one waits for its turn.
const withModel = modelOf(chosen, story, { shared: true, parallel: 2 });

/** Each tab holds a lock of its own, so that all can count them. */
navigator.locks.request(`example-tab ${crypto.randomUUID()}`, () => new Promise(() => {}));
setInterval(async () => {
  const { held } = await navigator.locks.query();
  tabs.textContent = held.filter(({ name }) => name.startsWith('example-tab ')).length;
}, 500);

let controller;

async function write(prompt) {
  const { signal } = controller;
  const since = performance.now();
  await withModel(async (model) => {
    loaded.textContent = `${((performance.now() - since) / 1000).toFixed(1)} s`;
    memory.textContent = model.hasGpu() ? `${Math.round(model.info.gpuBytes / 1e6)} MB` : 'nothing: the CPU';
    story.textContent = prompt;
    const generation = model.generate(prompt, { maxTokens: 150, temperature: 0.7, topP: 0.9, signal });
    for await (const { text } of generation) story.textContent += text;
  });
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const { prompt } = Object.fromEntries(new FormData(form));
  controller = new AbortController();
  error.textContent = story.textContent = '';
  stop.hidden = false;
  form.querySelector('.main').disabled = true;
  try {
    await write(prompt);
  } catch (failure) {
    const moved = 'The tab with the engine was closed while it wrote. Press “Write” again: this one goes on.';
    if (!controller.signal.aborted) error.textContent = failure.code === 'engine_moved' ? moved : failure.message;
  }
  stop.hidden = true;
  form.querySelector('.main').disabled = false;
});

stop.addEventListener('click', () => controller.abort());
