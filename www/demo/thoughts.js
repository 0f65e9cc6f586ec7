// Thoughts that a model writes before it answers: told apart from the answer while both come, and folded above it.

import { announce, make } from './dom.js';
import { showText, TextStream } from './markdown.js';

/**
 * What thoughts begin and end with. `sign` is found in the chat templates of such models; `none` stands before an
 * answer without thoughts; `special` are the control tokens that have to be in the text.
 */
const MARKS = [
  {
    sign: /<\|channel\|>/,
    open: '<|channel|>analysis<|message|>',
    close: 'assistant<|channel|>final<|message|>',
    none: '<|channel|>final<|message|>',
    special: ['<|channel|>', '<|message|>'],
  },
  { sign: /<\|channel>/, open: '<|channel>thought', close: '<channel|>', special: ['<|channel>', '<channel|>'] },
  { sign: /\[THINK\]/, open: '[THINK]', close: '[/THINK]', special: ['[THINK]', '[/THINK]'] },
  { sign: /<\/?think>/, open: '<think>', close: '</think>', special: ['<think>', '</think>'] },
];

/**
 * How a model marks its thoughts; nothing where it has none. `isOpen[thinking]` says whether the prompt ends within
 * one, with and without the setting that lets a model think.
 */
export async function marksOf(model) {
  const marks = MARKS.find(({ sign }) => sign.test(model.info.chatTemplate ?? ''));
  if (!marks) return undefined;
  const endsOpen = async (enableThinking) => {
    const messages = [{ role: 'user', content: '?' }];
    const prompt = await model.applyChatTemplate(messages, { enableThinking }).catch(() => '');
    return prompt.trimEnd().endsWith(marks.open);
  };
  return { ...marks, isOpen: { false: await endsOpen(false), true: await endsOpen(true) } };
}

/**
 * What was written so far, apart; something that may become a mark belongs to neither, unless the text is over.
 * @param {{open: string, close: string, none?: string} | undefined} marks
 * @param {{isOpen?: boolean, isOver?: boolean}} [options] `isOpen`: the prompt ends within a thought
 */
export function splitThoughts(text, marks, { isOpen = false, isOver = false } = {}) {
  if (!marks) return { thoughts: '', answer: text, isThinking: false };
  const { open, close, none = open } = marks;
  const begun = text.trimStart();
  if (!isOver && (open.startsWith(begun) || none.startsWith(begun))) {
    return { thoughts: '', answer: '', isThinking: isOpen };
  }
  if (none !== open && begun.startsWith(none)) {
    return { thoughts: '', answer: begun.slice(none.length), isThinking: false };
  }
  const isMarked = begun.startsWith(open);
  if (!isMarked && !isOpen) return { thoughts: '', answer: text, isThinking: false };
  const body = (isMarked ? begun.slice(open.length) : begun).trimStart();
  const end = body.indexOf(close);
  if (end >= 0) {
    return {
      thoughts: body.slice(0, end).trimEnd(),
      answer: body.slice(end + close.length).trimStart(),
      isThinking: false,
    };
  }
  const known = isOver ? body : body.slice(0, partAtEnd(body, close));
  return { thoughts: known.trimEnd(), answer: '', isThinking: !isOver };
}

/** Where at the end of `text` a part of `mark` begins. */
function partAtEnd(text, mark) {
  for (let at = Math.max(0, text.length - mark.length + 1); at < text.length; at += 1) {
    if (mark.startsWith(text.slice(at))) return at;
  }
  return text.length;
}

/** The thoughts of an answer on the page, folded; hidden while there are none. */
export class ThoughtBox {
  #nodes;
  #stream;
  #text = '';
  #tokens = 0;
  #since = 0;

  constructor({ thoughts = '', thought = '' } = {}) {
    const summary = make('summary', {});
    const body = make('div', { className: 'thought' });
    const root = make('details', { className: 'thoughts' }, summary, body);
    this.#nodes = { root, summary, body };
    this.show({ thoughts, thought });
  }

  get root() {
    return this.#nodes.root;
  }

  /** Shows thoughts that are complete, under the words `thought`. */
  show({ thoughts, thought }) {
    const { root, summary, body } = this.#nodes;
    this.#text = thoughts;
    root.hidden = thoughts === '';
    root.classList.remove('thinking');
    summary.textContent = thought;
    if (this.#stream) this.#stream.end(thoughts);
    else showText(body, thoughts, false);
    this.#stream = undefined;
  }

  /** Empties it for new thoughts; `around` as in `TextStream`. */
  begin(around) {
    this.show({ thoughts: '', thought: '' });
    this.#nodes.root.open = false;
    this.#tokens = 0;
    this.#stream = new TextStream(this.#nodes.body, { around });
  }

  /** The thoughts so far; `tokens` more were written for them. */
  write(thoughts, tokens) {
    const { root, summary } = this.#nodes;
    if (this.#tokens === 0) {
      this.#since = performance.now();
      announce('Thinking');
    }
    this.#tokens += tokens;
    this.#stream.append(thoughts.slice(this.#text.length));
    this.#text = thoughts;
    root.hidden = thoughts === '';
    root.classList.add('thinking');
    summary.textContent = `Thinking · ${this.#tokens} tokens`;
  }

  /** The thoughts are over. */
  end(thoughts) {
    if (!this.#stream) return;
    const seconds = ((performance.now() - this.#since) / 1000).toFixed(1);
    this.show({ thoughts, thought: `Thought for ${this.#tokens} tokens, ${seconds} s` });
  }

  toJSON() {
    return { thoughts: this.#text, thought: this.#nodes.summary.textContent };
  }
}
