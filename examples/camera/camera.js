// What the camera sees, said again and again: each answer is about the frame that the video shows when it begins.
import { downloading, modelOf, modelsFor } from '../load.js';

// A repository of Hugging Face's hub with a model and its encoder, or the addresses of both:
// ?model=/models/mine.gguf&mmproj=/models/mmproj-mine.gguf
const query = new URLSearchParams(location.search);
const USUAL = { source: 'LiquidAI/LFM2.5-VL-450M-GGUF:Q4_0', words: 'LFM2.5-VL 450M and its encoder, 322 MB' };
const [{ source: MODEL, words }] = modelsFor(USUAL, { isSmallEnough: false });
const mmproj = query.get('mmproj') ?? true;
/** Answers that stay on the page. */
const KEPT = 6;

const [video, form, question, stop, status, error, answers] = [
  ...['video', 'watch', 'question', 'stop', 'status', 'error', 'answers'],
].map((id) => document.getElementById(id));
const watch = form.querySelector('.main');

const withModel = modelOf(MODEL, status, { mmproj });
watch.textContent = downloading('Watch', words);

const REFUSALS = {
  NotAllowedError: 'The camera was refused: allow it beside the address of this page.',
  NotFoundError: 'There is no camera here.',
};

/** Opens the camera; it is closed when `signal` fires. */
async function openCamera(signal) {
  const { mediaDevices } = navigator;
  if (!mediaDevices) throw new Error('Pages may use a camera on https: and on localhost alone.');
  const stream = await mediaDevices.getUserMedia({ video: { facingMode: 'environment' } }).catch((failure) => {
    throw new Error(REFUSALS[failure.name] ?? `The camera cannot be used: ${failure.message}`);
  });
  const close = () => {
    for (const track of stream.getTracks()) track.stop();
    video.srcObject = null;
    video.classList.remove('open');
  };
  if (signal.aborted) return close();
  signal.addEventListener('abort', close);
  video.classList.add('open');
  video.srcObject = stream;
  await video.play();
}

/** Writes one answer above the others, beside the time when the model began to look. */
async function answer(model, signal) {
  const item = document.createElement('li');
  const time = document.createElement('time');
  const text = document.createElement('span');
  time.textContent = new Date().toLocaleTimeString();
  item.append(time, text);
  answers.prepend(item);
  while (answers.children.length > KEPT) answers.lastChild.remove();
  const content = [
    { type: 'image', image: video }, // the frame that it shows now
    { type: 'text', text: question.value },
  ];
  const generation = model.generate([{ role: 'user', content }], { maxTokens: 60, temperature: 0, signal });
  try {
    for await (const piece of generation) text.textContent += piece.text;
  } finally {
    if (!text.textContent) item.remove(); // stopped before the first word
  }
  const { timings } = await generation;
  status.textContent = `first word after ${(timings.timeToFirstTokenMs / 1000).toFixed(1)} s`;
}

let controller;

/** Shows one of the two buttons. Where the other one had the focus, it gets it: a hidden button would lose it. */
function offer(button, other) {
  const hadFocus = document.activeElement === other;
  button.hidden = false;
  if (hadFocus) button.focus();
  other.hidden = true;
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  controller = new AbortController();
  const { signal } = controller;
  error.textContent = status.textContent = '';
  offer(stop, watch);
  try {
    await openCamera(signal);
    await withModel(async (model) => {
      watch.textContent = 'Watch';
      while (!signal.aborted) await answer(model, signal);
    });
  } catch (failure) {
    if (!signal.aborted) error.textContent = failure.message;
  }
  controller.abort(); // closes the camera
  offer(watch, stop);
});

stop.addEventListener('click', () => controller.abort());
