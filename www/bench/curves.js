// Speed over the length of the context, and over the number of sequences that are written together.

import { wrong } from '../shared/address.js';
import { medians } from './runs.js';

/** Lengths that `auto` measures where the context has room for them. */
const LENGTHS = [32, 128, 512, 2048, 8192, 32_768];
/** The whole context is measured in the place of a length that is this near to it. */
const NEAR = 0.75;
/** Tokens of the run that compiles what several sequences need. */
const WARM_UP = 8;

/**
 * Lengths of prompts to measure, for settings whose `lengths` are `'auto'`, a list or missing.
 * @returns {number[] | undefined}
 */
export function lengthsThatFit({ lengths, predict }, { contextLength, pooling }) {
  if (!lengths || pooling) return undefined;
  const room = contextLength - predict;
  if (lengths === 'auto') return [...LENGTHS.filter((length) => length < NEAR * room), room];
  const longest = Math.max(...lengths);
  if (longest <= room) return lengths;
  throw wrong(`a length of ${longest} and predict ${predict} are more than the context of ${contextLength}`);
}

/**
 * Prefill of each length and decode after it.
 * @returns {Promise<{prompt_n: number, runs: object[], median: object}[]>} runs as `Bench.once` has them
 */
export async function overLengths(bench, { lengths, predict, runs }, say) {
  const rows = [];
  for (const [at, length] of lengths.entries()) {
    const list = [];
    for (let i = 0; i < runs; i++) {
      say(`context of ${length}, run ${i + 1} of ${runs}`, (at + i / runs) / lengths.length);
      list.push(await bench.once(length, predict));
    }
    rows.push({ prompt_n: length, runs: list, median: medians(list, ['pp', 'tg', 'ttft_ms']) });
  }
  return rows;
}

/** When how many tokens of a text arrived: pairs of milliseconds and a number. */
async function arrivals(generation) {
  const list = [];
  for await (const { ids } of generation) if (ids.length > 0) list.push([performance.now(), ids.length]);
  return list;
}

/**
 * Tokens per second of all texts in the time in which all of them are written: from when the last has begun to when
 * the first is over. Null where there is no such time.
 * @param {[number, number][][]} texts of each text when, in ms, how many tokens arrived
 */
export function sumWhileAll(texts) {
  const from = Math.max(...texts.map((list) => list[0]?.[0] ?? Infinity));
  const to = Math.min(...texts.map((list) => list.at(-1)?.[0] ?? -Infinity));
  const within = texts.flat().filter(([at]) => at > from && at <= to);
  const tokens = within.reduce((sum, [, count]) => sum + count, 0);
  return to > from ? (tokens / (to - from)) * 1000 : null;
}

/** `count` texts at once, each after a prompt of its own. */
async function together(bench, count, { prompt, predict }) {
  await bench.model.reset();
  const prompts = Array.from({ length: count }, () => bench.prompt(prompt));
  const begun = performance.now();
  const texts = await Promise.all(prompts.map((ids) => arrivals(bench.model.generate(ids, bench.options(predict)))));
  const n = texts.flat().reduce((sum, [, tokens]) => sum + tokens, 0);
  const ttft_ms = Math.max(...texts.map((list) => list[0]?.[0] ?? NaN)) - begun;
  return { prompt_n: prompt, n, tg: sumWhileAll(texts), ttft_ms };
}

/**
 * What 1 to `parallel` texts give together; `ttft_ms` is the first token of the last of them.
 * @returns {Promise<{sequences: number, runs: object[], median: {tg: number | null, ttft_ms: number}}[]>}
 */
export async function overSequences(bench, settings, say) {
  const { parallel, runs, predict } = settings;
  const rows = [];
  for (let count = 1; count <= parallel; count++) {
    const list = [];
    await together(bench, count, { ...settings, predict: Math.min(WARM_UP, predict) });
    for (let i = 0; i < runs; i++) {
      say(`sequences: ${count}, run ${i + 1} of ${runs}`, (count - 1 + i / runs) / parallel);
      list.push(await together(bench, count, settings));
    }
    rows.push({ sequences: count, runs: list, median: medians(list, ['tg', 'ttft_ms']) });
  }
  return rows;
}
