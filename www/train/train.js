// The page that trains a model with examples of a person's own. This file puts the parts together: state.js holds what
// they share.

import { cache } from '../../dist/index.js';
import { $ } from '../demo/dom.js';
import { BUILT_IN, originFrom, whereFrom } from '../demo/origins.js';
import { wireAdapter } from './adapter.js';
import { clearAnswers, wireAnswers } from './answers.js';
import * as examples from './examples.js';
import { keepSoon, openKept, recall } from './kept.js';
import * as models from './model.js';
import { lookForTraining } from './resume.js';
import * as run from './run.js';
import { SAMPLE_PROMPT } from './sample.js';
import { current, hideError, listeners } from './state.js';

/** The draft of an earlier time, until its options are in the fields. */
let draft;
/** Until the draft is there: what the table holds before is nobody's. */
let isOpening = true;

models.hooks.taken = () => {
  const isKept = draft?.options && JSON.stringify(draft.model) === JSON.stringify(whereFrom(current.origin));
  if (isKept) run.fillOptions(draft.options);
  else run.suggestOptions();
  draft = undefined;
  clearAnswers({ before: true });
  examples.useModel();
  keepDraft();
};
run.hooks.load = models.load;
examples.hooks.changed = run.showRun;
examples.hooks.edited = keepDraft;
examples.hooks.length = run.lengthOption;

/** What a person has made here outlives a reload. */
function keepDraft() {
  if (isOpening) return;
  keepSoon('draft', () => ({
    examples: examples.draft(),
    // Where the model of the draft does not load, it is still the one that is wanted.
    options: draft?.options ?? run.optionValues(),
    model: draft?.model ?? (current.origin && whereFrom(current.origin)),
    prompt: $('prompt').value,
  }));
}

/** With what there was at the last visit: its model, unless that would have to be downloaded again. */
async function begin() {
  await openKept();
  draft = await recall('draft');
  if (draft?.examples) examples.restore(draft.examples);
  if (draft?.prompt) $('prompt').value = draft.prompt;
  isOpening = false;
  await lookForTraining();
  const origin = draft?.model ? originFrom(draft.model) : BUILT_IN;
  const isHere = origin.source && (origin === BUILT_IN || (await cache.has(origin.source).catch(() => false)));
  if (current.loading) return; // a person was faster
  await models.load(isHere ? origin : BUILT_IN);
}

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
run.wireRun();
wireAnswers(SAMPLE_PROMPT);
wireAdapter();
wireDrop();
listeners.add(lock);
$('length').addEventListener('change', () => examples.recount());
for (const form of ['options', 'ask-form']) $(form).addEventListener('input', keepDraft);
addEventListener('keydown', ({ key }) => {
  if (key === 'Escape') hideError();
});
// A closed tab would lose what was learned since the last save.
addEventListener('beforeunload', (event) => current.training && event.preventDefault());
if (!('tooOld' in document.documentElement.dataset)) void begin(); // start.js has said why
