// The demo page: loads a model, keeps one conversation, shows what happens. `data-state` of the root element tells
// where it stands: loading, ready, generating or error.

import { WasmModel } from '../dist/index.js';
import { explain, factsOf, progressWords, rate, resultWords } from './demo-words.js';

const BUILT_IN = { source: new URL('models/storyteller.gguf', location.href).href, label: 'Storyteller', story: true };

/** What the page says by the kind of model: the built-in one, one with a chat template, one without. */
const USES = {
  story: {
    title: 'What shall the story be about?',
    about: () => 'A small storyteller lives in this page. It runs on your own device.',
    placeholder: 'Tell me a story about…',
    label: 'Message',
    examples: [
      'Tell me a story about a hedgehog who finds a silver key',
      'Tell me a story about a shy owl and a lantern',
      'Tell me a story about a mouse who builds a boat',
    ],
  },
  chat: {
    title: 'What is on your mind?',
    about: (name) => `${name} runs on your own device.`,
    placeholder: 'Write a message',
    label: 'Message',
    examples: [
      'Explain why the sky is blue, in three sentences',
      'Write a haiku about rain',
      'What can you help me with?',
    ],
  },
  text: {
    title: 'How does the text begin?',
    about: (name) => `${name} runs on your own device. It has no chat template: it goes on with what you write.`,
    placeholder: 'Begin a text',
    label: 'Beginning of the text',
    examples: ['Once upon a time', 'The most important thing about the sea is'],
  },
};

/** Sliders of the settings: option name, words, range, first value. */
const SLIDERS = [
  { name: 'temperature', words: 'Temperature', max: 2, step: 0.05, value: 0.7 },
  { name: 'topP', words: 'Top-p', min: 0.05, max: 1, step: 0.05, value: 0.9 },
  { name: 'topK', words: 'Top-k (0: all)', max: 200, step: 1, value: 40 },
  { name: 'minP', words: 'Min-p', max: 0.5, step: 0.01, value: 0.05 },
  { name: 'repetitionPenalty', words: 'Repetition penalty', min: 1, max: 1.5, step: 0.01, value: 1 },
];

const root = document.documentElement;
const $ = (id) => document.getElementById(id);
const query = new URLSearchParams(location.search);

/** The model on the page and where it came from; `model` is undefined while there is none. */
const current = { model: undefined, origin: undefined };
let messages = [];
/** Cancels what goes on: the load or the generation. */
let loading;
let running;

// ---- state ----------------------------------------------------------------------------------------------------------

function setState(state) {
  root.dataset.state = state;
  const generating = state === 'generating';
  $('stop').hidden = !generating;
  $('send').hidden = generating;
  $('send').disabled = !current.model;
  $('log').setAttribute('aria-busy', String(generating));
  for (const button of $('examples').querySelectorAll('button')) button.disabled = !current.model || generating;
}

/** After a load or an answer: ready if there is a model to talk to. A load that goes on speaks for itself. */
function settle() {
  if (!loading) setState(current.model ? 'ready' : 'error');
}

const ACTIONS = {
  again: ['Try again', () => load(current.origin ?? BUILT_IN)],
  cpu: [
    'Run on the CPU',
    () => {
      $('backend-choice').value = 'cpu';
      load(current.origin ?? BUILT_IN);
    },
  ],
  new: ['New chat', newChat],
  page: ['Reload the page', () => location.reload()],
  builtIn: ['Use the built-in storyteller', () => load(BUILT_IN)],
  close: [
    'Close',
    () => {
      $('error').hidden = true;
      settle();
    },
  ],
};

function showError(error) {
  console.error(error);
  const { code, title, advice, offer, message } = explain(error);
  $('error-title').textContent = title;
  $('error-advice').textContent = advice;
  $('error-code').textContent = code;
  $('error-message').textContent = message;
  const names = [...offer, current.model ? 'close' : 'builtIn'];
  $('error-actions').replaceChildren(...names.map((name) => button(ACTIONS[name][0], ACTIONS[name][1], 'quiet')));
  $('error').hidden = false;
  if (!current.model) $('model-name').textContent = 'none';
  setState('error');
  $('error').scrollIntoView({ block: 'nearest' });
}

function button(words, action, className = '') {
  const made = Object.assign(document.createElement('button'), { type: 'button', textContent: words, className });
  made.addEventListener('click', action);
  return made;
}

// ---- loading --------------------------------------------------------------------------------------------------------

const numberIn = (id) => ($(id).value === '' ? undefined : $(id).valueAsNumber);

/** Loads a model in place of the one there is. A newer call cancels an older one. */
async function load(origin) {
  loading?.abort();
  const mine = new AbortController();
  loading = mine;
  await running?.return();
  if (loading !== mine) return;
  current.model?.free();
  Object.assign(current, { model: undefined, origin });
  newChat();
  showLoading(origin.label);
  const options = { backend: $('backend-choice').value, contextLength: numberIn('context') };
  try {
    const model = await WasmModel.load(origin.source, { ...options, signal: mine.signal, onProgress: showProgress });
    if (loading !== mine) return model.free();
    loading = undefined;
    Object.assign(current, { model, options });
    showModel(model, origin);
    settle();
  } catch (error) {
    if (loading !== mine) return; // the newer load speaks now
    loading = undefined;
    showError(error);
  }
}

