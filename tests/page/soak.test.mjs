// Some rounds of `npm run soak`: whatever fails, requests end in text or in an error with a code.

import assert from 'node:assert/strict';
import { soak } from '../soak/soak.mjs';
import { longTest } from '../long.mjs';

longTest('whatever fails, requests end in text or an error with a code, and nothing stored is broken', async () => {
  const { ends, answers } = await soak({ rounds: 6, seed: 7 });
  assert.ok(ends.text > 2, `of 18 requests ${ends.text ?? 0} gave a text: ${JSON.stringify(ends)}`);
  assert.ok(Object.keys(ends).length >= 4, JSON.stringify(ends));
  assert.ok(Object.keys(answers).length >= 5, JSON.stringify(answers));
});
