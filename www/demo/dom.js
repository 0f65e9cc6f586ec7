// Small helpers for elements of the page.

export const $ = (id) => document.getElementById(id);

// `randomUUID` is there on https pages only.
export const newId = () => crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;

export function make(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

export function button(words, action, className = '') {
  const made = make('button', { type: 'button', textContent: words, className });
  made.addEventListener('click', action);
  return made;
}

const ICONS = {
  copy: ['M5.5 5.5v-3a1.5 1.5 0 0 1 1.5-1.5h5.5A1.5 1.5 0 0 1 14 2.5V9a1.5 1.5 0 0 1-1.5 1.5H10', 'M2 6h8v9H2z'],
  again: ['M13.5 8a5.5 5.5 0 1 1-1.7-4M12 1v3.2H8.8'],
  rename: ['M2.5 13.5l.7-3L10.7 3a1.4 1.4 0 0 1 2 0l.3.3a1.4 1.4 0 0 1 0 2L5.5 12.8z'],
  remove: ['M4 4l8 8M12 4l-8 8'],
  delete: ['M3 4.500h10M6.5 4.500v-2h3v2M4.5 4.500l.6 9h5.800l.6-9'],
};

function svgElement(name, attributes) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function icon(name) {
  const svg = svgElement('svg', { viewBox: '0 0 16 16', 'aria-hidden': 'true' });
  svg.append(...ICONS[name].map((d) => svgElement('path', { d })));
  return svg;
}

/** A small button with an icon and words; with `label` the words are for screen readers alone. */
export function tool({ className, words, name, label }) {
  const made = make('button', { type: 'button', className: `tool ${className}` }, icon(name));
  if (label) Object.assign(made, { ariaLabel: label, title: words });
  else made.append(make('span', {}, words));
  return made;
}

/** Says for a moment on a button what came of it. */
export function flash(target, words) {
  const text = target.querySelector('span') ?? target;
  target.dataset.words ??= text.textContent;
  text.textContent = words;
  setTimeout(() => {
    text.textContent = target.dataset.words;
  }, 1500);
}

/** Says something to screen readers alone. */
export function announce(words) {
  $('status').textContent = words;
}

/** Puts text on the clipboard, also where the browser offers the API on https pages only. */
async function toClipboard(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = make('textarea', { value: text, className: 'hidden' });
  document.body.append(area);
  area.select();
  const copied = document.execCommand('copy');
  area.remove();
  if (!copied) throw new Error('the browser does not allow copying');
}

/** Copies `text` and says on the button what came of it. */
export async function copy(target, text) {
  const copied = await toClipboard(text).then(
    () => true,
    () => false,
  );
  flash(target, copied ? 'Copied' : 'Not allowed');
  announce(copied ? 'Copied' : 'The browser does not allow copying');
}

/** Lets a button ask first: the second press carries out `action`; when the focus leaves it, the question is over. */
export function confirmed(target, question, action) {
  const { textContent, ariaLabel } = target;
  const ask = (asking) => {
    target.classList.toggle('asking', asking);
    target.textContent = asking ? question : textContent;
    target.ariaLabel = asking ? null : ariaLabel;
  };
  target.addEventListener('click', () => {
    const sure = target.classList.contains('asking');
    ask(!sure);
    if (sure) action();
    else announce(question);
  });
  target.addEventListener('blur', () => ask(false));
}
