// Measures one model: loading, runs by wall clock, WebGPU calls per token, read bandwidth and, on request, kernels,
// speed over the length of the context and over the number of sequences.

import { wrong } from '../shared/address.js';
import { lengthsThatFit, overLengths, overSequences } from './curves.js';
import { embedRuns } from './embed.js';
import { readBandwidth, watchBlocks, watchCalls, watchCreated } from './meter.js';
import { Bench, median, medians, seeded } from './runs.js';

/**
 * Tokens of the prompt and of the answer of the runs that only count calls: a prompt that is always read in one pass,
 * where shorter ones are read by kernels that are compiled behind the first of them.
 */
const COUNT_PROMPT = 32;
const COUNT_TOKENS = 16;
/** Tokens of context that `load` takes by itself, at most. */
const DEFAULT_CONTEXT = 4096;
/** Kernels that choose the next token: without them the run itself changes. */
const COMMITS = ['argmax_merge', 'sample'];

const KERNEL_NOTE =
  'each kernel is timed by leaving it out, so results of these runs are wrong on purpose, and ' +
  'kernels that overlap or share caches do not add up to the whole';

// ---- steps ----------------------------------------------------------------------------------------------------------

/** What `load` takes of the settings. */
function loadOptions(settings) {
  const { backend, precision, kvType, perLayerEmbeddings, worker, prompt, predict, context, lengths } = settings;
  const draft = settings.draftModel;
  const longest = Math.max(prompt ?? 0, ...(Array.isArray(lengths) ? lengths : []));
  const wanted = longest + predict;
  const contextLength = context ?? (wanted > DEFAULT_CONTEXT ? wanted : undefined);
  // With and without tuning is compared where that is asked for.
  const tune = settings.tune ? false : undefined;
  return { backend, precision, kvType, perLayerEmbeddings, contextLength, worker, draft, tune, cache: false };
}

async function load({ WasmModel }, settings, say) {
  const stages = new Map();
  const begun = performance.now();
  const onProgress = ({ stage, fraction }) => {
    const at = performance.now() - begun;
    stages.set(stage, { from: stages.get(stage)?.from ?? at, to: at });
    say(`loading: ${stage}`, fraction);
  };
  const model = await WasmModel.load(settings.model, { ...loadOptions(settings), onProgress });
  const total = performance.now() - begun;
  const load_stages = [...stages].map(([stage, times]) => ({ stage, ...times })).sort((a, b) => a.to - b.to);
  // Stages overlap: each counts from the end of the one before, so that they add up to the whole.
  const added = load_stages.map(({ stage, to }, i) => [stage, to - (load_stages[i - 1]?.to ?? 0)]);
  return { model, begun, result: { load_ms: { ...Object.fromEntries(added), ready: total }, load_stages } };
}

/** Tokens of a text that is embedded. */
const TEXT_TOKENS = 32;

/** Tokens of the prompt: as asked, else 512, or what the context has room for besides the answer. */
function fitPrompt({ prompt, predict }, { contextLength, pooling }) {
  if (pooling) return Math.min(prompt ?? TEXT_TOKENS, contextLength);
  const room = contextLength - predict;
  if (room < 1 || (prompt ?? 1) > room) {
    const asked = `prompt ${prompt ?? 'of at least 1'} and predict ${predict}`;
    throw wrong(`${asked} are more than the context of ${contextLength}`);
  }
  return prompt ?? Math.min(512, room);
}

/**
 * WebGPU calls per token: the difference between a long answer and one of a single token, so that it does not matter
 * how the engine spreads tokens over submits.
 */
async function countCalls(bench) {
  const counted = async (tokens) => {
    const calls = watchCalls();
    try {
      const { n } = await bench.once(COUNT_PROMPT, tokens);
      return { ...calls, n };
    } finally {
      calls.stop();
    }
  };
  const one = await counted(1);
  const many = await counted(Math.min(1 + COUNT_TOKENS, bench.model.info.contextLength - COUNT_PROMPT));
  const tokens = many.n - one.n;
  const perToken = Object.entries(many.counts).map(([name, count]) => [name, (count - one.counts[name]) / tokens]);
  return { ...Object.fromEntries(perToken), most_in_flight: many.flying.most, counted_tokens: tokens };
}

