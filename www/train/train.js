// The page that trains a model with examples of a person's own. This file puts the parts together: state.js holds what
// they share.

import { $ } from '../demo/dom.js';
import { BUILT_IN } from '../demo/origins.js';
import { wireAdapter } from './adapter.js';
import { clearAnswers, wireAnswers } from './answers.js';
import * as examples from './examples.js';
import * as models from './model.js';
import { lengthOption, showRun, suggestOptions, wireRun } from './run.js';
import { SAMPLE_PROMPT } from './sample.js';
import { current, hideError, listeners } from './state.js';

models.hooks.taken = () => {
  suggestOptions();
  clearAnswers({ before: true });
  examples.useModel();
};
examples.hooks.changed = showRun;
examples.hooks.length = lengthOption;

/** While the model learns, model and examples stay as they are. */
function lock() {
  const isTraining = Boolean(current.training);
  for (const id of [
    'add-chat',
    'add-text',
    'add-pasted',
    'load-catalogue',
    'examples-file',
    'model-file',
    'sample',
    'remove-all',
  ]) {
    $(id).disabled = isTraining;
  }
  for (const each of document.querySelectorAll('#url-form button, #rows button')) each.disabled = isTraining;
}

/** Files that were dropped: a model, or examples. */
function takeFiles(files) {
  const gguf = files.filter(({ name }) => /\.gguf$/i.test(name));
  if (current.training) return;
  if (gguf.length > 0) models.loadFiles(gguf);
  else void examples.addFiles(files);
}

function wireDrop() {
  let depth = 0;
  const hint = (change) => {
    depth = change === 0 ? 0 : Math.max(0, depth + change);
    $('drop-hint').hidden = depth === 0;
  };
  const carriesFiles = ({ dataTransfer }) => dataTransfer?.types.includes('Files');
  addEventListener('dragenter', (event) => carriesFiles(event) && hint(1));
  addEventListener('dragleave', (event) => carriesFiles(event) && hint(-1));
  addEventListener('dragover', (event) => carriesFiles(event) && event.preventDefault());
  addEventListener('drop', (event) => {
    hint(0);
    if (!carriesFiles(event)) return;
    event.preventDefault();
    takeFiles([...event.dataTransfer.files]);
  });
}

models.wireModel();
examples.wireExamples();
wireRun();
wireAnswers(SAMPLE_PROMPT);
wireAdapter();
wireDrop();
listeners.add(lock);
$('length').addEventListener('change', () => examples.recount());
addEventListener('keydown', ({ key }) => {
  if (key === 'Escape') hideError();
});
// A closed tab would lose what is being learned.
addEventListener('beforeunload', (event) => current.training && event.preventDefault());
if (!('tooOld' in document.documentElement.dataset)) void models.load(BUILT_IN); // start.js has said why