function showLoading(label) {
  $('error').hidden = true;
  $('loading-name').textContent = label;
  $('loading-words').textContent = 'starting';
  $('loading-bar').removeAttribute('value');
  $('model-name').textContent = label;
  $('reload').hidden = true;
  showFacts();
  togglePanel(false);
  setState('loading');
}

function showProgress(progress) {
  $('loading-words').textContent = progressWords(progress);
  if (progress.fraction === undefined) $('loading-bar').removeAttribute('value');
  else $('loading-bar').value = progress.fraction;
}

function showModel({ info }, origin) {
  const story = Boolean(origin.story);
  root.toggleAttribute('data-story', story);
  $('model-name').textContent = origin.label;
  showFacts(info);
  const use = story ? USES.story : info.hasChatTemplate ? USES.chat : USES.text;
  $('welcome').querySelector('h1').textContent = use.title;
  $('welcome-text').textContent = use.about(info.name ?? origin.label);
  $('prompt').placeholder = use.placeholder;
  $('prompt-label').textContent = use.label;
  $('examples').replaceChildren(...use.examples.map(example));
  $('status').textContent = `${origin.label} is ready`;
  offerReload();
}

/** The model card; without `info` it is empty. */
function showFacts(info) {
  const rows = info ? factsOf(info) : [['Runs on', '…', 'backend']];
  $('facts').replaceChildren(...rows.map(fact));
  fillTags('features', info?.features ?? []);
  fillTags('variants', info?.variants ?? []);
  $('speed').textContent = $('first-token').textContent = '–';
}

function fact([words, value, id]) {
  const row = document.createElement('div');
  const term = Object.assign(document.createElement('dt'), { textContent: words });
  const definition = Object.assign(document.createElement('dd'), { textContent: value, id: id ?? '' });
  if (!id) definition.removeAttribute('id');
  row.append(term, definition);
  return row;
}

function fillTags(id, names) {
  const tags = names.length > 0 ? names : ['none'];
  $(id).replaceChildren(...tags.map((name) => Object.assign(document.createElement('li'), { textContent: name })));
}

function example(words) {
  const item = document.createElement('li');
  item.append(button(words, () => send(words)));
  return item;
}

/** Files from the picker or a drop: one, or all parts of a split model. */
function loadFiles(files) {
  if (files.length === 0) return;
  load({ source: files.length === 1 ? files[0] : files, label: wholeName(files[0].name) });
}

/** The name without the number of a part. */
const wholeName = (name) => name.replace(/-\d{5}-of-\d{5}(?=\.gguf$)/i, '');
const labelOf = (url) => wholeName(decodeURIComponent(new URL(url, location.href).pathname.split('/').pop())) || url;

function loadUrl(url) {
  try {
    load({ source: new URL(url, location.href).href, label: labelOf(url) });
  } catch (error) {
    showError(Object.assign(error, { code: 'invalid_argument' }));
  }
}

// ---- conversation ---------------------------------------------------------------------------------------------------

function newChat() {
  running?.return();
  messages = [];
  $('log').replaceChildren();
  $('welcome').hidden = false;
  if (current.model && root.dataset.state === 'error') settle();
  $('error').hidden = true;
}

function show(className, text = '') {
  const made = Object.assign(document.createElement('div'), { className, textContent: text });
  $('log').append(made);
  return made;
}

/** The settings as options of `generate`. */
function generateOptions() {
  const values = SLIDERS.map(({ name }) => [name, $(name).valueAsNumber]);
  return { ...Object.fromEntries(values), maxTokens: numberIn('max-tokens'), seed: numberIn('seed') };
}

/** What goes to the model: messages where it has a template, else the bare text. */
function promptFor(text) {
  if (!current.model.info.hasChatTemplate) return text;
  const system = $('system').value.trim();
  const before = current.origin.story ? [] : messages; // every story stands for itself
  return [...(system ? [{ role: 'system', content: system }] : []), ...before, { role: 'user', content: text }];
}

async function send(text) {
  if (!current.model || running || loading || text.trim() === '') return;
  $('error').hidden = true;
  $('welcome').hidden = true;
  $('prompt').value = '';
  const conversation = messages; // a new chat begins another
  const said = show('message user', text);
  const answer = show('message assistant streaming');
  const meta = show('meta');
  setState('generating');
  follow(true);
  try {
    running = current.model.generate(promptFor(text), generateOptions());
    const result = await stream(running, answer, meta);
    conversation.push({ role: 'user', content: text }, { role: 'assistant', content: result.text });
    showResult(result, meta);
    running = undefined;
    settle();
  } catch (error) {
    running = undefined;
    if (answer.textContent === '') for (const node of [said, answer, meta]) node.remove();
    $('prompt').value ||= text;
    showError(error);
  } finally {
    answer.classList.remove('streaming');
  }
}

