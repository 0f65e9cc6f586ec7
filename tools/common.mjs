// What every script here needs: where the project is, how to run a program, how to stop with a clear word.

import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { CACHE, ROOT, Stop } from './base.mjs';
import { isSamePath, withSlashes } from './system.mjs';

export { CACHE, ROOT, Stop } from './base.mjs';
export { ask, must, run } from './processes.mjs';
export { cargoHome, isRoot, programIn, which } from './system.mjs';

/** Runs `main`; a `Stop` prints its message, anything else its stack; either way the exit code is 1. */
export async function runMain(main) {
  try {
    await main();
  } catch (error) {
    console.error(error instanceof Stop ? `\nstopped: ${error.message}` : error);
    process.exitCode = 1;
  }
}

/** True when the file with this URL is the script that node was started with. */
export function isMain(url) {
  return Boolean(process.argv[1]) && isSamePath(fs.realpathSync(process.argv[1]), fileURLToPath(url));
}

/** What the command line of a script asks for that runs everything, or only what has changed. */
export function allOrChanged() {
  const [which = 'all'] = process.argv.slice(2);
  if (which !== 'all' && which !== 'changed') throw new Stop(`unknown: ${which}`, "give nothing, 'all' or 'changed'");
  return which;
}

export function seconds(since) {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}

/** All files under a folder (or the file itself), sorted, relative to ROOT, with `/`. Missing paths give nothing. */
export function filesUnder(...places) {
  const found = [];
  const visit = (place) => {
    const stat = fs.statSync(path.join(ROOT, place), { throwIfNoEntry: false });
    if (stat?.isDirectory()) fs.readdirSync(path.join(ROOT, place)).forEach((name) => visit(path.join(place, name)));
    else if (stat) found.push(withSlashes(place));
  };
  places.forEach(visit);
  return found.sort();
}

/** One hash over names and contents of files, and over any further strings. */
export function hashOf(files, ...more) {
  const hash = createHash('sha256');
  for (const file of files)
    hash
      .update(file)
      .update('\0')
      .update(fs.readFileSync(path.join(ROOT, file)))
      .update('\0');
  for (const text of more) hash.update(String(text)).update('\0');
  return hash.digest('hex');
}

export function readJson(file, otherwise = null) {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8'));
  } catch {
    return otherwise;
  }
}

export function writeJson(file, value) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);
}

/** Runs `work` while no other process runs work of the same name. A lock whose owner has died is taken over. */
export async function withLock(name, work) {
  const lock = path.join(CACHE, `${name}.lock`);
  fs.mkdirSync(CACHE, { recursive: true });
  for (let waited = 0; ; waited += 1) {
    try {
      fs.writeFileSync(lock, String(process.pid), { flag: 'wx' });
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (!isAlive(lock)) fs.rmSync(lock, { force: true });
    else if (waited === 10) console.log(`waiting for another ${name} to end`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  try {
    return await work();
  } finally {
    fs.rmSync(lock, { force: true });
  }
}

function isAlive(lock) {
  try {
    const pid = Number(fs.readFileSync(lock, 'utf8'));
    // An empty file is a lock being written this very moment.
    if (!pid) return Date.now() - fs.statSync(lock).mtimeMs < 2000;
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
