// What the page holds and where it stands. `data-state` of the root element says it: loading, empty (no model), ready
// or training.

import { $, button } from '../demo/dom.js';
import { explain } from '../demo/words.js';

const root = document.documentElement;

/**
 * The model with where it came from; `loading` cancels the load that goes on; `training` is what trains now; `adapter`
 * what was learned or loaded last: its number in the model, its file, and words for it.
 * @type {{model?: import('../../dist/index.js').WasmModel, origin?: import('../demo/origins.js').Origin,
 *   loading?: AbortController, training?: object, adapter?: {id: number, file: Blob, name: string}}}
 */
export const current = {};

/** Called whenever the state changes. */
export const listeners = new Set();

export function setState(state) {
  root.dataset.state = state;
  for (const listener of listeners) listener(state);
}

/** After a load, a training or an error. */
export function settle() {
  if (current.training) setState('training');
  else if (!current.loading) setState(current.model ? 'ready' : 'empty');
}

// ---- the box for errors ---------------------------------------------------------------------------------------------

/** Advice for what goes wrong here, in place of that of the demo. */
const ADVICE = {
  invalid_argument: 'What the page was given does not suit: the line below says what.',
  out_of_memory: 'Take fewer sequences at once, shorter ones or a lower rank; or close other tabs.',
  device_lost: 'The driver was reset, the computer was asleep, or memory ran out. Load the model again to go on.',
  bad_file: 'It may be incomplete, of another kind, or an adapter of another model.',
};

/** Shows an error with `title`; `actions` are pairs of words and function. */
export function showError(error, title, actions = []) {
  console.error(error);
  const { code, message, ...words } = explain(error);
  $('error-title').textContent = title ?? words.title;
  $('error-advice').textContent = ADVICE[code] ?? words.advice;
  $('error-code').textContent = code;
  $('error-message').textContent = message;
  const close = ['Close', hideError];
  $('error-actions').replaceChildren(...[...actions, close].map(([text, action]) => button(text, action, 'quiet')));
  $('error').hidden = false;
  $('error').scrollIntoView({ block: 'nearest' });
}

export function hideError() {
  $('error').hidden = true;
}
