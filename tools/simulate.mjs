// Runs every kernel case on a simulator that is stricter than any GPU, on the CPU and without a browser: see
// docs/correctness.md. `npm run simulate -- --help` lists the options.
//
//   npm run simulate
//   npm run simulate -- --only attention --seed 5
//   npm run simulate -- --mutants

import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { ROOT, runMain, Stop } from './common.mjs';
import { findCargo, rustEnv } from './toolchain.mjs';

const EXAMPLE = ['run', '--quiet', '--example', 'simulate', '--no-default-features', '--features', 'harness', '--'];

async function main() {
  const cargo = findCargo();
  if (!cargo) throw new Stop('no cargo', 'npm run setup installs it');
  const env = { ...process.env, ...rustEnv(path.dirname(cargo)) };
  const { status } = spawnSync(cargo, [...EXAMPLE, ...process.argv.slice(2)], { cwd: ROOT, env, stdio: 'inherit' });
  process.exitCode = status ?? 1;
}

await runMain(main);
