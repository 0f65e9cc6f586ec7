// How many tests of a program passed, by what its runner printed.

/** Adds up cargo's `test result:` lines, which wasm-bindgen's runner prints too. */
export function countCargo({ code, output }) {
  const counts = { passed: 0, failed: 0, skipped: 0, told: '' };
  for (const [, passed, failed, ignored] of output.matchAll(/(\d+) passed; (\d+) failed; (\d+) ignored/g)) {
    counts.passed += Number(passed);
    counts.failed += Number(failed);
    counts.skipped += Number(ignored);
  }
  // The lines between the list of failures and the result of each program of tests.
  for (const [text] of output.matchAll(/^failures:\n\n[^]*?(?=^test result)/gm)) counts.told += text;
  return withExitCode(counts, { code, output });
}

/** Reads the closing lines of node's test runner; where it was ended before those, its line for each test. */
export function countNode({ code, output }) {
  // A test of runners prints closing lines of others before its own.
  const number = (name) => Number([...output.matchAll(new RegExp(`^. ${name} (\\d+)$`, 'gm'))].at(-1)?.[1] ?? 0);
  const wasEnded = !/^. tests \d+$/m.test(output);
  const lines = (sign) => (wasEnded ? [...output.matchAll(new RegExp(`^ *${sign} .*$`, 'gm'))].length : 0);
  const counts = {
    passed: number('pass') + lines('✔'),
    failed: number('fail') + number('cancelled') + lines('✖'),
    skipped: number('skipped') + number('todo') + lines('﹣'),
    told: /^. failing tests:\n([^]*)/m.exec(output)?.[1] ?? '',
  };
  if (wasEnded && counts.failed > 0) counts.told = /^ *✖ [^]*/m.exec(output)[0];
  return withExitCode(counts, { code, output });
}

/** Whether node's test runner has said by now that a test failed. */
export const hasFailedTest = (output) => /^ *✖ /m.test(output);

/** The last lines are told of a program that did not get as far as its tests. */
const LAST_LINES = 30;

/** A run that failed without a failed test did not get as far as its tests, or not to their end: one failure. */
function withExitCode(counts, { code, output }) {
  if (code === 0 || counts.failed > 0) return counts;
  return { ...counts, failed: 1, told: counts.told || output.trimEnd().split('\n').slice(-LAST_LINES).join('\n') };
}

/** Adds counts up. */
export function added(list) {
  const total = { passed: 0, failed: 0, skipped: 0, told: '' };
  for (const counts of list) {
    for (const key of ['passed', 'failed', 'skipped']) total[key] += counts[key];
    total.told += counts.told ?? '';
  }
  return total;
}
