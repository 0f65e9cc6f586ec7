// What comes while images and sounds are on their way: `free`, an abort, other requests, at every place where one can.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectationsOf, open } from './encoders.mjs';
import { waveOf } from '../../dist/media/samples.js';
import { soundOf } from './sounds.mjs';

/** Colours by place, so that no two of these are the same. */
function drawn(seed) {
  const data = new Uint8Array(150 * 90 * 4).map((_, at) => (at * seed + (at >> 9)) % 251);
  return { width: 150, height: 90, data };
}

const said = (image) => [
  {
    role: 'user',
    content: [
      { type: 'image', image },
      { type: 'text', text: 'What?' },
    ],
  },
];
/** Lets `count` turns of the page pass. */
async function turns(count) {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setTimeout(resolve));
}

test('free while an image is decoded, encoded or read: an error of the closed set, and nothing hangs', async () => {
  const codes = new Set();
  for (let wait = 0; wait < 24; wait += 3) {
    const model = await open(expectationsOf('idefics3'));
    const session = model.session();
    const ends = [
      model.generate(said(drawn(wait + 1)), { maxTokens: 2 }).result,
      session.send(said(drawn(wait + 2)), { maxTokens: 2 }).result,
      session.countTokens(said(drawn(wait + 3))),
    ];
    const settled = Promise.allSettled(ends);
    await turns(wait);
    await model.free();
    for (const { status, reason } of await settled) {
      if (status === 'fulfilled') continue;
      assert.equal(reason.name, 'WebggufError', String(reason.stack));
      assert.ok(['invalid_argument', 'context_full'].includes(reason.code), reason.message);
      codes.add(reason.code);
    }
  }
  assert.ok(codes.has('invalid_argument'), 'some were under way');
});

test('an abort at any time ends with the reason, and the same image is asked about again', async () => {
  const model = await open(expectationsOf('idefics3'));
  for (let wait = 0; wait < 24; wait += 2) {
    const controller = new AbortController();
    const reason = new Error(`after ${wait}`);
    const image = drawn(wait + 30);
    const running = model.generate(said(image), { maxTokens: 2, ignoreEos: true, signal: controller.signal });
    const ended = running.result.then(
      () => undefined,
      (error) => error,
    );
    await turns(wait);
    controller.abort(reason);
    const error = await ended;
    assert.ok(error === undefined || error === reason, String(error?.stack));
    assert.equal((await model.generate(said(image), { maxTokens: 2, ignoreEos: true })).ids.length, 2);
  }
  await model.free();
});

test('tokens of images are counted while the model writes, and requests with images run together', async () => {
  const model = await open(expectationsOf('lfm2'), { parallel: 3 });
  const ask = (seed) => model.generate(said(drawn(seed)), { maxTokens: 6, ignoreEos: true, temperature: 0 });
  const session = model.session();
  const running = ask(1);
  let count = 0;
  for await (const _ of running) count ||= await session.countTokens(said(drawn(2)));
  assert.ok(count > 60, `${count} tokens`);
  const all = [3, 4, 5, 6].map((seed) => ask(seed).result);
  const together = (await Promise.all(all)).map(({ ids }) => [...ids]);
  for (const [at, seed] of [3, 4, 5, 6].entries()) assert.deepEqual([...(await ask(seed)).ids], together[at]);
  await model.free();
});

test('a sound whose answer is ended while it is prepared leaves the model usable', async () => {
  const model = await open(expectationsOf('ultravox'));
  const content = [{ type: 'audio', audio: waveOf({ ...soundOf(200_000), sampleRate: 44_100 }) }];
  for (const wait of [0, 1, 4, 9]) {
    const running = model.generate([{ role: 'user', content }], { maxTokens: 1 });
    await turns(wait);
    await running.stop();
  }
  assert.equal((await model.generate([{ role: 'user', content }], { maxTokens: 1, ignoreEos: true })).ids.length, 1);
  await model.free();
});
