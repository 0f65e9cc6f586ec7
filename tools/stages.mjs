// The stages of a build: each is skipped where its inputs and what it last wrote are unchanged, and says what it does.

import { filesUnder, hashOf, readJson, seconds, writeJson } from './common.mjs';

/** Every so often it is said what is at work: a compiler says nothing for minutes. */
const REMIND_MS = 20_000;
/** What the first build of a stage takes on two cores, where that is worth saying. */
const FIRST = { engine: '3 to 4 minutes the first time', harness: '4 to 5 minutes the first time' };

/** Whether a stage has been done with these inputs, and its outputs are as it left them. */
export const isUpToDate = (stamp, inputs, outputs) =>
  stamp?.inputs === inputs && stamp.outputs === hashOf(filesUnder(...outputs));

/** Stages whose stamps are kept in a file. Several may run at the same time. */
export function openStages(file, { quiet = false } = {}) {
  // `npm pack` prints the packed files to standard output; that a build takes minutes is said in any case.
  const say = quiet ? console.error : console.log;
  const stamps = readJson(file, {});
  const start = performance.now();
  const working = new Set();
  let reminder;
  const remind = () => say(`  ${seconds(start)}: still ${[...working].join(', ')}`);
  const run = async (name, inputs, outputs, work) => {
    if (isUpToDate(stamps[name], inputs, outputs)) return quiet || say(`${name}: up to date`);
    const began = performance.now();
    say(`${name}: begins${FIRST[name] ? `, ${FIRST[name]}` : ''}`);
    working.add(name);
    reminder ??= setInterval(remind, REMIND_MS);
    try {
      await work();
    } finally {
      working.delete(name);
      if (working.size === 0) reminder = clearInterval(reminder);
    }
    stamps[name] = { inputs, outputs: hashOf(filesUnder(...outputs)) };
    writeJson(file, stamps);
    return say(`${name}: built in ${seconds(began)}`);
  };
  return { run };
}
