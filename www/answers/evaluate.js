// Runs a model once, as the query asks; evaluate.html says what that may be. The result is one JSON object:
// `{ids, generated, text, evaluation, embeddings, scores, tokenized, timings, info, wasmMemoryBytes}` (what was not
// asked for is absent)
// or `{error: {code, message}}`. `data-state` of the root element becomes `done` or `error`.

import { Tokenizer, WasmModel, WebggufError } from '../../dist/index.js';
import { checkNames, wrong } from '../shared/address.js';
import { checkOwn } from '../shared/elsewhere.js';
import { errorReport, postReport } from '../shared/post-report.js';

const KNOWN = [
  'model',
  'prompt',
  'ids',
  'mmproj',
  'adapter',
  'scale',
  'parts',
  'media',
  'predict',
  'evaluate',
  'embed',
  'tokenize',
  'special',
  'backend',
  'context',
  'kv',
  'report',
];

const query = new URLSearchParams(location.search);
const asks = (name) => query.get(name) === '1';
const numberOf = (name) => (query.has(name) ? Number(query.get(name)) : undefined);

/** What `work` gives, and how many milliseconds it took. */
async function timed(work) {
  const begun = performance.now();
  const value = await work();
  return [value, performance.now() - begun];
}

/** A JSON array from a URL; `what` names it in the message. */
async function fetchArray(url, what) {
  const response = await fetch(url).catch(() => undefined);
  if (!response?.ok) {
    throw new WebggufError('download_failed', `${what}: ${url}: ${response?.status ?? 'not reachable'}`);
  }
  const value = await response.json().catch(() => undefined);
  if (!Array.isArray(value)) throw wrong(`${what}: ${url} is not a JSON array`);
  return value;
}

function checkQuery() {
  checkNames(query, KNOWN);
  for (const name of ['model', 'mmproj', 'adapter', 'tokenize', 'embed', 'ids', 'parts']) {
    for (const address of query.getAll(name)) checkOwn({ [name]: address.replace(/^@/, '') });
  }
  if (!query.get('model')) throw wrong("the parameter 'model' is missing");
  if (query.has('prompt') && query.has('ids')) throw wrong("give either 'prompt' or 'ids'");
  const [adapters, scales] = ['adapter', 'scale'].map((name) => query.getAll(name).length);
  if (scales > adapters) throw wrong(`${scales} times 'scale' for ${adapters} times 'adapter'`);
  const needsPrompt = ['predict', 'evaluate'].find((name) => query.has(name));
  if (needsPrompt && !hasPrompt()) throw wrong(`'${needsPrompt}' needs 'prompt' or 'ids'`);
}

const hasPrompt = () => query.has('prompt') || query.has('ids') || query.has('parts');

/** The token ids of the prompt. */
async function idsOf(model) {
  if (query.has('prompt'))
    return [...(await model.tokenize(query.get('prompt'), { addSpecial: true, parseSpecial: true }))];
  const given = query.get('ids');
  if (given.startsWith('@')) return fetchArray(given.slice(1), 'ids');
  return given.split(',').map((id) => (id.trim() === '' ? NaN : Number(id)));
}

/** Token ids of every string at the URL in `tokenize`, by a tokenizer or a model. */
async function tokenizeAll(tokenizer) {
  const texts = await fetchArray(query.get('tokenize'), 'tokenize');
  const parseSpecial = asks('special');
  return timed(async () => {
    const all = [];
    for (const text of texts) all.push([...(await tokenizer.tokenize(text, { parseSpecial }))]);
    return all;
  });
}

async function runTokenizer() {
  const [tokenizer, loadMs] = await timed(() => Tokenizer.load(query.get('model')));
  const [tokenized, tokenizeMs] = await tokenizeAll(tokenizer);
  tokenizer.free();
  return { tokenized, timings: { loadMs, tokenizeMs } };
}