async function timedRuns(bench, { prompt, predict, runs }, say) {
  const list = [];
  for (let i = 0; i < runs; i++) {
    say(`run ${i + 1} of ${runs}`, i / runs);
    list.push(await bench.once(prompt, predict));
  }
  return { runs: list, median: medians(list, ['pp', 'tg', 'ttft_ms']) };
}

// ---- kernels --------------------------------------------------------------------------------------------------------

/** Prefill in ms and a token in µs, medians of watched runs with one kernel left out; and the calls of the last. */
async function watchedRuns(bench, { prompt, predict, runs }, leaveOut) {
  const [times, calls] = [[], watchCalls(leaveOut)];
  try {
    for (let i = 0; i < runs; i++) times.push(await bench.once(prompt, predict));
  } finally {
    calls.stop();
  }
  const token_us = median(times.map(({ tg }) => (tg ? 1e6 / tg : NaN)));
  return { prefill_ms: median(times.map(({ ttft_ms }) => ttft_ms)), token_us, kernels: calls.kernels };
}

async function leftOut(bench, settings, row, whole) {
  const { kernel, grid, per_prefill, per_token } = row;
  if (COMMITS.some((name) => kernel === name || kernel.startsWith(`${name}.`))) {
    return { ...row, prefill_ms: null, token_us: null, note: 'not measurable this way' };
  }
  try {
    const without = await watchedRuns(bench, settings, `${kernel} ${grid}`);
    const saved = (name, seen) => (seen > 0 ? whole[name] - without[name] : null);
    return { ...row, prefill_ms: saved('prefill_ms', per_prefill), token_us: saved('token_us', per_token) };
  } catch (error) {
    return { ...row, prefill_ms: null, token_us: null, note: `the run failed: ${error.message}` };
  }
}

/** Times every kernel, by label and grid, by leaving its dispatches out. */
async function kernelTimes(bench, settings, say) {
  say('kernels: all of them', 0);
  const { kernels: prefill } = await watchedRuns(bench, { ...settings, predict: 1, runs: 1 });
  const { kernels: one } = await watchedRuns(bench, { ...settings, runs: 1 });
  const whole = await watchedRuns(bench, settings);
  const steps = settings.predict - 1;
  const rows = [...one].map(([key, count]) => {
    const [kernel, grid] = key.split(' ');
    const per_prefill = prefill.get(key) ?? 0;
    return { kernel, grid, per_prefill, per_token: steps > 0 ? (count - per_prefill) / steps : 0 };
  });
  const table = [];
  for (const row of rows) {
    say(`kernels: without ${row.kernel} ${row.grid}`, table.length / rows.length);
    table.push(await leftOut(bench, settings, row, whole));
  }
  table.sort((a, b) => (b.token_us ?? 0) - (a.token_us ?? 0) || (b.prefill_ms ?? 0) - (a.prefill_ms ?? 0));
  return { note: KERNEL_NOTE, whole: { prefill_ms: whole.prefill_ms, token_us: whole.token_us }, rows: table };
}

// ---- all of it ------------------------------------------------------------------------------------------------------

/** Read bandwidth, and the share of it that the weights take, where the caller says how many bytes they have. */
async function bandwidth({ weight_bytes }, { backend }, tg) {
  if (backend !== 'webgpu') return { skipped: 'the model runs on the CPU' };
  const read = await readBandwidth();
  if (weight_bytes === undefined || tg === null) return read;
  const weights = { weight_bytes, weight_bytes_per_second: weight_bytes * tg };
  if (read.skipped) return { ...read, ...weights };
  return { ...read, ...weights, percent: (100 * weights.weight_bytes_per_second) / read.bytes_per_second };
}

const withTotal = (counts) => ({ total: Object.values(counts).reduce((a, b) => a + b, 0), ...counts });

/** The part that runs on a loaded embedder. */
async function measureEmbedder(model, settings, say, blocks) {
  const from = performance.now();
  const timed = await embedRuns(model, settings, seeded(20), say);
  const read_bandwidth = { skipped: 'an embedder is bound by arithmetic' };
  return {
    ...timed,
    read_bandwidth,
    created_while_generating: { total: 0 },
    block: blocks.between(from, performance.now()),
  };
}

