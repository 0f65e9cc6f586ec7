// The demo page: loads a model, keeps one conversation, shows what happens. `data-state` of the root element tells
// where it stands: loading, ready, generating, error, or empty (no model, and nothing went wrong).

import { WasmModel } from '../dist/index.js';
import { copyText, make, Turn } from './demo-chat.js';
import { forget, recall, remember } from './demo-memory.js';
import {
  applySettings,
  currentSettings,
  generateOptions,
  loadOptions,
  makeSliders,
  systemPrompt,
} from './demo-settings.js';
import { explain, factsOf, progressWords, rate, resultWords } from './demo-words.js';

const BUILT_IN = { source: new URL('models/storyteller.gguf', location.href).href, label: 'Storyteller', story: true };

/** What the page says by the kind of model: the built-in one, one with a chat template, one without. */
const USES = {
  story: {
    title: 'What should the story be about?',
    about: () => 'A small model that tells stories comes with this page. It runs on your own device.',
    placeholder: 'Ask for a story',
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
    about: (name) => `${name} runs on your own device. It was not made for chat: it continues the text that you begin.`,
    placeholder: 'Begin a text',
    label: 'Beginning of the text',
    examples: ['Once upon a time', 'The most important thing about the sea is'],
  },
};

const root = document.documentElement;
const $ = (id) => document.getElementById(id);
const query = new URLSearchParams(location.search);

/**
 * The model on the page, where it came from and with which options; `model` is undefined while there is none.
 * @type {{model?: WasmModel, origin?: {source: unknown, label: string, story?: boolean}, options?: object}}
 */
const current = {};
/** @type {Turn[]} */
let turns = [];
/** Cancels what goes on: the load or the generation. */
let loading;
let running;

// ---- state ----------------------------------------------------------------------------------------------------------

function setState(state) {
  root.dataset.state = state;
  const generating = state === 'generating';
  const idle = Boolean(current.model) && !generating && state !== 'loading';
  $('stop').hidden = !generating;
  $('send').hidden = generating;
  $('send').disabled = !idle;
  $('log').setAttribute('aria-busy', String(generating));
  for (const button of document.querySelectorAll('#examples button, .again')) button.disabled = !idle;
  $('welcome').hidden = turns.length > 0;
  keepFocus(state);
}

/** After a load or an answer. A load that goes on speaks for itself. */
function settle() {
  if (!loading) setState(current.model ? 'ready' : 'empty');
}

/** The element that had the focus last, also when it was hidden since. */
let focused;

const isUsable = (element) => element.isConnected && element.checkVisibility() && !element.disabled;

/** Where the focused element was hidden, disabled or removed, the focus goes to what is of use now. */
function keepFocus(state) {
  if (!focused || isUsable(focused)) return;
  const after = { loading: 'loading-cancel', generating: 'stop' }[state];
  const action = $('error').hidden ? null : $('error-actions').querySelector('button');
  // On a touch screen a focused text field opens the keyboard.
  const field = matchMedia('(pointer: coarse)').matches && !$('send').disabled ? $('send') : $('prompt');
  (after ? $(after) : (action ?? field)).focus({ preventScroll: true });
}

// ---- the box for errors and notes -----------------------------------------------------------------------------------

/** Shows what happened and what can be done; `code` and `message` are for a bug report, `calm` is for no error. */
function showBox({ title, advice, code, message, actions, calm = false }) {
  $('error').classList.toggle('calm', calm);
  $('error-title').textContent = title;
  $('error-advice').textContent = advice;
  $('error-code').textContent = code ?? '';
  $('error-message').textContent = message ?? '';
  $('error-detail').hidden = !code;
  $('error-actions').replaceChildren(...actions.map(([words, action]) => button(words, action, 'quiet')));
  $('error').hidden = false;
  if (!current.model) showNoModel('none');
  if (!loading) setState(calm ? (current.model ? 'ready' : 'empty') : 'error');
  $('error').scrollIntoView({ block: 'nearest' });
}

function closeBox() {
  $('error').hidden = true;
}

