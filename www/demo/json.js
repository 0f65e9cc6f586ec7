// JSON mode: answers that follow a JSON Schema, which is written next to the message.

import { $, make } from './dom.js';

const text = (maxLength) => ({ type: 'string', minLength: 1, maxLength });

const object = (properties) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

/** Schemas to begin with, by the words of the menu; without a schema any object will do. */
const PRESETS = [
  {
    words: 'A character',
    schema: object({
      name: text(24),
      animal: { enum: ['hedgehog', 'owl', 'fox', 'mouse'] },
      age: { type: 'integer', minimum: 1, maximum: 99 },
      friends: { type: 'array', items: text(24), minItems: 1, maxItems: 3 },
      isBrave: { type: 'boolean' },
    }),
  },
  {
    words: 'Names and places in a text',
    schema: object({
      people: { type: 'array', items: text(40), maxItems: 10 },
      places: { type: 'array', items: text(40), maxItems: 10 },
      mood: { enum: ['happy', 'sad', 'angry', 'neutral'] },
    }),
  },
  {
    words: 'A list of tasks',
    schema: object({
      tasks: {
        type: 'array',
        items: object({
          title: text(60),
          minutes: { type: 'integer', minimum: 1, maximum: 480 },
          done: { const: false },
        }),
        minItems: 1,
        maxItems: 5,
      },
    }),
  },
  { words: 'Any JSON object', schema: { type: 'object' } },
];

const isOn = () => $('json-mode').getAttribute('aria-pressed') === 'true';

/** The settings of JSON mode as texts, for `applyJson`. */
export const currentJson = () => ({ json: String(isOn()), schema: $('schema').value });

export function applyJson({ json, schema }) {
  if (schema) {
    $('schema').value = schema;
    showPreset();
  }
  setMode(json === 'true');
}

/**
 * What JSON mode adds to the options of `generate`: nothing where it is off; `undefined` where the schema is not JSON,
 * which the field then says.
 */
export function jsonOptions() {
  if (!isOn()) return {};
  checkSchema();
  if (problemOf($('schema').value)) {
    $('schema').focus();
    return undefined;
  }
  return { grammar: { jsonSchema: JSON.parse($('schema').value) } };
}

/** The schema that was refused last, and why. */
let refused = {};

/** Takes an error for the schema's where it is one, and says so at the field. Returns whether it was. */
export function refuseSchema({ code, message }) {
  const [, reason] = /cannot be followed: ([^]*)/.exec(message) ?? [];
  if (code !== 'invalid_argument' || !reason) return false;
  refused = { schema: $('schema').value, reason: `No answer can follow this schema: ${reason}` };
  checkSchema();
  $('schema').focus();
  return true;
}

/** Says below the field what is wrong with the schema, or what it does. */
export function checkSchema() {
  const schema = $('schema').value;
  const problem = problemOf(schema) || (schema === refused.schema ? refused.reason : '');
  $('schema').setAttribute('aria-invalid', String(problem !== ''));
  $('schema-note').textContent = problem || noteFor(document.documentElement.hasAttribute('data-story'));
}

const noteFor = (isStoryteller) =>
  isStoryteller
    ? 'Answers have this form. The storyteller knows stories alone, so take another model for sensible values.'
    : 'Every answer follows this schema.';

function problemOf(schema) {
  let parsed;
  try {
    parsed = JSON.parse(schema);
  } catch (error) {
    return `This is not JSON: ${error.message}`;
  }
  const isSchema = typeof parsed === 'boolean' || (typeof parsed === 'object' && parsed && !Array.isArray(parsed));
  return isSchema ? '' : 'A schema is a JSON object';
}

function setMode(on) {
  $('json-mode').setAttribute('aria-pressed', String(on));
  $('json-editor').hidden = !on;
}

/** The menu says which preset the field holds. */
function showPreset() {
  const same = PRESETS.findIndex(({ schema }) => format(schema) === $('schema').value);
  $('preset').value = same < 0 ? 'own' : String(same);
  checkSchema();
}

/** A schema as people read it: what fits a line is on one. */
function format(value, indent = '') {
  const short = JSON.stringify(value, null, 1)
    .replace(/\s*\n\s*/g, ' ')
    .replace(/\[ (.*?) \]/g, '[$1]');
  if (indent !== '' && short.length + indent.length < 74) return short;
  const inner = `${indent}  `;
  if (Array.isArray(value)) return `[${value.map((item) => format(item, inner)).join(', ')}]`;
  const lines = Object.entries(value).map(([key, item]) => `${inner}"${key}": ${format(item, inner)}`);
  return `{\n${lines.join(',\n')}\n${indent}}`;
}

/** `onChange` is called when a person has changed something. */
export function wireJson(onChange) {
  const options = PRESETS.map(({ words }, index) => make('option', { value: String(index), textContent: words }));
  $('preset').append(...options, make('option', { value: 'own', textContent: 'Your own' }));
  $('schema').value = format(PRESETS[0].schema);
  showPreset();
  $('json-mode').addEventListener('click', () => {
    setMode(!isOn());
    onChange();
  });
  $('preset').addEventListener('change', () => {
    const preset = PRESETS[$('preset').value];
    if (preset) $('schema').value = format(preset.schema);
    else $('schema').focus();
    checkSchema();
    onChange();
  });
  $('schema').addEventListener('input', showPreset);
  $('schema').addEventListener('change', onChange);
}
