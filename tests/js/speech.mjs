// What tests of speech share.

import assert from 'node:assert/strict';

/** How far samples may be off, in parts of the peak. */
export const SAMPLES = 1e-3;

/** The largest difference of the samples that are expected, one of `every`, divided by the peak. */
export function sampledApart(found, { count, peak, samples }, every) {
  if (found.length !== count) return Number.POSITIVE_INFINITY;
  const apart = samples.map((sample, at) => Math.abs(sample - found[every * at]));
  // What is missing is no number.
  return apart.reduce((worst, value) => (value <= worst ? worst : value), 0) / peak;
}

/** Expects that `promise` is rejected with the code `code`, and with a message that has `part` in it. */
export const refused = (promise, code, part) =>
  assert.rejects(promise, (error) => {
    assert.equal(error.code, code, error.message);
    assert.ok(error.message.includes(part), error.message);
    return true;
  });