const close = () => {
  closeBox();
  settle();
};

/** The buttons that demo-words.js offers by name; `origin` is what to load again. */
function actionsFor(offer, origin) {
  const actions = {
    again: ['Try again', () => load(origin)],
    cpu: ['Run on the CPU', () => loadOnCpu(origin)],
    new: ['New chat', newChat],
    page: ['Reload the page', () => location.reload()],
  };
  return offer.map((name) => actions[name]);
}

/** What to do about the model: nothing where there is one, else another one. */
function wayOut(origin, freed) {
  if (current.model) return [['Close', close]];
  const again =
    freed && freed !== BUILT_IN && freed !== origin ? [[`Load ${freed.label} again`, () => load(freed)]] : [];
  const builtIn = origin === BUILT_IN ? [] : [['Use the built-in storyteller', () => load(BUILT_IN)]];
  return [...again, ...builtIn];
}

function showError(error, origin = current.origin, freed = undefined) {
  console.error(error);
  const { offer, ...words } = explain(error);
  showBox({ ...words, actions: [...actionsFor(offer, origin), ...wayOut(origin, freed)] });
}

function button(words, action, className = '') {
  const made = make('button', { type: 'button', textContent: words, className });
  made.addEventListener('click', action);
  return made;
}

// ---- loading --------------------------------------------------------------------------------------------------------

/**
 * Loads a model in place of the one there is, which is freed when the new one's header is accepted: what fails before
 * (an address, a download that does not begin, another kind of file) leaves model and chat as they were. A newer call
 * cancels an older one.
 */
async function load(origin) {
  loading?.abort();
  const mine = new AbortController();
  loading = mine;
  await running?.stop();
  if (loading !== mine) return;
  showLoading(origin.label);
  const options = loadOptions();
  let freed;
  const onProgress = (progress) => {
    if (progress.loaded > 0) freed ??= freeModel(origin.label);
    showProgress(progress);
  };
  try {
    const model = await WasmModel.load(origin.source, { ...options, signal: mine.signal, onProgress });
    if (loading !== mine) return await model.free();
    loading = undefined;
    takeModel({ model, origin, options });
  } catch (error) {
    if (loading !== mine) return; // the newer load speaks now
    loading = undefined;
    showLoadFailure(error, { origin, freed, cancelled: mine.signal.aborted });
  }
}

function loadOnCpu(origin) {
  applySettings({ 'backend-choice': 'cpu' });
  load(origin);
}

/** Makes room for the model `label`. Returns where the freed one came from; nothing where there was none. */
function freeModel(label) {
  if (!current.model) return undefined;
  void current.model.free();
  current.model = undefined;
  showNoModel(label);
  return current.origin;
}

function takeModel({ model, origin, options }) {
  freeModel(origin.label); // where the load reported no progress
  const sameOrigin = current.origin === undefined || keyOf(current.origin) === keyOf(origin);
  Object.assign(current, { model, origin, options });
  if (!sameOrigin) newChat();
  remember({ model: whereFrom(origin), turns });
  showModel(model, origin);
  settle();
}

const stillLoaded = () => current.model && `${current.origin.label} is still loaded, and your chat is as it was.`;

function showLoadFailure(error, { origin, freed, cancelled }) {
  const lost = freed && `${freed.label} had to make room for it and is no longer loaded.`;
  const fate = stillLoaded() ?? lost ?? '';
  if (cancelled) {
    const actions = [...(current.model ? [] : actionsFor(['again'], origin)), ...wayOut(origin, freed)];
    showBox({ title: 'Loading was cancelled', advice: fate || 'No model is loaded.', actions, calm: true });
    return;
  }
  showError(error, origin, freed);
  $('error-advice').append(fate && ` ${fate}`);
}

// ---- where models come from -----------------------------------------------------------------------------------------

/** How an origin is remembered: by address, or by the name of a file. */
function whereFrom({ source, label, story }) {
  if (story) return { builtIn: true };
  return typeof source === 'string' ? { url: source, label } : { file: label };
}

const keyOf = (origin) => JSON.stringify(whereFrom(origin));

