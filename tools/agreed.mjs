// `npm run models`: runs every committed model on the GPU against the CPU (twenty minutes without a GPU), `npm run
// models -- changed` those whose file or dispatches have changed. Writes the digests by which `npm test` knows that
// they agreed (tests/forward_models/mod.rs).

import fs from 'node:fs';
import path from 'node:path';
import { chosenBrowserTests } from './browser-tests.mjs';
import { allOrChanged, isMain, ROOT, runMain } from './common.mjs';
import { prepare } from './prepare.mjs';

const FOLDER = path.join(ROOT, 'tests', 'fixtures', 'models');
const AGREED = path.join(FOLDER, 'agreed.txt');
const TIMEOUT_MS = 2 * 3600_000;

/** The lines of `before` for models that there are, with those that the run found in their place. */
export function merged(before, output, names) {
  const digests = new Map(before.split('\n').map((line) => line.split(' ')));
  for (const [, name, digest] of output.matchAll(/agreed: (\S+) ([0-9a-f]{16})/g)) digests.set(name, digest);
  return names.filter((name) => digests.has(name)).map((name) => `${name} ${digests.get(name)}\n`);
}

async function main() {
  const which = allOrChanged();
  await prepare({ quiet: true });
  const env = which === 'all' ? { WEBGGUF_MODELS: 'all' } : {};
  const runnerArgs = ['forward_models', '--nocapture'];
  const { code, output } = await chosenBrowserTests(['forward'], runnerArgs, { env, timeoutMs: TIMEOUT_MS });
  const read = (file) => fs.readFileSync(file, 'utf8');
  const names = read(path.join(FOLDER, 'models.txt')).split('\n').filter(Boolean);
  const lines = merged(read(AGREED), output, names);
  fs.writeFileSync(AGREED, lines.join(''));
  console.log(`${lines.length} of ${names.length} models have a digest`);
  process.exitCode = code;
}

if (isMain(import.meta.url)) runMain(main);
