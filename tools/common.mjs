// What every script here needs: where the project is, how to run a program, how to stop with a clear word.

import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
export const CACHE = path.join(ROOT, '.cache');

/** A failure whose cause and cure are known: printed without a stack. */
export class Stop extends Error {
  /** @param {string} missing what is missing @param {string} [cure] what to do about it */
  constructor(missing, cure) {
    super(cure ? `${missing}\n  what to do: ${cure}` : missing);
  }
}

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
  return Boolean(process.argv[1]) && fs.realpathSync(process.argv[1]) === fileURLToPath(url);
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

/**
 * Runs a program to its end without blocking.
 * @param {string} program @param {string[]} args
 * @param {{cwd?: string, env?: object, quiet?: boolean, timeoutMs?: number}} [options] `quiet` collects the output
 *   without showing it.
 * @returns {Promise<{code: number, output: string}>} exit code (127: not found, 124: timed out) and both streams
 */
export function run(program, args, options = {}) {
  const { cwd = ROOT, env = {}, quiet = false, timeoutMs = 0 } = options;
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    let output = '';
    let timedOut = false;
    const timer =
      timeoutMs &&
      setTimeout(() => {
        timedOut = true;
        killGroup(child);
      }, timeoutMs);
    const forget = endWithUs(child);
    const take = (sink) => (piece) => {
      output += piece;
      if (!quiet) sink.write(piece);
    };
    child.stdout.setEncoding('utf8').on('data', take(process.stdout));
    child.stderr.setEncoding('utf8').on('data', take(process.stderr));
    const end = (code) => {
      clearTimeout(timer);
      forget();
      resolve({ code, output });
    };
    child.on('error', (error) => {
      output += error.message;
      end(127);
    });
    child.on('close', (code) => end(timedOut ? 124 : (code ?? 1)));
  });
}

function killGroup(child) {
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    /* it has ended by itself */
  }
}

/** Programs that run now. */
const running = new Set();

function endAll() {
  running.forEach(killGroup);
  process.exit(130);
}

/** Ends `child` and its children when this process is interrupted; returns how to forget about it. */
function endWithUs(child) {
  if (running.size === 0) process.once('SIGINT', endAll).once('SIGTERM', endAll);
  running.add(child);
  return () => {
    running.delete(child);
    if (running.size === 0) process.off('SIGINT', endAll).off('SIGTERM', endAll);
  };
}

/** Like `run`, but a failure stops with the last lines of the output. */
export async function must(program, args, options = {}) {
  const result = await run(program, args, options);
  if (result.code === 0) return result.output;
  const tail = options.quiet ? `\n${result.output.trimEnd().split('\n').slice(-30).join('\n')}` : '';
  throw new Stop(`\`${path.basename(program)} ${args.join(' ')}\` failed with code ${result.code}${tail}`);
}

/** Output of a short command, or null when it is missing or fails. */
export function ask(program, args, env = {}) {
  const result = spawnSync(program, args, { encoding: 'utf8', env: { ...process.env, ...env }, timeout: 20_000 });
  return result.status === 0 ? result.stdout.trim() : null;
}

/** First existing executable of this name on PATH or in `folders`, else null. */
export function which(name, folders = []) {
  const all = [...folders, ...(process.env.PATH ?? '').split(path.delimiter)];
  for (const folder of all.filter(Boolean)) {
    const file = path.join(folder, name);
    try {
      fs.accessSync(file, fs.constants.X_OK);
    } catch {
      continue;
    }
    if (fs.statSync(file).isFile()) return file;
  }
  return null;
}

export const isRoot = () => process.getuid?.() === 0;
export const cargoHome = () => process.env.CARGO_HOME || path.join(os.homedir(), '.cargo');

/** All files under a folder (or the file itself), sorted, relative to ROOT. Missing paths give nothing. */
export function filesUnder(...places) {
  const found = [];
  const visit = (place) => {
    const stat = fs.statSync(path.join(ROOT, place), { throwIfNoEntry: false });
    if (stat?.isDirectory()) fs.readdirSync(path.join(ROOT, place)).forEach((name) => visit(path.join(place, name)));
    else if (stat) found.push(place);
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