/** Files from the picker or a drop: one, or all parts of a split model. */
function loadFiles(files) {
  if (files.length === 0) return;
  load({ source: files.length === 1 ? files[0] : files, label: wholeName(files[0].name) });
}

/** The name without the number of a part. */
const wholeName = (name) => name.replace(/-\d{5}-of-\d{5}(?=\.gguf$)/i, '');
const labelOf = (url) => wholeName(decodeURIComponent(new URL(url, location.href).pathname.split('/').pop())) || url;

/** A typed address as an origin; nothing where it is none. */
function originOf(url) {
  try {
    return { source: new URL(url, location.href).href, label: labelOf(url) };
  } catch {
    return undefined;
  }
}

function loadUrl(url) {
  const origin = originOf(url);
  if (origin) return load(origin);
  const advice = ['Give the whole address of a GGUF file: https://…/model.gguf.', stillLoaded()]
    .filter(Boolean)
    .join(' ');
  showBox({ title: `${url} is not a web address`, advice, actions: wayOut() });
}

/** Where the model of the last visit came from. */
function originFrom({ builtIn, url, label, file }) {
  if (builtIn) return BUILT_IN;
  return url ? { source: url, label } : { label: file };
}

/** The model that the page's address names or that of the last visit, with its chat; else the built-in one. */
function loadFirst() {
  const { model, settings, turns: kept } = recall();
  const { model: asked, backend, context } = Object.fromEntries(query);
  const wanted = { 'backend-choice': backend, context };
  applySettings({
    ...settings,
    ...Object.fromEntries(Object.entries(wanted).filter(([, text]) => text !== undefined)),
  });
  const origin = model && originFrom(model);
  if (origin && (!asked || originOf(asked)?.source === origin.source)) {
    current.origin = origin;
    restoreChat(kept);
  }
  if (asked) loadUrl(asked);
  else if (origin && !origin.source) showMissingFile(origin.label);
  else load(origin ?? BUILT_IN);
}

function showMissingFile(name) {
  showBox({
    title: `Choose ${name} again`,
    advice:
      'This chat was with a file from your device, which the page cannot open by itself. Choose it again to go on.',
    actions: [
      ['Choose the file', () => $('file').click()],
      ['Use the built-in storyteller', () => load(BUILT_IN)],
    ],
    calm: true,
  });
}

// ---- the model on the page ------------------------------------------------------------------------------------------

function showLoading(label) {
  closeBox();
  $('loading-name').textContent = label;
  $('loading-words').textContent = 'starting';
  $('loading-bar').removeAttribute('value');
  $('reload').hidden = true;
  if (!current.model) showNoModel(label);
  togglePanel(false);
  setState('loading');
  $('loading').scrollIntoView({ block: 'nearest' });
}

function showProgress(progress) {
  $('loading-words').textContent = progressWords(progress);
  if (!progress.fraction) $('loading-bar').removeAttribute('value');
  else $('loading-bar').value = progress.fraction;
}

function cancelLoading() {
  $('loading-words').textContent = 'cancelling';
  loading?.abort();
}

/** What the model is for, which decides words and how answers are shown. */
function kindOf({ info }, origin) {
  if (origin.story) return 'story';
  return info.hasChatTemplate ? 'chat' : 'text';
}

function showModel(model, origin) {
  const kind = kindOf(model, origin);
  root.toggleAttribute('data-story', kind === 'story');
  $('model-name').textContent = origin.label;
  showFacts(model.info);
  const use = USES[kind];
  $('welcome').querySelector('h1').textContent = use.title;
  $('welcome-text').textContent = use.about(model.info.name ?? origin.label);
  $('prompt').placeholder = use.placeholder;
  $('prompt-label').textContent = use.label;
  $('examples').replaceChildren(...use.examples.map(example));
  $('status').textContent = `${origin.label} is ready`;
  offerReload();
}

function showNoModel(label) {
  $('model-name').textContent = label;
  showFacts();
}

