// The Markdown that OCR models write, as elements. What a model writes is not to be trusted: each character of it
// becomes text of an element that is made here, and no address is followed. An HTML table is parsed in a document of
// its own, which runs and fetches nothing; its cells' texts are copied.

const element = (name, className = '') => Object.assign(document.createElement(name), { className });

/** Bold, code and formulas in a line; all else is text. */
const INLINE = /(\*\*[^*\n]+\*\*|`[^`\n]+`|\$[^$\n]+\$|\\\([^\n]+?\\\))/;

function inline(text) {
  return text.split(INLINE).map((piece, at) => {
    if (at % 2 === 0) return piece;
    if (piece.startsWith('**')) return withText('strong', piece.slice(2, -2));
    if (piece.startsWith('`')) return withText('code', piece.slice(1, -1));
    return withText('code', piece, 'formula');
  });
}

function withText(name, text, className = '') {
  const made = element(name, className);
  made.textContent = text;
  return made;
}

/** What may be wider than the page scrolls by itself, also by keyboard. */
function wide(content) {
  const box = element('div', 'wide');
  box.tabIndex = 0;
  box.append(content);
  return box;
}

/** Rows of `{ text, isHead, columns, rows }`. */
function tableOf(rows) {
  const table = element('table');
  for (const cells of rows) {
    const row = element('tr');
    for (const { text, isHead, columns = 1, rows: down = 1 } of cells) {
      const cell = element(isHead ? 'th' : 'td');
      if (columns > 1) cell.colSpan = Math.min(columns, 50);
      if (down > 1) cell.rowSpan = Math.min(down, 200);
      cell.append(...inline(text));
      row.append(cell);
    }
    table.append(row);
  }
  return wide(table);
}

function htmlTable(lines) {
  const page = new DOMParser().parseFromString(lines.join('\n'), 'text/html');
  const rows = [...page.querySelectorAll('tr')].map((row) =>
    [...row.cells].map((cell) => ({
      text: cell.textContent.trim(),
      isHead: cell.localName === 'th',
      columns: cell.colSpan,
      rows: cell.rowSpan,
    })),
  );
  return tableOf(rows);
}

function pipeTable(lines) {
  const isRule = (line) => /^\|[\s:|-]+\|?$/.test(line);
  const hasHead = lines.length > 1 && isRule(lines[1]);
  const rows = lines.filter((line, at) => !(at === 1 && isRule(line)));
  const cells = (line) => line.replace(/^\|/, '').replace(/\|$/, '').split('|');
  return tableOf(
    rows.map((line, at) => cells(line).map((text) => ({ text: text.trim(), isHead: hasHead && at === 0 }))),
  );
}

function list(lines) {
  const made = element(/^\s*\d/.test(lines[0]) ? 'ol' : 'ul');
  for (const line of lines) {
    const item = element('li');
    item.append(...inline(line.replace(LIST, '')));
    made.append(item);
  }
  return made;
}

function paragraph(lines) {
  const made = element('p');
  lines.forEach((line, at) => made.append(...(at > 0 ? [element('br')] : []), ...inline(line)));
  return made;
}

function heading([line]) {
  const [, marks, text] = HEADING.exec(line);
  const made = element(`h${Math.min(marks.length + 1, 6)}`);
  made.append(...inline(text));
  return made;
}

const preformatted = (className) => (lines) => wide(withText('pre', lines.join('\n'), className));
const HEADING = /^(#{1,6})\s+(.*)$/;
const LIST = /^\s*(?:[-*+•]|\d{1,4}[.)])\s+/;

/**
 * Kinds of blocks by their first line. `end`: the line with which a block ends, `while`: what further lines are like.
 * `isAround`: the first line and the last one are marks alone.
 */
const BLOCKS = [
  { begin: /^```/, end: /^```\s*$/, isAround: true, make: preformatted('') },
  { begin: /^\s*(?:\$\$|\\\[)/, end: /(?:\$\$|\\\])\s*$/, make: preformatted('formula') },
  { begin: /^\s*<table/i, end: /<\/table>/i, make: htmlTable },
  { begin: /^\|/, while: /^\|/, make: pipeTable },
  { begin: HEADING, make: heading },
  { begin: LIST, while: LIST, make: list },
];
const PARAGRAPH = { make: paragraph };

/** Whether the block goes on behind its last line. */
function goesOn(kind, lines, next) {
  const last = lines.at(-1);
  if (kind.end) {
    const isMark = lines.length === 1 && (kind.isAround || /^\s*(?:\$\$|\\\[)\s*$/.test(last));
    return isMark || !kind.end.test(last);
  }
  if (kind.while) return kind.while.test(next);
  return kind === PARAGRAPH && next.trim() !== '' && !BLOCKS.some(({ begin }) => begin.test(next));
}

/** Elements of a text, also of one that is not at its end. */
export function elementsOf(text) {
  const fragment = document.createDocumentFragment();
  const lines = text.replaceAll('\r', '').split('\n');
  for (let at = 0; at < lines.length; ) {
    const first = lines[at];
    at += 1;
    if (first.trim() === '') continue;
    const kind = BLOCKS.find(({ begin }) => begin.test(first)) ?? PARAGRAPH;
    const own = [first];
    while (at < lines.length && goesOn(kind, own, lines[at])) {
      own.push(lines[at]);
      at += 1;
    }
    const isClosed = kind.isAround && own.length > 1 && kind.end.test(own.at(-1));
    fragment.append(kind.make(kind.isAround ? own.slice(1, isClosed ? -1 : undefined) : own));
  }
  return fragment;
}
