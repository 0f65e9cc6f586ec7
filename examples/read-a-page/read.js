// A picture of a page becomes Markdown, by a model that was trained to read pages (OCR).
import { downloading, modelOf, modelsFor } from '../load.js';
import { elementsOf } from './markdown.js';

// A repository of Hugging Face's hub with a model and its encoder, or the addresses of both:
// ?model=/models/mine.gguf&mmproj=/models/mmproj-mine.gguf
const query = new URLSearchParams(location.search);
const USUAL = { source: 'ggml-org/GLM-OCR-GGUF:Q8_0', words: 'GLM-OCR and its encoder, 1.4 GB' };
const [{ source: MODEL, words }] = modelsFor(USUAL, { isSmallEnough: false });
const mmproj = query.get('mmproj') ?? true;
/** Tokens of a page, at most. */
const MOST = 4096;

const [form, choose, input, picture, task, stop, progress, status, error, out, keep, copy, download] = [
  ...['read', 'choose', 'file', 'picture', 'task', 'stop', 'progress', 'status', 'error', 'out', 'keep', 'copy'],
  'download',
].map((id) => document.getElementById(id));
const read = form.querySelector('.main');
read.textContent = downloading('Read', words);
// A model of the visitor's own may have less.
const withModel = modelOf(MODEL, status, { mmproj, ...(words && { contextLength: 2 * MOST }) });

let file;
let text = '';

function take([given]) {
  error.textContent = '';
  if (!given) return;
  if (!given.type.startsWith('image/')) {
    error.textContent = `${given.name} is no picture.`;
    return;
  }
  URL.revokeObjectURL(picture.src);
  file = given;
  picture.src = URL.createObjectURL(file);
  picture.hidden = false;
  read.disabled = false;
}

/** Draws at most once per frame, and rests four times as long as that took: a long page is drawn again and again. */
function drawing() {
  let frame = 0;
  let restUntil = 0;
  const draw = () => {
    frame = 0;
    const begun = performance.now();
    if (begun < restUntil) return later();
    out.replaceChildren(elementsOf(text));
    restUntil = performance.now() + 4 * (performance.now() - begun);
  };
  const later = () => {
    frame ||= requestAnimationFrame(draw);
  };
  const end = () => {
    cancelAnimationFrame(frame);
    out.replaceChildren(elementsOf(text));
  };
  return { later, end };
}

async function readPage(model, signal) {
  read.textContent = 'Read';
  const content = [
    { type: 'image', image: file },
    { type: 'text', text: task.value },
  ];
  const onProgress = ({ stage, fraction }) => {
    progress.hidden = false;
    progress.value = stage === 'encode' ? 0.8 * fraction : 0.8 + 0.2 * fraction;
    status.textContent = stage === 'encode' ? 'looking at the page' : 'reading';
  };
  const { later, end } = drawing();
  const start = performance.now();
  const options = { maxTokens: MOST, temperature: 0, onProgress, signal };
  try {
    for await (const piece of model.generate([{ role: 'user', content }], options)) {
      progress.hidden = true;
      text += piece.text;
      status.textContent = `${text.length} characters`;
      later();
    }
  } finally {
    end();
  }
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  status.textContent = `${text.length} characters in ${seconds} s`;
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const controller = new AbortController();
  const end = () => controller.abort();
  stop.addEventListener('click', end);
  [read.disabled, choose.disabled, stop.hidden, keep.hidden] = [true, true, false, true];
  [text, error.textContent] = ['', ''];
  out.replaceChildren();
  try {
    await withModel((model) => readPage(model, controller.signal));
  } catch (failure) {
    status.textContent = controller.signal.aborted ? 'stopped' : '';
    if (!controller.signal.aborted) error.textContent = failure.message;
  } finally {
    stop.removeEventListener('click', end);
    [read.disabled, choose.disabled, stop.hidden, progress.hidden, keep.hidden] = [
      false,
      false,
      true,
      true,
      text === '',
    ];
  }
});

choose.addEventListener('click', () => input.click());
input.addEventListener('change', () => {
  take(input.files);
  input.value = '';
});
addEventListener('paste', ({ clipboardData }) => clipboardData.files.length > 0 && take(clipboardData.files));
addEventListener('dragover', (event) => {
  event.preventDefault();
  document.body.classList.add('over');
});
addEventListener('dragleave', ({ relatedTarget }) => relatedTarget ?? document.body.classList.remove('over'));
addEventListener('drop', (event) => {
  event.preventDefault();
  document.body.classList.remove('over');
  if (!choose.disabled) take(event.dataTransfer.files);
});
copy.addEventListener('click', async () => {
  await navigator.clipboard.writeText(text).then(
    () => (status.textContent = 'copied'),
    () => (error.textContent = 'The clipboard was refused.'),
  );
});
download.addEventListener('click', () => {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/markdown' }));
  const name = `${file.name.replace(/\.\w+$/, '')}.md`;
  Object.assign(document.createElement('a'), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
});