/** The model card; without `info` it is empty. */
function showFacts(info) {
  const rows = info ? factsOf(info) : [['Runs on', '–', 'backend']];
  $('facts').replaceChildren(...rows.map(fact));
  fillTags('features', info?.features ?? []);
  fillTags('variants', info?.variants ?? []);
  $('features-card').hidden = !info?.variants.length;
  $('speed').textContent = $('first-token').textContent = '–';
}

function fact([words, value, id]) {
  const definition = make('dd', { textContent: value });
  if (id) definition.id = id;
  return make('div', {}, make('dt', { textContent: words }), definition);
}

function fillTags(id, names) {
  const tags = names.length > 0 ? names : ['none'];
  $(id).replaceChildren(...tags.map((name) => make('li', { textContent: name })));
}

function example(words) {
  return make(
    'li',
    {},
    button(words, () => send(words)),
  );
}

/** Context length and backend are fixed when a model is loaded. */
function offerReload() {
  const { backend, contextLength } = loadOptions();
  const same = current.options?.backend === backend && current.options.contextLength === contextLength;
  $('reload').hidden = !current.model || same;
}

// ---- conversation ---------------------------------------------------------------------------------------------------

function newChat() {
  running?.stop();
  turns = [];
  $('log').replaceChildren();
  $('welcome').hidden = false;
  remember({ turns });
  if (current.model) close();
}

function restoreChat(kept) {
  turns = kept.map((data) => new Turn(data));
  $('log').replaceChildren(...turns.map((turn) => turn.root));
}

function clearAll() {
  newChat();
  $('options').reset();
  forget();
  $('status').textContent = 'Chat and settings are cleared';
  flash($('forget'), 'Cleared');
}

/** What goes to the model for a turn: messages where it has a template, else the bare text. */
function promptFor(turn) {
  if (!current.model.info.hasChatTemplate) return turn.user;
  const system = systemPrompt();
  const messages = system ? [{ role: 'system', content: system }] : [];
  // Every story stands for itself; a message that was stopped before its answer began was none.
  const before = current.origin.story ? [] : turns.slice(0, turns.indexOf(turn)).filter(({ answer }) => answer);
  for (const { user, answer } of before) {
    messages.push({ role: 'user', content: user }, { role: 'assistant', content: answer });
  }
  return [...messages, { role: 'user', content: turn.user }];
}

const canWrite = () => current.model && !running && !loading;

async function send(text) {
  if (!canWrite() || text.trim() === '') return;
  const turn = new Turn({ user: text });
  turns.push(turn);
  $('log').append(turn.root);
  $('prompt').value = '';
  await write(turn, () => {
    turn.root.remove();
    turns = turns.filter((other) => other !== turn);
    $('prompt').value ||= text;
  });
}

/** Writes the last answer anew. */
async function regenerate(turn) {
  if (!canWrite()) return;
  const { answer, meta, plain } = turn.toJSON();
  await write(turn, () => {
    Object.assign(turn, { meta, plain });
    turn.finish(answer);
  });
}

/** Lets the model answer a turn; `undo` is called where it fails before it has written anything. */
async function write(turn, undo) {
  closeBox();
  turn.plain = kindOf(current.model, current.origin) === 'text';
  turn.begin(drawAtEnd);
  setState('generating');
  follow(true);
  try {
    running = current.model.generate(promptFor(turn), generateOptions());
    const result = await stream(running, turn);
    running = undefined;
    drawAtEnd(() => {
      turn.finish(result.text);
      showResult(result, turn);
    });
    settle();
  } catch (error) {
    running = undefined;
    turn.finish(turn.written);
    if (turn.answer === '') undo();
    showError(error);
  }
  if (turns.includes(turn)) remember({ turns });
}

/** Writes the text as it comes. */
async function stream(generation, turn) {
  const begun = performance.now();
  let count = 0;
  let first = 0;
  for await (const piece of generation) {
    first ||= performance.now();
    count += piece.ids.length;
    turn.write(piece.text);
    const seconds = (performance.now() - first) / 1000;
    if (seconds > 0.3) showSpeed(count, (count - 1) / seconds, turn);
    $('first-token').textContent = Math.round(first - begun);
  }
  return generation.result;
}

