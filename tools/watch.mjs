// When a program of tests is given up. It counts looks, not time: a look counts less on a machine that has more to do
// than cores to do it, and none is taken while the machine sleeps.

import os from 'node:os';

const EVERY_MS = 5000;
/** How many looks a program may stand still on an idle machine: ten minutes. */
const STILL = 120;
/** The same after a failed test: what should have ended its server or its browser has not run then. */
const STILL_FAILED = 12;
/** How many looks a program may take at all, 40 minutes: four times what the longest takes. */
const ALL = 480;
/** Less than this share of a core is standing still: a browser that waits still paints and counts. */
const SHARE = 0.01;

/** The least share of a core that a program gets, by the load of the machine in the last minute. */
export function pace() {
  const [load] = os.loadavg();
  return Math.min(1, os.availableParallelism() / Math.max(load, 1));
}

/**
 * For `run`: gives a program up that writes nothing and does not compute, or takes too long.
 * @param {{everyMs?: number, still?: number, stillFailed?: number, all?: number, weight?: () => number,
 *   hasFailed?: (output: string) => boolean}} [limits] in looks; `hasFailed` says whether a test has failed by now
 */
export function watch(limits = {}) {
  const { everyMs = EVERY_MS, still = STILL, stillFailed = STILL_FAILED, all = ALL, weight = pace } = limits;
  const { hasFailed = () => false } = limits;
  let before = { cpu: 0, written: 0 };
  let [stood, taken] = [0, 0];
  const minutes = (looks) => `${Math.round((looks * everyMs) / 60_000)} minutes on an idle machine`;
  const look = ({ cpuSeconds, output }) => {
    const written = output.length;
    const [cpu, counts] = [cpuSeconds(), weight()];
    const done = cpu === null ? Infinity : Math.abs(cpu - before.cpu);
    const moved = done * 1000 > everyMs * SHARE || written !== before.written;
    before = { cpu, written };
    stood = moved ? 0 : stood + counts;
    taken += counts;
    if (stood >= still) return `it stood still for what is ${minutes(still)}`;
    if (stood >= stillFailed && hasFailed(output)) return 'a test of it had failed, and it did not end';
    return taken >= all ? `it took more than what is ${minutes(all)}` : null;
  };
  return { everyMs, look };
}
