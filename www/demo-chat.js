// A turn of the conversation, a message and the answer to it, and how it looks.

import { make, tool } from './demo-dom.js';
import { showText, TextStream } from './demo-markdown.js';

const FENCE = '```';

/** JSON with line breaks; a text that is not JSON (an answer that was cut off) as it is. */
export function prettyJson(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** A message and its answer, on the page. */
export class Turn {
  user;
  answer = '';
  /** Whether the answer is shown as it is, not as Markdown. */
  plain;
  /** Whether the answer is JSON. */
  json;
  #nodes;
  #stream;
  #written = '';

  constructor({ user, answer = '', meta = '', plain = false, json = false }) {
    Object.assign(this, { user, plain: plain === true, json: json === true });
    const answerBox = make('div', { className: 'message assistant' });
    const metaBox = make('span', { className: 'meta', textContent: meta });
    const tools = make(
      'span',
      { className: 'tools' },
      tool({ className: 'copy', words: 'Copy', name: 'copy' }),
      tool({ className: 'again', words: 'Regenerate', name: 'again' }),
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
    this.answer = this.meta = this.#written = '';
    this.#mark();
    answerBox.classList.add('streaming');
    this.#stream = new TextStream(answerBox, { plain: this.plain, around });
    if (this.json) this.#stream.append(`${FENCE}json\n`);
  }

  write(text) {
    this.#written += text;
    this.#stream.append(text);
  }

  /** What was written so far. */
  get written() {
    return this.#written;
  }

  /** The answer is complete, or what there will be of it. */
  finish(answer) {
    const { answerBox } = this.#nodes;
    this.answer = answer;
    answerBox.classList.remove('streaming');
    this.#mark();
    const shown = this.json && answer ? `${FENCE}json\n${this.copied}\n${FENCE}` : answer;
    if (this.#stream) this.#stream.end(shown);
    else showText(answerBox, shown, this.plain);
    this.#stream = undefined;
  }

  /** What the button copies. */
  get copied() {
    return this.json ? prettyJson(this.answer) : this.answer;
  }

  #mark() {
    this.#nodes.answerBox.classList.toggle('plain', this.plain);
    this.#nodes.answerBox.classList.toggle('json', this.json);
  }

  toJSON() {
    const { user, meta, plain, json } = this;
    return { user, answer: this.answer || this.written, meta, plain, json };
  }
}
