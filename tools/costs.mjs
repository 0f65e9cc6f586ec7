// Says where the time of a token and of a prompt goes on a device that is a few numbers, without a device: see
// docs/design/costs.md. `npm run costs -- --help` lists the options, tools/costs/devices.json has the devices.
//
//   npm run costs -- --model llama-1b --type Q4_0 --device h200 --context 512
//   npm run costs -- --model model.gguf --device my-device.json
//   npm run costs -- --device h200 --measured

import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { ROOT, runMain, Stop } from './common.mjs';
import { findCargo, rustEnv } from './toolchain.mjs';

const EXAMPLE = ['run', '--quiet', '--example', 'costs', '--no-default-features', '--features', 'harness', '--'];

async function main() {
  const cargo = findCargo();
  if (!cargo) throw new Stop('no cargo', 'npm run setup installs it');
  const env = { ...process.env, ...rustEnv(path.dirname(cargo)) };
  // Paths of files are those of where the command was given.
  const manifest = ['--manifest-path', path.join(ROOT, 'Cargo.toml')];
  const args = [EXAMPLE[0], ...manifest, ...EXAMPLE.slice(1), ...process.argv.slice(2)];
  const { status } = spawnSync(cargo, args, { cwd: process.env.INIT_CWD ?? process.cwd(), env, stdio: 'inherit' });
  process.exitCode = status ?? 1;
}

await runMain(main);
