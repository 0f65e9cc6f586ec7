// Runs programs, and ends them with all that they have started.

import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT, Stop } from './base.mjs';
import { changedEnv, npmCommand } from './system.mjs';

/**
 * Names, in the environment of each program, the runs that it belongs to. Browsers are started in groups of their own
 * and outlive whoever started them: by this they are found.
 */
const RUNS = 'WEBGGUF_RUNS';
const IS_WINDOWS = process.platform === 'win32';
/** What is ended may have started another program meanwhile: so often all are looked for. */
const ROUNDS = 20;
/** A program has ended; what it left holds its output open, and could not be found. */
const LEFT_MS = 5000;

/**
 * Runs a program to its end without blocking.
 * @param {string} program `npm` is found on every system @param {string[]} args
 * @param {{cwd?: string, env?: object, quiet?: boolean, timeoutMs?: number, isAlone?: boolean,
 *   watch?: {everyMs: number, look: (run: {cpuSeconds: () => number | null, output: string}) => string | null}}}
 * [options] `quiet` collects the output without   showing it; with `isAlone` what the program leaves running is ended
 * after it; `watch` is asked again and again   whether to give up, and says why
 * @returns {Promise<{code: number, output: string}>} exit code (127: not found, 124: ended by us) and both streams
 */
export function run(program, args, options = {}) {
  const { cwd = ROOT, env = {}, quiet = false, timeoutMs = 0, isAlone = false, watch } = options;
  const id = nextId();
  const runs = [process.env[RUNS], id].filter(Boolean).join(' ');
  const [file, ...first] = program === 'npm' ? (npmCommand() ?? ['npm']) : [program];
  return new Promise((resolve) => {
    const child = spawn(file, [...first, ...args], {
      cwd,
      env: changedEnv(process.env, { ...env, [RUNS]: runs }),
      stdio: ['ignore', 'pipe', 'pipe'],
      // On Windows this opens a window for each program, and there are no groups.
      detached: !IS_WINDOWS,
      windowsHide: true,
    });
    const task = { child, id, output: '', endedBy: null };
    const end = (why) => {
      task.endedBy ??= why;
      endTask(task);
    };
    const stops = [endWithUs(task), timer(timeoutMs, () => end('it took too long')), watching(watch, task, end)];
    const finish = (code) => {
      stops.forEach((stop) => stop());
      if (task.endedBy) show(`\nended: ${task.endedBy}\n`, task, quiet, process.stderr);
      resolve({ code: task.endedBy ? 124 : code, output: task.output });
    };
    child.stdout.setEncoding('utf8').on('data', (piece) => show(piece, task, quiet, process.stdout));
    child.stderr.setEncoding('utf8').on('data', (piece) => show(piece, task, quiet, process.stderr));
    child.on('error', (error) => {
      task.output += error.message;
      finish(127);
    });
    child.on('exit', () => isAlone && endLeft(task, stops));
    child.on('close', (code) => finish(code ?? 1));
  });
}

function show(piece, task, quiet, stream) {
  task.output += piece;
  if (!quiet) stream.write(piece);
}

/** No process left by an earlier run may have it. */
const OURS = `${process.pid}-${Date.now().toString(36)}`;
let last = 0;
function nextId() {
  last += 1;
  return `${OURS}-${last}`;
}

function timer(ms, work) {
  const handle = ms && setTimeout(work, ms);
  return () => clearTimeout(handle);
}

function watching(watch, task, end) {
  if (!watch) return () => {};
  const handle = setInterval(() => {
    const why = watch.look({ cpuSeconds: () => cpuSeconds(task.id), output: task.output });
    if (why) end(why);
  }, watch.everyMs);
  return () => clearInterval(handle);
}

/** Ends what a program has left, and its output with it. */
function endLeft(task, stops) {
  endTask(task);
  const streams = [task.child.stdout, task.child.stderr];
  stops.push(timer(LEFT_MS, () => streams.forEach((stream) => stream.destroy())));
}

/** Programs that run now. */
const running = new Set();

function endAll() {
  running.forEach(endTask);
  process.exit(130);
}

/** Ends a task and its programs when this process is interrupted; returns how to forget about it. */
function endWithUs(task) {
  if (running.size === 0) process.once('SIGINT', endAll).once('SIGTERM', endAll);
  running.add(task);
  return () => {
    running.delete(task);
    if (running.size === 0) process.off('SIGINT', endAll).off('SIGTERM', endAll);
  };
}

/** Ends a program with all that it has started. */
function endTask({ child, id }) {
  if (!child.pid) return;
  endTree(child);
  for (let round = 0; round < ROUNDS; round += 1) {
    const pids = processesOf(id);
    if (pids.length === 0) return;
    pids.forEach(endOne);
  }
}

/** Ends a program that was started as the first of its group, with its group; on Windows with its children. */
export function endTree(child, { platform = process.platform, kill = process.kill, command = spawnSync } = {}) {
  if (platform === 'win32') {
    command('taskkill', ['/pid', String(child.pid), '/t', '/f'], { stdio: 'ignore', windowsHide: true });
    return;
  }
  try {
    kill(-child.pid, 'SIGKILL');
  } catch {
    /* it has ended by itself */
  }
}

function endOne(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    /* it has ended by itself */
  }
}

/**
 * The processes of a run, where the system tells their environment: on Linux. Parts of a browser write their title over
 * theirs: what one of these has started is of the run as well.
 */
export function processesOf(id) {
  if (process.platform !== 'linux') return [];
  const all = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const found = new Set(all.filter((pid) => isOfRun(pid, id)));
  const parents = new Map(all.map((pid) => [pid, statOf(pid)[1]]));
  for (let before = 0; found.size > before; ) {
    before = found.size;
    for (const [pid, parent] of parents) if (found.has(parent)) found.add(pid);
  }
  return [...found].map(Number);
}

function isOfRun(pid, id) {
  const entries = readProcess(pid, 'environ').split('\0');
  const line = entries.find((entry) => entry.startsWith(`${RUNS}=`));
  return Boolean(
    line
      ?.slice(RUNS.length + 1)
      .split(' ')
      .includes(id),
  );
}

/** The fields of a process from its state on. Before these is its name, in parentheses, which may hold anything. */
const statOf = (pid) => readProcess(pid, 'stat').split(') ').at(-1).split(' ');

function readProcess(pid, name) {
  try {
    return fs.readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}

/** Seconds that a run's processes, and those of theirs that have ended, have computed; null where nobody tells. */
export function cpuSeconds(id) {
  if (process.platform !== 'linux') return null;
  const counts = (pid) =>
    statOf(pid)
      .slice(11, 15)
      .map((field) => Number(field) || 0);
  const ticks = processesOf(id).flatMap(counts);
  return ticks.reduce((total, count) => total + count, 0) / 100;
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
  const options = { encoding: 'utf8', env: changedEnv(process.env, env), timeout: 60_000, windowsHide: true };
  const result = spawnSync(program, args, options);
  return result.status === 0 ? result.stdout.trim() : null;
}