function showSpeed(count, tokensPerSecond, turn) {
  turn.meta = `${count} tokens · ${rate(tokensPerSecond)} tokens/s`;
  $('speed').textContent = rate(tokensPerSecond);
}

function showResult(result, turn) {
  const { tokensPerSecond, timeToFirstTokenMs } = result.timings;
  turn.meta = resultWords(result);
  if (tokensPerSecond > 0) $('speed').textContent = rate(tokensPerSecond);
  if (timeToFirstTokenMs > 0) $('first-token').textContent = Math.round(timeToFirstTokenMs);
  $('status').textContent = result.finishReason === 'abort' ? 'Stopped' : 'The answer is complete';
}

const isAtEnd = () => root.scrollHeight - root.scrollTop - root.clientHeight < 80;

/** Keeps the end in sight, unless somebody scrolled up to read. */
function follow(atEnd) {
  if (atEnd) root.scrollTop = root.scrollHeight;
}

function drawAtEnd(draw) {
  const atEnd = isAtEnd();
  draw();
  follow(atEnd);
}

/** Says for a moment on a button what came of it. */
function flash(target, words) {
  const text = target.querySelector('span') ?? target;
  target.dataset.words ??= text.textContent;
  text.textContent = words;
  setTimeout(() => {
    text.textContent = target.dataset.words;
  }, 1500);
}

async function copy(target, text) {
  const words = await copyText(text).then(
    () => 'Copied',
    () => 'Not allowed',
  );
  flash(target, words);
  $('status').textContent = words === 'Copied' ? 'Copied' : 'The browser does not allow copying';
}

// ---- wiring ---------------------------------------------------------------------------------------------------------

function wireLog() {
  $('log').addEventListener('click', ({ target }) => {
    const pressed = target.closest('button');
    const turn = pressed && turns.find(({ root: box }) => box.contains(pressed));
    if (!turn) return;
    if (pressed.matches('.copy')) copy(pressed, turn.answer);
    if (pressed.matches('.copy-code')) copy(pressed, pressed.closest('.code').querySelector('code').textContent);
    if (pressed.matches('.again')) regenerate(turn);
  });
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
  $('stop').addEventListener('click', () => running?.stop());
  $('new-chat').addEventListener('click', () => {
    newChat();
    $('prompt').focus();
  });
}

/** Escape ends what goes on, and closes the box. */
function onKey(event) {
  if (event.key !== 'Escape' || event.isComposing) return;
  if (loading) cancelLoading();
  else if (running) running.stop();
  else if (current.model && !$('error').hidden) close();
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
  $('loading-cancel').addEventListener('click', cancelLoading);
  $('reload').addEventListener('click', () => load(current.origin));
  $('forget').addEventListener('click', clearAll);
  $('options').addEventListener('submit', (event) => event.preventDefault());
  $('options').addEventListener('change', () => remember({ settings: currentSettings() }));
  $('options').addEventListener('reset', () => remember({ settings: {} }));
  for (const event of ['input', 'reset']) $('options').addEventListener(event, () => setTimeout(offerReload));
  $('toggle-panel').addEventListener('click', () => togglePanel());
}

function wirePage() {
  addEventListener('keydown', onKey);
  addEventListener('focusin', ({ target }) => {
    focused = target;
  });
  // An answer that is being written is kept as far as it came.
  addEventListener('pagehide', () => {
    if (running) remember({ turns });
  });
}

/** On a narrow page the panel takes the place of the conversation. */
function togglePanel(wanted) {
  const open = $('panel').classList.toggle('open', wanted);
  $('toggle-panel').setAttribute('aria-expanded', String(open));
  $('toggle-panel').textContent = open ? 'Chat' : 'Model';
  if (open) scrollTo(0, 0);
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
wireLog();
wireComposer();
wireModel();
wirePage();
wireDrop();
$('examples').replaceChildren(...USES.story.examples.map(example));
showNoModel('none');
loadFirst();