async function runModel() {
  const kvType = query.get('kv') ?? undefined;
  const backend = query.get('backend') ?? 'auto';
  const mmproj = query.get('mmproj') ?? undefined;
  const scales = query.getAll('scale');
  const adapters = query.getAll('adapter').map((source, i) => ({ source, scale: Number(scales[i] ?? 1) }));
  const options = { backend, contextLength: numberOf('context'), kvType, mmproj, adapters, cache: false };
  const [model, loadMs] = await timed(() => WasmModel.load(query.get('model'), options));
  const result = { timings: { loadMs }, info: model.info };
  if (query.has('tokenize')) [result.tokenized, result.timings.tokenizeMs] = await tokenizeAll(model);
  if (query.has('parts')) await encodeParts(model, result);
  else if (hasPrompt()) result.ids = await idsOf(model);
  if (query.has('predict')) await predict(model, result);
  if (asks('evaluate')) await evaluate(model, result);
  if (query.has('embed')) await embed(model, result);
  result.wasmMemoryBytes = await model.wasmMemoryBytes();
  await model.free();
  return result;
}

/** Ids of texts, images and sounds in the JSON array at the URL in `parts`, and what these become. */
async function encodeParts(model, result) {
  const url = query.get('parts');
  if (!url.startsWith('@')) throw wrong("'parts' must be @ and the address of a JSON array");
  const parts = await fetchArray(url.slice(1), 'parts');
  const resolve = (part, kind) => {
    checkOwn({ parts: part[kind] });
    return { [kind]: new URL(part[kind], location.href).href };
  };
  const kindOf = (part) => ['image', 'audio'].find((kind) => part[kind]);
  const resolved = parts.map((part) => (kindOf(part) ? resolve(part, kindOf(part)) : part));
  const [{ ids, media, positions }, encodeMs] = await timed(() => model.encodeParts(resolved));
  Object.assign(result, { ids: [...ids], promptPositions: positions });
  result.timings.encodeMs = encodeMs;
  if (!asks('media')) return;
  result.media = media.map(({ rows, embeddings }) => ({ rows, embeddings: embeddings.map((row) => [...row]) }));
}

async function predict(model, result) {
  const options = { maxTokens: numberOf('predict'), temperature: 0, ignoreEos: true, logprobs: 0 };
  const run = model.generate(Uint32Array.from(result.ids), options);
  const logprobs = [];
  for await (const { tokens = [] } of run) logprobs.push(...tokens.map(({ logprob }) => logprob));
  const { ids, text, timings } = await run.result;
  Object.assign(result, { generated: [...ids], generatedLogprobs: logprobs, text });
  Object.assign(result.timings, timings);
}

async function evaluate(model, result) {
  const [{ top1, logprobs }, evaluateMs] = await timed(() => model.evaluate(result.ids));
  result.evaluation = { top1: [...top1], logprobs: [...logprobs] };
  result.timings.evaluateMs = evaluateMs;
}

/** Vectors of all inputs at the URL, normalised; or of a reranker their scores. Strings get special tokens. */
async function embed(model, result) {
  const inputs = await fetchArray(query.get('embed'), 'embed');
  const special = { addSpecial: true, parseSpecial: true };
  const idsOfInput = (input) => (typeof input === 'string' ? model.tokenize(input, special) : input);
  const ids = await Promise.all(inputs.map(idsOfInput));
  const isReranker = model.info.pooling === 'rank';
  const [found, embedMs] = await timed(() => (isReranker ? model.rank('', ids) : model.embed(ids)));
  if (isReranker) result.scores = found;
  else result.embeddings = found.map((vector) => [...vector]);
  result.timings.embedMs = embedMs;
}

async function run() {
  try {
    checkQuery();
    return query.has('tokenize') && !hasPrompt() ? await runTokenizer() : await runModel();
  } catch (error) {
    console.error(error);
    return errorReport(error);
  }
}

/** One line per field: long arrays stay readable. */
function pretty(result) {
  const lines = Object.entries(result).map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  return `{\n${lines.join(',\n')}\n}`;
}

async function report() {
  if (!query.has('report')) return '';
  const failure = await postReport(query.get('report'), result);
  return failure ? `, but reporting failed: ${failure}` : ', reported';
}

const result = await run();
const state = result.error ? 'error' : 'done';
document.getElementById('result').textContent = pretty(result);
document.getElementById('status').textContent = state + (await report());
document.documentElement.dataset.state = state;
