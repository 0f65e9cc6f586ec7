import { chooser, modelOf, modelsFor } from '../load.js';

// A GGUF on Hugging Face's hub. A very small model fills in the form, too, with whatever comes to it.
const MODELS = modelsFor({ source: 'Qwen/Qwen3-0.6B-GGUF:Q8_0', words: 'Qwen3 0.6B, downloads 639 MB' });
const TEXT = `Hello, this is Maria Keller from Basel. I would like to book a table on the terrace for four people,
this Saturday at half past seven. One of us is allergic to nuts. You can reach me at 061 555 01 90.`;
const SCHEMA = {
  type: 'object',
  properties: {
    name: { type: 'string', maxLength: 40 },
    people: { type: 'integer', minimum: 1, maximum: 20 },
    day: { enum: ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] },
    time: { type: 'string', pattern: '^[0-2][0-9]:[0-5][0-9]$' },
    outside: { type: 'boolean' },
    allergies: { type: 'array', items: { type: 'string', maxLength: 20 }, maxItems: 3 },
  },
  required: ['name', 'people', 'day', 'time', 'outside', 'allergies'],
  additionalProperties: false,
};

const [menu, text, schema, extract, stop, status, error, json, table] = [
  ...['model', 'text', 'schema', 'extract', 'stop', 'status', 'error', 'json', 'table'],
].map((id) => document.getElementById(id));
text.value = TEXT.replace('\n', ' ');
schema.value = JSON.stringify(SCHEMA, null, 2);

const withModel = modelOf(chooser(menu, MODELS), status);
let controller;

/** Writes the answer into the page as it comes, and returns it. */
async function answer(model, wanted, signal) {
  const request = {
    messages: [
      { role: 'system', content: 'You fill in forms. Answer with JSON that follows the schema.' },
      { role: 'user', content: `${text.value}\n\nSchema: ${JSON.stringify(wanted)}` },
    ],
    response_format: { type: 'json_schema', json_schema: { name: 'form', schema: wanted } },
    max_completion_tokens: 400,
    temperature: 0,
    stream: true,
  };
  let written = '';
  for await (const { choices } of await model.chat.completions.create(request, { signal })) {
    const [choice] = choices;
    written += choice?.delta.content ?? '';
    json.textContent = written;
    if (choice?.finish_reason === 'length') throw new Error('the answer was cut off: it has too many tokens');
  }
  return written;
}

function show(object) {
  const rows = Object.entries(object).map(([name, value]) => {
    const row = document.createElement('tr');
    const [head, cell] = ['th', 'td'].map((tag) => document.createElement(tag));
    head.textContent = name;
    cell.textContent = Array.isArray(value) ? value.join(', ') || 'none' : String(value);
    row.append(head, cell);
    return row;
  });
  table.replaceChildren(...rows);
}

/** Fills in the form and says how long that took. */
async function fillIn(model, wanted, signal) {
  status.textContent = 'writing';
  const start = performance.now();
  const written = await answer(model, wanted, signal);
  show(JSON.parse(written));
  status.textContent = `done in ${((performance.now() - start) / 1000).toFixed(1)} s`;
}

extract.addEventListener('click', async () => {
  controller = new AbortController();
  const { signal } = controller;
  extract.disabled = true;
  stop.hidden = false;
  error.textContent = json.textContent = '';
  table.replaceChildren();
  try {
    const wanted = JSON.parse(schema.value);
    await withModel((model) => fillIn(model, wanted, signal));
  } catch (failure) {
    status.textContent = signal.aborted ? 'stopped' : '';
    if (!signal.aborted) error.textContent = failure.message;
  }
  extract.disabled = false;
  stop.hidden = true;
});

stop.addEventListener('click', () => controller.abort());