/** Writes the text as it comes. */
async function stream(generation, answer, meta) {
  const begun = performance.now();
  let count = 0;
  let first = 0;
  for await (const piece of generation) {
    first ||= performance.now();
    count += piece.ids.length;
    const atEnd = isAtEnd();
    answer.append(piece.text);
    answer.normalize();
    const seconds = (performance.now() - first) / 1000;
    if (seconds > 0.3) showSpeed(count, (count - 1) / seconds, meta);
    $('first-token').textContent = Math.round(first - begun);
    follow(atEnd);
  }
  return generation.result;
}

function showSpeed(count, tokensPerSecond, meta) {
  meta.textContent = `${count} tokens · ${rate(tokensPerSecond)} tokens/s`;
  $('speed').textContent = rate(tokensPerSecond);
}

function showResult(result, meta) {
  const { tokensPerSecond, timeToFirstTokenMs } = result.timings;
  meta.textContent = resultWords(result);
  if (tokensPerSecond > 0) $('speed').textContent = rate(tokensPerSecond);
  if (timeToFirstTokenMs > 0) $('first-token').textContent = Math.round(timeToFirstTokenMs);
  $('status').textContent = result.finishReason === 'abort' ? 'Stopped' : 'The answer is complete';
}

const isAtEnd = () => root.scrollHeight - root.scrollTop - root.clientHeight < 80;

/** Keeps the end in sight, unless somebody scrolled up to read. */
function follow(atEnd) {
  if (atEnd) root.scrollTop = root.scrollHeight;
}

// ---- wiring ---------------------------------------------------------------------------------------------------------

function makeSliders() {
  for (const { name, words, min = 0, max, step, value } of SLIDERS) {
    const label = Object.assign(document.createElement('label'), { textContent: words });
    const input = Object.assign(document.createElement('input'), { id: name, type: 'range', min, max, step });
    input.setAttribute('value', value); // what a form reset goes back to
    const output = document.createElement('output');
    const showValue = () => {
      output.textContent = input.value;
    };
    input.addEventListener('input', showValue);
    $('options').addEventListener('reset', () => setTimeout(showValue));
    label.append(output, input);
    $('sliders').append(label);
    showValue();
  }
}

function wireComposer() {
  $('composer').addEventListener('submit', (event) => {
    event.preventDefault();
    send($('prompt').value);
  });
  $('prompt').addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send($('prompt').value);
  });
  $('stop').addEventListener('click', () => running?.return());
  $('new-chat').addEventListener('click', () => {
    newChat();
    $('prompt').focus();
  });
  addEventListener('keydown', (event) => {
    if (event.key === 'Escape') running?.return();
  });
}

function wireModel() {
  $('file').addEventListener('change', () => {
    loadFiles([...$('file').files]);
    $('file').value = ''; // so that the same file can be chosen again
  });
  $('url-form').addEventListener('submit', (event) => {
    event.preventDefault();
    if ($('url').value.trim()) loadUrl($('url').value.trim());
  });
  $('built-in').addEventListener('click', () => load(BUILT_IN));
  $('loading-cancel').addEventListener('click', () => loading?.abort());
  $('reload').addEventListener('click', () => load(current.origin ?? BUILT_IN));
  $('options').addEventListener('submit', (event) => event.preventDefault());
  for (const event of ['input', 'reset']) $('options').addEventListener(event, () => setTimeout(offerReload));
  $('toggle-panel').addEventListener('click', () => togglePanel());
}

/** On a narrow page the panel takes the place of the conversation. */
function togglePanel(wanted) {
  const open = $('panel').classList.toggle('open', wanted);
  $('toggle-panel').setAttribute('aria-expanded', String(open));
  $('toggle-panel').textContent = open ? 'Chat' : 'Model';
  if (open) scrollTo(0, 0);
}

/** Context and backend are fixed at load. */
function offerReload() {
  const { backend, contextLength } = current.options ?? {};
  const same = backend === $('backend-choice').value && contextLength === numberIn('context');
  $('reload').hidden = !current.model || same;
}

function wireDrop() {
  let depth = 0;
  const hint = (change) => {
    depth = change === 0 ? 0 : Math.max(0, depth + change);
    $('drop-hint').hidden = depth === 0;
  };
  const carriesFiles = ({ dataTransfer }) => dataTransfer?.types.includes('Files');
  addEventListener('dragenter', (event) => {
    if (carriesFiles(event)) hint(1);
  });
  addEventListener('dragleave', (event) => {
    if (carriesFiles(event)) hint(-1);
  });
  addEventListener('dragover', (event) => {
    if (carriesFiles(event)) event.preventDefault();
  });
  addEventListener('drop', (event) => {
    hint(0);
    if (!carriesFiles(event)) return;
    event.preventDefault();
    loadFiles([...event.dataTransfer.files]);
  });
}

makeSliders();
wireComposer();
wireModel();
wireDrop();
$('backend-choice').value = query.get('backend') ?? 'auto';
if (!$('backend-choice').value) $('backend-choice').value = 'auto';
$('context').value = query.get('context') ?? '';
$('examples').replaceChildren(...USES.story.examples.map(example));
if (query.get('model')) loadUrl(query.get('model'));
else load(BUILT_IN);
