// Elements that the page is made of: cards, tables, lists of facts.

/** An element with properties and children. */
export function element(name, properties = {}, children = []) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function pairs(rows) {
  const cell = (kind, textContent) => element(kind, { textContent });
  const pair = ([name, value]) => element('div', {}, [cell('dt', name), cell('dd', value)]);
  return element('dl', {}, rows.map(pair));
}

function rowOf(texts, kinds, scope) {
  const cell = (textContent, i) => {
    // A corner without words is no header.
    const kind = textContent === '' ? 'td' : kinds[Math.min(i, kinds.length - 1)];
    return element(kind, { textContent, ...(kind === 'th' && { scope }) });
  };
  return element('tr', {}, texts.map(cell));
}

/** A table that scrolls, also by keyboard, where it is too wide. The first cell of a row names it. */
export function grid({ title, head, rows }) {
  const table = element('table', {}, [
    element('thead', {}, [rowOf(head, ['th'], 'col')]),
    element(
      'tbody',
      {},
      rows.map((row) => rowOf(row, ['th', 'td'], 'row')),
    ),
  ]);
  const box = element('div', { className: 'scroll', tabIndex: 0, role: 'region' }, [table]);
  box.setAttribute('aria-label', title);
  return box;
}

/** A table of `tables` in report.js as a card. */
export function card(table) {
  const { title, head, rows, note } = table;
  const words = note ? [element('p', { className: 'hint', textContent: note })] : [];
  const body = head ? grid(table) : pairs(rows);
  return element('section', { className: 'card' }, [element('h2', { textContent: title }), ...words, body]);
}
