// Videos as frames that a page gives: where their rows and times stand in prompts of each family, sessions that keep
// them, parts of other interfaces, and what is refused. Files of videos need a browser: tests/page/video.test.mjs.

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { layoutOfVideo } from '../../dist/video/index.js';
import { framesOf } from '../../dist/video/frames.js';
import { mediumOf } from '../../dist/model/conversation.js';
import { messagesOf } from '../../dist/ai-sdk/prompt.js';
import { ENCODERS, expectationsOf, open } from './encoders.mjs';
import { readPng } from './images.mjs';

const picture = readPng(path.join(ENCODERS, 'picture-60x40.png'));
const inverted = { ...picture, data: picture.data.map((byte) => 255 - byte) };
const FIRST_ROW = 2 ** 31;

const video = [
  { image: picture, time: 0 },
  { image: inverted, time: 61.5 },
];

/** The texts between rows, where each run of rows is `#`. */
async function writtenOf(model, parts) {
  const { ids, media } = await model.encodeParts(parts);
  let [text, run] = ['', []];
  const flush = async () => {
    if (run.length > 0) text += await model.detokenize(run, { showSpecial: true });
    run = [];
  };
  for (const [at, id] of ids.entries()) {
    if (id < FIRST_ROW) run.push(id);
    else if (!(ids[at - 1] >= FIRST_ROW) || id !== ids[at - 1] + 1) {
      await flush();
      text += '#';
    }
  }
  await flush();
  return { text, media, rows: ids.filter((id) => id >= FIRST_ROW).length };
}

const texts = (projector, times, seconds = times.at(-1)) =>
  layoutOfVideo(projector, { times, seconds })
    .map((item) => (typeof item === 'number' ? '#' : item))
    .join('');

test('times stand where each family was trained on them', () => {
  const times = [0, 0.5, 61.25];
  assert.equal(texts('qwen3vl_merger', times), '<0.0 seconds>#<0.5 seconds>#<61.3 seconds>#');
  assert.equal(texts('lfm3vl', [0, 1]), '<|vision_start|><0.0 seconds>#<1.0 seconds>#<|vision_end|>');
  for (const name of ['gemma4v', 'gemma4uv']) assert.equal(texts(name, times), '00:00 # 00:00 # 01:01 #');
  const intro = 'You are provided the following series of three frames from a 1:02:03 [H:MM:SS] video.\n';
  assert.equal(
    texts('idefics3', times, 3723.9),
    `${intro}\nFrame from 00:00:#\nFrame from 00:00:#\nFrame from 01:01:#\n\n`,
  );
  assert.equal(texts('internvl', [0, 1]), 'Frame1: #\nFrame2: #\n');
  assert.equal(texts('qwen2vl_merger', [0, 61.25]), 'Video:[0m0.00s]#[1m1.25s]#');
  for (const [count, words] of Object.entries({
    1: 'one',
    20: 'twenty',
    32: 'thirty-two',
    768: 'seven hundred and sixty-eight',
  })) {
    const all = Array.from({ length: Number(count) }, (_, at) => at);
    assert.match(texts('idefics3', all), new RegExp(`series of ${words} frames`));
  }
});

test('frames are rows of the same images, with the times between them', async () => {
  const model = await open(expectationsOf('qwen3vl'));
  const asVideo = await model.encodeParts([{ text: 'ab ' }, { video }, { text: ' cd' }]);
  const parts = [{ text: '<0.0 seconds>' }, { image: picture }, { text: '<61.5 seconds>' }, { image: inverted }];
  const asImages = await model.encodeParts([{ text: 'ab ' }, ...parts, { text: ' cd' }]);
  const plain = ({ ids }) => [...ids].map((id) => (id < FIRST_ROW ? id : 'row'));
  assert.deepEqual(plain(asVideo), plain(asImages));
  assert.equal(asVideo.positions, asImages.positions);
  assert.deepEqual(
    asVideo.media[0].embeddings,
    asImages.media.flatMap(({ embeddings }) => embeddings),
  );
  await model.free();
});

test('frames are not cut into tiles, and have fewer rows than images', async () => {
  const large = readPng(path.join(ENCODERS, 'picture-200x121.png'));
  for (const [name, around] of [
    ['idefics3', ['<fake_token_around_image><global-img>#<fake_token_around_image>', 'Frame from 00:03']],
    ['lfm2', ['<|image_start|>#<|image_end|>', '[0m3.00s]']],
    ['lfm3vl', ['<|vision_start|><3.0 seconds>#<|vision_end|>', '']],
  ]) {
    const model = await open(expectationsOf(name));
    const { text, media } = await writtenOf(model, [{ video: [{ image: large, time: 3 }] }]);
    // A small vocabulary has no tokens for these names: spaces may be lost.
    for (const each of around) assert.ok(text.includes(each), `${name}: ${text}`);
    const [image] = (await model.encodeParts([{ image: large }])).media;
    assert.ok(media[0].rows <= image.rows && media[0].rows <= 128, `${name}: ${media[0].rows} of ${image.rows}`);
    await model.free();
  }
});

