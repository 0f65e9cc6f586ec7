// The result of a measurement as tables: lists of rows for the page, Markdown for reports. Needs no browser.

const NONE = '–';
const MEGA = 1e6;

/** A number for people: three digits that matter, thousands apart. */
export function figure(value) {
  if (!Number.isFinite(value)) return NONE;
  const size = Math.abs(value);
  const digits = size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : 2;
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

const withUnit = (value, unit) => (Number.isFinite(value) ? `${figure(value)} ${unit}` : NONE);
const gigabytes = (bytes) => withUnit(bytes / 1e9, 'GB/s');

/** The model's own name, else that of its kind. */
export const nameOf = (info) => info.name ?? info.architecture;

/** What was measured, on what. */
function machine({ adapter, info, features, date, user_agent, settings }) {
  const { prompt, predict, runs, temperature, texts, schema, repeat, draft } = settings;
  const more = [schema && ', schema', repeat && ', repeat', draft !== '0' && `, drafts ${draft}`];
  const asked = info.pooling
    ? `${texts} texts of ${prompt} tokens, runs ${runs}`
    : `prompt ${prompt}, predict ${predict}, runs ${runs}, temperature ${temperature}${more.filter(Boolean).join('')}`;
  return [
    ['model', `${nameOf(info)}, ${info.quantization}, ${info.layers} ${info.layers === 1 ? 'layer' : 'layers'}`],
    ['file', settings.model],
    ['backend', info.backend],
    ['adapter', adapter || NONE],
    ['features', features.join(', ') || 'none'],
    ['asked', asked],
    ['context', `${figure(info.contextLength)} tokens`],
    ['on the GPU', withUnit(info.gpuBytes / MEGA, 'MB')],
    ['browser', user_agent],
    ['date', date],
  ];
}

function runRows({ runs, median }) {
  const row = (name, { prompt_n = '', pp, n = '', tg, ttft_ms }) => [
    name,
    String(prompt_n),
    figure(pp),
    figure(ttft_ms),
    String(n),
    figure(tg),
  ];
  return [...runs.map((run, i) => row(String(i + 1), run)), row('median', median)];
}

function textRows({ runs, median }) {
  const row = (name, { prompt_n = '', n = '', ms, texts_per_second, pp }) => [
    name,
    String(n),
    String(prompt_n),
    figure(ms),
    figure(texts_per_second),
    figure(pp),
  ];
  return [...runs.map((run, i) => row(String(i + 1), run)), row('median', median)];
}

function loadRows({ load_stages, load_ms }) {
  const row = ({ stage, from, to }) => [stage, figure(from), figure(to), figure(load_ms[stage])];
  const stages = load_stages.filter(({ stage }) => stage !== 'ready');
  return [...stages.map(row), ['in all', '', '', figure(load_ms.ready)]];
}

function callRows({ per_token, created_while_generating }) {
  if (!per_token) return [];
  const names = {
    dispatches: 'dispatches',
    passes: 'compute passes',
    submits: 'submits',
    write_buffers: 'writeBuffer calls',
    maps: 'mappings',
    read_back_bytes: 'bytes read back',
  };
  const rows = Object.entries(names).map(([key, name]) => [`${name} per token`, figure(per_token[key])]);
  const made = ['tokens in flight, at most', figure(per_token.most_in_flight)];
  return [...rows, made, ['objects made while generating', figure(created_while_generating.total)]];
}

function memoryRows({ read_bandwidth: read }) {
  const plain = read.skipped ? `not measured: ${read.skipped}` : gigabytes(read.bytes_per_second);
  const rows = [['bandwidth of a kernel that only reads', plain]];
  if (read.weight_bytes_per_second === undefined) return rows;
  rows.push(['weights read while decoding', gigabytes(read.weight_bytes_per_second)]);
  if (read.percent !== undefined) rows.push(['share of the bandwidth', withUnit(read.percent, '%')]);
  return rows;
}

function blockRows({ longest_block }) {
  const words = ({ longtask_ms, timer_gap_ms }) => {
    const longest = longtask_ms ? `long task ${figure(longtask_ms)} ms` : 'no long task';
    const tasks = longtask_ms === null ? 'long tasks not reported by this browser' : longest;
    return `${tasks}, timer late by ${figure(timer_gap_ms)} ms at most`;
  };
  const { load, generate } = longest_block;
  return [
    ['main thread while loading', words(load)],
    ['main thread while generating', words(generate)],
  ];
}

function kernelRows({ rows }) {
  return rows.map(({ kernel, grid, per_prefill, per_token, prefill_ms, token_us, note }) => [
    kernel,
    grid,
    figure(per_prefill),
    note ?? figure(prefill_ms),
    figure(per_token),
    note ?? figure(token_us),
  ]);
}

/** Speed with and without tuning, and the choices. */
function tuningTables({ report, selfCheck, plain, tuned }) {
  const { verdict, problems, changed, milliseconds } = report;
  const row = (name, { pp, tg, ttft_ms }) => [name, figure(pp), figure(tg), figure(ttft_ms)];
  const found = `${verdict}: ${changed.length} of ${problems} products in ${figure(milliseconds)} ms`;
  const note = `${found}; self-check: ${selfCheck.verdict}.`;
  const choice = ({ problem, from, to, speedup }) => [problem, from, to, figure(speedup)];
  return [
    {
      title: 'With and without tuning, in turn',
      head: ['', 'prefill tok/s', 'decode tok/s', 'first token ms'],
      rows: [row('without', plain), row('with', tuned)],
      note,
    },
    {
      title: 'Tuned',
      head: ['product', 'row of the table', 'row that runs', 'times as fast'],
      rows: changed.map(choice),
    },
  ];
}

const RUN_HEAD = ['run', 'prompt', 'prefill tok/s', 'first token ms', 'answer', 'decode tok/s'];
const TEXT_HEAD = ['run', 'texts', 'tokens each', 'ms', 'texts/s', 'tok/s'];
const LOAD_HEAD = ['stage', 'first seen ms', 'ended ms', 'added ms'];

/**
 * Every table of a result: `{title, head, rows, note}`. Columns after the first are numbers where `head` is given;
 * without it a row is a name and its value.
 */
export function tables(result) {
  const list = [
    result.info.pooling
      ? { title: 'Runs', head: TEXT_HEAD, rows: textRows(result) }
      : { title: 'Runs', head: RUN_HEAD, rows: runRows(result) },
    { title: 'Load', head: LOAD_HEAD, rows: loadRows(result) },
    { title: 'WebGPU and memory', rows: [...callRows(result), ...memoryRows(result), ...blockRows(result)] },
  ];
  const { kernels, tuning } = result;
  if (tuning) list.push(...tuningTables(tuning));
  if (kernels) {
    const head = ['kernel', 'grid', 'per prefill', 'prefill ms', 'per token', 'µs per token'];
    const { prefill_ms, token_us } = kernels.whole;
    const whole = `All of it: prefill ${figure(prefill_ms)} ms, ${figure(token_us)} µs per token, with calls counted.`;
    list.push({ title: 'Kernels', head, rows: kernelRows(kernels), note: `${whole} Note that ${kernels.note}.` });
  }
  return [...list, { title: 'Machine', rows: machine(result) }];
}

/** Speed over the length of the context and over sequences, for Markdown: the page draws them. */
function curveTables({ lengths, sequences }) {
  const over = lengths && {
    title: 'Over the length of the context',
    head: ['tokens before', 'prefill tok/s', 'first token ms', 'decode tok/s'],
    rows: lengths.map(({ prompt_n, median: { pp, ttft_ms, tg } }) => [prompt_n, pp, ttft_ms, tg].map(figure)),
  };
  const together = sequences && {
    title: 'Sequences together',
    head: ['sequences', 'tok/s in all', 'last first token ms'],
    rows: sequences.map(({ sequences: count, median: { tg, ttft_ms } }) => [count, tg, ttft_ms].map(figure)),
  };
  return [over, together].filter(Boolean);
}

/** Bars for the chart: where a token's time goes if kernels were timed, else decode speed by run. */
export function bars({ info, kernels, runs }) {
  if (info.pooling) {
    const rows = runs.map(({ texts_per_second }, i) => ({ label: `run ${i + 1}`, value: texts_per_second }));
    return { title: 'Texts per second', rows };
  }
  if (!kernels) {
    const rows = runs.map(({ tg }, i) => ({ label: `run ${i + 1}`, value: tg ?? 0 }));
    return { title: 'Decode, tokens per second', rows };
  }
  const timed = kernels.rows.filter(({ token_us }) => token_us > 0).slice(0, 12);
  const rows = timed.map(({ kernel, grid, token_us }) => ({ label: `${kernel} ${grid}`, value: token_us }));
  return { title: 'Microseconds of a token, by kernel', rows };
}

const escapeCell = (cell) => String(cell).replaceAll('|', '\\|').replaceAll('\n', ' ');

export function markdownTable({ title, head = ['', ''], rows, note }) {
  const line = (cells) => `| ${cells.map(escapeCell).join(' | ')} |`;
  const rule = `|${head.map((_, i) => (i === 0 ? ' --- |' : ' ---: |')).join('')}`;
  return [`### ${title}`, '', ...(note ? [note, ''] : []), line(head), rule, ...rows.map(line)].join('\n');
}

/** The whole result as Markdown. */
export function markdown(result) {
  const { info, median } = result;
  const speed = info.pooling
    ? `${figure(median.texts_per_second)} texts/s`
    : `decode ${figure(median.tg)} tok/s, prefill ${figure(median.pp)} tok/s`;
  const heading = `## ${nameOf(info)} ${info.quantization}: ${speed}`;
  const all = [...tables(result), ...curveTables(result)];
  return `${[heading, ...all.map(markdownTable)].join('\n\n')}\n`;
}
