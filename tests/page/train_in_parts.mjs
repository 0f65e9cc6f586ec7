// A person teaches a small model on train.html, reloads the page in the midst, goes on and stops: with the real
// trainer, in whatever browser the caller drives.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

/** Weights of one layer: what this costs is the browser's. */
const MODEL = 'llama-f32.gguf';
const EXAMPLES = 'the cat sat on the mat\n\na dog barks\n\nbirds sing in trees';
/** More steps than are made here. */
const OPTIONS = { epochs: 500, rank: 4, rate: 0.01, length: 32, batch: 1 };

/** What the page shows. */
function look() {
  const text = (id) => document.getElementById(id).innerText.trim();
  return {
    state: document.documentElement.dataset.state,
    model: text('model-name'),
    examples: text('examples-status'),
    canStart: !document.getElementById('start').disabled,
    step: Number(/^Step (\d+)/.exec(text('training-status'))?.[1] ?? 0),
    status: text('training-status'),
    kept: text('kept-words'),
    goOn: document.getElementById('go-on').offsetParent ? text('go-on') : '',
    chart: document.getElementById('chart').getAttribute('aria-label'),
    adapter: text('adapter-words'),
    epochs: document.getElementById('epochs').value,
    error: text('error'),
  };
}

/**
 * @param {object} browser
 * @param {() => Promise<void>} browser.open opens the page, in place of the one there was
 * @param {(work: Function, argument?: object) => Promise<unknown>} browser.evaluate runs a function in it
 * @param {number} browser.patience seconds to wait for anything
 * @returns {Promise<string>} what came of it, in words
 */
export async function trainInParts({ open, evaluate, patience }) {
  const until = async (what, holds) => {
    for (const start = performance.now(); ; await sleep(100)) {
      const seen = await evaluate(look);
      if (seen.error) assert.fail(`waited until ${what}, the page shows an error: ${seen.error}`);
      if (holds(seen)) return seen;
      const isLate = performance.now() - start > 1000 * patience;
      assert.ok(!isLate, `waited in vain until ${what}; the page shows ${JSON.stringify(seen)}`);
    }
  };
  const click = (id) => evaluate((name) => document.getElementById(name).click(), id);
  await open();
  await evaluate((model) => {
    document.getElementById('url').value = `/fixtures/models/${model}`;
    document.getElementById('url-form').requestSubmit();
  }, MODEL);
  await until('the model is there', ({ state, model }) => state === 'ready' && model === MODEL);
  await evaluate(
    ({ examples, options }) => {
      document.getElementById('paste').value = examples;
      document.getElementById('add-pasted').click();
      for (const [id, value] of Object.entries(options)) {
        document.getElementById(id).value = value;
        document.getElementById(id).dispatchEvent(new Event('input', { bubbles: true }));
      }
    },
    { examples: EXAMPLES, options: OPTIONS },
  );
  await until('tokens are counted', ({ examples, canStart }) => canStart && /^3 examples · /.test(examples));
  await click('start');
  const before = await until('some steps are made', ({ step }) => step >= 4);
  await open();
  const isThere = ({ goOn, model, examples }) => goOn !== '' && model === MODEL && /^3 examples · /.test(examples);
  const after = await until('the page offers to go on, and tokens are counted', isThere);
  const step = Number(/^Go on from step (\d+)$/.exec(after.goOn)?.[1]);
  assert.ok(step >= 1, after.goOn);
  assert.match(after.kept, /^A training with 3 examples was interrupted at step \d+ of \d+; saved just now\.$/);
  assert.equal(after.epochs, String(OPTIONS.epochs));
  await click('go-on');
  await until('it has gone on', (seen) => seen.step >= step + 10);
  await click('stop');
  const { status, chart, adapter } = await until('it has stopped', ({ state }) => state === 'ready');
  assert.match(status, /^Stopped after \d+ steps\.$/);
  assert.match(adapter, /^llama-f32-adapter\.gguf, /);
  const [first, last] = /^Loss from (\S+) at step 1 to (\S+) at step/.exec(chart).slice(1).map(Number);
  assert.ok(last < first - 1, chart);
  return `seen at step ${before.step}, gone on from step ${step}. ${status} ${chart}`;
}
