// The form of settings: sliders for sampling, numbers, and what is fixed when a model is loaded.

import { $, make } from './dom.js';

/** Sliders: option of `generate`, words, range, first value; at `off` the option changes nothing. */
const SLIDERS = [
  {
    name: 'temperature',
    words: 'Temperature',
    hint: '0 always picks the likeliest token; more gives more variety',
    max: 2,
    step: 0.05,
    value: 0.7,
  },
  {
    name: 'topP',
    words: 'Top-p',
    hint: 'Keep the likeliest tokens that reach this probability together',
    min: 0.05,
    max: 1,
    step: 0.05,
    value: 0.9,
    off: 1,
  },
  {
    name: 'topK',
    words: 'Top-k',
    hint: 'Keep this many of the likeliest tokens',
    max: 200,
    step: 1,
    value: 40,
    off: 0,
  },
  {
    name: 'minP',
    words: 'Min-p',
    hint: 'Drop tokens less probable than this share of the likeliest one',
    max: 0.5,
    step: 0.01,
    value: 0.05,
    off: 0,
  },
  {
    name: 'repetitionPenalty',
    words: 'Repetition penalty',
    hint: 'Makes tokens that were used already less likely',
    min: 1,
    max: 1.5,
    step: 0.01,
    value: 1,
    off: 1,
  },
];

const FIELDS = [...SLIDERS.map(({ name }) => name), 'system', 'max-tokens', 'seed', 'context', 'backend-choice'];
const CHECKBOXES = ['thinking'];

const numberIn = (id) => ($(id).value === '' ? undefined : $(id).valueAsNumber);

/** Fills `#sliders`. */
export function makeSliders() {
  $('sliders').append(...SLIDERS.map(makeSlider));
  $('options').addEventListener('reset', () => setTimeout(showValues));
  showValues();
}

function makeSlider({ name, words, hint, min = 0, max, step, value }) {
  const input = make('input', { id: name, type: 'range', min, max, step });
  input.setAttribute('value', value); // what a form reset goes back to
  input.setAttribute('aria-describedby', `${name}-hint`);
  input.addEventListener('input', showValues);
  const output = make('output', { id: `${name}-value`, htmlFor: name });
  output.setAttribute('aria-hidden', 'true'); // the slider itself says its value
  const label = make('label', { htmlFor: name }, words);
  return make('div', { className: 'slider' }, label, output, input, make('p', { id: `${name}-hint` }, hint));
}

function showValues() {
  for (const { name, off } of SLIDERS) {
    const input = $(name);
    const words = off !== undefined && input.valueAsNumber === off ? 'off' : input.value;
    $(`${name}-value`).textContent = words;
    input.setAttribute('aria-valuetext', words);
    const share = (input.valueAsNumber - input.min) / (input.max - input.min);
    input.style.setProperty('--share', share);
  }
}

/** Options of `generate`. */
export function generateOptions() {
  const values = SLIDERS.map(({ name }) => [name, $(name).valueAsNumber]);
  return { ...Object.fromEntries(values), maxTokens: numberIn('max-tokens'), seed: numberIn('seed') };
}

/** Options of `WasmModel.load`. In a worker, so that the page stays quick whatever the model does. */
export const loadOptions = () => ({
  backend: $('backend-choice').value,
  contextLength: numberIn('context'),
  worker: true,
});

/** Options of `model.session`. */
export const sessionOptions = () => ({
  system: $('system').value.trim() || undefined,
  enableThinking: $('thinking').checked,
});

/** All settings as texts by field, for `applySettings`. */
export const currentSettings = () =>
  Object.fromEntries([
    ...FIELDS.map((id) => [id, $(id).value]),
    ...CHECKBOXES.map((id) => [id, String($(id).checked)]),
  ]);

/** Takes over texts by field; a text that a field does not accept leaves its default. */
export function applySettings(texts) {
  for (const id of FIELDS.filter((name) => texts[name] !== undefined)) $(id).value = texts[id];
  for (const id of CHECKBOXES.filter((name) => texts[name] !== undefined)) $(id).checked = texts[id] === 'true';
  if (!$('backend-choice').value) $('backend-choice').value = 'auto';
  showValues();
}
