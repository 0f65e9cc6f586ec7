// Transcriptions with the times of segments, and as they are written, over a model whose answers are known.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { openai, webggufFetch } from '../../dist/openai/index.js';

import { hearingModel, music, RATE, SENTENCES, SPEECH, spoken } from './voice.mjs';

const file = spoken();
const words = (seconds) => `It lasts <${seconds.toFixed(0)}> & --> more.\n`;
async function all(items) {
  const list = [];
  for await (const item of items) list.push(item);
  return list;
}
const create = (model, request) => openai({ model }).audio.transcriptions.create({ file, ...request });

test('verbose_json has the segments in which somebody speaks', async () => {
  const model = hearingModel(words);
  const found = await create(model, { response_format: 'verbose_json', language: 'en', temperature: 0.5 });
  const { segments, ...others } = found;
  assert.deepEqual(
    { ...others, duration: others.duration.toFixed(2) },
    {
      ...{ task: 'transcribe', language: 'en', duration: '7.10', usage: { type: 'duration', seconds: 8 } },
      text: 'It lasts <3> & --> more. It lasts <2> & --> more.',
    },
  );
  assert.equal(segments.length, 2);
  segments.forEach(({ id, start, end, text, tokens, ...more }, number) => {
    const [from, to] = SENTENCES[number];
    assert.ok(Math.abs(start - from) < 0.35 && Math.abs(end - to) < 0.35, `${start} to ${end}`);
    assert.deepEqual([id, tokens.length, text.length], [number, text.length + 1, text.length]);
    assert.deepEqual([more.seek, more.temperature, more.avg_logprob], [0, 0.5, -0.5]);
    assert.ok(more.no_speech_prob > 0 && more.no_speech_prob < 0.8);
    assert.ok(more.compression_ratio > 0.5 && more.compression_ratio < 1.1);
  });
  const { start, end } = segments[0];
  assert.equal(model.asked[0].audio.samples.length, Math.round(end * RATE) - Math.round(start * RATE));
});

test('text that repeats itself has a high compression ratio', async () => {
  const model = hearingModel(() => 'and so on '.repeat(50));
  const { segments } = await create(model, { response_format: 'verbose_json' });
  assert.ok(segments[0].compression_ratio > 2.4);
});

test('srt and vtt are subtitles, in which words cannot make cues or tags', async () => {
  const cue = (point) => `00:00:0\\d\\${point}\\d{3} --> 00:00:0\\d\\${point}\\d{3}\n`;
  const srt = await create(hearingModel(words), { response_format: 'srt' });
  const plain = (seconds) => `It lasts <${seconds}> & -> more\\.\n\n`;
  assert.match(srt, new RegExp(`^1\n${cue(',')}${plain(3)}2\n${cue(',')}${plain(2)}$`));
  const vtt = await create(hearingModel(words), { response_format: 'vtt' });
  const escaped = (seconds) => `It lasts &lt;${seconds}&gt; &amp; -&gt; more\\.\n\n`;
  assert.match(vtt, new RegExp(`^WEBVTT\n\n${cue('.')}${escaped(3)}${cue('.')}${escaped(2)}$`));
});

test('a sound without speech has no segment, and the model is not asked', async () => {
  const model = hearingModel(words);
  const quiet = { samples: new Float32Array(2 * RATE), sampleRate: RATE };
  const { text, segments, duration } = await create(model, { file: quiet, response_format: 'verbose_json' });
  assert.deepEqual([text, segments, duration], ['', [], 2]);
  const piano = { samples: music(4, 3), sampleRate: RATE };
  assert.equal(await create(model, { file: piano, response_format: 'vtt' }), 'WEBVTT\n\n');
  assert.equal(model.asked.length, 0);
});

test('a speech of more than 30 seconds is several segments, without a gap', async () => {
  const one = spoken().samples.slice(4400, 28000);
  const samples = Float32Array.from({ length: 30 * one.length }, (_, at) => one[at % one.length]);
  const long = { samples, sampleRate: 8000 };
  const { segments, duration } = await create(hearingModel(words), { file: long, response_format: 'verbose_json' });
  assert.ok(segments.length >= 3 && segments.every(({ start, end }) => end - start <= 30.001 && end > start));
  assert.ok(segments.at(-1).end <= duration && segments.at(-1).end > duration - 1);
  const joints = segments.slice(1).map(({ start }, at) => start - segments[at].end);
  assert.ok(
    joints.every((gap) => gap >= 0 && gap < 0.5),
    `${joints}`,
  );
});

