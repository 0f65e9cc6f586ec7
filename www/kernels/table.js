// Groups of kernel cases that collapse. The rows of a group exist only while it is open, so that a thousand cases cost
// nothing while nobody looks at them.

import { count, errorText, firstText, groups, limitText, rateText, timeText } from './report.js';

const HEAD = ['', 'variant', 'case', 'abs. error', 'rel. error', 'limit', 'time', 'rate', ''];

export function element(name, properties = {}, children = []) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const several = (number, what) => `${number.toLocaleString('en')} ${what}${number === 1 ? '' : 's'}`;

const cell = (textContent, name = '') => {
  const made = element('td', { textContent });
  made.dataset.name = name;
  return made;
};

export class CaseTable {
  #groups = [];
  #run;
  #shown = () => true;
  #stale = new Set();
  #chosen;

  /**
   * @param {HTMLElement} root where the groups go
   * @param {object[]} rows see report.js; each also has an `id` of its own, which a link names
   * @param {(rows: object[]) => void} run called to run some rows
   */
  constructor(root, rows, run) {
    this.#run = run;
    this.#groups = groups(rows).map(([kernel, own]) => this.#makeGroup(kernel, own));
    root.replaceChildren(...this.#groups.map(({ box }) => box));
  }

  /** Shows the rows that `shown` is true for; how many these are. Groups open by themselves where they are few. */
  filter(shown, opens) {
    this.#shown = shown;
    let total = 0;
    for (const group of this.#groups) {
      group.visible = group.rows.filter(shown);
      group.box.hidden = group.visible.length === 0;
      total += group.visible.length;
      this.#fill(group);
    }
    const few = opens && total <= 60;
    if (few)
      this.#groups
        .filter(({ visible }) => visible.length > 0)
        .forEach(({ box }) => {
          box.open = true;
        });
    return total;
  }

  /** Collapses every group. */
  fold() {
    for (const { box } of this.#groups) box.open = false;
  }

  /** Opens the group of a row. */
  reveal(row) {
    this.#groups.find(({ rows }) => rows.includes(row)).box.open = true;
  }

  /** Opens, marks and scrolls to a row. */
  choose(row) {
    this.#chosen = row;
    const group = this.#groups.find(({ rows }) => rows.includes(row));
    group.box.open = true;
    this.#fill(group);
    group.body.querySelector('.chosen')?.scrollIntoView({ block: 'center' });
  }

  /** A row has changed; it is drawn with the next frame. */
  update(row) {
    if (this.#stale.size === 0) requestAnimationFrame(() => this.flush());
    this.#stale.add(row);
  }

  /** Draws what has changed. Rows are not filtered again: one that no longer matches the filter stays where it is. */
  flush() {
    for (const group of this.#groups) {
      const changed = group.rows.filter((row) => this.#stale.has(row));
      if (changed.length > 0) this.#total(group);
      for (const row of changed.filter((row) => group.drawn.has(row))) this.#redraw(group, row);
    }
    this.#stale.clear();
  }

  #makeGroup(kernel, rows) {
    const totals = element('span', { className: 'totals' });
    const summary = element('summary', {}, [element('h2', { textContent: kernel }), totals]);
    const body = element('div', { className: 'body' });
    const box = element('details', { className: 'group' }, [summary, body]);
    box.dataset.kernel = kernel;
    const group = { kernel, rows, visible: rows, totals, body, box, drawn: new Map() };
    box.addEventListener('toggle', () => this.#fill(group));
    this.#total(group);
    return group;
  }

  #total({ rows, totals, box }) {
    const counts = count(rows);
    const parts = ['passed', 'failed', 'skipped'].filter((status) => counts[status] > 0);
    const words = parts.map((className) => {
      const textContent = `${counts[className]} ${className}`;
      return element('span', { className, textContent });
    });
    const variants = new Set(rows.map(({ variant }) => variant)).size;
    const size = `${several(variants, 'variant')}, ${several(rows.length, 'case')}`;
    totals.replaceChildren(...words, element('span', { textContent: size }));
    box.classList.toggle('bad', counts.failed > 0);
  }

  /** Makes the rows of an open group, and drops those of a collapsed one. */
  #fill(group) {
    group.drawn.clear();
    if (!group.box.open) return group.body.replaceChildren();
    const names = HEAD.map((textContent) => element('th', { textContent, scope: 'col' }));
    const head = element('thead', {}, [element('tr', {}, names)]);
    const body = element('tbody');
    const isFailed = ({ status }) => status === 'failed';
    // What failed comes first: it is what people look for.
    for (const row of [...group.visible.filter(isFailed), ...group.visible.filter((row) => !isFailed(row))]) {
      group.drawn.set(row, this.#draw(row));
      body.append(...group.drawn.get(row));
    }
    const run = element('button', { type: 'button', className: 'link', textContent: `Run ${group.kernel}` });
    run.addEventListener('click', () => this.#run(group.rows.filter(this.#shown)));
    return group.body.replaceChildren(run, element('table', {}, [head, body]));
  }

  #redraw(group, row) {
    const [first, ...rest] = group.drawn.get(row);
    const made = this.#draw(row);
    rest.forEach((line) => line.remove());
    first.replaceWith(...made);
    group.drawn.set(row, made);
  }

  /** The table rows of a case: its own, and one with what went wrong. */
  #draw(row) {
    const { status, variant, result = {} } = row;
    const marks = [status === 'failed' && 'failed-row', row === this.#chosen && 'chosen'].filter(Boolean).join(' ');
    const link = element('a', { href: `#${encodeURIComponent(row.id)}`, textContent: row.case });
    const mark = element('span', { className: `status ${status}`, textContent: status });
    const again = element('button', { type: 'button', className: 'link', textContent: 'run' });
    again.ariaLabel = `Run ${row.id}`;
    again.addEventListener('click', () => this.#run([row]));
    const ran = result.limit && status !== 'running';
    const numbers = ran
      ? [
          cell(errorText(result.maxAbsError), 'abs'),
          cell(errorText(result.maxRelError), 'rel'),
          cell(limitText(result), 'limit'),
          cell(timeText(result.ms), ''),
          cell(rateText(result), ''),
        ]
      : ['', '', '', '', ''].map((text) => cell(text));
    const [first, name, last] = [mark, link, again].map((content) => element('td', {}, [content]));
    const line = element('tr', { className: `case ${marks}` }, [first, cell(variant), name, ...numbers, last]);
    return [line, ...this.#details(row, marks)];
  }

  #details({ status, result = {} }, marks) {
    const words = firstText(result) || result.reason;
    if (!words) return [];
    // Compilers write several lines, with the source around them.
    const isLong = words.includes('\n');
    const parts = [element(isLong ? 'pre' : 'p', { className: isLong ? 'reason' : status, textContent: words })];
    return [element('tr', { className: `more ${marks}` }, [element('td', { colSpan: HEAD.length }, parts)])];
  }
}
