// A file with one passage marked. Files and their names are hostile input: all of them is text, never HTML.

/** Characters that are shown before a passage and behind it. */
const AROUND = 50_000;

const [viewer, title, text, close] = ['viewer', 'viewer-title', 'text', 'close'].map((id) =>
  document.getElementById(id),
);

/** A name that cannot change the direction of the text around it. */
export const nameOf = (name) => Object.assign(document.createElement('bdi'), { textContent: name });

/** Shows a file, and of it the passage from `start` to `end` if there is one. */
export function view({ name, text: whole }, { start = 0, end = 0, page } = {}) {
  const [from, to] = [Math.max(0, start - AROUND), Math.min(whole.length, end + AROUND)];
  const mark = Object.assign(document.createElement('mark'), { textContent: whole.slice(start, end) });
  const before = `${from > 0 ? '…' : ''}${whole.slice(from, start)}`;
  const after = `${whole.slice(end, to)}${to < whole.length ? '…' : ''}`;
  title.replaceChildren(nameOf(name), page ? `, page ${page}` : '');
  text.replaceChildren(before, ...(end > start ? [mark] : []), after);
  viewer.showModal();
  text.focus();
  if (end > start) mark.scrollIntoView({ block: 'center' });
  else text.scrollTop = 0;
}

text.tabIndex = 0; // so that the keyboard scrolls it
close.addEventListener('click', () => viewer.close());
