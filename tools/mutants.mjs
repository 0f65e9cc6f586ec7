// `npm run mutants`: runs all mutants of the shaders (a quarter of an hour), `npm run mutants -- changed` those whose
// shader, imports or cases have changed. Writes which case killed each, and the digests by which `npm test` knows that
// they were killed.

import path from 'node:path';
import { buildHarness } from './build.mjs';
import { allOrChanged, isMain, ROOT, run, runMain } from './common.mjs';
import { prepare } from './prepare.mjs';

async function main() {
  const which = allOrChanged();
  await prepare({ quiet: true });
  await buildHarness();
  const file = path.join(ROOT, 'tests', 'page', 'mutants.test.mjs');
  const env = { ...process.env, WEBGGUF_MUTANTS: which };
  const { code } = await run(process.execPath, ['--test', '--test-reporter=spec', file], { env });
  process.exitCode = code;
}

if (isMain(import.meta.url)) runMain(main);
