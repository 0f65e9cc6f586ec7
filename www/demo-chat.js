// The conversation: its turns (a message and the answer to it) and how they look.

import { showText, TextStream } from './demo-markdown.js';

const ICONS = {
  copy: ['M5.5 5.5v-3a1.5 1.5 0 0 1 1.5-1.5h5.5A1.5 1.5 0 0 1 14 2.5V9a1.5 1.5 0 0 1-1.5 1.5H10', 'M2 6h8v9H2z'],
  again: ['M13.5 8a5.5 5.5 0 1 1-1.7-4M12 1v3.2H8.8'],
};

export function make(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function icon(paths) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('aria-hidden', 'true');
  for (const path of paths) {
    const line = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    line.setAttribute('d', path);
    svg.append(line);
  }
  return svg;
}

function tool(className, words, paths) {
  return make('button', { type: 'button', className: `tool ${className}` }, icon(paths), make('span', {}, words));
}

/** A message and its answer, on the page. */
export class Turn {
  user;
  answer = '';
  /** Whether the answer is shown as it is, not as Markdown. */
  plain;
  #nodes;
  #stream;

  constructor({ user, answer = '', meta = '', plain = false }) {
    Object.assign(this, { user, plain });
    const answerBox = make('div', { className: 'message assistant' });
    const metaBox = make('span', { className: 'meta', textContent: meta });
    const tools = make(
      'span',
      { className: 'tools' },
      tool('copy', 'Copy', ICONS.copy),
      tool('again', 'Regenerate', ICONS.again),
    );
    const below = make('div', { className: 'below' }, metaBox, tools);
    const said = make('div', { className: 'message user', textContent: user });
    const root = make('article', { className: 'turn' }, said, answerBox, below);
    this.#nodes = { root, answerBox, metaBox };
    if (answer) this.finish(answer);
  }

  get root() {
    return this.#nodes.root;
  }

  get meta() {
    return this.#nodes.metaBox.textContent;
  }

  set meta(text) {
    this.#nodes.metaBox.textContent = text;
  }

  /** Empties the answer for a new one; `around` as in `TextStream`. */
  begin(around) {
    const { answerBox } = this.#nodes;
    this.answer = this.meta = '';
    answerBox.classList.toggle('plain', this.plain);
    answerBox.classList.add('streaming');
    this.#stream = new TextStream(answerBox, { plain: this.plain, around });
  }

  write(text) {
    this.#stream.append(text);
  }

  /** What was written so far. */
  get written() {
    return this.#stream?.text ?? '';
  }

  /** The answer is complete, or what there will be of it. */
  finish(answer) {
    const { answerBox } = this.#nodes;
    this.answer = answer;
    answerBox.classList.remove('streaming');
    answerBox.classList.toggle('plain', this.plain);
    if (this.#stream) this.#stream.end(answer);
    else showText(answerBox, answer, this.plain);
    this.#stream = undefined;
  }

  toJSON() {
    const { user, meta, plain } = this;
    return { user, answer: this.answer || this.written, meta, plain };
  }
}

/** Puts text on the clipboard, also where the browser offers the API on https pages only. */
export async function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = make('textarea', { value: text, className: 'hidden' });
  document.body.append(area);
  area.select();
  const copied = document.execCommand('copy');
  area.remove();
  if (!copied) throw new Error('the browser does not allow copying');
}
