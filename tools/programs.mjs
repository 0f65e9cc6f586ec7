// Programs of tests: files for Node.js and programs of cargo. Each is a process of its own with a limit of its own, and
// is ended with all that it has started. What fails is run once more, by itself, when all others are done.

import { seconds } from './common.mjs';
import { added } from './counting.mjs';

/** The most programs that may pass only when they are run again, else the run fails. */
export const FLAKY = 3;
/** With more failures than these none is run again: something is broken. */
const AGAIN = 12;

/**
 * @typedef {{name: string, run: () => Promise<{code: number, output: string}>,
 *   count: (result: {code: number, output: string}) => {passed: number, failed: number, skipped: number, told: string},
 *   mayBeEmpty?: boolean}} Program
 */

/** Runs a program; its counts, with `failed` also where no test ran. */
async function counted({ name, run, count, mayBeEmpty = false }) {
  const start = performance.now();
  const counts = count(await run());
  const { passed, failed, skipped } = counts;
  console.log(`${failed > 0 ? 'FAILED' : 'done'}: ${name}, ${seconds(start)}`);
  if (mayBeEmpty || passed + failed + skipped > 0) return counts;
  console.error(`${name} ran no test`);
  return { ...counts, failed: 1, told: `${name} ran no test` };
}

/**
 * Runs programs one after the other.
 * @param {Program[]} programs
 * @returns {Promise<{passed: number, failed: number, skipped: number, told: string,
 *   again: {program: Program, counts: object}[]}>} counts of all, and which failed
 */
export async function runPrograms(programs) {
  const runs = [];
  for (const program of programs) runs.push({ program, counts: await counted(program) });
  return { ...added(runs.map(({ counts }) => counts)), again: runs.filter(({ counts }) => counts.failed > 0) };
}

/**
 * Runs what failed once more. A program that passes now is flaky, and its row has these counts instead.
 * @param {{name: string, passed: number, failed: number, skipped: number, told: string, again?: object[]}[]} rows one
 *   for each suite
 * @returns {Promise<{rows: object[], flaky: {name: string, told: string}[]}>} the rows as they are to be counted: where
 *   more than `FLAKY` programs are flaky, their failures stay
 */
export async function runAgain(rows) {
  const failed = rows.flatMap(({ name, again = [] }) => again.map((entry) => ({ ...entry, suite: name })));
  if (failed.length > AGAIN) {
    console.log(`\n${failed.length} programs of tests failed: none is run again`);
    return { rows, flaky: [] };
  }
  const repeated = [];
  for (const { suite, program, counts } of failed) {
    console.log(`\n==== again, by itself: ${suite}, ${program.name}`);
    repeated.push({ suite, name: program.name, before: counts, now: await counted(program) });
  }
  const flaky = repeated.filter(({ now }) => now.failed === 0);
  const taken = flaky.length > FLAKY ? [] : flaky;
  return {
    rows: rows.map((row) => taken.filter(({ suite }) => suite === row.name).reduce(withSecond, row)),
    flaky: flaky.map(({ suite, name, before }) => ({ name: `${suite}, ${name}`, told: before.told })),
  };
}

/** The row of a suite with the second counts of a program in place of its first. */
function withSecond(row, { before, now }) {
  const counts = Object.fromEntries(
    ['passed', 'failed', 'skipped'].map((key) => [key, row[key] - before[key] + now[key]]),
  );
  return { ...row, ...counts, told: row.told.replace(before.told, () => '') };
}
