// A turn of the conversation, a message and the answer to it, and how it looks.

import { make, tool } from './dom.js';
import { showText, TextStream } from './markdown.js';
import { describe, showBlob } from './pictures.js';
import { describeSound } from './sounds.js';
import { splitThoughts, ThoughtBox } from './thoughts.js';

const FENCE = '```';

/** How deep JSON may be to be indented: each level makes all that lies within it longer. */
const DEEPEST = 40;

/** JSON with line breaks; a text that is not JSON (an answer that was cut off), or is very deep, as it is. */
export function prettyJson(text) {
  if (depthOf(text) > DEEPEST) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** At most how deep objects and lists lie within each other. */
function depthOf(text) {
  let [depth, deepest] = [0, 0];
  for (const [sign] of text.matchAll(/[[\]{}]/g)) {
    depth += sign === '[' || sign === '{' ? 1 : -1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

/** A message and its answer, on the page. */
export class Turn {
  user;
  /** Pictures and sounds of the message, see `readPicture` and `readSound`. */
  attachments;
  answer = '';
  /** Whether the answer is shown as it is, not as Markdown. */
  plain;
  /** Whether the answer is JSON. */
  json;
  #nodes;
  #thoughts;
  #stream;
  #written = '';
  /** How thoughts are marked in what is written: arguments of `splitThoughts`. */
  #marks = [];
  /** Addresses of the sounds that it plays. */
  #addresses = [];

  constructor({ user, attachments = [], ...written }) {
    this.user = user;
    this.#thoughts = new ThoughtBox();
    const answerBox = make('div', { className: 'message assistant' });
    const metaBox = make('span', { className: 'meta' });
    const tools = make(
      'span',
      { className: 'tools' },
      tool({ className: 'copy', words: 'Copy', name: 'copy' }),
      tool({ className: 'again', words: 'Regenerate', name: 'again' }),
    );
    const below = make('div', { className: 'below' }, metaBox, tools);
    const said = make('div', { className: 'message user', textContent: user });
    const root = make('article', { className: 'turn' }, said, this.#thoughts.root, answerBox, below);
    this.#nodes = { root, said, answerBox, metaBox };
    this.show(attachments);
    this.restore(written);
  }

  /** Shows an answer as `toJSON` gave it. */
  restore({ answer = '', meta = '', plain = false, json = false, thoughts = '', thought = '' }) {
    Object.assign(this, { meta, plain: plain === true, json: json === true });
    const isText = typeof thoughts === 'string' && typeof thought === 'string';
    this.#thoughts.show(isText ? { thoughts, thought } : { thoughts: '', thought: '' });
    this.#show(answer);
  }

  /** Shows the attachments of the message, above its text. */
  show(attachments) {
    this.release();
    this.attachments = attachments;
    if (attachments.length === 0) return;
    const row = make('div', { className: 'attachments' }, ...attachments.map(shown));
    this.#nodes.said.replaceChildren(row, make('p', {}, this.user));
    this.#addresses = [...row.querySelectorAll('audio')].map(({ src }) => src);
  }

  /** Gives back what its players hold; it is no longer on the page, or gets others. */
  release() {
    for (const address of this.#addresses.splice(0)) URL.revokeObjectURL(address);
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

  /**
   * Empties the answer for a new one; `around` as in `TextStream`, `marks` as in `marksOf`; with `isOpen` what comes
   * first is a thought.
   */
  begin({ around, marks, isOpen }) {
    const { answerBox } = this.#nodes;
    this.answer = this.meta = this.#written = '';
    this.#marks = [marks, isOpen];
    this.#mark();
    this.#thoughts.begin(around);
    answerBox.classList.add('streaming');
    this.#stream = new TextStream(answerBox, { plain: this.plain, around });
    if (this.json) this.#stream.append(`${FENCE}json\n`);
  }

  /** Appends text that consists of `tokens` tokens. */
  write(text, tokens) {
    this.#written += text;
    const { thoughts, answer, isThinking } = this.#split(this.#written);
    if (isThinking) this.#thoughts.write(thoughts, tokens);
    else if (thoughts) this.#thoughts.end(thoughts);
    this.#stream.append(answer.slice(this.answer.length));
    this.answer = answer;
  }

  /** What was written so far, thoughts and their marks included. */
  get written() {
    return this.#written;
  }

  /** All was written, or what there will be of it. */
  finish(written) {
    const { thoughts, answer } = this.#split(written, true);
    if (thoughts) this.#thoughts.end(thoughts);
    this.#show(answer);
  }

  #split(text, isOver = false) {
    const [marks, isOpen] = this.#marks;
    return splitThoughts(text, marks, { isOpen, isOver });
  }

  #show(answer) {
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
    const { user, answer, meta, plain, json } = this;
    const attachments = this.attachments.map(({ file, thumbnail, ...told }) => told);
    const all = { user, answer, meta, plain, json, ...this.#thoughts.toJSON() };
    return attachments.length > 0 ? { ...all, attachments } : all;
  }
}

/** A sound with what plays it, a picture as a button that shows all of it. */
function shown(attachment) {
  const { name, kind, file, thumbnail } = attachment;
  if (kind === 'sound' ? !file : !thumbnail) {
    return make('span', { className: 'attachment-gone' }, `${name} is no longer here`);
  }
  return kind === 'sound' ? player(attachment) : shownPicture(attachment);
}

function player(sound) {
  const audio = make('audio', { controls: true, preload: 'metadata', ariaLabel: describeSound(sound) });
  audio.src = URL.createObjectURL(sound.file); // until `release`
  return audio;
}

function shownPicture(picture) {
  const { id, thumbnail } = picture;
  const image = make('img', { alt: describe(picture) });
  showBlob(image, thumbnail);
  const made = make('button', { type: 'button', className: 'picture', title: 'Show all of it' }, image);
  made.dataset.id = id;
  return made;
}