test('a video in a message is read, counted, said again and saved', async () => {
  const model = await open(expectationsOf('qwen3vl'));
  const content = [
    { type: 'video', video, maxFrames: 2 },
    { type: 'text', text: 'What?' },
  ];
  const session = model.session();
  const stages = [];
  const onProgress = ({ stage, fraction }) => stages.push([stage, fraction]);
  const { usage } = await session.send({ role: 'user', content }, { maxTokens: 2, ignoreEos: true, onProgress }).result;
  const { rows } = (await model.encodeParts([{ video }])).media[0];
  assert.equal(usage.promptTokensDetails?.imageTokens ?? usage.imageTokens, rows);
  const encoded = stages.filter(([stage]) => stage === 'encode').map(([, fraction]) => fraction);
  assert.ok(encoded.some((share) => share > 0 && share <= 0.5) && encoded.at(-1) === 1, `${encoded}`);
  assert.equal(session.messages[0].content[0].maxFrames, 2);
  video[0].image.data[0] ^= 1; // what was said stays
  assert.notEqual(session.messages[0].content[0].video[0].image.data[0], video[0].image.data[0]);
  video[0].image.data[0] ^= 1;
  const again = await session.send('And?', { maxTokens: 2, ignoreEos: true }).result;
  assert.ok(again.usage.cachedTokens > rows, `${again.usage.cachedTokens} tokens were read before`);
  await assert.rejects(session.save(), { code: 'invalid_argument' });
  const request = { messages: [{ role: 'user', content }], max_tokens: 1 };
  assert.equal((await model.chat.completions.create(request)).choices.length, 1);
  await model.free();
});

test('videos of other interfaces are the same parts', () => {
  const url = 'data:video/mp4;base64,AAAA';
  assert.deepEqual(mediumOf({ type: 'video_url', video_url: { url } }), { video: url });
  assert.deepEqual(mediumOf({ type: 'image_url', image_url: url }), { image: url });
  assert.deepEqual(mediumOf({ type: 'file', file: { file_data: url, filename: 'a.mp4' } }), { video: url });
  for (const file of [{ file_data: 'data:text/plain,a' }, { file_id: '1' }, null]) {
    assert.equal(mediumOf({ type: 'file', file }), undefined);
  }
  const data = new Uint8Array([1]);
  const [message] = messagesOf([{ role: 'user', content: [{ type: 'file', mediaType: 'video/webm', data }] }]);
  assert.deepEqual(message.content, [{ type: 'video', video: data }]);
});

test('what is no video is refused with numbers', async () => {
  const model = await open(expectationsOf('qwen3vl'), { contextLength: 64 });
  const ask = (part) =>
    model.generate([{ role: 'user', content: [{ type: 'video', ...part }] }], { maxTokens: 1 }).result;
  const frame = { image: picture, time: 0 };
  for (const [part, message] of [
    [{ video: [] }, /0 frames, expected at least 1/],
    [{ video: 7 }, /video: expected a File.* found 7/],
    [{ video: [null] }, /time of frame 0 must be seconds from 0 to 86400, found undefined/],
    [{ video: [{ ...frame, time: 1e6 }] }, /found 1000000/],
    [
      {
        video: [
          { ...frame, time: 2 },
          { ...frame, time: 1 },
        ],
      },
      /frame 1 is at 1 s, frame 0 before it at 2 s/,
    ],
    [{ video: [{ time: 0 }] }, /image: expected/],
    [{ video, fps: 0 }, /fps must be a number above 0 and up to 60, found 0/],
    [{ video, maxFrames: 769 }, /maxFrames must be an integer from 1 to 768, found 769/],
    [{ video: new Blob(['a']) }, /no decoder of video files here: give frames/],
    [{ video: 'data:video/mp4;base64,*' }, /video: .*damaged/],
  ]) {
    await assert.rejects(ask(part), { code: 'invalid_argument', message }, JSON.stringify(part));
  }
  const many = Array.from({ length: 30 }, (_, at) => ({ image: picture, time: at }));
  const noRoom = /30 frames take \d+ tokens, the context has room for \d+: give fewer/;
  await assert.rejects(ask({ video: many }), { code: 'context_full', message: noRoom });
  await model.free();
  const huge = { size: 2 ** 31 + 1 };
  Object.setPrototypeOf(huge, Blob.prototype);
  Object.defineProperty(huge, 'size', { value: 2 ** 31 + 1 });
  const check = (bytes) => {
    throw new Error(`${bytes}`);
  };
  await assert.rejects(framesOf({ video: huge }, { check }), /2147483649/);
});

test('of more frames than are wanted some are taken, evenly', async () => {
  const all = Array.from({ length: 10 }, (_, at) => ({ image: at, time: at }));
  const found = await framesOf({ video: all, maxFrames: 4 }, { pixels: async (image) => image });
  assert.deepEqual(found, { frames: [0, 2, 5, 7], times: [0, 2, 5, 7], seconds: 9 });
});
