// The card about the reading speed: how fast large matrices are read, as a percentage of what a kernel reads that only
// reads.

import { readBandwidth } from '../bench/meter.js';
import { bandwidthText, SPEED_HEAD, speedCells } from './report.js';
import { element } from './table.js';

const ON_SOFTWARE = 'Not measured: this is a software adapter, whose speed says nothing about a GPU.';
const NO_HARNESS = 'Not measured: the harness could not be opened.';

const $ = (id) => document.getElementById(id);

const bandwidth = () => readBandwidth().catch((error) => ({ skipped: error.message }));

/** The larger of two bandwidths, with both; why there is none where neither was measured. */
function larger(before, after) {
  const measured = [before, after].filter((read) => !read.skipped);
  if (measured.length === 0) return before;
  const both = measured.map((read) => read.bytes_per_second);
  return { ...measured[0], bytes_per_second: Math.max(...both), both };
}

function withPercent(row, { bytes_per_second: most }) {
  return row.gbps && most ? { ...row, percent: (100 * row.gbps * 1e9) / most } : row;
}

export class ReadingCard {
  #reading;
  /** Why nothing can be measured here. */
  #why;

  /**
   * @param {{list: () => object[], read: (index: number) => Promise<object>}} [reading] of the harness, if it is open
   * @param {object} facts of the device
   */
  constructor(reading, facts) {
    this.#reading = reading;
    this.#why = reading ? facts.software && ON_SOFTWARE : NO_HARNESS;
    $('reading').hidden = false;
    $('measure').hidden = Boolean(this.#why);
    $('reading-step').textContent = this.#why || '';
  }

  /**
   * Measures every product, and the bandwidth before and after them.
   * @param {() => boolean} isStopped asked before each product
   * @returns {Promise<object>} `{read_bandwidth, rows}` for the report, or `{skipped}`
   */
  async measure(isStopped) {
    if (this.#why) return { skipped: this.#why };
    const rows = [];
    const result = (read) => ({ read_bandwidth: read, rows: rows.map((row) => withPercent(row, read)) });
    this.#show('Bandwidth');
    const before = await bandwidth();
    const products = this.#reading.list();
    for (const [index, product] of products.entries()) {
      if (isStopped()) break;
      this.#show(`${index + 1} of ${products.length}: ${product.variant}`, result(before));
      rows.push(await this.#row(product, index));
    }
    this.#show('Bandwidth again', result(before));
    const whole = result(larger(before, await bandwidth()));
    this.#show(bandwidthText(whole), whole);
    return whole;
  }

  async #row({ variant, name, bytes, needs }, index) {
    const row = { variant, name, bytes };
    if (needs) return { ...row, reason: `needs ${needs}` };
    try {
      const { ms, gbps } = await this.#reading.read(index);
      return { ...row, ms, gbps };
    } catch (error) {
      return { ...row, reason: `${error?.code ?? error?.name ?? 'error'}: ${error?.message ?? error}` };
    }
  }

  #show(step, { rows } = { rows: [] }) {
    $('reading-step').textContent = step;
    const names = SPEED_HEAD.map((textContent) => element('th', { textContent, scope: 'col' }));
    const table = element('table', {}, [
      element('thead', {}, [element('tr', {}, names)]),
      element(
        'tbody',
        {},
        rows.map((row) => this.#draw(row)),
      ),
    ]);
    $('speeds').replaceChildren(...(rows.length > 0 ? [table] : []));
  }

  #draw(row) {
    const cells = speedCells(row).map((textContent) => element('td', { textContent }));
    if (row.reason) cells.splice(3, 3, element('td', { colSpan: 3, className: 'why', textContent: row.reason }));
    else cells.at(-1).style.setProperty('--share', `${Math.min(row.percent ?? 0, 100)}%`);
    return element('tr', {}, cells);
  }
}
