import { downloading, modelOf, modelsFor } from '../load.js';

// A GGUF on Hugging Face's hub, or the address of any other: panel.html?model=https://example.com/mine.gguf
const USUAL = { source: 'Qwen/Qwen3-0.6B-GGUF:Q8_0', words: 'Qwen3 0.6B, 639 MB' };
const [{ source: MODEL, words }] = modelsFor(USUAL);
/** Letters of a page that the model gets to read. */
const MOST = 6000;

const [summarise, stop, status, error, summary] = ['summarise', 'stop', 'status', 'error', 'summary'].map((id) =>
  document.getElementById(id),
);

const withModel = modelOf(MODEL, status);
summarise.textContent = downloading('Summarise', words);
let controller;

/** Title and text of the page that is shown, or of what is selected in it. */
async function readPage() {
  const [tab] = await chrome.tabs.query({ active: true, lastFocusedWindow: true });
  const read = () =>
    String(getSelection()) || document.querySelector('article, main')?.innerText || document.body.innerText;
  const [{ result }] = await chrome.scripting.executeScript({ target: { tabId: tab.id }, func: read });
  return { title: tab.title, text: result.slice(0, MOST) };
}

async function write(model, { title, text }, signal) {
  const messages = [
    { role: 'system', content: 'Summarise in three sentences.' },
    { role: 'user', content: `${title}\n\n${text}` },
  ];
  status.textContent = title;
  summary.textContent = '';
  const request = { messages, stream: true, max_completion_tokens: 200, temperature: 0.3, reasoning_effort: 'none' };
  for await (const { choices } of await model.chat.completions.create(request, { signal })) {
    summary.textContent += choices[0]?.delta.content ?? '';
    summary.hidden = false;
  }
}

summarise.addEventListener('click', async () => {
  controller = new AbortController();
  summarise.disabled = true;
  stop.hidden = false;
  error.textContent = '';
  try {
    const shown = await readPage();
    await withModel((model) => {
      summarise.textContent = 'Summarise';
      return write(model, shown, controller.signal);
    });
  } catch (failure) {
    if (!controller.signal.aborted) error.textContent = failure.message;
  }
  summarise.disabled = false;
  stop.hidden = true;
});

stop.addEventListener('click', () => controller.abort());
