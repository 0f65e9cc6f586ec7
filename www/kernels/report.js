// The state of the kernel cases as JSON, as Markdown and as words. Needs no browser.
//
// A row is `{kernel, variant, case, status, result}`; `result` is what running it gave, or undefined. The status is
// `waiting`, `running`, `passed`, `failed` or `skipped`.

import { figure } from '../bench/report.js';

const NONE = '-';

/** An error for people: two digits that matter. */
export function errorText(value) {
  if (value === undefined || value === null) return NONE;
  return value === 0 ? '0' : Number.isFinite(value) ? value.toExponential(1).replace('e+', 'e') : String(value);
}

/** The tolerance `abs + rel·|expected|`, and the largest error as a share of it. */
export function limitText({ limit, ofLimit }) {
  if (!limit) return NONE;
  const { abs, rel } = limit;
  if (abs === 0 && rel === 0) return 'exact';
  const words = [abs && errorText(abs), rel && `${errorText(rel)} |x|`].filter(Boolean).join(' + ');
  return Number.isFinite(ofLimit) ? `${words} (${Math.round(100 * ofLimit)} %)` : words;
}

export const timeText = (ms) => (Number.isFinite(ms) ? `${figure(ms)} ms` : NONE);

/** GFLOP/s where operations were counted, else GB/s; of slow ones a thousandth. */
export function rateText({ gbps, gflops }) {
  const [value, unit] = gflops ? [gflops, 'FLOP/s'] : [gbps, 'B/s'];
  if (!value) return NONE;
  return value < 0.1 ? `${figure(value * 1000)} M${unit}` : `${figure(value)} G${unit}`;
}

/** The first difference in words, or ''. */
export function firstText({ first }) {
  if (!first) return '';
  return `first difference at element ${first.index}: expected ${first.expected}, found ${first.found}`;
}

// ---- reading speed --------------------------------------------------------------------------------------------------

export const SPEED_HEAD = ['variant', 'matrix', 'size', 'time', 'rate', 'of the bandwidth'];

/** The cells of a row of the reading speed; the last is the reason where it was not measured. */
export function speedCells({ variant, name, bytes, ms, gbps, percent, reason }) {
  const share = Number.isFinite(percent) ? `${percent.toFixed(1)} %` : NONE;
  return [variant, name, `${figure(bytes / 1e6)} MB`, timeText(ms), rateText({ gbps }), reason ?? share];
}

/** The bandwidth in words. */
export function bandwidthText({ read_bandwidth: { bytes_per_second: most, both = [], skipped } }) {
  if (skipped) return `Bandwidth of a kernel that only reads: not measured, ${skipped}`;
  const words = both.map((value) => figure(value / 1e9)).join(' before and ');
  const around = both.length > 1 ? ` (${words} after)` : '';
  return `Bandwidth of a kernel that only reads: ${figure(most / 1e9)} GB/s${around}`;
}

// ---- the whole ------------------------------------------------------------------------------------------------------

/** How many rows have each status. */
export function count(rows) {
  const counts = { all: rows.length, passed: 0, failed: 0, skipped: 0, waiting: 0, running: 0 };
  for (const { status } of rows) counts[status] += 1;
  return counts;
}

/** `[[kernel, rows]]` in the order of the kernels' names. */
export function groups(rows) {
  const map = new Map();
  for (const row of rows) {
    if (!map.has(row.kernel)) map.set(row.kernel, []);
    map.get(row.kernel).push(row);
  }
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** The name of the adapter in one line. */
export function adapterName({ name, description, vendor, architecture, software } = {}) {
  const words = name || description || [vendor, architecture].filter(Boolean).join(' ') || 'an unnamed adapter';
  return software ? `${words} (software)` : words;
}

function caseReport({ kernel, variant, case: name, status, result = {} }) {
  const { reason, maxAbsError, maxRelError, limit, ofLimit, ms, gbps, gflops, first } = result;
  return {
    kernel,
    variant,
    case: name,
    status,
    reason,
    maxAbsError,
    maxRelError,
    limit,
    ofLimit,
    ms,
    gbps,
    gflops,
    first,
  };
}

/**
 * The JSON of a run. Rows that did not run are not in it.
 * @param {object[]} rows
 * @param {object} facts of the device
 * @param {{seed?: number, userAgent?: string, reading?: object}} [run] `reading` is what ReadingCard measured
 */
export function report(rows, facts, { seed, userAgent, reading } = {}) {
  const ran = rows.filter(({ status }) => status !== 'waiting' && status !== 'running');
  const { passed, failed, skipped } = count(ran);
  return {
    adapter: adapterName(facts),
    software: facts?.software,
    features: facts?.features ?? [],
    limits: facts?.limits ?? {},
    seed,
    userAgent,
    passed,
    failed,
    skipped,
    cases: ran.map(caseReport),
    reading,
  };
}

const cell = (text) => String(text).replaceAll('|', '\\|').replaceAll('\n', ' ');
const line = (cells) => `| ${cells.map(cell).join(' | ')} |`;

function table(head, rows) {
  const rule = `|${head.map((_, i) => (i === 0 ? ' --- |' : ' ---: |')).join('')}`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}

function kernelTable(cases) {
  const rows = groups(cases).map(([kernel, own]) => {
    const { passed, failed, skipped } = count(own);
    const worst = own.reduce((most, { maxAbsError }) => Math.max(most, maxAbsError ?? 0), 0);
    return [kernel, new Set(own.map(({ variant }) => variant)).size, passed, failed, skipped, errorText(worst)];
  });
  return table(['kernel', 'variants', 'passed', 'failed', 'skipped', 'largest error'], rows);
}

function failure(entry) {
  const words = firstText(entry) || entry.reason;
  return `#### ${entry.variant}: ${entry.case}\n\n\`\`\`text\n${words || 'no reason was given'}\n\`\`\``;
}

function skippedTable(cases) {
  const reasons = new Map();
  for (const { reason = 'no reason was given' } of cases) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  return table(['skipped because', 'cases'], [...reasons]);
}

function readingPart(reading) {
  const title = '### Reading speed';
  if (reading.skipped) return [title, reading.skipped];
  return [title, bandwidthText(reading), table(SPEED_HEAD, reading.rows.map(speedCells))];
}

/** Failures beyond these are counted only: a report that nobody can paste helps nobody. */
const MOST_FAILURES = 30;

/** The report of `report()` as Markdown, for a bug report. */
export function markdown(result) {
  const { adapter, features, passed, failed, skipped, seed, userAgent, cases, reading } = result;
  const parts = [`## Kernels on ${adapter}: ${passed} passed, ${failed} failed, ${skipped} skipped`];
  const facts = [
    ['adapter', adapter],
    ['features', features.join(', ') || 'none'],
    ['browser', userAgent ?? NONE],
    ['seed of the JavaScript references', seed ?? NONE],
  ];
  parts.push(facts.map(([name, value]) => `- ${name}: ${value}`).join('\n'));
  const failures = cases.filter(({ status }) => status === 'failed');
  if (failures.length > 0) parts.push('### Failures', ...failures.slice(0, MOST_FAILURES).map(failure));
  if (failures.length > MOST_FAILURES) parts.push(`and ${failures.length - MOST_FAILURES} more.`);
  if (cases.length > 0) parts.push('### By kernel', kernelTable(cases));
  const left = cases.filter(({ status }) => status === 'skipped');
  if (left.length > 0) parts.push(skippedTable(left));
  if (reading) parts.push(...readingPart(reading));
  return `${parts.join('\n\n')}\n`;
}
