// The page of results.html: rows of measured.jsonl and the row of a link in one table, sorted and chosen by model.
// `data-state` of the root element is `loading`, `ready` or `error`.

import { figure } from '../bench/report.js';
import { $, copy, make } from '../demo/dom.js';
import { formOf, lineOf, readRows, REPOSITORY, rowIn, sorted } from './rows.js';

const NONE = '–';
const root = document.documentElement;
/** What is shown: rows of the file, the row of the link, and the order. */
const shown = { rows: [], linked: undefined, order: { field: 'decode', isFalling: true } };

// ---- cells ----------------------------------------------------------------------------------------------------------

/** A number, or from the least to the most. */
function numbers(value, scale = 1) {
  if (value === undefined) return NONE;
  const [least, most = least] = [value].flat().map((one) => figure(one * scale));
  return least === most ? least : `${least}–${most}`;
}

const small = (textContent) => make('span', { className: 'small', textContent });
const link = (href, textContent) => make('a', { href, textContent });

/** Where a row comes from. */
function sourceOf(row) {
  if (row === shown.linked) return [make('span', { className: 'mark' }, 'this link'), small('not checked')];
  if (row.issue) return [link(`${REPOSITORY}/issues/${row.issue}`, `sent in, ${row.issue}`)];
  return [link(`${REPOSITORY}/blob/main/docs/records/${row.record}`, 'ours'), small('by the project')];
}

/** Columns: the field they are sorted by, their words, what a cell holds, and its class. */
const COLUMNS = [
  { field: 'model', words: 'Model', cell: ({ model }) => [model] },
  { field: 'type', words: 'Type', cell: ({ type }) => [type] },
  { field: 'decode', words: 'Decode', cell: ({ decode }) => [numbers(decode)], className: 'number' },
  { field: 'prefill', words: 'Prefill', cell: ({ prefill }) => [numbers(prefill)], className: 'number' },
  { field: 'load_ms', words: 'Load, s', cell: ({ load_ms }) => [numbers(load_ms, 1e-3)], className: 'number' },
  {
    field: 'prompt',
    words: 'Tokens',
    cell: ({ prompt, predict }) => [`${figure(prompt)} + ${figure(predict)}`],
    className: 'number',
  },
  {
    field: 'device',
    words: 'Device',
    cell: ({ device, features }) => [device, ...(features ? [small(features)] : [])],
    className: 'wide',
  },
  { field: 'browser', words: 'Browser', cell: ({ browser }) => [browser], className: 'wide' },
  { field: 'date', words: 'Date', cell: ({ date }) => [date], className: 'day' },
  { words: 'From', cell: sourceOf },
];

// ---- the table ------------------------------------------------------------------------------------------------------

/** Sorts by a field: the other way round where it is sorted by it already. Numbers and dates begin with the most. */
function sortBy(field) {
  const { order } = shown;
  const isText = ['model', 'type', 'device', 'browser'].includes(field);
  shown.order = { field, isFalling: order.field === field ? !order.isFalling : !isText };
  draw();
}

function makeHead() {
  const cells = COLUMNS.map(({ field, words, className = '' }) => {
    const cell = make('th', { scope: 'col', className: className === 'number' ? className : '' });
    if (!field) cell.append(words);
    else {
      const button = make('button', { type: 'button', textContent: words });
      button.addEventListener('click', () => sortBy(field));
      cell.dataset.field = field;
      cell.append(button);
    }
    return cell;
  });
  $('head').replaceChildren(...cells);
}

function rowElement(row) {
  const cells = COLUMNS.map(({ words, cell, className = '' }, i) => {
    const made = make(i === 0 ? 'th' : 'td', { className, ...(i === 0 && { scope: 'row' }) }, ...cell(row));
    made.dataset.words = words; // where there is no room for columns
    return made;
  });
  return make('tr', { className: row === shown.linked ? 'theirs' : '' }, ...cells);
}

function draw() {
  const { rows, linked, order } = shown;
  for (const cell of $('head').children) {
    if (cell.dataset.field !== order.field) cell.removeAttribute('aria-sort');
    else cell.setAttribute('aria-sort', order.isFalling ? 'descending' : 'ascending');
  }
  const wanted = $('model').value;
  const chosen = rows.filter(({ model }) => wanted === '' || model === wanted);
  $('rows').replaceChildren(...sorted([...(linked ? [linked] : []), ...chosen], order).map(rowElement));
  const count = chosen.length === rows.length ? `${rows.length} results` : `${chosen.length} of ${rows.length} results`;
  $('count').textContent = linked ? `${count}, and that of this link` : count;
}

function makeChoice() {
  const names = [...new Set(shown.rows.map(({ model }) => model))].sort((a, b) => a.localeCompare(b, 'en'));
  $('model').append(...names.map((name) => make('option', { value: name, textContent: name })));
  $('model').addEventListener('change', draw);
}

// ---- the link -------------------------------------------------------------------------------------------------------

function showError(title, message) {
  $('error').hidden = title === '';
  $('error-title').textContent = title;
  $('error-message').textContent = message;
}

function showLinked(row) {
  $('linked').hidden = !row;
  if (!row) return;
  const { model, type, device, browser, date, decode, prefill } = row;
  $('linked-title').textContent = `${model} ${type}, ${device}`;
  $('linked-words').textContent =
    `Decode ${numbers(decode)}, prefill ${numbers(prefill)} tokens/s · ${browser} · ${date}`;
  $('form').href = formOf(row);
  $('line').textContent = lineOf(row);
}

/** Reads the row of the address, or says what is wrong with it. */
function readLink() {
  shown.linked = undefined;
  try {
    shown.linked = rowIn(location.hash);
    showError('', '');
  } catch (error) {
    showError('The result of this link is not shown', `It cannot be one of bench.html: ${error.message}.`);
  }
  showLinked(shown.linked);
  draw();
}

// ---- start ----------------------------------------------------------------------------------------------------------

async function fetchRows() {
  const response = await fetch(new URL('measured.jsonl', import.meta.url));
  if (!response.ok) throw new Error(`measured.jsonl: the server answers ${response.status}`);
  return readRows(await response.text());
}

$('copy').addEventListener('click', ({ target }) => copy(target, lineOf(shown.linked)));
addEventListener('hashchange', readLink);
makeHead();
try {
  shown.rows = await fetchRows();
  const sent = shown.rows.filter(({ issue }) => issue).length;
  $('whose').textContent =
    sent === 0
      ? 'All results are ours so far: nobody has sent one in.'
      : `${sent} of these results were sent in, the others are ours.`;
  makeChoice();
  readLink();
  root.dataset.state = 'ready';
} catch (error) {
  showError('The results could not be fetched', error.message);
  $('count').textContent = '';
  root.dataset.state = 'error';
}