/** The part that runs on a loaded model that writes text. */
async function measureModel(model, settings, say, blocks) {
  const bench = new Bench(model, settings);
  const gpu = model.info.backend === 'webgpu';
  say('warming up', undefined);
  await bench.once(COUNT_PROMPT, 2);
  const created = watchCreated();
  const from = performance.now();
  try {
    // Calls are counted in this thread.
    const per_token = gpu && !settings.worker ? await countCalls(bench) : null;
    const timed = await timedRuns(bench, settings, say);
    const block = blocks.between(from, performance.now());
    const created_while_generating = withTotal(created.counts);
    created.stop();
    const lengths = settings.lengths && (await overLengths(bench, settings, say));
    say('read bandwidth', undefined);
    const read_bandwidth = await bandwidth(settings, model.info, timed.median.tg);
    const kernels = gpu && settings.kernels && !settings.worker ? await kernelTimes(bench, settings, say) : undefined;
    return { ...timed, per_token, created_while_generating, lengths, read_bandwidth, kernels, block };
  } finally {
    created.stop();
  }
}

/** The model with and without tuning, run in turn: the report, what it runs, and medians of both. */
async function tunedRuns({ WasmModel }, model, settings, say) {
  const options = { ...loadOptions(settings), tune: settings.tune };
  const onProgress = ({ stage, fraction }) => say(`tuning: ${stage}`, fraction);
  const tuned = await WasmModel.load(settings.model, { ...options, onProgress });
  try {
    const benches = { plain: new Bench(model, settings), tuned: new Bench(tuned, settings) };
    const runs = { plain: [], tuned: [] };
    for (const bench of Object.values(benches)) await bench.once(COUNT_PROMPT, 2);
    for (let i = 0; i < settings.runs; i++) {
      say(`with and without tuning, run ${i + 1} of ${settings.runs}`, i / settings.runs);
      for (const [which, bench] of Object.entries(benches)) {
        runs[which].push(await bench.once(settings.prompt, settings.predict));
      }
    }
    const [plain, fast] = [runs.plain, runs.tuned].map((list) => medians(list, ['pp', 'tg', 'ttft_ms']));
    const { tuning: report, selfCheck, variants } = tuned.info;
    return { report, selfCheck, variants, runs, plain, tuned: fast };
  } finally {
    await tuned.free();
  }
}

/** The model once more, with room for several sequences: what 1, 2, … of them write together. */
async function sequencesOf({ WasmModel }, settings, say) {
  say('loading for several sequences', undefined);
  const options = { ...loadOptions(settings), parallel: settings.parallel };
  const model = await WasmModel.load(settings.model, options);
  try {
    return await overSequences(new Bench(model, settings), settings, say);
  } finally {
    await model.free();
  }
}

/**
 * Loads, measures and frees a model.
 * @param {object} webgguf the package
 * @param {object} settings see settings.js
 * @param {(text: string, fraction?: number) => void} say where it stands
 */
export async function measure(webgguf, settings, say) {
  const result = await measureOne(webgguf, settings, say);
  const { info, settings: fitted } = result;
  if (!fitted.parallel || info.backend !== 'webgpu' || info.pooling) return result;
  return { ...result, sequences: await sequencesOf(webgguf, fitted, say) };
}

async function measureOne(webgguf, settings, say) {
  const blocks = watchBlocks();
  const created = watchCreated();
  let model;
  try {
    const loaded = await load(webgguf, settings, say);
    model = loaded.model;
    created.stop();
    const loadBlock = blocks.between(loaded.begun, performance.now());
    const { info } = model;
    const fitted = { ...settings, prompt: fitPrompt(settings, info), lengths: lengthsThatFit(settings, info) };
    const work = info.pooling ? measureEmbedder : measureModel;
    const { block, ...measured } = await work(model, fitted, say, blocks);
    const tuning = settings.tune && !info.pooling ? await tunedRuns(webgguf, model, fitted, say) : undefined;
    return {
      date: new Date().toISOString(),
      user_agent: navigator.userAgent,
      settings: fitted,
      adapter: info.adapter,
      features: info.features,
      info,
      ...loaded.result,
      ...measured,
      tuning,
      created_while_loading: withTotal(created.counts),
      longest_block: { load: loadBlock, generate: block },
      wasm_memory_bytes: await model.wasmMemoryBytes(),
    };
  } finally {
    created.stop();
    blocks.stop();
    await model?.free();
  }
}
