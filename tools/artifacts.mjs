// The programs that cargo has compiled, by what `--message-format=json-render-diagnostics` prints.

import { run, Stop } from './common.mjs';
import { watch } from './watch.mjs';

const REPORT = '--message-format=json-render-diagnostics';

/**
 * The programs of tests among what cargo prints.
 * @returns {{target: {name: string, kind: string[]}, executable: string}[]}
 */
export function testsAmong(output) {
  const lines = output.split('\n').filter((line) => line.startsWith('{"reason":"compiler-artifact"'));
  return lines.map((line) => JSON.parse(line)).filter(({ profile, executable }) => profile.test && executable);
}

/**
 * Compiles tests without a run of them; gives what cargo printed.
 * @param {string} cargo @param {string[]} args of cargo, without `test` @param {object} options of `run`
 * @param {string} what in words, for where it does not compile
 */
export async function compileTests(cargo, args, options, what) {
  const compile = ['test', ...args, '--no-run', REPORT];
  const { code, output } = await run(cargo, compile, { ...options, quiet: true, watch: watch() });
  if (code === 0) return output;
  const said = output.split('\n').filter((line) => !line.startsWith('{"reason"'));
  console.error(said.join('\n'));
  throw new Stop(`${what} did not compile`);
}
