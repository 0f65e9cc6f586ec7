// What differs between Linux, macOS and Windows, in one place: names of programs, how npm is started, variables of the
// environment, separators of paths. Every function takes the platform, so that tests try all three on one machine.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const HERE = process.platform;
const pathOf = (platform) => (platform === 'win32' ? path.win32 : path.posix);

/** The file name of a compiled program. */
export const programName = (name, platform = HERE) =>
  platform === 'win32' && !name.endsWith('.exe') ? `${name}.exe` : name;

/** The path of a compiled program in a folder. */
export const programIn = (folder, name, platform = HERE) => pathOf(platform).join(folder, programName(name, platform));

/** The value of a variable: on Windows, `Path` and `PATH` are the same. */
function variable(env, name, platform) {
  if (platform !== 'win32') return env[name];
  const key = Object.keys(env).find((other) => other.toUpperCase() === name.toUpperCase());
  return key && env[key];
}

/** The folders of PATH. */
export function pathFolders(env = process.env, platform = HERE) {
  const { delimiter } = pathOf(platform);
  // On Windows an entry may be in quotes.
  const folders = (variable(env, 'PATH', platform) ?? '').split(delimiter).map((entry) => entry.replace(/^"|"$/g, ''));
  return folders.filter(Boolean);
}

/** First existing executable of this name in `folders` or on PATH, else null. */
export function which(name, folders = [], { env = process.env, platform = HERE, isProgram = canRun } = {}) {
  for (const folder of [...folders.filter(Boolean), ...pathFolders(env, platform)]) {
    const file = programIn(folder, name, platform);
    if (isProgram(file)) return file;
  }
  return null;
}

function canRun(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

/** An environment with changes. On Windows a changed variable replaces the one that is written with other capitals. */
export function changedEnv(env, changes, platform = HERE) {
  if (platform !== 'win32') return { ...env, ...changes };
  const names = new Set(Object.keys(changes).map((name) => name.toUpperCase()));
  const kept = Object.entries(env).filter(([name]) => !names.has(name.toUpperCase()));
  return { ...Object.fromEntries(kept), ...changes };
}

/**
 * What starts npm: program and first arguments, or null where there is none. On Windows `npm` is a batch file, which
 * Node.js starts only through a shell, and a shell takes arguments apart: its script is run instead.
 */
export function npmCommand({
  env = process.env,
  platform = HERE,
  node = process.execPath,
  exists = fs.existsSync,
} = {}) {
  const { basename, dirname, join } = pathOf(platform);
  // npm names its own script to what it runs; so do other package managers.
  const given = env.npm_execpath;
  if (given && basename(given) === 'npm-cli.js' && exists(given)) return [node, given];
  if (platform !== 'win32') return which('npm', [], { env, platform, isProgram: exists }) ? ['npm'] : null;
  const folders = [dirname(node), ...pathFolders(env, platform)];
  const scripts = folders.map((folder) => join(folder, 'node_modules', 'npm', 'bin', 'npm-cli.js'));
  const found = scripts.find(exists);
  return found ? [node, found] : null;
}

/** A path with `/` on every system: what is hashed, compared or matched by patterns is the same everywhere. */
export const withSlashes = (file, platform = HERE) => (platform === 'win32' ? file.replaceAll('\\', '/') : file);

/** Whether two paths name the same file: Windows does not tell capitals apart, in names of drives either. */
export const isSamePath = (a, b, platform = HERE) =>
  platform === 'win32' ? a.toLowerCase() === b.toLowerCase() : a === b;

/** Where Chrome and its relatives are installed without being on PATH. */
export function browserPlaces(env = process.env, platform = HERE, home = os.homedir()) {
  if (platform === 'darwin') {
    const names = ['Google Chrome', 'Chromium', 'Microsoft Edge'];
    const folders = ['/Applications', `${home}/Applications`];
    return names.flatMap((name) => folders.map((folder) => `${folder}/${name}.app/Contents/MacOS/${name}`));
  }
  if (platform !== 'win32') return [];
  const programs = ['Google\\Chrome\\Application\\chrome.exe', 'Chromium\\Application\\chrome.exe'];
  const edge = 'Microsoft\\Edge\\Application\\msedge.exe';
  const roots = ['ProgramFiles', 'ProgramFiles(x86)', 'LOCALAPPDATA'].map((name) => variable(env, name, platform));
  return [...programs, edge].flatMap((file) => roots.filter(Boolean).map((root) => path.win32.join(root, file)));
}

export const isRoot = () => process.getuid?.() === 0;
/** Cargo's folder; on Windows below the folder of the user as well. */
export const cargoHome = (env = process.env, home = os.homedir()) => env.CARGO_HOME || path.join(home, '.cargo');
