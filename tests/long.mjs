// Long tests whose subject other tests cover, too: `npm test` skips them and says how many, `npm test -- --all` runs
// them.

import { test } from 'node:test';

/** Whether this run leaves nothing out. */
export const ALL = process.env.WEBGGUF_ALL === '1';

/** Declares a test that takes long. */
export const longTest = (name, work) => test(name, { skip: !ALL && 'takes long: npm test -- --all' }, work);

/** Declares one of several similar tests: those that are not `quick` take long. */
export const testIf = (quick) => (quick ? test : longTest);
