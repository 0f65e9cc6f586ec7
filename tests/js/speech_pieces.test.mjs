// How a sound is cut into pieces: small ones first, and none that comes after the last one is over.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { framesOfNext } from '../../dist/voice/reading.js';

/** Frames that are missing when they should be heard, where `speed` frames are made while one is heard. */
function gap(speed) {
  let [given, longest] = [framesOfNext(0), 0];
  // The first frame is heard once the first piece is there.
  const begun = given / speed;
  while (given < 2000) {
    const next = framesOfNext(given);
    const isThere = (given + next) / speed - begun;
    longest = Math.max(longest, isThere - given);
    given += next;
  }
  return longest;
}

test('the first piece is short, and none is late where speech is made 1.2 times as fast as it is heard', () => {
  assert.equal(framesOfNext(0), 4);
  assert.equal(framesOfNext(1000), 25);
  assert.ok(gap(1.2) <= 0, `${gap(1.2)} frames`);
  assert.ok(gap(3) <= 0);
  assert.ok(gap(1) > 0, 'slower than that there are gaps');
});
