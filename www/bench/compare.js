// Results side by side: a table with the spread of runs and what has changed, and the points of charts. Needs no
// browser: `npm run bench -- --compare` prints the same table.

import { figure, nameOf } from './report.js';
import { browserOf, dayOf } from './results.js';

const NONE = '–';

/** Least, middle and most of some numbers; nothing where there is none. */
export function spreadOf(values, middle) {
  const known = values.filter(Number.isFinite);
  if (!Number.isFinite(middle) || known.length === 0) return undefined;
  return { least: Math.min(...known), middle, most: Math.max(...known), count: known.length };
}

const spreadIn = ({ runs, median }, name) =>
  spreadOf(
    runs.map((run) => run[name]),
    median[name],
  );
const single = (value) => spreadOf([value], value);

/** What is measured at a point of a curve. */
const atLength = (row) => [
  [`prefill of ${figure(row.prompt_n)}`, spreadIn(row, 'pp')],
  [`decode after ${figure(row.prompt_n)}`, spreadIn(row, 'tg')],
];
const ofSequences = (row) => [
  [`${row.sequences} ${row.sequences === 1 ? 'sequence' : 'sequences together'}`, spreadIn(row, 'tg')],
];

/** Everything that was measured: pairs of a name, with the unit where that is not "per second", and a spread. */
function measured(result) {
  const { info, load_ms, per_token, lengths = [], sequences = [] } = result;
  const speed = info.pooling
    ? [
        ['texts per second', spreadIn(result, 'texts_per_second')],
        ['tokens', spreadIn(result, 'pp')],
      ]
    : [
        ['decode', spreadIn(result, 'tg')],
        ['prefill', spreadIn(result, 'pp')],
        ['first token, ms', spreadIn(result, 'ttft_ms')],
      ];
  const rows = [
    ...speed,
    ...lengths.flatMap(atLength),
    ...sequences.flatMap(ofSequences),
    ['load, ms', single(load_ms.ready)],
    ['on the GPU, MB', single(info.gpuBytes / 1e6)],
    ['dispatches per token', single(per_token?.dispatches)],
    ['submits per token', single(per_token?.submits)],
  ];
  return new Map(rows.filter(([, spread]) => spread));
}

/** The middle, and in brackets what its runs lie between. */
export function cellOf(spread) {
  if (!spread) return NONE;
  const [least, middle, most] = [spread.least, spread.middle, spread.most].map(figure);
  return least === most ? middle : `${middle} (${least}–${most})`;
}

/** How much `now` is more than `before`; whether runs of both lie in the same place, where there are several. */
export function changeOf(before, now) {
  if (!before || !now || before.middle === 0) return NONE;
  const percent = (100 * now.middle) / before.middle - 100;
  const words = `${percent > 0 ? '+' : percent < 0 ? '−' : ''}${Math.abs(percent).toFixed(1)} %`;
  const areSeveral = before.count > 1 && now.count > 1;
  const overlap = before.least <= now.most && now.least <= before.most;
  return areSeveral && overlap && percent !== 0 ? `${words}, runs overlap` : words;
}

function askedOf({ info, settings }) {
  const { prompt, predict, runs, temperature, texts, precision, kvType, schema, worker, repeat, draft, hide } =
    settings;
  const what = info.pooling ? `${figure(texts)} texts of ${figure(prompt)}` : `${figure(prompt)} + ${figure(predict)}`;
  const others = [
    temperature > 0 && `temperature ${temperature}`,
    precision && precision !== 'auto' && precision,
    kvType && kvType !== 'f16' && kvType,
    schema && 'schema',
    worker && 'worker',
    hide && `without ${hide}`,
    repeat && 'repeat',
    draft && draft !== '0' && `drafts ${draft}`,
  ];
  return [`${what} tokens`, `${figure(runs)} ${runs === 1 ? 'run' : 'runs'}`, ...others.filter(Boolean)].join(', ');
}

/** What was measured on what: pairs of a name and a function that gives the words. */
const ABOUT = [
  ['model', ({ info }) => `${nameOf(info)} ${info.quantization}`],
  ['on', ({ adapter }) => adapter || 'CPU'],
  ['browser', ({ user_agent }) => browserOf(user_agent)],
  ['features', ({ features }) => features.join(', ') || 'none'],
  ['asked', askedOf],
  ['date', ({ date }) => dayOf(date) || NONE],
];

/** Rows that say what was measured on what; what is the same in all of them but the first row is left out. */
function aboutRows(entries) {
  const rows = ABOUT.map(([name, words]) => [name, entries.map(({ result }) => words(result))]);
  const told = rows.filter(([, cells], i) => i === 0 || cells.some((cell) => cell !== cells[0]));
  return told.map(([name, cells]) => [name, ...cells.flatMap((cell, i) => (i === 0 ? [cell] : [cell, '']))]);
}

/**
 * A table of results, see `tables` of report.js; after each but the first the change since the first.
 * @param {{label: string, result: object}[]} entries of `summaryOf`
 */
export function comparison(entries) {
  const [first, ...others] = entries.map(({ result }) => measured(result));
  const names = [...new Set([first, ...others].flatMap((values) => [...values.keys()]))];
  const cells = (name) =>
    others.flatMap((values) => [cellOf(values.get(name)), changeOf(first.get(name), values.get(name))]);
  return {
    title: 'Compared',
    head: ['', ...entries.flatMap(({ label }, i) => (i === 0 ? [label] : [label, 'change']))],
    rows: [...aboutRows(entries), ...names.map((name) => [name, cellOf(first.get(name)), ...cells(name)])],
    note:
      'Tokens per second where no unit is named: medians, and in brackets the least and the most of all runs. ' +
      'A change is that since the first column.',
  };
}

const pointsOf = (rows, over, name) =>
  (rows ?? []).map((row) => ({ x: row[over], ...spreadIn(row, name) })).filter(({ middle }) => middle !== undefined);

/** The charts over something: what they show, and which numbers of a result these are. */
const CHARTS = [
  {
    title: 'Decode over context length, tokens/s',
    over: 'tokens before',
    points: ({ lengths }) => pointsOf(lengths, 'prompt_n', 'tg'),
  },
  {
    title: 'Prefill over prompt length, tokens/s',
    over: 'tokens',
    points: ({ lengths }) => pointsOf(lengths, 'prompt_n', 'pp'),
  },
  {
    title: 'Sequences together, tokens/s in all',
    over: 'sequences',
    points: ({ sequences }) => pointsOf(sequences, 'sequences', 'tg'),
  },
];

/**
 * Charts that these results have points for.
 * @param {{label: string, result: object}[]} entries
 * @returns {{title: string, over: string, series: {label: string, points: {x: number, least: number, middle: number,
 *   most: number}[]}[]}[]}
 */
export function curves(entries) {
  const all = CHARTS.map(({ points, ...words }) => ({
    ...words,
    series: entries.map(({ label, result }) => ({ label, points: points(result) })),
  }));
  const drawn = all.map((chart) => ({ ...chart, series: chart.series.filter(({ points }) => points.length > 0) }));
  return drawn.filter(({ series }) => series.length > 0);
}

/** The numbers of a chart as a table: a row for each place, a column for each result. */
export function curveTable({ title, over, series }) {
  const places = [...new Set(series.flatMap(({ points }) => points.map(({ x }) => x)))].sort((a, b) => a - b);
  const at = ({ points }, x) => cellOf(points.find((point) => point.x === x));
  return {
    title,
    head: [over, ...series.map(({ label }) => label)],
    rows: places.map((x) => [figure(x), ...series.map((one) => at(one, x))]),
  };
}
