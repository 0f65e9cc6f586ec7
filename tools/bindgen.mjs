// wasm-bindgen in the version that Cargo.lock holds: what is installed, else the small program of tools/bindgen, which
// is compiled once.

import path from 'node:path';
import { CACHE, must, programIn, ROOT, Stop, withLock } from './common.mjs';
import { bindgenVersion, findBindgen, rustEnv } from './toolchain.mjs';

const FOLDER = path.join(ROOT, 'tools', 'bindgen');

let found = null;

/** The path of wasm-bindgen, once for all that ask. */
export function findOrBuildBindgen(toolchain) {
  found ??= findBindgen() ?? buildBindgen(toolchain);
  return found;
}

async function buildBindgen({ bin }) {
  await withLock('bindgen', async () => {
    if (findBindgen()) return;
    console.log(`  wasm-bindgen ${bindgenVersion()}: compiled once`);
    await cargoInstall({ bin }, ['--path', FOLDER, '--root', path.join(CACHE, 'bindgen')], FOLDER);
  });
  const file = findBindgen();
  if (!file) throw new Stop(`wasm-bindgen ${bindgenVersion()} was built and does not run`, 'see tools/bindgen');
  return file;
}

/** Installs a program by cargo, with the versions of its lock file where the registry has them. */
export async function cargoInstall({ bin }, args, cwd) {
  const env = { ...rustEnv(bin), CARGO_TARGET_DIR: path.join(CACHE, 'install') };
  const install = (...flags) =>
    must(programIn(bin, 'cargo'), ['install', ...args, ...flags], { cwd, env, quiet: true });
  try {
    await install('--locked');
  } catch (error) {
    if (!lacksLockedVersion(error.message)) throw error;
    console.log('  this registry lacks a version that its lock file names; cargo chooses another');
    await install();
  }
}

/** Whether cargo failed because the registry lacks a version that a lock file names; mirrors can be behind. */
export const lacksLockedVersion = (output) => /failed to select a version .*\(locked to /.test(output);
