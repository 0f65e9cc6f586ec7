// Which of several runners wins a race, with clocks that the test invents.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { race } from '../../dist/tuning/race.js';
import { candidatesOf, problemsOf } from '../../dist/tuning/index.js';
import { keptTuning } from '../../dist/tuning/verdicts.js';

/** Runners that take `costs` milliseconds for a dispatch, and a clock that adds `noise(run)` to each run. */
function field(costs, { length = 10, noise = () => 0 } = {}) {
  let ms = 0;
  let runs = 0;
  const counts = costs.map(() => 0);
  const runners = costs.map((cost, number) => ({
    length,
    submit: (first, count) => {
      assert.equal(first, 0);
      assert.ok(Number.isInteger(count) && count > 0, `${count} dispatches`);
      ms += count * cost;
      counts[number] = count;
    },
  }));
  const time = async (submit) => {
    ms = 0;
    submit();
    runs += 1;
    return ms + noise(runs);
  };
  return { runners, clock: { time }, counts };
}

test('the fastest wins, by how much it is faster', async () => {
  const { runners, clock } = field([2, 1.8, 1, 1.2, 9]);
  assert.deepEqual(await race(runners, clock), { winner: 2, speedup: 2 });
});

test('a runner without dispatches has no turn', async () => {
  const { runners, clock, counts } = field([2, 3]);
  runners.push({ length: 0, submit: () => assert.fail('nothing to submit') });
  assert.deepEqual(await race(runners, clock), { winner: 0, speedup: 1 });
  assert.ok(counts.every((count) => count > 0));
});

test('what is hardly faster does not win', async () => {
  const { runners, clock } = field([1, 0.96, 1.01]);
  assert.deepEqual(await race(runners, clock), { winner: 0, speedup: 1 });
  const { winner } = await race(runners, clock, { below: 1, least: 1 });
  assert.equal(winner, 1, 'where every difference counts');
});

test('one slow run of the first is no reason to change', async () => {
  for (let disturbed = 1; disturbed < 30; disturbed += 1) {
    const { runners, clock } = field([1, 1, 1], { noise: (run) => (run === disturbed ? 500 : 0) });
    assert.equal((await race(runners, clock)).winner, 0, `run ${disturbed} is slow`);
  }
});

test('runs are long enough, and of whole turns where a turn is short', async () => {
  const quick = field([0.001, 0.001], { length: 7 });
  await race(quick.runners, quick.clock);
  assert.ok(
    quick.counts.every((count) => count % 7 === 0 && count <= 4102),
    `${quick.counts}`,
  );
  const steady = field([0.1, 0.1], { length: 7 });
  await race(steady.runners, steady.clock);
  assert.ok(
    steady.counts.every((count) => count % 7 === 0 && count >= 100),
    `${steady.counts}`,
  );
  const slow = field([300, 300], { length: 7 });
  await race(slow.runners, slow.clock);
  assert.deepEqual(slow.counts, [1, 1], 'one dispatch takes longer than a run needs');
  await race(slow.runners, slow.clock, { below: 1, least: 1 });
  assert.deepEqual(slow.counts, [7, 7], 'whole lists are compared');
  await race(slow.runners, slow.clock, { below: 1, least: 2 / 7 });
  assert.deepEqual(slow.counts, [2, 2], 'or parts of them');
});

test('a list without dispatches does not race', async () => {
  const { runners, clock } = field([1, 0.1], { length: 0 });
  assert.deepEqual(await race(runners, clock), { winner: 0, speedup: 1 });
  assert.deepEqual(await race([], clock), { winner: 0, speedup: 1 });
});

test('a slow device has as many rounds as the budget allows, and one at least', async () => {
  const runs = async (budgetMs) => {
    let count = 0;
    const { runners, clock } = field([30, 20]);
    const counted = { time: (submit) => ((count += 1), clock.time(submit)) };
    const { winner } = await race(runners, counted, { below: 1, least: 1, budgetMs });
    assert.equal(winner, 1);
    return count;
  };
  const [none, three, all] = [await runs(1), await runs(1600), await runs(undefined)];
  assert.deepEqual([three - none, all - none], [4, 8], 'of two runners, one, three and five rounds');
});

test('candidates are what is chosen elsewhere, of what the device can run', () => {
  const here = problemsOf('mat_vec q8_0 512x256=9,516\nmat_vec q8_0 8x256=9,516\nmat_vec bf16 8x8=9,513\nb=0,3\n');
  const there = problemsOf('mat_vec q8_0 512x256=2,516\nmat_vec q8_0 8x256=9,516\nmat_vec bf16 8x8=2,516\na=1,3\n');
  assert.deepEqual(candidatesOf(here, there), [{ problem: 'mat_vec q8_0 512x256', from: 9, to: 2 }]);
  assert.deepEqual(candidatesOf(here, []), []);
});

test('problems without a choice are none', () => {
  const lines = 'mat_vec q8_0 512x256=9,7\nmat_mul q8_0 8x8 x 128=1,2\n';
  assert.deepEqual(problemsOf(lines), [{ name: 'mat_vec q8_0 512x256', chosen: 9, rows: [0, 1, 2] }]);
});

test('of what is kept only a report counts', () => {
  const choice = { problem: 'mat_vec q8_0 512x256', from: 1, to: 2, speedup: 1.2 };
  const report = { problems: 3, changed: [choice] };
  assert.deepEqual(keptTuning({ ...report, verdict: 'tuned', more: 1 }), report);
  const wrong = [
    { ...choice, to: '2\n' },
    { ...choice, problem: 'a=1\nb' },
    { ...choice, speedup: undefined },
    null,
    7,
  ];
  for (const one of wrong) assert.equal(keptTuning({ problems: 1, changed: [one] }), undefined);
  for (const kept of [undefined, null, [], 'tuned', {}, { problems: 1 }]) assert.equal(keptTuning(kept), undefined);
});
