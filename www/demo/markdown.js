// Answers as Markdown. What a model writes is not to be trusted: HTML in it is shown as text, images become links (a
// page that says "nothing leaves this page" fetches no address that a model made up), and what remains passes
// DOMPurify with a short list of elements. What cannot be drawn, or costs too much, is shown as plain text.

import DOMPurify from '../vendor/dompurify.js';
import { Marked, Tokenizer } from '../vendor/marked.js';
import { countedRules, within } from './markdown-limits.js';

const ALLOWED = {
  ALLOWED_TAGS: [
    ...['p', 'br', 'hr', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'li', 'blockquote', 'pre', 'code', 'em', 'strong', 'del'],
    ...['a', 'table', 'thead', 'tbody', 'tr', 'th', 'td'],
  ],
  ALLOWED_ATTR: ['href', 'start', 'align', 'data-language'],
  // None of these values is an address.
  ADD_URI_SAFE_ATTR: ['start', 'align', 'data-language'],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

const ESCAPES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escaped = (text) => text.replace(/[&<>"']/g, (character) => ESCAPES[character]);

const marked = new Marked({
  gfm: true,
  breaks: true,
  tokenizer: countedRules(Tokenizer, {
    // Formulas stay as they were written: \( \) \[ \] are no escapes.
    escape(text) {
      const raw = /^\\[()[\]]/.exec(text)?.[0];
      return raw ? { type: 'text', raw, text: raw } : undefined;
    },
  }),
  renderer: {
    html: ({ text, block }) => (block ? `<p>${escaped(text)}</p>` : escaped(text)),
    image({ href, title, text }) {
      return this.link({ href, title, tokens: [{ type: 'text', raw: text, text: text || href }] });
    },
    // The page's own headings end at level 2.
    heading({ tokens, depth }) {
      const level = Math.min(depth + 2, 6);
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
    },
    code({ text, lang = '' }) {
      return `<pre><code data-language="${escaped(lang.split(/\s/)[0])}">${escaped(text)}</code></pre>`;
    },
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
  },
});

/** Markdown as elements that are safe to put on the page; as plain text where it cannot be drawn. Never throws. */
export function renderMarkdown(text) {
  try {
    return draw(text);
  } catch (error) {
    console.info(`shown as plain text: ${error.name}: ${error.message}`);
    return plainText(text);
  }
}

/** The class of an element that shows a text as it is, with its line breaks. */
const AS_IS = 'as-is';

function plainText(text) {
  const fragment = document.createDocumentFragment();
  fragment.append(Object.assign(document.createElement('div'), { className: AS_IS, textContent: text }));
  return fragment;
}

function draw(text) {
  const html = within(text, (given) => marked.parse(given));
  const fragment = DOMPurify.sanitize(html, ALLOWED);
  for (const link of fragment.querySelectorAll('a')) {
    const { href } = link;
    // The tooltip says where the link goes, whatever its words say.
    if (href) Object.assign(link, { title: href, target: '_blank', rel: 'noopener noreferrer nofollow' });
    else link.replaceWith(...link.childNodes);
  }
  for (const table of fragment.querySelectorAll('table')) wrap(table, 'table');
  for (const pre of fragment.querySelectorAll('pre')) frameCode(pre);
  return fragment;
}

/** Puts what may be wider than the page into a box that scrolls, also with the keyboard. */
function wrap(element, className) {
  const box = Object.assign(document.createElement('div'), { className });
  element.replaceWith(box);
  box.append(element);
  if (className === 'table') box.tabIndex = 0;
  return box;
}

/** A code block gets its language and a button that copies it; the page listens for clicks on `.copy-code`. */
function frameCode(pre) {
  const code = pre.querySelector('code');
  const head = Object.assign(document.createElement('div'), { className: 'code-head' });
  const language = Object.assign(document.createElement('span'), { textContent: code.dataset.language || 'text' });
  const copy = Object.assign(document.createElement('button'), {
    type: 'button',
    className: 'tool copy-code',
    textContent: 'Copy',
  });
  copy.setAttribute('aria-label', 'Copy code');
  head.append(language, copy);
  pre.tabIndex = 0;
  wrap(pre, 'code').prepend(head);
}

/**
 * Shows text while it is written. It is drawn at most once per frame, and drawing takes at most a fifth of the time;
 * blocks (paragraphs, lists, code) that are complete are not drawn again.
 */
export class TextStream {
  #element;
  #plain;
  #around;
  #text = '';
  /** What is not drawn for good yet, and the nodes that show it. */
  #open = '';
  #openNodes = [];
  /** Shows what comes as plain text, once what is open cannot be drawn. */
  #asIs;
  #frame = 0;
  #restUntil = 0;
  /** How often it was drawn; for tests. */
  drawings = 0;

  /**
   * @param {HTMLElement} element is emptied and filled
   * @param {{plain?: boolean, around?: (draw: () => void) => void}} [options] `plain`: no Markdown; `around` is given
   *   each drawing to carry out, and may look at the page before and after
   */
  constructor(element, { plain = false, around = (draw) => draw() } = {}) {
    this.#element = element;
    this.#plain = plain;
    this.#around = around;
    element.replaceChildren();
  }

  /** Everything written so far. */
  get text() {
    return this.#text;
  }

  append(text) {
    this.#text += text;
    this.#open += text.replaceAll('\r', '');
    this.#frame ||= requestAnimationFrame(this.#onFrame);
  }

  /** Draws the whole of it: something at the end, such as the address of a link, may change what came before. */
  end(text = this.#text) {
    cancelAnimationFrame(this.#frame);
    this.#text = text;
    this.#around(() => showText(this.#element, text, this.#plain));
  }

  #onFrame = () => {
    this.#frame = 0;
    if (performance.now() < this.#restUntil) {
      this.#frame = requestAnimationFrame(this.#onFrame);
      return;
    }
    const begun = performance.now();
    this.#around(() => (this.#plain ? this.#drawPlain() : this.#drawMarkdown()));
    this.drawings += 1;
    const end = performance.now();
    this.#restUntil = end + 4 * (end - begun);
  };

  #drawPlain() {
    this.#element.append(this.#open);
    this.#open = '';
  }

  #drawMarkdown() {
    if (this.#asIs) {
      this.#asIs.append(this.#open);
      this.#open = '';
      return;
    }
    for (const node of this.#openNodes) node.remove();
    const complete = completeLength(this.#open);
    if (complete > 0) this.#element.append(renderMarkdown(this.#open.slice(0, complete)));
    this.#open = this.#open.slice(complete);
    const fragment = renderMarkdown(this.#open);
    this.#openNodes = [...fragment.childNodes];
    this.#element.append(fragment);
    this.#asIs = this.#openNodes.find(({ className }) => className === AS_IS);
    if (this.#asIs) this.#open = '';
  }
}

/** Shows a whole text in `element`; leaves it alone (and a selection in it) where it shows that already. */
export function showText(element, text, plain) {
  const fragment = document.createDocumentFragment();
  fragment.append(plain ? text : renderMarkdown(text));
  const shown = document.createDocumentFragment();
  shown.append(...element.cloneNode(true).childNodes);
  shown.normalize();
  if (!fragment.isEqualNode(shown)) element.replaceChildren(fragment);
}

/** Characters of `text` up to its last block, which more text may still change; none where it cannot be read. */
function completeLength(text) {
  let blocks = [];
  try {
    blocks = within(text, (given) => marked.lexer(given));
  } catch {
    return 0; // which is said when it is drawn
  }
  const last = blocks.findLastIndex(({ type }) => type !== 'space');
  return blocks.slice(0, Math.max(last, 0)).reduce((length, { raw }) => length + raw.length, 0);
}
