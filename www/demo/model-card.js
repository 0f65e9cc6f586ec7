// What the page says about the model that is loaded: the card, the chip in the header, the welcome.

import { showTaken } from './attachments.js';
import { $, button, make } from './dom.js';
import { oneLine } from './one-line.js';
import { amount, bytes, cpuReason, factsOf } from './words.js';

const root = document.documentElement;

/** What the page says by the kind of model: the built-in one, one with a chat template, one without. */
const USES = {
  story: {
    title: 'What should the story be about?',
    about: () => 'A small model that tells stories comes with this page. It runs on your own device.',
    placeholder: 'Ask for a story',
    label: 'Message',
    examples: [
      'Tell me a story about a hedgehog who finds a silver key',
      'Tell me a story about a shy owl and a lantern',
      'Tell me a story about a mouse who builds a boat',
    ],
  },
  chat: {
    title: 'What is on your mind?',
    about: (name) => `${name} runs on your own device.`,
    placeholder: 'Write a message',
    label: 'Message',
    examples: [
      'Explain why the sky is blue, in three sentences',
      'Write a haiku about rain',
      'What can you help me with?',
    ],
  },
  text: {
    title: 'How does the text begin?',
    about: (name) => `${name} runs on your own device. It was not made for chat: it continues the text that you begin.`,
    placeholder: 'Begin a text',
    label: 'Beginning of the text',
    examples: ['Once upon a time', 'The most important thing about the sea is'],
  },
};

/** Words for a model that sees, in place of some of `chat`. */
const SEEING = {
  title: 'What would you like to show?',
  about: (name) =>
    `${name} runs on your own device, and sees: drop, paste, choose or take a picture, and ask about it.`,
  placeholder: 'Ask about a picture',
};

/** The same of a model that hears. */
const HEARING = {
  title: 'What would you like to say?',
  about: (name) => `${name} runs on your own device, and hears: speak, or drop or choose a sound, and ask about it.`,
  placeholder: 'Ask about a sound',
};

/** What the model is for, which decides words and how answers are shown. */
export function kindOf({ info }, origin) {
  if (origin.story) return 'story';
  return info.hasChatTemplate ? 'chat' : 'text';
}

/** Shows a model that was loaded with `asked` as its backend; `send` is called with an example that is chosen. */
export function showModel(model, { origin, asked, send }) {
  const kind = kindOf(model, origin);
  root.toggleAttribute('data-story', kind === 'story');
  const senses = kind === 'chat' ? (model.info.media ?? {}) : {};
  showSenses(senses);
  showName(origin.label, model.info.backend === 'webgpu' ? 'GPU' : 'CPU');
  showFacts(model.info);
  showWhyCpu(cpuReason(model.info, asked));
  showUse(
    { ...USES[kind], ...(senses.audio && HEARING), ...(senses.image && SEEING) },
    oneLine(model.info.name) || origin.label,
    send,
  );
}

/** Before there is a model: the examples cannot be chosen yet. */
export function showBuiltInUse(send) {
  showUse(USES.story, '', send);
}

function showUse(use, name, send) {
  $('welcome-title').textContent = use.title;
  $('welcome-text').textContent = use.about(name);
  $('prompt').placeholder = use.placeholder;
  $('prompt-label').textContent = use.label;
  const examples = use.examples.map((words) => button(words, () => send(words)));
  $('examples').replaceChildren(...examples.map((example) => make('li', {}, example)));
}

export function showNoModel(label) {
  showSenses({});
  showName(label, '');
  showFacts();
  showWhyCpu('');
}

function showSenses({ image = false, audio = false }) {
  root.toggleAttribute('data-sees', image);
  root.toggleAttribute('data-hears', audio);
  showTaken();
}

function showWhyCpu(words) {
  for (const id of ['why-cpu', 'why-cpu-2']) {
    $(id).hidden = words === '';
    $(id).textContent = words;
  }
}

function showName(label, place) {
  $('model-name').textContent = label;
  $('chip-name').textContent = label === 'none' ? 'Choose a model' : label;
  $('chip-place').textContent = place;
}

/** The model card; without `info` it is empty. */
function showFacts(info) {
  const rows = info ? factsOf(info) : [['Runs on', '–', 'backend']];
  $('facts').replaceChildren(...rows.map(fact));
  fillTags('features', info?.features ?? []);
  fillTags('variants', info?.variants ?? []);
  $('features-card').hidden = !info?.variants.length;
}

/** Notes on the card how much of prompts the model keeps in memory; nothing where it keeps none. */
export async function showKept(model) {
  const kept = await model.prefixCache().catch(() => undefined); // the model may be gone
  $('kept')?.parentElement.remove();
  if (kept?.tokens > 0) $('facts').append(fact(['Prompts kept', keptWords(kept), 'kept']));
}

const keptWords = (kept) => `${amount(kept.tokens)} tokens, ${bytes(kept.bytes)}`;

function fact([words, value, id]) {
  const definition = make('dd', { textContent: oneLine(String(value)) });
  if (id) definition.id = id;
  return make('div', {}, make('dt', { textContent: words }), definition);
}

function fillTags(id, names) {
  const tags = names.length > 0 ? names : ['none'];
  $(id).replaceChildren(...tags.map((name) => make('li', { textContent: oneLine(name) })));
}
