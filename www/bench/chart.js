// Charts as inline SVG that is as wide as its place: what lies across is a share of the width, so that text and lines
// keep their size. Colours and dashes are in bench.css; beside each chart stands a table with its numbers.

import { curveTable } from './compare.js';
import { element, grid } from './parts.js';
import { figure } from './report.js';

const SVG = 'http://www.w3.org/2000/svg';

function shape(name, attributes, children = []) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const percent = (share) => `${(100 * share).toFixed(2)}%`;

// ---- bars -----------------------------------------------------------------------------------------------------------

const BAR = 40;

/** A bar for each row, with its name and its value above. */
export function barChart({ title, rows }) {
  const most = Math.max(...rows.map(({ value }) => value), Number.MIN_VALUE);
  const svg = shape('svg', { width: '100%', height: rows.length * BAR, role: 'img' });
  const words = rows.map(({ label, value }) => `${label} ${figure(value)}`);
  svg.append(shape('title', {}, [`${title}: ${words.join(', ')}`]));
  rows.forEach(({ label, value }, i) => {
    const y = i * BAR;
    svg.append(
      shape('text', { x: 0, y: y + 14 }, [label]),
      shape('text', { x: '100%', y: y + 14, class: 'value' }, [figure(value)]),
      shape('rect', { x: 0, y: y + 20, width: '100%', height: 8, rx: 4, class: 'track' }),
      shape('rect', { x: 0, y: y + 20, width: percent(Math.max(0.005, value / most)), height: 8, rx: 4 }),
    );
  });
  return svg;
}

// ---- lines ----------------------------------------------------------------------------------------------------------

/** Heights in pixels: of the whole, of the space above the highest line, of the text below. */
const [HEIGHT, ABOVE, BELOW] = [230, 18, 26];
/** Where the first and the last point lie, as a share of the width: values are written left of the first. */
const [FIRST, LAST] = [0.13, 0.96];
const LINES = 4;
/** Kinds of marks and dashes: `.series-0` and so on in bench.css. */
const KINDS = 6;
const MARK = 9;
/** Values at lines across: `1.5K`, so that they end before the first point. */
const SHORT = new Intl.NumberFormat('en', { notation: 'compact' });

/** Values for lines across, from 0 on, round and at most {@link LINES} above it; the last is not below `most`. */
export function roundValues(most) {
  if (!(most > 0)) return [0, 1];
  const rough = most / LINES;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= rough * (1 - 1e-9));
  const count = Math.ceil(most / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, i) => i * step);
}

/** Where a place and a value lie: a share of the width and pixels from above. Places are a factor apart, not a sum. */
function scales(places, most) {
  const [from, to] = [Math.log2(places[0]), Math.log2(places.at(-1))];
  const x = (place) => (to > from ? FIRST + ((LAST - FIRST) * (Math.log2(place) - from)) / (to - from) : 0.5);
  const y = (value) => HEIGHT - BELOW - ((HEIGHT - BELOW - ABOVE) * value) / most;
  return { x: (place) => percent(x(place)), y: (value) => y(value).toFixed(1) };
}

/** A mark around a point: a disc or a square. */
function mark(kind, cx, cy) {
  if (kind % 2 === 0) return shape('circle', { class: 'mark', cx, cy, r: MARK / 2 });
  const corner = `translate(${-MARK / 2} ${-MARK / 2})`;
  return shape('rect', { class: 'mark', x: cx, y: cy, width: MARK, height: MARK, transform: corner });
}

function lineOf({ points }, kind, { x, y }) {
  const line = shape('g', { class: `series series-${kind}` });
  points.slice(1).forEach((to, i) => {
    const from = points[i];
    line.append(shape('line', { x1: x(from.x), y1: y(from.middle), x2: x(to.x), y2: y(to.middle) }));
  });
  for (const point of points) {
    const spread = { class: 'spread', x1: x(point.x), x2: x(point.x), y1: y(point.least), y2: y(point.most) };
    line.append(shape('line', spread), mark(kind, x(point.x), y(point.middle)));
  }
  return line;
}

/** Places that are far enough from each other to be written below the chart; always the first and the last. */
function written(places) {
  const [from, to] = [Math.log2(places[0]), Math.log2(places.at(-1))];
  const share = (place) => (Math.log2(place) - from) / (to - from || 1);
  const last = places.at(-1);
  return places.filter(
    (place) => place === places[0] || place === last || (share(place) > 0.12 && share(place) < 0.88),
  );
}

function plot({ title, over, series }) {
  const points = series.flatMap((one) => one.points);
  const places = [...new Set(points.map(({ x }) => x))].sort((a, b) => a - b);
  const values = roundValues(Math.max(...points.map(({ most }) => most)));
  const scale = scales(places, values.at(-1));
  const svg = shape('svg', { class: 'plot', width: '100%', height: HEIGHT, role: 'img' });
  svg.append(shape('title', {}, [`${title}; the numbers are in the table`]));
  for (const value of values) {
    const y = scale.y(value);
    svg.append(shape('line', { class: 'rule', x1: 0, x2: '100%', y1: y, y2: y }));
    if (value > 0) svg.append(shape('text', { x: 0, y: y - 4 }, [SHORT.format(value)]));
  }
  for (const place of written(places)) {
    svg.append(shape('text', { class: 'place', x: scale.x(place), y: HEIGHT - 8 }, [figure(place)]));
  }
  svg.append(...series.map((one, i) => lineOf(one, i % KINDS, scale)));
  return element('figure', {}, [svg, element('figcaption', { className: 'hint', textContent: over })]);
}

/** What the lines are: a piece of each beside its name. */
function legend(series) {
  const entries = series.map(({ label }, i) => {
    const kind = i % KINDS;
    const piece = shape('svg', { width: 28, height: 14, 'aria-hidden': 'true' });
    const line = shape('g', { class: `series series-${kind}` });
    line.append(shape('line', { x1: 0, y1: 7, x2: 28, y2: 7 }), mark(kind, 14, 7));
    piece.append(line);
    return element('li', {}, [piece, label]);
  });
  return element('ul', { className: 'legend' }, entries);
}

/** A chart of `curves` in compare.js and the table with its numbers, as a card. */
export function curveCard(chart) {
  const isOne = chart.series.length === 1;
  const several = isOne ? [] : [legend(chart.series)];
  // The columns of several results want the whole width.
  const both = element('div', { className: isOne ? 'beside' : 'below' }, [plot(chart), grid(curveTable(chart))]);
  return element('section', { className: 'card curve' }, [
    element('h2', { textContent: chart.title }),
    ...several,
    both,
  ]);
}
