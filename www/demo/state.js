// What the page holds and where it stands. `data-state` of the root element says it: loading, ready, generating, error,
// or empty (no model, and nothing went wrong).

import { $, button, make } from './dom.js';
import { oneLine } from './one-line.js';

const root = document.documentElement;

/**
 * The model on the page, where it came from and with which options; `model` is undefined while there is none.
 * `marks` says how it marks its thoughts, see `marksOf`. `loading` cancels the load that goes on, `download`
 * pauses it, `running` is the generation that goes on.
 * @type {{model?: import('../../dist/index.js').WasmModel, origin?: import('./origins.js').Origin, options?: object,
 *   marks?: object, loading?: AbortController, download?: import('../../dist/index.js').DownloadControl,
 *   running?: import('../../dist/index.js').Generation}}
 */
export const current = {};

export function setState(state) {
  root.dataset.state = state;
  const generating = state === 'generating';
  const idle = Boolean(current.model) && !generating && state !== 'loading';
  $('stop').hidden = !generating;
  $('send').hidden = generating;
  $('send').disabled = !idle;
  $('log').setAttribute('aria-busy', String(generating));
  for (const each of document.querySelectorAll('#examples button, .again')) each.disabled = !idle;
  $('welcome').hidden = $('log').childElementCount > 0;
  keepFocus(state);
}

/** After a load or an answer. A load that goes on speaks for itself. */
export function settle() {
  if (!current.loading) setState(current.model ? 'ready' : 'empty');
}

export const canWrite = () => current.model && !current.running && !current.loading;

// ---- focus ----------------------------------------------------------------------------------------------------------

/** The element that had the focus last, also when it was hidden since. */
let focused;

addEventListener('focusin', ({ target }) => {
  focused = target;
});

const isUsable = (element) => element.isConnected && element.checkVisibility() && !element.disabled;

/** Where the focused element was hidden, disabled or removed, the focus goes to what is of use now. */
export function keepFocus(state = root.dataset.state) {
  if (!focused || isUsable(focused)) return;
  const after = { loading: 'loading-cancel', generating: 'stop' }[state];
  const action = $('error').hidden ? null : $('error-actions').querySelector('button');
  // On a touch screen a focused text field opens the keyboard.
  const field = matchMedia('(pointer: coarse)').matches && !$('send').disabled ? $('send') : $('prompt');
  (after ? $(after) : (action ?? field)).focus({ preventScroll: true });
}

// ---- the box for errors and notes -----------------------------------------------------------------------------------

/** Characters of a message from elsewhere that are shown. */
const LONGEST_MESSAGE = 600;

/**
 * Shows what happened and what can be done: `actions` are pairs of words and function; `code` and `message` are for a
 * bug report, `calm` is for what is no error; `files` are those that a download would be of, see `NamedFile`.
 */
export function showBox({ title, advice, code, message, actions, files = [], calm = false }) {
  $('error').classList.toggle('calm', calm);
  $('error-title').textContent = title;
  $('error-advice').textContent = advice;
  $('error-code').textContent = code ?? '';
  $('error-message').textContent = oneLine(message, LONGEST_MESSAGE);
  $('error-files').replaceChildren(...files.map(namedFile));
  $('error-files').hidden = files.length === 0;
  $('error-detail').hidden = !code;
  $('error-actions').replaceChildren(...actions.map(([words, action]) => button(words, action, 'quiet')));
  $('error').hidden = false;
  showView('chat');
  if (!current.loading && !current.running) setState(calm ? (current.model ? 'ready' : 'empty') : 'error');
  // All of the box, and as much of the composer below it as there is room for.
  $('composer').scrollIntoView({ block: 'end' });
  $('error').scrollIntoView({ block: 'nearest' });
}

const namedFile = ({ what, host, path }) => {
  const address = make('dd', {}, make('strong', {}, host), ' ', make('code', {}, path));
  return make('div', {}, make('dt', {}, what), address);
};

export function hideBox() {
  $('error').hidden = true;
}

export function closeBox() {
  hideBox();
  if (!current.running) settle();
}

// ---- views ----------------------------------------------------------------------------------------------------------

/** Where there is no room for all side by side: `chat`, `chats` or `panel`. */
export function showView(view) {
  if ($('models').open) $('models').close();
  root.dataset.view = view;
  for (const [id, shown] of [
    ['toggle-chats', 'chats'],
    ['toggle-panel', 'panel'],
  ]) {
    $(id).setAttribute('aria-expanded', String(view === shown));
  }
  if (view !== 'chat') scrollTo(0, 0);
}

export const toggleView = (view) => showView(root.dataset.view === view ? 'chat' : view);
