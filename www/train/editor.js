// Editing one example in place: a field for each of its texts.

import { button, make } from '../demo/dom.js';

/** The texts of an example, by names for people. */
function partsOf(example) {
  if (typeof example === 'string') return [['Text', example]];
  if (example.messages) return example.messages.map(({ role, content }) => [nameOf(role), textOf(content)]);
  if ('text' in example) return [['Text', example.text]];
  if ('chosen' in example) return sidesOf(example);
  return [
    ['Prompt', example.prompt],
    ['Completion', example.completion],
  ];
}

/** The texts of a pair: each side is a text or messages, whose last one counts. */
function sidesOf({ prompt, chosen, rejected }) {
  return [
    ['Prompt', lastText(prompt)],
    ['Better answer', lastText(chosen)],
    ['Worse answer', lastText(rejected)],
  ];
}

/** The text of a side of a pair. */
export const lastText = (side) => (Array.isArray(side) ? textOf(side.at(-1)?.content) : side);

const withLast = (side, text) =>
  Array.isArray(side) ? [...side.slice(0, -1), { ...side.at(-1), content: text }] : text;

const NAMES = { user: 'Question', assistant: 'Answer', system: 'System prompt', tool: 'Result of a tool' };
const nameOf = (role) => NAMES[role] ?? role;

/** The text of a message. */
export const textOf = (content) =>
  Array.isArray(content) ? content.map(({ text = '' }) => text).join('\n') : (content ?? '');

/** The example with other texts. */
function withTexts(example, texts) {
  if (typeof example === 'string') return texts[0];
  if (example.messages) {
    const messages = example.messages.map((message, at) => {
      // A call of a tool has no text, and stays so.
      return texts[at] === textOf(message.content) ? message : { ...message, content: texts[at] };
    });
    return { ...example, messages };
  }
  if ('text' in example) return { text: texts[0] };
  if ('chosen' in example) {
    const [prompt, chosen, rejected] = ['prompt', 'chosen', 'rejected'].map((name, at) =>
      texts[at] === lastText(example[name]) ? example[name] : withLast(example[name], texts[at]),
    );
    return { ...example, prompt, chosen, rejected };
  }
  return { prompt: texts[0], completion: texts[1] };
}

/** An element with the fields; `done` gets the changed example, or nothing where it stays as it was. */
export function editorOf(example, done) {
  const fields = partsOf(example).map(([name, text]) => {
    const rows = Math.min(10, Math.max(2, Math.ceil(text.length / 60)));
    const area = make('textarea', { value: text, rows });
    return { area, label: make('label', {}, name, area) };
  });
  const save = () =>
    done(
      withTexts(
        example,
        fields.map(({ area }) => area.value),
      ),
    );
  const actions = make(
    'p',
    { className: 'row-actions' },
    button('Done', save, 'quiet'),
    button('Cancel', () => done(), 'link'),
  );
  const made = make('div', { className: 'editor' }, ...fields.map(({ label }) => label), actions);
  made.addEventListener('keydown', (event) => {
    if (event.isComposing) return;
    if (event.key === 'Escape') done();
    else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) save();
    else return;
    event.stopPropagation();
  });
  return { element: made, focus: () => fields[0].area.focus() };
}
