// About two minutes of `npm run soak`: whatever fails, requests end in text or in an error with a code. Counted in
// rounds and faults rather than minutes, so that a slow machine tries as much as a quick one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAULTS, soak } from './soak.mjs';

/** Rounds of a request in each of three tabs. */
const ROUNDS = 36;

test('whatever fails, requests end in text or an error with a code, and nothing stored is broken', async (t) => {
  const { ends, answers, faults } = await soak({ rounds: ROUNDS, seed: 7 });
  t.diagnostic(JSON.stringify({ ends, answers, faults }));
  assert.ok(ends.text > ROUNDS / 2, `of ${3 * ROUNDS} requests ${ends.text ?? 0} gave a text: ${JSON.stringify(ends)}`);
  assert.ok(Object.keys(ends).length >= 4, JSON.stringify(ends));
  assert.deepEqual(Object.keys(faults).sort(), [...FAULTS].sort());
  // Besides `none` most of the eight that a server has; how often it is asked goes by what is stored.
  assert.ok(Object.keys(answers).length >= 6, JSON.stringify(answers));
});
