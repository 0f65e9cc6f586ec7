// Jobs that run beside each other, each with what it prints in one block: `npm test` keeps two cores busy, and what it
// says can still be read from top to bottom.

import { AsyncLocalStorage } from 'node:async_hooks';
import { seconds } from './common.mjs';

/** Every so often it is said what runs: no output for long looks like a machine that hangs. */
const REMIND_MS = 5 * 60_000;

/** What the job at work has printed. */
const block = new AsyncLocalStorage();
const outside = (work) => block.run(undefined, work);

/** Puts what is written to a stream into the block of the job that writes; returns how to end that. */
function divert(stream) {
  const { write } = stream;
  stream.write = function (piece, ...rest) {
    const pieces = block.getStore();
    if (!pieces) return write.call(this, piece, ...rest);
    pieces.push(piece);
    return true;
  };
  return () => {
    stream.write = write;
  };
}

/**
 * Runs jobs in several lanes: each lane takes the next job when it has done one. A block is printed when its job is
 * over, or at the latest when this process ends. With one lane everything is printed at once.
 *
 * @param {number} lanes
 * @param {{name: string, work: () => Promise<unknown>}[]} jobs in the order in which they begin
 * @returns {Promise<unknown[]>} their results, in the same order; rejects with what the first failing one throws
 */
export async function inLanes(lanes, jobs) {
  if (lanes < 2) {
    const results = [];
    for (const { work } of jobs) results.push(await work());
    return results;
  }
  const start = performance.now();
  const open = new Map();
  const print = (name) => outside(() => process.stdout.write(open.get(name).join('')) && open.delete(name));
  const printAll = () => [...open.keys()].forEach(print);
  const undo = [process.stdout, process.stderr].map(divert);
  process.on('exit', printAll);
  const remind = () =>
    open.size && outside(() => console.log(`.... ${seconds(start)}: ${[...open.keys()].join(', ')}`));
  const reminder = setInterval(remind, REMIND_MS);
  const waiting = jobs.map((job, index) => ({ ...job, index }));
  const results = [];
  const lane = async () => {
    for (let job = waiting.shift(); job; job = waiting.shift()) {
      const { name, work, index } = job;
      open.set(name, []);
      outside(() => console.log(`.... ${seconds(start)}: ${name} begins`));
      results[index] = await block.run(open.get(name), work);
      print(name);
    }
  };
  try {
    await Promise.all(Array.from({ length: lanes }, lane));
    return results;
  } finally {
    clearInterval(reminder);
    printAll();
    process.off('exit', printAll);
    undo.forEach((end) => end());
  }
}
