import { WasmModel } from 'webgguf';
import { chooser, modelsFor } from '../load.js';

// A GGUF on Hugging Face's hub.
const MODELS = modelsFor({ source: 'Qwen/Qwen3-0.6B-GGUF:Q8_0', words: 'Qwen3 0.6B, downloads 639 MB' });

const [menu, form, stop, error, story, frame, speed, backend] = [
  ...['model', 'write', 'stop', 'error', 'story', 'frame', 'speed', 'backend'],
].map((id) => document.getElementById(id));
const chosen = chooser(menu, MODELS);
const bar = document.querySelector('#bar i');

/** Moves the bar by script, and notes the longest time between two frames since the last click. */
let longest = 0;
let last = performance.now();
function move(now) {
  longest = Math.max(longest, now - last);
  last = now;
  bar.style.translate = `${(Math.sin(now / 600) + 1) * 200}%`;
  requestAnimationFrame(move);
}
requestAnimationFrame(move);

let controller;

async function write(prompt, worker) {
  const { signal } = controller;
  const onProgress = ({ stage, fraction = 0 }) => {
    story.textContent = `${stage} ${Math.round(fraction * 100)} %`;
  };
  // Nothing else differs between the two places.
  const model = await WasmModel.load(chosen(), { worker, onProgress, signal });
  try {
    backend.textContent = model.hasGpu() ? 'the GPU' : 'the CPU';
    story.textContent = prompt;
    const generation = model.generate(prompt, { maxTokens: 150, temperature: 0.7, topP: 0.9, signal });
    for await (const { text } of generation) story.textContent += text;
    const { timings } = await generation;
    speed.textContent = timings.tokensPerSecond.toFixed(0);
  } finally {
    await model.free(); // ends the worker, so that all of its memory goes back
  }
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const { prompt, place } = Object.fromEntries(new FormData(form));
  controller = new AbortController();
  error.textContent = story.textContent = '';
  stop.hidden = false;
  form.querySelector('.main').disabled = true;
  longest = 0;
  try {
    await write(prompt, place === 'worker');
    frame.textContent = `${Math.round(longest)} ms`;
  } catch (failure) {
    if (!controller.signal.aborted) error.textContent = failure.message;
  }
  stop.hidden = true;
  form.querySelector('.main').disabled = false;
});

stop.addEventListener('click', () => controller.abort());
