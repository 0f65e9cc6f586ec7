// Rows of the page of results: what a row may hold, links that carry one, and the form that sends one in. A row comes
// from the address, which anybody may write, or from measured.jsonl; both are read by `readRow`, which takes nothing
// that it does not know. Needs no browser.

import { browserOf } from '../bench/results.js';
import { wrong } from '../shared/address.js';

export const REPOSITORY = 'https://github.com/webgguf/webgguf';
const VERSION = '1';
/** More than any link has that bench.html makes. */
const MOST_CHARACTERS = 2000;
const DIGITS = 4;
const DAY_MS = 86_400_000;
const FIRST_DAY = '2025-01-01';

/** Characters of no name: controls, what turns the direction of text, and what is markup in HTML or Markdown. */
const FORBIDDEN = /[\p{C}\p{Zl}\p{Zp}<>&"`|\\]/u;

const text = (most) => ({ read: readText, most });
const number = (least, most) => ({ read: readNumber, least, most });
const integer = (least, most) => ({ read: readNumber, least, most, isWhole: true });

/** Fields of a row, in the order of links and lines. Speeds are in tokens per second. */
const FIELDS = {
  model: text(80),
  type: text(24),
  device: text(120),
  features: { ...text(200), isOptional: true },
  browser: text(60),
  date: { read: readDate },
  prompt: integer(1, 1e7),
  predict: integer(2, 1e7),
  prefill: number(0.001, 1e7),
  decode: number(0.001, 1e6),
  load_ms: { ...number(0, 1e8), isOptional: true },
};

/** Where a row of the file comes from: one of these. */
const SOURCES = {
  /** A file of docs/records: measured by the project. */
  record: { read: (value) => readPattern(value, /^\d{4}-\d\d-\d\d-[\w-]{1,80}\.md$/), isOptional: true },
  /** The number of the issue that sent it. */
  issue: { ...integer(1, 1e7), isOptional: true },
};

/** A value as a message may show it. */
const shown = (value) => `'${tidy(String(value), 40)}'`;

function readText(value, { most }) {
  if (typeof value !== 'string' || value.trim() === '') throw wrong('is no text');
  if ([...value].length > most) throw wrong(`has ${[...value].length} characters, more than ${most}`);
  if (FORBIDDEN.test(value)) throw wrong(`is ${shown(value)}, with characters that no name has`);
  return value;
}

/** A number, or the least and the most of several measurements. */
function readNumber(value, { least, most, isWhole = false }) {
  const isRight = (one) => (isWhole ? Number.isSafeInteger(one) : Number.isFinite(one)) && one >= least && one <= most;
  if (isRight(value)) return value;
  const isPair = Array.isArray(value) && value.length === 2 && value.every(isRight) && value[0] <= value[1];
  if (isPair && !isWhole) return [...value];
  throw wrong(`is ${shown(value)}, not ${isWhole ? 'an integer' : 'a number'} from ${least} to ${most}`);
}

function readDate(value, { today }) {
  const time = /^\d{4}-\d\d-\d\d$/.test(value) ? Date.parse(value) : Number.NaN;
  const isDay = !Number.isNaN(time) && new Date(time).toISOString().startsWith(value);
  // It may be tomorrow already where it was measured.
  if (!isDay || value < FIRST_DAY || time > today + DAY_MS) {
    throw wrong(`is ${shown(value)}, not a day from ${FIRST_DAY} to today, as ${FIRST_DAY}`);
  }
  return value;
}

function readPattern(value, pattern) {
  if (typeof value !== 'string' || !pattern.test(value)) throw wrong(`is ${shown(value)}, not like ${pattern.source}`);
  return value;
}

function readField([name, rules], value, today) {
  try {
    return rules.read(value, { ...rules, today });
  } catch (error) {
    throw wrong(`'${name}' ${error.message}`);
  }
}

/**
 * A row from what is not trusted.
 * @param {object} value its fields; numbers may be pairs of the least and the most
 * @param {{fields?: object, today?: number}} [options] which fields there are, and the time in ms since 1970
 * @throws with the code `invalid_argument`, naming the field
 */
function readFields(value, { fields = FIELDS, today = Date.now() } = {}) {
  const unknown = Object.keys(value).find((name) => !Object.hasOwn(fields, name));
  if (unknown !== undefined) throw wrong(`there is no field ${shown(unknown)}`);
  const given = Object.entries(fields).filter(([name, { isOptional }]) => !isOptional || Object.hasOwn(value, name));
  const missing = given.find(([name]) => !Object.hasOwn(value, name));
  if (missing) throw wrong(`'${missing[0]}' is missing`);
  return Object.fromEntries(given.map((field) => [field[0], readField(field, value[field[0]], today)]));
}

/**
 * The rows of measured.jsonl, a line of JSON each.
 * @param {string} lines
 * @param {number} [today] in ms since 1970
 * @throws with the code `invalid_argument`, naming the line
 */
export function readRows(lines, today) {
  const readLine = (line, i) => {
    try {
      const row = readFields(JSON.parse(line), { fields: { ...FIELDS, ...SOURCES }, today });
      if ('record' in row === 'issue' in row) throw wrong("either 'record' or 'issue' says where it comes from");
      return row;
    } catch (error) {
      throw wrong(`line ${i + 1} of the results: ${error.message}`);
    }
  };
  return lines.trimEnd().split('\n').map(readLine);
}

// ---- links ----------------------------------------------------------------------------------------------------------

/** Text as {@link readText} takes it: what it forbids becomes a space. */
function tidy(value, most) {
  const clean = value.replaceAll(new RegExp(FORBIDDEN, 'gu'), ' ').replaceAll(/\s+/g, ' ').trim();
  return [...clean].slice(0, most).join('').trim();
}

/** Systems as browsers name them; those that also claim to be another one come first. */
const SYSTEMS = [
  ['Android', /\bAndroid\b/],
  ['iOS', /\b(?:iPhone|iPad)\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b/],
  ['Linux', /\bLinux\b/],
];

/** The browser and its system. */
function placeOf(userAgent) {
  const system = SYSTEMS.find(([, pattern]) => pattern.test(userAgent));
  return [browserOf(userAgent), ...(system ? [system[0]] : [])].join(', ');
}

/** Whether a result is one that others can be compared with: text that follows a random prompt, without drafts. */
const isPlain = ({ info, settings }) =>
  !info.pooling && !settings.repeat && !settings.schema && (settings.draft ?? '0') === '0';

/**
 * The row of a result of bench.html; `undefined` where it has none.
 * @param {object} result of `summaryOf`
 */
export function rowOf(result) {
  if (!isPlain(result)) return undefined;
  const { info, settings, median, load_ms, adapter, features, date, user_agent } = result;
  const row = {
    model: tidy(info.name || info.architecture, FIELDS.model.most),
    type: tidy(info.quantization, FIELDS.type.most),
    device: tidy(adapter || 'CPU', FIELDS.device.most),
    ...(features.length > 0 && { features: tidy(features.join(', '), FIELDS.features.most) }),
    browser: tidy(placeOf(user_agent), FIELDS.browser.most),
    date: date.slice(0, 10),
    prompt: settings.prompt,
    predict: settings.predict,
    prefill: rounded(median.pp),
    decode: rounded(median.tg),
    ...(Number.isFinite(load_ms.ready) && { load_ms: rounded(load_ms.ready) }),
  };
  try {
    return readFields(row);
  } catch {
    return undefined; // a measurement without a decode speed, for example
  }
}

const rounded = (value) => (Number.isFinite(value) ? Number(value.toPrecision(DIGITS)) : value);

/** What stands after the `#` of a link to results.html: the row in words that a person can read. */
export const fragmentOf = (row) => new URLSearchParams({ v: VERSION, ...row }).toString();

/** Numbers are written as digits: `1e9`, `0x10` and the empty text are none. */
const numberIn = (value) => (/^\d{1,9}(\.\d{1,9})?$/.test(value) ? Number(value) : value);

/**
 * The row in the fragment of an address; `undefined` where it has no fragment.
 * @param {string} hash with its `#`
 * @param {number} [today] in ms since 1970
 * @throws with the code `invalid_argument` where it holds something else
 */
export function rowIn(hash, today) {
  const packed = hash.replace(/^#/, '');
  if (packed === '') return undefined;
  if (packed.length > MOST_CHARACTERS) {
    throw wrong(`the link has ${packed.length} characters after its #, more than ${MOST_CHARACTERS}`);
  }
  const pairs = [...new URLSearchParams(packed)];
  const names = pairs.map(([name]) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw wrong(`${shown(twice)} is there twice`);
  const { v: version, ...fields } = Object.fromEntries(pairs);
  if (version !== VERSION) {
    throw wrong(
      version === undefined ? 'the link holds no result' : `its version is ${shown(version)}, not ${VERSION}`,
    );
  }
  const read = ([name, value]) => [name, FIELDS[name]?.read === readNumber ? numberIn(value) : value];
  return readFields(Object.fromEntries(Object.entries(fields).map(read)), { today });
}

// ---- sending --------------------------------------------------------------------------------------------------------

/** The row as a line of measured.jsonl, but for the issue that will say where it comes from. */
export const lineOf = (row) => JSON.stringify(row);

/** The address of the issue form with a row filled in: GitHub shows it, and sends it when its button is pressed. */
export function formOf(row) {
  const title = `Result: ${row.model} ${row.type}, ${row.device}`;
  return `${REPOSITORY}/issues/new?${new URLSearchParams({ template: 'result.yml', title, row: lineOf(row) })}`;
}

// ---- order ----------------------------------------------------------------------------------------------------------

/** What a value of a row is sorted by. */
const weightOf = (value) => (Array.isArray(value) ? (value[0] + value[1]) / 2 : value);

/**
 * Rows in the order of a field; those without it are last, whichever way the order goes.
 * @param {object[]} rows
 * @param {{field: string, isFalling: boolean}} order
 */
export function sorted(rows, { field, isFalling }) {
  const compare = (a, b) => (typeof a === 'string' ? a.localeCompare(b, 'en', { numeric: true }) : a - b);
  return [...rows].sort((one, other) => {
    const [a, b] = [one, other].map((row) => weightOf(row[field]));
    if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
    return isFalling ? compare(b, a) : compare(a, b);
  });
}
