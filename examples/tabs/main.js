import { chooser, modelOf, modelsFor } from '../load.js';

// A GGUF on Hugging Face's hub.
const MODELS = modelsFor({ source: 'Qwen/Qwen3-0.6B-GGUF:Q8_0', words: 'Qwen3 0.6B, downloads 639 MB' });

const [menu, form, another, stop, error, story, tabs, leads, writing, loaded, memory] = [
  ...['model', 'write', 'another', 'stop', 'error', 'story', 'tabs', 'leads', 'writing', 'loaded', 'memory'],
].map((id) => document.getElementById(id));
const chosen = chooser(menu, MODELS);
another.href = location.href;

// Two tabs write at the same time; a third one waits for its turn.
const withModel = modelOf(chosen, story, { shared: true, parallel: 2 });

/** Each tab holds the first number that is free, as a lock, so that all can count them. */
function takeNumber(number = 1) {
  return new Promise((resolve) => {
    navigator.locks.request(`example-tab ${number}`, { ifAvailable: true }, (lock) => {
      resolve(lock ? number : takeNumber(number + 1));
      return lock && new Promise(() => {});
    });
  });
}

const own = await takeNumber();

/** Which tabs there are, which of them has the engine, and which write. */
async function showTabs() {
  const { held } = await navigator.locks.query();
  const open = held.flatMap(({ name, clientId }) => {
    const number = /^example-tab (\d+)$/.exec(name)?.[1];
    return number ? [{ number: Number(number), clientId }] : [];
  });
  const nameOf = (number) => (number === own ? `tab ${number}, this one` : `tab ${number}`);
  const leader = held.find(({ name }) => /^webgguf .* seat$/.test(name));
  const leading = open.find(({ clientId }) => clientId === leader?.clientId);
  const busy = open.filter(({ number }) => held.some(({ name }) => name === `example-writing ${number}`));
  tabs.textContent = open.length;
  const elsewhere = leader ? 'no tab: a SharedWorker' : '–';
  leads.textContent = leading ? nameOf(leading.number) : elsewhere;
  writing.textContent = busy.map(({ number }) => nameOf(number)).join('; ') || '–';
}
setInterval(showTabs, 500);

let controller;

async function write(prompt) {
  const { signal } = controller;
  const since = performance.now();
  await withModel(async (model) => {
    loaded.textContent = `${((performance.now() - since) / 1000).toFixed(1)} s`;
    memory.textContent = model.hasGpu() ? `${Math.round(model.info.gpuBytes / 1e6)} MB` : 'none';
    story.textContent = prompt;
    const generation = model.generate(prompt, { maxTokens: 150, temperature: 0.7, topP: 0.9, signal });
    let isOver;
    try {
      for await (const { text } of generation) {
        story.textContent += text;
        isOver ??= await tellWriting(); // before, it waited for its turn
      }
    } finally {
      isOver?.();
    }
  });
}

/** Tells all tabs that this one writes, by a lock, until what it gives is called. */
async function tellWriting() {
  const isOver = await new Promise((taken) => {
    navigator.locks.request(`example-writing ${own}`, () => new Promise(taken));
  });
  await showTabs();
  return isOver;
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
