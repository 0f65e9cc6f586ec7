// Where the cases come from: the harness in WebAssembly, whose references are Rust, and the JavaScript references,
// which go through the package's own tensor API.

import { wrong } from '../shared/address.js';
import { referenceCases } from './tensor-cases.js';

const HARNESS = new URL('../harness/webgguf.js', import.meta.url);
const PACKAGE = new URL('../../dist/index.js', import.meta.url);

/** What the server says of the harness: whether it is built, being built, and by which command. */
const STATUS = new URL('../harness/status.json', import.meta.url);
/** Milliseconds between two questions to the server while the harness is being built. */
const PATIENCE = 2000;

const missing = (what, error, command = 'npm start') =>
  `${what} could not be loaded (${error.message}); ${command} builds it`;

/** What the server says of the harness; nothing where it says nothing. */
async function statusOf() {
  const response = await fetch(STATUS, { cache: 'no-store' }).catch(() => undefined);
  return response?.json().catch(() => undefined);
}

/**
 * The module of the harness. Where the server builds it, `say` tells that, and it is waited for.
 */
async function harnessModule(say) {
  for (let attempt = 0; ; attempt += 1) {
    // A browser asks for an address that has failed no second time.
    const url = attempt === 0 ? HARNESS.href : `${HARNESS.href}?${attempt}`;
    const [module, error] = await import(url).then(
      (found) => [found],
      (failure) => [undefined, failure],
    );
    if (module) return module;
    let status = await statusOf();
    if (!status?.building) throw Object.assign(error, { command: status?.command, reason: status?.error });
    while (status?.building) {
      say('The kernels are being built, which takes some minutes. This page goes on once they are there.');
      await new Promise((resolve) => setTimeout(resolve, PATIENCE));
      status = await statusOf();
    }
    say('Opening the GPU');
  }
}

/** A case that could not be measured has no numbers. */
function measured(result) {
  if (result.limit) return result;
  const { status, reason } = result;
  return { status, reason };
}

/** The name for `only` of the reading speed, which has no cases. */
export const READING = 'reading';

/** The harness's cases, its facts, its rules and what it measures the reading speed with. */
async function openHarness(say) {
  const glue = await harnessModule(say);
  await glue.default();
  const harness = await glue.Harness.open();
  const rows = harness.list().map(({ kernel, variant, case: name }, index) => ({
    kernel,
    variant,
    case: name,
    work: async () => measured(await harness.run(index, true)),
  }));
  const reading = { list: () => harness.large(), read: (index) => harness.read(index) };
  return { rows, facts: harness.facts(), rules: harness.rules(), reading };
}

/** The cases of the JavaScript references, with the facts of the package's device. */
async function openReferences(seed) {
  const { Gpu } = await import(PACKAGE);
  const gpu = await Gpu.create();
  return { rows: referenceCases(gpu, seed), facts: gpu.info };
}

/** Gives each row the id that a link names: kernel, variant and case; a number where two are equal. */
function withIds(rows) {
  const seen = new Map();
  for (const row of rows) {
    const name = `${row.variant}/${row.case}${row.variant.startsWith(row.kernel) ? '' : `/${row.kernel}`}`;
    const nth = (seen.get(name) ?? 0) + 1;
    seen.set(name, nth);
    row.id = nth === 1 ? name : `${name}/${nth}`;
    row.status = 'waiting';
  }
  return rows;
}

/** At most `each` rows of every variant: the first, and others at equal distances. */
function sample(rows, each) {
  const groups = new Map();
  for (const row of rows) groups.set(row.variant, [...(groups.get(row.variant) ?? []), row]);
  const kept = [...groups.values()].flatMap((group) => {
    const step = Math.max(1, group.length / each);
    return group.filter((_, i) => Math.floor(i / step) !== Math.floor((i - 1) / step));
  });
  const chosen = new Set(kept);
  return rows.filter((row) => chosen.has(row));
}

/**
 * All cases that can be run here, and what could not be opened in `notes`.
 * @param {{seed: number, only: string[], variant: string, each: number}} asked
 * @param {(words: string) => void} say what the page waits for
 */
export async function openCases({ seed, only, variant, each }, say) {
  const notes = [];
  const kept = (what) => (error) => {
    console.error(error);
    const { code, message, command, reason } = error ?? {};
    if (reason) notes.push(`${what} was not built: ${reason}`);
    else notes.push(code ? `${what}: ${message}` : missing(what, error, command));
    return { rows: [], error };
  };
  const harness = await openHarness(say).catch(kept('the harness'));
  const references = await openReferences(seed).catch(kept('the package'));
  if (harness.error && references.error) throw Object.assign(new Error(notes.join('; ')), { code: harness.error.code });
  const all = [...harness.rows, ...references.rows];
  const stems = new Set([READING, ...all.map(({ kernel }) => kernel)]);
  const unknown = only.find((stem) => !stems.has(stem));
  if (unknown) throw wrong(`'only' names '${unknown}'; there are ${[...stems].sort().join(', ')}`);
  const wanted = all.filter((row) => (only.length === 0 || only.includes(row.kernel)) && row.variant.includes(variant));
  const rows = sample(wanted, each);
  if (rows.length === 0 && !only.includes(READING)) throw wrong(`no case has a variant with '${variant}' in its name`);
  const { facts = references.facts, rules = [], reading } = harness;
  return { rows: withIds(rows), facts, rules, reading, notes };
}
