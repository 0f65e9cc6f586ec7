// How long the tasks of a page's main thread take, in the thread's own time: what other programs on a busy machine do
// meanwhile does not count.

const CATEGORIES = ['disabled-by-default-devtools.timeline', 'blink.user_timing', '__metadata'];

/**
 * Traces the browser while `work` runs.
 * @returns {Promise<{result: unknown, tasks: {at_ms: number, cpu_ms: number, wall_ms: number}[]}>} `result` of `work`,
 *   and the tasks of the page's main thread, the longest first, by time from the start of the trace
 */
export async function traceTasks(browser, page, work) {
  const marker = `trace ${performance.now()}`;
  await browser.startTracing(page, { categories: CATEGORIES });
  let result;
  let trace;
  try {
    await page.evaluate((name) => {
      performance.mark(name);
    }, marker);
    result = await work();
  } finally {
    trace = JSON.parse(await browser.stopTracing());
  }
  const mark = trace.traceEvents.find(({ name }) => name === marker);
  const own = trace.traceEvents.filter(
    ({ pid, tid, ph, name }) => pid === mark.pid && tid === mark.tid && ph === 'X' && name === 'RunTask',
  );
  // A time of nothing is left out of the trace.
  const tasks = own.map(({ ts, dur = 0, tdur = 0 }) => ({
    at_ms: (ts - mark.ts) / 1000,
    cpu_ms: tdur / 1000,
    wall_ms: dur / 1000,
  }));
  return { result, tasks: tasks.sort((a, b) => b.cpu_ms - a.cpu_ms) };
}
