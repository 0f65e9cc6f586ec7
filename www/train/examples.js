// The table of examples: what they are, how the model reads them, and how many tokens they have.

import { encodeExamples, readExamples } from '../../dist/training/index.js';
import { $, announce, button, confirmed, make } from '../demo/dom.js';
import { editorOf, lastText, textOf } from './editor.js';
import { markedText, stretchesOf } from './marked.js';
import { SAMPLE, SAMPLE_TEXTS } from './sample.js';
import { current, hideError, showError } from './state.js';

/** Rows that are shown at first, and more each time. */
const PAGE = 30;
/** How many examples are encoded between two looks at the page. */
const AT_ONCE = 16;

/**
 * `encoded`: as ids; `error`: why it is none; both are undefined while it is not known.
 * @type {{example: import('../../dist/training/index.js').Example, encoded?: object, error?: Error}[]}
 */
let rows = [];
let shown = PAGE;
/** The row that is being edited. */
let edited;
/** Whether nobody has changed the examples that come with the page. */
let isSample = false;
/** The number of the newest pass over the rows. */
let pass = 0;
let passing = Promise.resolve();

/** Set by train.js: called when examples or their tokens have changed; `edited` when a person has changed examples. */
export const hooks = { changed: () => {}, edited: () => {}, length: () => 512 };

/** Examples that can be learned. */
export const usable = () => rows.filter(({ error }) => !error).map(({ example }) => example);

/** Whether a row is open, whose text is not taken yet. */
export const isEditing = () => rows.includes(edited);

/** Resolves once the tokens of all rows are counted. */
export async function counted() {
  for (let seen; seen !== passing; await seen) seen = passing;
}

/** The examples of a person's own, to be kept; nothing where there are none but the sample. */
export const draft = () => (isSample ? undefined : rows.filter(({ isNew }) => !isNew).map(({ example }) => example));

/** Puts examples into the table that were kept. */
export function restore(examples) {
  rows = examples.map((example) => ({ example }));
  isSample = false;
  show();
}

/** Another model reads otherwise; the sample follows what it takes. */
export function useModel() {
  const { hasChatTemplate } = current.model.info;
  if (rows.length === 0 || isSample) takeSample(hasChatTemplate);
  else recount();
}

/** Counts all tokens again, such as for another length. */
export function recount() {
  for (const row of rows) Object.assign(row, { encoded: undefined, error: undefined, stretches: undefined });
  show();
}

function takeSample(isChat) {
  rows = (isChat ? SAMPLE : SAMPLE_TEXTS).map((example) => ({ example }));
  isSample = true;
  hooks.edited();
  show();
}

function add(examples) {
  if (isSample) rows = [];
  isSample = false;
  rows.push(...examples.map((example) => ({ example })));
  announce(`${examples.length} examples added`);
  hooks.edited();
  show();
}

/** Reads files; one that is wrong does no harm to the others. */
export async function addFiles(files) {
  hideError();
  for (const file of files) {
    try {
      add(await readExamples(file, file.name));
    } catch (error) {
      showError(error, `${file.name} has no examples that can be read`);
    }
  }
}

async function addPasted() {
  hideError();
  try {
    add(await readExamples($('paste').value));
    $('paste').value = '';
  } catch (error) {
    showError(error, 'This text has no examples that can be read');
  }
}

/** A new row, whose fields are open. */
function addEmpty(example) {
  if (isSample) rows = [];
  isSample = false;
  rows.unshift({ example, isNew: true });
  edit(rows[0]);
}

function edit(row) {
  edited = row;
  show();
}

function endEdit(row, example) {
  edited = undefined;
  const at = rows.indexOf(row);
  if (example !== undefined) {
    rows[at] = { example };
    isSample = false;
  } else if (row.isNew) rows.splice(at, 1);
  hooks.edited();
  show();
  ($('rows').querySelectorAll('.edit')[Math.min(at, shown - 1)] ?? $('add-chat')).focus();
}

function remove(row) {
  const at = rows.indexOf(row);
  rows.splice(at, 1);
  isSample = false;
  announce('Removed');
  hooks.edited();
  show();
  ($('rows').querySelectorAll('.remove')[Math.min(at, rows.length - 1)] ?? $('add-chat')).focus();
}

function removeAll() {
  rows = [];
  isSample = false;
  announce('All examples are removed');
  hooks.edited();
  show();
  $('add-chat').focus();
}

// ---- the table ------------------------------------------------------------------------------------------------------

function show() {
  const visible = rows.slice(0, shown);
  const empty = make(
    'tr',
    { className: 'empty' },
    make('td', { colSpan: 2 }, 'Nothing here yet: add a question and the answer you want, a text, or a file.'),
  );
  const editor = { focus: () => {} };
  $('rows').replaceChildren(...(visible.length > 0 ? visible.map((row, at) => rowOf(row, at, editor)) : [empty]));
  const rest = rows.length - visible.length;
  $('more-rows').hidden = rest <= 0;
  $('more-rows').textContent = `Show ${Math.min(rest, PAGE)} of ${rest} more`;
  $('remove-all').hidden = rows.length === 0;
  $('sample').hidden = isSample;
  $('examples-hint').textContent = isSample
    ? 'Twenty answers about a hero named Quillo come with the page. Try them, or bring your own: they take their place.'
    : '';
  $('examples-hint').hidden = !isSample;
  editor.focus();
  passing = encode();
}

