// What bench.html is asked: parameters of its address, read into settings and written back. Needs no browser.

import { checkNames, wrong } from '../shared/address.js';
import { hiddenNames } from '../shared/hide.js';

export const BUILT_IN = 'models/storyteller.gguf';
const BACKENDS = ['auto', 'webgpu', 'cpu'];
/** Integers in the URL: the minimum, the maximum where there is one, and the default. */
const NUMBERS = {
  prompt: { least: 1 },
  predict: { least: 1, otherwise: 128 },
  runs: { least: 1, otherwise: 3 },
  texts: { least: 1, otherwise: 1000 },
  context: { least: 2 },
  weight_bytes: { least: 1 },
  parallel: { least: 1, most: 8 }, // as `load` has it, which is asked at the end
};
const KNOWN = [
  'model',
  'backend',
  'precision',
  'kv',
  'per_layer',
  'temperature',
  'kernels',
  'schema',
  'draft',
  'draft_model',
  'repeat',
  'worker',
  'hide',
  'tune',
  'lengths',
  'report',
  ...Object.keys(NUMBERS),
];

/** The value of a parameter as a number within its limits; `undefined` where it is missing or empty. */
function numberOf(query, name, { least, most = Infinity }, isRight) {
  const text = query.get(name)?.trim();
  if (!text) return undefined;
  const value = Number(text);
  if (isRight(value) && value >= least && value <= most) return value;
  const limits = most === Infinity ? `of at least ${least}` : `from ${least} to ${most}`;
  throw wrong(`'${name}' is '${text}', not a number ${limits}`);
}

/** Most lengths of context that are measured. */
const MOST_LENGTHS = 32;

/** Lengths of context to measure, rising: `auto`, or a list of integers; `undefined` where none are asked for. */
function lengthsOf(query) {
  const text = query.get('lengths')?.trim();
  if (!text || text === 'auto') return text || undefined;
  const lengths = [...new Set(text.split(/[\s,]+/).map(Number))].sort((a, b) => a - b);
  if (lengths.length <= MOST_LENGTHS && lengths.every((length) => Number.isSafeInteger(length) && length > 0)) {
    return lengths;
  }
  throw wrong(`'lengths' is '${text}', neither 'auto' nor a list of at most ${MOST_LENGTHS} integers of at least 1`);
}

/** `load` refuses what it does not know. */
function wordOrNumber(text) {
  return /^\d+$/.test(text ?? '') ? Number(text) : text || undefined;
}

/** Settings of a measurement from the address. */
export function settingsOf(query) {
  checkNames(query, KNOWN);
  const backend = query.get('backend') || 'auto';
  if (!BACKENDS.includes(backend)) throw wrong(`'backend' is '${backend}', not one of ${BACKENDS.join(', ')}`);
  const precision = query.get('precision') || 'auto'; // `load` refuses what it does not know
  const numbers = Object.entries(NUMBERS).map(([name, limits]) => [
    name,
    numberOf(query, name, limits, Number.isSafeInteger) ?? limits.otherwise,
  ]);
  const hide = hiddenNames(query);
  const worker = query.get('worker') === '1';
  if (worker && hide.length > 0) throw wrong("'hide' does not reach a 'worker'");
  const temperature = numberOf(query, 'temperature', { least: 0 }, Number.isFinite) ?? 0;
  return {
    model: query.get('model') || BUILT_IN,
    backend,
    precision,
    kvType: query.get('kv') || 'f16',
    perLayerEmbeddings: wordOrNumber(query.get('per_layer')),
    temperature,
    schema: schemaOf(query),
    repeat: query.get('repeat') === '1',
    draft: draftOf(query),
    draftModel: query.get('draft_model') || undefined,
    kernels: query.get('kernels') === '1',
    worker,
    hide: hide.join() || undefined,
    tune: { 1: true, quick: 'quick' }[query.get('tune')] ?? false,
    lengths: lengthsOf(query),
    ...Object.fromEntries(numbers),
  };
}

/** Records without end: keys that are forced, numbers, a choice, and texts of which the model writes every token. */
const RECORDS = {
  type: 'array',
  minItems: 10_000,
  items: {
    type: 'object',
    properties: {
      id: { type: 'integer', minimum: 0, maximum: 99_999 },
      title: { type: 'string', minLength: 20, maxLength: 80 },
      kind: { enum: ['city', 'river', 'mountain', 'forest'] },
      visited: { type: 'boolean' },
      note: { type: 'string', minLength: 100, maxLength: 200 },
    },
    required: ['id', 'title', 'kind', 'visited', 'note'],
    additionalProperties: false,
  },
};

const DRAFTS = ['prompt', 'model', 'auto', '0'];

/**
 * Which drafts there are. By default some where the prompt repeats itself: what a model writes by itself may repeat
 * itself, too, and would be another measurement. A model that drafts is asked for them.
 */
function draftOf(query) {
  const otherwise = query.get('repeat') === '1' ? 'auto' : '0';
  const draft = query.get('draft') || (query.get('draft_model') ? 'model' : otherwise);
  if (!DRAFTS.includes(draft)) throw wrong(`'draft' is '${draft}', not one of ${DRAFTS.join(', ')}`);
  return draft;
}

/** The JSON schema that answers follow: `1` for {@link RECORDS}, or its text; `undefined` for none. */
function schemaOf(query) {
  const text = query.get('schema')?.trim();
  if (!text || text === '1') return text && RECORDS;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw wrong(`'schema' is neither 1 nor JSON: ${error.message}`);
  }
}

/** Parameters whose settings have other names. */
const RENAMED = { kv: 'kvType', per_layer: 'perLayerEmbeddings', draft_model: 'draftModel' };

/**
 * The parameters that give these settings again: the other way round than {@link settingsOf}.
 * @param {object} settings of a result
 * @returns {Record<string, string>}
 */
export function parametersOf(settings) {
  const text = (value) => {
    if (Array.isArray(value)) return value.join(',');
    if (typeof value === 'boolean') return value ? '1' : '';
    return typeof value === 'object' ? JSON.stringify(value) : String(value);
  };
  const names = KNOWN.filter((name) => name !== 'report');
  const pairs = names.map((name) => [name, settings[RENAMED[name] ?? name]]);
  const given = pairs.filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(given.map(([name, value]) => [name, text(value)]).filter(([, value]) => value !== ''));
}
