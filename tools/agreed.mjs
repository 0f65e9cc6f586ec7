// `npm run agreed`: runs every kernel case and every committed model on the GPU against the CPU (half an hour without
// a GPU), and cases of every kernel in Firefox; `npm run agreed -- changed` what has changed. Writes the digests by
// which `npm test` knows that they agreed (tests/common/agreed.rs).

import fs from 'node:fs';
import path from 'node:path';
import { chosenBrowserTests } from './browser-tests.mjs';
import { buildHarness } from './build.mjs';
import { allOrChanged, isMain, ROOT, run, runMain } from './common.mjs';
import { firefoxDone, firefoxSkipped } from './firefox-setup.mjs';
import { prepare } from './prepare.mjs';

const FIXTURES = path.join(ROOT, 'tests', 'fixtures');
const TIMEOUT_MS = 2 * 3600_000;

/** Programs of tests, the part of a test's name that the runner looks for, and the file of the digests. */
const PROGRAMS = [
  { program: 'kernels', filters: [], file: 'kernels.txt' },
  { program: 'forward', filters: ['forward_models'], file: 'models.txt' },
];

/**
 * The lines of a file of digests after a run: those of before but for what the run found, by name. A run that came to
 * its end saw all that there is: what it did not see is gone.
 */
export function merged(before, output, isWhole) {
  const lines = (text) => text.split('\n').filter(Boolean);
  const digests = new Map(lines(before).map((line) => line.split(' ')));
  const seen = new Set();
  for (const [, name, digest] of output.matchAll(/agreed: (\S+) ([0-9a-f]{16})/g)) {
    digests.set(name, digest);
    seen.add(name);
  }
  for (const [, name] of output.matchAll(/(\S+): as it was when it agreed/g)) seen.add(name);
  const names = [...digests.keys()].filter((name) => seen.has(name) || !isWhole).sort();
  return names.map((name) => `${name} ${digests.get(name)}\n`);
}

async function main() {
  const which = allOrChanged();
  await prepare({ quiet: true, tests: true });
  const env = which === 'all' ? { WEBGGUF_AGREED: 'all' } : {};
  for (const { program, filters, file } of PROGRAMS) {
    const agreed = path.join(FIXTURES, 'agreed', file);
    const runnerArgs = [...filters, '--nocapture'];
    const { code, output } = await chosenBrowserTests([program], runnerArgs, { env, timeoutMs: TIMEOUT_MS });
    const lines = merged(fs.readFileSync(agreed, 'utf8'), output, code === 0);
    fs.writeFileSync(agreed, lines.join(''));
    console.log(`${file}: ${lines.length} agreed`);
    if (code !== 0) process.exitCode = code;
  }
  await inFirefox(which);
}

/** Kernels in Firefox: their test writes its digests itself. */
async function inFirefox(which) {
  if (!firefoxDone()) {
    console.log(`Firefox: ${firefoxSkipped() ?? 'missing; run `npm run setup`'}`);
    return;
  }
  await buildHarness();
  const file = path.join(ROOT, 'tests', 'firefox', 'firefox.test.mjs');
  const args = ['--test', '--test-reporter=spec', '--test-name-pattern=^kernels', file];
  const { code } = await run(process.execPath, args, { env: { ...process.env, WEBGGUF_AGREED: which } });
  if (code !== 0) process.exitCode = code;
}

if (isMain(import.meta.url)) await runMain(main);