function rowOf(row, at, editor) {
  const text = make('div', {});
  const tokens = make('td', { className: 'tokens' });
  row.cells = { text, tokens };
  if (row === edited) {
    const made = editorOf(row.example, (example) => endEdit(row, example));
    editor.focus = made.focus;
    return make('tr', {}, make('td', { className: 'edited', colSpan: 2 }, made.element));
  }
  const change = button('Edit', () => edit(row), 'link edit');
  change.ariaLabel = `Edit example ${at + 1}`;
  const drop = button('Remove', () => remove(row), 'link remove');
  drop.ariaLabel = `Remove example ${at + 1}`;
  fill(row);
  return make('tr', {}, make('td', {}, text, make('p', { className: 'row-actions' }, change, drop)), tokens);
}

/** Puts what is known of a row into its cells. */
function fill({ cells, example, stretches, encoded, error }) {
  const text = stretches ? markedText(stretches) : make('p', { className: 'read' }, plainText(example));
  const other = example.rejected
    ? [make('p', { className: 'rejected' }, make('span', {}, 'rather than: '), lastText(example.rejected))]
    : [];
  const wrong = error ? [make('p', { className: 'wrong' }, reasonOf(error))] : [];
  cells.text.replaceChildren(text, ...other, ...wrong);
  cells.tokens.replaceChildren(...tokensOf({ encoded, error }));
}

function tokensOf({ encoded, error }) {
  if (error) return ['–'];
  if (!encoded) return ['…'];
  const { ids, learned, cut } = encoded;
  const words = [ids.length.toLocaleString('en')];
  if (cut > 0) words.push(make('small', {}, `${cut} cut`));
  if (!learned.includes(1)) words.push(make('small', {}, 'nothing to learn'));
  return words;
}

const reasonOf = ({ message }) => message.replace(/^encodeExamples: (examples\[0\]: )?/, '');

function plainText(example) {
  if (typeof example === 'string') return example;
  if (example.messages) return example.messages.map(({ content }) => textOf(content)).join('\n');
  if (example.chosen) return `${lastText(example.prompt)}\n${lastText(example.chosen)}`;
  return example.text ?? example.prompt + example.completion;
}

// ---- tokens ---------------------------------------------------------------------------------------------------------

/** Encodes the rows that are not yet; a newer call ends an older one. */
async function encode() {
  const mine = ++pass;
  const { model } = current;
  count();
  if (!model) return;
  for (const [at, row] of rows.entries()) {
    if (row === edited) continue;
    if (!row.encoded && !row.error) await encodeRow(model, row);
    if (mine !== pass) return;
    if (at < shown && row.encoded && !row.stretches) row.stretches = await stretchesOf(model, row.encoded);
    if (mine !== pass) return;
    if (at < shown) fill(row);
    if (at % AT_ONCE === AT_ONCE - 1) count();
  }
  count();
}

async function encodeRow(model, row) {
  try {
    [row.encoded] = await encodeExamples(model, [row.example], { length: hooks.length() });
  } catch (error) {
    row.error = error;
  }
}

/** Says how much there is. */
function count() {
  const known = rows.filter(({ encoded }) => encoded);
  const tokens = known.reduce((sum, { encoded }) => sum + encoded.ids.length, 0);
  const learned = known.reduce((sum, { encoded }) => sum + encoded.learned.reduce((a, b) => a + b, 0), 0);
  const wrong = rows.filter(({ error }) => error).length;
  const cut = known.filter(({ encoded }) => encoded.cut > 0).length;
  const number = (value) => value.toLocaleString('en');
  const parts = [`${number(rows.length)} ${rows.length === 1 ? 'example' : 'examples'}`];
  if (known.length > 0) parts.push(`${number(tokens)} tokens, of which ${number(learned)} are learned`);
  if (cut > 0) parts.push(`${number(cut)} lose their end`);
  if (wrong > 0) parts.push(`${number(wrong)} cannot be used`);
  if (isEditing()) parts.push('one is being edited: “Done” takes it');
  const words = rows.length > 0 ? `${parts.join(' · ')}.` : '';
  if ($('examples-status').textContent !== words) $('examples-status').textContent = words;
  hooks.changed();
}

// ---- wiring ---------------------------------------------------------------------------------------------------------

export function wireExamples() {
  const chat = () => ({
    messages: [
      { role: 'user', content: '' },
      { role: 'assistant', content: '' },
    ],
  });
  $('add-chat').addEventListener('click', () =>
    addEmpty(current.model?.info.hasChatTemplate === false ? { prompt: '', completion: '' } : chat()),
  );
  $('add-text').addEventListener('click', () => addEmpty({ text: '' }));
  $('add-pasted').addEventListener('click', addPasted);
  $('examples-file').addEventListener('change', () => {
    void addFiles([...$('examples-file').files]);
    $('examples-file').value = '';
  });
  $('more-rows').addEventListener('click', () => {
    shown += PAGE;
    show();
  });
  $('sample').addEventListener('click', () => takeSample(current.model?.info.hasChatTemplate ?? true));
  confirmed($('remove-all'), 'Remove all examples?', removeAll);
}