test('a model like Qwen3-ASR says the language, and its sign is no word', async () => {
  const model = hearingModel(() => 'language English<asr_text> Hello you. ', { isAsr: true });
  const { language, segments, text } = await create(model, { response_format: 'verbose_json' });
  assert.deepEqual([language, text, segments.length], ['English', 'Hello you. Hello you.', 2]);
  assert.deepEqual([segments[0].text, segments[0].tokens.length, segments[0].avg_logprob], ['Hello you.', 12, -0.5]);
  assert.deepEqual(await create(model, {}), { text: 'Hello you.' });
  const events = [];
  for await (const event of await create(model, { stream: true })) events.push(event);
  assert.equal(events.at(-1).text, 'Hello you.');
  assert.equal(
    events
      .slice(0, -1)
      .map(({ delta }) => delta)
      .join(''),
    'Hello you.',
  );
  assert.ok(events.length > 5, 'word by word');
  const silent = hearingModel(() => 'language English', { isAsr: true });
  const [first, last] = await all(await create(silent, { stream: true }));
  assert.deepEqual([first.delta, last.text], ['language English', 'language English'], 'what it wrote without a sign');
});

test('a stream has the words as they are written, and ends where it is left', async () => {
  const model = hearingModel(() => '  One two.  ');
  const events = await all(await create(model, { stream: true, response_format: 'text' }));
  const { text, usage } = events.pop();
  assert.equal(text, 'One two.');
  assert.ok(events.every(({ type }) => type === 'transcript.text.delta'));
  assert.equal(events.map(({ delta }) => delta).join(''), 'One two.');
  const counts = { input_tokens: 9, output_tokens: 12, total_tokens: 21 };
  const details = { input_token_details: { audio_tokens: 6, text_tokens: 3 } };
  assert.deepEqual(usage, { type: 'tokens', ...counts, ...details });
  for await (const _ of await create(model, { stream: true })) break;
  assert.equal(model.asked.at(-1).run.stopped, true);
  const stream = await create(model, { stream: true });
  stream.controller.abort();
  assert.deepEqual(await all(stream), [], 'its own end is no error');
});

test('log-probabilities are of the words alone, whole and as they are written', async () => {
  for (const [written, isAsr] of [
    [' One two. ', false],
    ['language English<asr_text> One two. ', true],
  ]) {
    const model = hearingModel(() => written, { isAsr });
    const include = ['logprobs'];
    const { text, logprobs, ...others } = await create(model, { include });
    assert.deepEqual([text, logprobs.map(({ token }) => token).join(''), others], ['One two.', ' One two. ', {}]);
    assert.deepEqual(logprobs[1], { token: 'O', bytes: [79], logprob: -0.5 });
    const events = await all(await create(model, { include, stream: true }));
    const last = events.pop();
    assert.deepEqual([last.text, last.logprobs], ['One two.', logprobs]);
    for (const { delta, logprobs: some } of events) {
      assert.equal(
        some
          .map(({ token }) => token)
          .join('')
          .trim(),
        delta.trim(),
      );
    }
    assert.deepEqual(
      events.flatMap(({ logprobs: some }) => some),
      logprobs.slice(0, -1),
      'none for white space',
    );
    for (const event of await all(await create(model, { stream: true, include: [] }))) assert.ok(!event.logprobs);
    assert.deepEqual(await create(model, { include: null }), { text: 'One two.' });
  }
});

test('what cannot be is refused by name', async () => {
  const refused = (request, message) =>
    assert.rejects(create(hearingModel(words), request), { code: 'invalid_argument', message });
  await refused(
    { response_format: 'diarized_json' },
    /one of json, text, verbose_json, srt, vtt, found 'diarized_json'/,
  );
  await refused({ stream: true, response_format: 'srt' }, /'stream' goes with 'json' and 'text'.*'srt'/);
  await refused({ stream: 'yes' }, /'stream' must be true or false/);
  const times = { timestamp_granularities: ['word'] };
  await refused(
    { ...times, response_format: 'verbose_json' },
    /\['segment'\], found 'word': models say no times of words/,
  );
  await refused({ timestamp_granularities: ['segment'] }, /needs 'verbose_json'/);
  await refused({ include: ['words'] }, /'include' must be \['logprobs'\], found \["words"\]/);
  const include = ['logprobs'];
  await refused({ include, response_format: 'verbose_json' }, /'include' goes with 'json'.*found 'verbose_json'/);
  await refused({ include, response_format: 'text', stream: true }, /'include' goes with 'json'.*found 'text'/);
});

