// Results as they are saved, shared and compared: the numbers of a measurement and what they were measured on. What
// comes from a file, a link or the browser's storage is read by `summaryOf`, which takes nothing that it does not know.
// Needs no browser.

import { wrong } from '../shared/address.js';
import { figure, nameOf } from './report.js';

const MOST_CHARACTERS = 4000;
const MOST_ROWS = 64;
const MOST_RESULTS = 200;
/** Marks a file of several results. */
const FILE_KEY = 'webgguf_bench';

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const number = (value) => (Number.isFinite(value) ? value : null);
const text = (value) => (typeof value === 'string' ? value.slice(0, MOST_CHARACTERS) : '');

/** The numbers of an object with these names. */
function numbers(value, names) {
  const given = names.filter((name) => value?.[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, number(value[name])]));
}

const rows = (value, read) => (Array.isArray(value) ? value.slice(0, MOST_ROWS).map(read) : undefined);

const RUN = ['prompt_n', 'n', 'pp', 'tg', 'ttft_ms', 'ms', 'texts_per_second', 'drafted', 'wrong'];
const runsOf = (value) => rows(value, (run) => numbers(run, RUN)) ?? [];

/** A point of a curve: what it stands over, its runs and their medians. */
const pointsOf = (value, over) =>
  rows(value, (row) => ({ ...numbers(row, [over]), runs: runsOf(row?.runs), median: numbers(row?.median, RUN) }));

const CALLS = ['dispatches', 'passes', 'submits', 'write_buffers', 'maps', 'read_back_bytes', 'most_in_flight'];
const ASKED = ['prompt', 'predict', 'runs', 'temperature', 'texts', 'context', 'weight_bytes', 'parallel'];
const WORDS = ['backend', 'precision', 'kvType', 'draft', 'hide'];
const SWITCHES = ['kernels', 'worker', 'tune', 'repeat'];

/** An address without what is nobody's business: user, query and fragment. */
function plainAddress(address) {
  const bare = text(address).replace(/[?#].*$/s, '');
  return bare.replace(/^([a-z][a-z\d+.-]*:\/\/)[^/@]*@/i, '$1');
}

function settingsOf(value) {
  const { model, draftModel, schema, lengths, perLayerEmbeddings: rowsOfLayers } = value ?? {};
  const words = WORDS.filter((name) => typeof value?.[name] === 'string').map((name) => [name, text(value[name])]);
  const switches = SWITCHES.filter((name) => value?.[name] === true).map((name) => [name, true]);
  return {
    model: plainAddress(model),
    ...(draftModel && { draftModel: plainAddress(draftModel) }),
    ...numbers(value, ASKED),
    ...Object.fromEntries([...words, ...switches]),
    ...(schema && { schema: text(typeof schema === 'string' ? schema : JSON.stringify(schema)) }),
    ...(Array.isArray(lengths) && { lengths: lengths.slice(0, MOST_ROWS).map(number) }),
    ...(/^[\w-]{1,40}$/.test(rowsOfLayers ?? '') && { perLayerEmbeddings: rowsOfLayers }),
  };
}

function infoOf({ name, architecture, quantization, layers, backend, contextLength, gpuBytes, pooling }) {
  return {
    ...(text(name) && { name: text(name) }),
    architecture: text(architecture),
    quantization: text(quantization),
    backend: text(backend),
    ...numbers({ layers, contextLength, gpuBytes }, ['layers', 'contextLength', 'gpuBytes']),
    ...(text(pooling) && { pooling: text(pooling) }),
  };
}

/** What several texts of a result are: a date that can be read, or nothing. */
const dateOf = (value) => (Number.isNaN(Date.parse(value)) ? '' : new Date(value).toISOString());

/**
 * What is kept of a result, from what bench.html reports or from what was kept before.
 * @param {unknown} value not trusted: every field is checked
 * @returns {object} a result without tables of kernels and of loading
 * @throws with the code `invalid_argument` where it is no result
 */
export function summaryOf(value) {
  const isResult = isObject(value) && isObject(value.info) && isObject(value.median) && Array.isArray(value.runs);
  if (!isResult) throw wrong('this is no result of bench.html: info, runs or median is missing');
  const { info, settings, load_ms, median, per_token, lengths, sequences } = value;
  return {
    date: dateOf(value.date),
    user_agent: text(value.user_agent),
    adapter: text(value.adapter),
    features: rows(value.features, text) ?? [],
    settings: settingsOf(settings),
    info: infoOf(info),
    load_ms: numbers(load_ms, ['ready']),
    runs: runsOf(value.runs),
    median: numbers(median, RUN),
    ...(isObject(per_token) && { per_token: numbers(per_token, CALLS) }),
    ...(lengths && { lengths: pointsOf(lengths, 'prompt_n') }),
    ...(sequences && { sequences: pointsOf(sequences, 'sequences') }),
  };
}

/**
 * The results in the text of a file: one as `Copy JSON` or `npm run bench -- --json` gives it, or several as `Export`
 * does.
 * @throws with the code `invalid_argument`
 */
export function readResults(source) {
  let value;
  try {
    value = JSON.parse(source);
  } catch (error) {
    throw wrong(`this is no JSON: ${error.message}`);
  }
  if (!isObject(value) || !(FILE_KEY in value)) return [summaryOf(value)];
  const { results } = value;
  if (!Array.isArray(results) || results.length === 0) throw wrong('this file has no results');
  if (results.length > MOST_RESULTS) throw wrong(`${results.length} results are more than ${MOST_RESULTS}`);
  return results.map(summaryOf);
}

/** The text of a file with these results. */
export const writeResults = (results) => `${JSON.stringify({ [FILE_KEY]: 1, results }, null, 2)}\n`;

// ---- words ----------------------------------------------------------------------------------------------------------

/** Browsers as they name themselves; those that also claim to be another one come first. */
const BROWSERS = [
  ['Edge', /\bEdg\/(\d+)/],
  ['Chrome', /\b(?:Headless)?Chrome\/(\d+)/],
  ['Firefox', /\bFirefox\/(\d+)/],
  ['Safari', /\bVersion\/(\d+).*Safari/],
];

/** The browser's name and version; the whole text of one that is not known. */
export function browserOf(userAgent) {
  for (const [name, pattern] of BROWSERS) {
    const found = pattern.exec(userAgent);
    if (found) return `${name} ${found[1]}`;
  }
  return userAgent;
}

/** A date as people read it, to the minute, in the time that holds here; nothing where there is none. */
export const dayOf = (date) => (date ? new Date(date).toLocaleString('sv').slice(0, 16) : '');

/** Model and machine of a result. */
export function titleOf({ info, adapter }) {
  return `${nameOf(info)} ${info.quantization}, ${adapter || 'CPU'}`;
}

/** Speed, date and browser of a result in a line. */
export function speedOf({ info, median, date, user_agent }) {
  const speed = info.pooling
    ? `${figure(median.texts_per_second)} texts/s`
    : `decode ${figure(median.tg)}, prefill ${figure(median.pp)} tokens/s`;
  return [speed, dayOf(date), browserOf(user_agent)].filter(Boolean).join(' · ');
}

/** Whether two results are of the same model, as far as the file says. */
export function isSameModel({ info: a }, { info: b }) {
  return nameOf(a) === nameOf(b) && a.quantization === b.quantization;
}
