// Which Rust builds the WebAssembly, and where the tools around it are.
//
// Two toolchains can do it: rustup's with the wasm32 target added, or Debian's rustc-web with a standard library built
// once (see prepare.mjs). A toolchain counts only after it has compiled and linked a small program.

import fs from 'node:fs';
import path from 'node:path';
import { ask, CACHE, cargoHome, hashOf, programIn, readJson, ROOT, run, which, writeJson } from './common.mjs';
import { pathFolders } from './system.mjs';

export const TARGET = 'wasm32-unknown-unknown';
/** Where wasm-bindgen's own programs may be, and the small one of tools/bindgen. */
export const TOOL_FOLDERS = () => [
  path.join(CACHE, 'cargo', 'bin'),
  path.join(cargoHome(), 'bin'),
  path.join(CACHE, 'bindgen', 'bin'),
];

const PROBE = `#[unsafe(no_mangle)] pub extern "C" fn probe(x: u32) -> u32 { format!("{x}").len() as u32 }`;
const PROBED = path.join(CACHE, 'toolchain.json');

/** The version of wasm-bindgen that Cargo.lock holds: glue and library must be of one version. */
export function bindgenVersion() {
  const lock = fs.readFileSync(path.join(ROOT, 'Cargo.lock'), 'utf8');
  return /name = "wasm-bindgen"\nversion = "([^"]+)"/.exec(lock)[1];
}

/** Folders that may hold a cargo with its rustc, in order of preference. `WEBGGUF_RUST` names one and only one. */
function candidates() {
  if (process.env.WEBGGUF_RUST) return [process.env.WEBGGUF_RUST];
  const first = findCargo();
  return [...new Set([first && path.dirname(first), '/usr/bin'])].filter(Boolean);
}

/** Path of cargo, or null. */
export const findCargo = () => which('cargo', [path.join(cargoHome(), 'bin')]);

/** The Rust that Cargo.toml asks for, such as `1.95`. */
export function neededRust() {
  return /^rust-version = "([\d.]+)"/m.exec(fs.readFileSync(path.join(ROOT, 'Cargo.toml'), 'utf8'))[1];
}

/** Whether what `rustc -V` says is older than a version such as `1.95`. */
export function isOlderThan(version, needed) {
  const [have, want] = [/rustc (\d+)\.(\d+)/.exec(version)?.slice(1), needed.split('.')];
  const [major, minor] = want.map(Number).map((number, i) => Number(have?.[i]) - number);
  return major < 0 || (major === 0 && minor < 0);
}

/** The first Rust that is there and too old, by its name, or null. */
export function oldRust() {
  const versions = candidates().map((bin) => ask(programIn(bin, 'rustc'), ['-V']));
  return versions.find((version) => version && isOlderThan(version, neededRust())) ?? null;
}

/** The toolchain that can build for wasm32: `{bin, version}`, or null. Milliseconds when asked before. */
export async function findToolchain() {
  for (const bin of candidates()) {
    const rustc = programIn(bin, 'rustc');
    if (!fs.existsSync(rustc) || !fs.existsSync(programIn(bin, 'cargo'))) continue;
    const version = ask(rustc, ['-vV']);
    const libraries = ask(rustc, ['--print', 'target-libdir', '--target', TARGET]);
    if (!version || !libraries || !fs.existsSync(libraries) || isOlderThan(version, neededRust())) continue;
    if (await canCompile(rustc, version, libraries)) return { bin, version: version.split('\n')[0] };
  }
  return null;
}

async function canCompile(rustc, version, libraries) {
  const key = hashOf([], rustc, version, libraries, fs.statSync(libraries).mtimeMs);
  if (readJson(PROBED)?.works === key) return true;
  const folder = path.join(CACHE, 'probe');
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, 'probe.rs'), PROBE);
  // As the release profile does: a std without bitcode compiles small programs but not this one.
  const release = ['-O', '-C', 'lto=fat', '-C', 'panic=abort'];
  const args = [
    '--edition',
    '2024',
    '--target',
    TARGET,
    '--crate-type',
    'cdylib',
    ...release,
    'probe.rs',
    '-o',
    'probe.wasm',
  ];
  const { code, output } = await run(rustc, args, { cwd: folder, quiet: true, env: rustEnv(path.dirname(rustc)) });
  if (code !== 0) {
    console.log(`  ${rustc} cannot build for ${TARGET}: ${output.trim().split('\n')[0]}`);
    return false;
  }
  writeJson(PROBED, { works: key });
  return true;
}

/** Environment in which plain `cargo`, `rustc` and `wasm-bindgen` are those of the toolchain in `bin`. */
export function rustEnv(bin) {
  const folders = [bin, ...TOOL_FOLDERS(), ...pathFolders()];
  return { PATH: folders.join(path.delimiter), RUSTC: programIn(bin, 'rustc'), CARGO_TERM_COLOR: 'never' };
}

/** Panic messages name source files: as seen from the project and the registry, not from this machine. */
export function remapFlags() {
  const sources = path.join(cargoHome(), 'registry', 'src');
  const indexes = fs.existsSync(sources) ? fs.readdirSync(sources).map((name) => path.join(sources, name)) : [];
  // rustc takes the last prefix that fits.
  const names = [[sources, 'registry'], ...indexes.map((folder) => [folder, 'registry']), [ROOT, 'webgguf']];
  return names.map(([folder, name]) => `--remap-path-prefix=${folder}=${name}`);
}

/** Path of wasm-bindgen in the version the crate needs, or null. */
export const findBindgen = () => findOfBindgen('wasm-bindgen');

/** Path of its runner of tests in that version, or null. */
export const findTestRunner = () => findOfBindgen('wasm-bindgen-test-runner');

function findOfBindgen(name) {
  const wanted = `${name} ${bindgenVersion()}`;
  const folders = [...TOOL_FOLDERS(), ...pathFolders()];
  for (const folder of new Set(folders)) {
    const file = programIn(folder, name);
    if (fs.existsSync(file) && ask(file, ['--version']) === wanted) return file;
  }
  return null;
}

/** Whether cargo has this subcommand (`fmt`, `clippy`) in the toolchain in `bin`. */
export const hasCargoCommand = (bin, name) => ask(programIn(bin, 'cargo'), [name, '--version'], rustEnv(bin)) !== null;