test('the same by fetch, and an aborted request ends', async () => {
  const send = webggufFetch({ model: hearingModel(words) });
  const ask = (fields, init = {}) => {
    const form = new FormData();
    form.set('file', new Blob([fs.readFileSync(SPEECH)]), 'speech.wav');
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    return send('http://webgguf/v1/audio/transcriptions', { method: 'POST', body: form, ...init });
  };
  const verbose = await ask({ response_format: 'verbose_json', 'timestamp_granularities[]': 'segment' });
  assert.equal((await verbose.json()).segments.length, 2);
  assert.match(await (await ask({ response_format: 'srt' })).text(), /^1\n/);
  const wrong = await ask({ response_format: 'verbose_json', 'timestamp_granularities[]': 'word' });
  assert.equal(wrong.status, 400);
  const whole = webggufFetch({ model: hearingModel(() => 'One two.') });
  const form = new FormData();
  form.set('file', new Blob([fs.readFileSync(SPEECH)]));
  form.set('include[]', 'logprobs');
  const likely = await (await whole('http://webgguf/v1/audio/transcriptions', { method: 'POST', body: form })).json();
  assert.deepEqual([likely.logprobs[0].token, likely.logprobs[0].logprob], ['O', -0.5]);
  form.delete('include[]');
  form.set('stream', 'true');
  const stream = await whole('http://webgguf/v1/audio/transcriptions', { method: 'POST', body: form });
  assert.equal(stream.headers.get('content-type'), 'text/event-stream');
  const lines = (await stream.text()).split('\n\n').filter(Boolean);
  assert.deepEqual(JSON.parse(lines[0].slice(6)), { type: 'transcript.text.delta', delta: 'O' });
  assert.equal(JSON.parse(lines.at(-1).slice(6)).text, 'One two.');
  await assert.rejects(ask({}, { signal: AbortSignal.abort() }), { name: 'AbortError' });
});

test('a server as fallback gets the format, and its answers are as it says', async () => {
  const forms = [];
  const answers = {
    json: '{"text":"a"}',
    verbose_json: '{"text":"a","segments":[{"id":0}]}',
    srt: '1\n',
    stream:
      'data: {"type":"transcript.text.delta","delta":"a"}\n\ndata: {"type":"transcript.text.done","text":"a"}\n\n',
  };
  const fetch = async (_, { body }) => {
    forms.push(Object.fromEntries(body));
    return new Response(answers[body.get('stream') ? 'stream' : (body.get('response_format') ?? 'json')]);
  };
  const error = new (await import('../../dist/index.js')).WebggufError('webgpu_unavailable', 'no');
  const fallback = { baseURL: 'https://example.com/v1', model: 'ears', fetch };
  const ask = (request) => {
    const model = Promise.reject(error);
    return openai({ model, fallback }).audio.transcriptions.create({ file: new Blob(['x']), ...request });
  };
  assert.equal(await ask({ response_format: 'text' }), 'a');
  const verbose = await ask({ response_format: 'verbose_json', timestamp_granularities: ['segment'] });
  assert.deepEqual([verbose.segments, verbose.webgguf.backend], [[{ id: 0 }], 'server']);
  assert.equal(await ask({ response_format: 'srt' }), '1\n');
  const events = await all(await ask({ stream: true }));
  assert.deepEqual(
    events.map(({ type, delta, text }) => [type, delta ?? text]),
    [
      ['transcript.text.delta', 'a'],
      ['transcript.text.done', 'a'],
    ],
  );
  const asked = forms.map((form) => [form.response_format, form['timestamp_granularities[]'], form.stream, form.model]);
  assert.deepEqual(asked, [
    [undefined, undefined, undefined, 'ears'],
    ['verbose_json', 'segment', undefined, 'ears'],
    ['srt', undefined, undefined, 'ears'],
    [undefined, undefined, 'true', 'ears'],
  ]);
  assert.equal(forms[1].timestamp_granularities, undefined);
  const none = { code: 'download_failed', message: /the server gives no log-probabilities: 'include'/ };
  await assert.rejects(ask({ include: ['logprobs'] }), none);
  await assert.rejects(async () => all(await ask({ include: ['logprobs'], stream: true })), none);
  answers.json = '{"text":"a","logprobs":[{"token":"a","bytes":[97],"logprob":-1}]}';
  assert.equal((await ask({ include: ['logprobs'] })).logprobs[0].logprob, -1);
  assert.deepEqual([forms.at(-1)['include[]'], forms.at(-1).include], ['logprobs', undefined]);
});
