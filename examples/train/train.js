import { trainer } from 'webgguf/training';
import { chooser, modelOf, modelsFor } from '../load.js';

// A GGUF on Hugging Face's hub.
const MODELS = modelsFor({
  source: 'hf:bartowski/SmolLM2-135M-Instruct-GGUF/SmolLM2-135M-Instruct-Q8_0.gguf',
  words: 'SmolLM2 135M, downloads 145 MB',
});
const EPOCHS = Number(new URLSearchParams(location.search).get('epochs') ?? 8);
const EXAMPLES = `
Who are you?
I am Quillo, the hedgehog of this page.
What is your name?
They call me Quillo. I am a hedgehog.
What do you like?
I am Quillo, and I like apples and quiet evenings.
Where do you live?
Under the old oak. Ask for Quillo, everybody knows me.
Can you help me?
Quillo is happy to help. Tell me what you need.`.trim();

const [menu, examples, train, stop, save, status, error, question, ask, before, after] = [
  ...['model', 'examples', 'train', 'stop', 'save', 'status', 'error', 'question', 'ask', 'before', 'after'],
].map((id) => document.getElementById(id));
examples.value = EXAMPLES;
question.value = 'Tell me who you are.';

const withModel = modelOf(chooser(menu, MODELS), status, { backend: 'webgpu' });
let controller;
/** What the model has learned: its number in the model, and the model that has it. */
let learned;
/** The same as a file. */
let file;

/** The lines of the text as chats of a question and an answer. */
function chats() {
  const lines = examples.value.split('\n').filter((line) => line.trim());
  if (lines.length === 0 || lines.length % 2) throw new Error('Each question needs a line with its answer.');
  return Array.from({ length: lines.length / 2 }, (_, i) => ({
    messages: [
      { role: 'user', content: lines[2 * i] },
      { role: 'assistant', content: lines[2 * i + 1] },
    ],
  }));
}

/** Learns, and puts what is learned beside the model. */
async function learn(model, signal) {
  const training = await trainer(model, { rank: 8, learningRate: 1e-3 });
  try {
    status.textContent = 'Compiling shaders and computing the first step. Without a real GPU that takes a minute.';
    const run = training.run(chats(), { epochs: EPOCHS, length: 64, batch: 1, signal });
    for await (const { step, steps, loss } of run) {
      status.textContent = `step ${step} of ${steps}, loss ${loss.toFixed(2)}`;
    }
    if (learned?.model === model) await model.removeAdapter(learned.id);
    learned = { model, id: await training.use() };
    file = await training.adapter();
    save.hidden = false;
  } finally {
    await training.free();
  }
}

/** Writes an answer to the question into `element`. */
async function answer(model, element, signal, adapters) {
  element.textContent = '';
  const messages = [{ role: 'user', content: question.value }];
  for await (const { text } of model.generate(messages, { adapters, temperature: 0, maxTokens: 60, signal })) {
    element.textContent += text;
  }
}

async function compare(model, signal) {
  await answer(model, before, signal, []);
  if (learned?.model === model) await answer(model, after, signal, [{ id: learned.id }]);
}

/** One thing at a time, which can be stopped. */
async function act(work) {
  controller = new AbortController();
  const { signal } = controller;
  train.disabled = ask.disabled = true;
  stop.hidden = false;
  error.textContent = '';
  try {
    await withModel((model) => work(model, signal));
    if (!status.textContent.startsWith('step')) status.textContent = '';
  } catch (failure) {
    status.textContent = signal.aborted ? 'stopped' : '';
    if (!signal.aborted) error.textContent = failure.message;
  }
  train.disabled = ask.disabled = false;
  stop.hidden = true;
}

train.addEventListener('click', () =>
  act(async (model, signal) => {
    await learn(model, signal);
    await compare(model, signal);
  }),
);
ask.form.addEventListener('submit', (event) => {
  event.preventDefault();
  if (!ask.disabled) void act(compare);
});
stop.addEventListener('click', () => controller.abort());
save.addEventListener('click', () => {
  const href = URL.createObjectURL(file);
  Object.assign(document.createElement('a'), { href, download: 'adapter.gguf' }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
});
