// An example as the model reads it, with what it learns marked.

import { make } from '../demo/dom.js';

/** Marks of turns in a text, which are shown small: `<|end|>`, `</s>`, `[INST]`. */
const SPECIAL = /(<\|[^|<>]*\|>|<\/?[a-z_]+>|\[\/?[A-Z_]+\]|<｜[^｜]*｜>)/;

/** Stretches of tokens that are all learned, or all not: `[{ learned, text }]`. */
export async function stretchesOf(model, { ids, learned }) {
  const cuts = [];
  for (let at = 0; at < ids.length; at++) {
    // The first token has nothing before it that would predict it.
    const isLearned = at > 0 && learned[at] === 1;
    if (cuts.at(-1)?.learned === isLearned) cuts.at(-1).end = at + 1;
    else cuts.push({ learned: isLearned, start: at, end: at + 1 });
  }
  const texts = cuts.map(({ start, end }) => model.detokenize(ids.slice(start, end), { showSpecial: true }));
  return (await Promise.all(texts)).map((text, index) => ({ learned: cuts[index].learned, text }));
}

/** Nodes for a text: control tokens are small. */
function nodesOf(text) {
  return text
    .split(SPECIAL)
    .filter(Boolean)
    .map((part) => (SPECIAL.test(part) ? make('span', { className: 'special' }, part) : part));
}

/** What is shown of it. */
export function markedText(stretches) {
  const parts = stretches.map(({ learned, text }) => {
    if (!learned) return make('span', {}, ...nodesOf(text));
    return make('mark', {}, make('span', { className: 'hidden' }, 'learned: '), ...nodesOf(text));
  });
  return make('div', { className: 'read' }, ...parts);
}
