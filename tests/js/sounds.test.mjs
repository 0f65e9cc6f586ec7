// Encoders of sounds in Node.js, on the CPU path, against llama.cpp: rows, positions, and what a model writes after a
// sound; and what is refused.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { messagesOf } from '../../dist/ai-sdk/prompt.js';
import { layoutOfSound } from '../../dist/media/layout.js';
import { waveOf } from '../../dist/media/samples.js';
import { openai, webggufFetch } from '../../dist/openai/index.js';
import { ChatStore } from '../../dist/ui/chat.js';
import { ENCODERS, LOGPROBS, ROWS, expectationsOf, open } from './encoders.mjs';
import { joined } from './gguf_join.mjs';
import { patched, STRING } from './gguf_patch.mjs';
import { allRows, readPng } from './images.mjs';
import { differenceOfSome, LISTENERS, soundOf } from './sounds.mjs';

for (const name of LISTENERS) {
  test(`${name}: rows, positions and text as llama.cpp has them`, async () => {
    const expected = expectationsOf(name);
    const model = await open(expected);
    assert.deepEqual(model.info.media, { image: false, audio: true });
    for (const { samples, positions, generated, logprobs, ...some } of expected.cases) {
      const found = await model.encodeParts([{ text: 'ab ' }, { audio: soundOf(samples) }, { text: ' cd' }]);
      assert.equal(found.media[0].embeddings.length, some.count, `${samples} samples`);
      const apart = differenceOfSome(found.media[0].embeddings, some);
      assert.ok(apart < ROWS, `${samples} samples: rows differ by ${apart}`);
      if (!generated) continue;
      assert.equal(found.positions, positions, `${samples} samples: positions`);
      const run = model.generate(found.ids, { maxTokens: 8, temperature: 0, ignoreEos: true, logprobs: 0 });
      const chosen = [];
      for await (const { tokens = [] } of run) chosen.push(...tokens);
      assert.deepEqual(
        chosen.map(({ id }) => id),
        generated,
        `${samples} samples`,
      );
      chosen.forEach(({ logprob }, at) => {
        assert.ok(Math.abs(logprob - logprobs[at]) < LOGPROBS, `${logprob}, expected ${logprobs[at]}`);
      });
    }
    await model.free();
  });
}

test('a file, bytes, samples and a part of OpenAI are the same sound, which is encoded once', async () => {
  const model = await open(expectationsOf('ultravox'));
  const bytes = new Uint8Array(fs.readFileSync(path.join(ENCODERS, 'sound-8219.wav')));
  const data = Buffer.from(bytes).toString('base64');
  const sounds = [bytes, new Blob([bytes]), `data:audio/wav;base64,${data}`, soundOf(8219), waveOf(soundOf(8219))];
  const parts = sounds.map((audio) => ({ type: 'audio', audio }));
  parts.push({ type: 'input_audio', input_audio: { data, format: 'wav' } });
  const answers = [];
  for (const part of parts) {
    const content = [part, { type: 'text', text: 'What is said?' }];
    const { ids, usage } = await model.generate([{ role: 'user', content }], { maxTokens: 3, temperature: 0 }).result;
    answers.push({ ids: [...ids], ...usage });
  }
  assert.ok(answers[0].promptTokens > 375, 'the rows are part of the prompt');
  for (const { ids, cachedTokens } of answers.slice(1)) {
    assert.deepEqual(ids, answers[0].ids);
    assert.ok(cachedTokens > 375, 'the same sound has the same ids');
  }
  const spoken = [parts.at(-1), { type: 'text', text: 'What is said?' }];
  const asked = { messages: [{ role: 'user', content: spoken }], max_completion_tokens: 3, temperature: 0 };
  const { usage: counts } = await model.chat.completions.create(asked);
  assert.ok(counts.prompt_tokens > 375, 'chat completions hear, too');
  assert.ok(counts.prompt_tokens_details.cached_tokens > 375);
  const quieter = { samples: soundOf(8219).samples.map((value) => value / 2), sampleRate: 16000 };
  const other = [{ type: 'audio', audio: quieter }];
  const { usage } = await model.generate([{ role: 'user', content: other }], { maxTokens: 1 }).result;
  assert.ok(usage.cachedTokens < 375, 'another sound has others');
  await model.free();
});

for (const [sees, hears, projector = sees] of [
  ['qwen2vl', 'qwen2a', 'qwen2vl_merger'],
  ['gemma4v', 'gemma4a'],
]) {
  test(`of a file with ${sees} and ${hears} both encoders are loaded`, async () => {
    const [seeing, hearing] = [sees, hears].map((name) => fs.readFileSync(path.join(ENCODERS, `${name}.gguf`)));
    const projectors = { 'clip.vision.projector_type': projector, 'clip.audio.projector_type': hears };
    const mmproj = new Blob([joined(seeing, hearing, { ...projectors, 'clip.projector_type': '' })]);
    const model = await open(expectationsOf(hears), { mmproj });
    assert.deepEqual(model.info.media, { image: true, audio: true });
    const [{ cases: sounds }, { cases: pictures }] = [hears, sees].map(expectationsOf);
    const image = readPng(path.join(ENCODERS, pictures[0].image));
    const { media } = await model.encodeParts([{ audio: soundOf(sounds[0].samples) }, { image }]);
    assert.ok(differenceOfSome(media[0].embeddings, sounds[0]) < ROWS);
    assert.ok(differenceOfSome(media[1].embeddings, allRows(pictures[0])) < ROWS);
    await model.free();
  });
}

test('of a file of Gemma 3n images are read, and onWarning hears that sounds are not', async () => {
  const [seeing, hearing] = ['gemma3nv-odd', 'gemma4a'].map((name) =>
    fs.readFileSync(path.join(ENCODERS, `${name}.gguf`)),
  );
  const projectors = { 'clip.vision.projector_type': 'gemma3nv', 'clip.audio.projector_type': 'gemma3na' };
  const mmproj = new Blob([joined(seeing, hearing, { ...projectors, 'clip.projector_type': '' })]);
  const warnings = [];
  const expected = expectationsOf('gemma3nv-odd');
  const model = await open(expected, { mmproj, onWarning: ({ code, message }) => warnings.push([code, message]) });
  assert.deepEqual(model.info.media, { image: true, audio: false });
  const [code, message] = warnings.find(([, message]) => message.includes('mmproj'));
  assert.equal(code, 'file');
  assert.match(message, /^option 'mmproj': images are read, sounds are not: projector "gemma3na" is not supported/);
  const image = readPng(path.join(ENCODERS, expected.cases[0].image));
  const { media } = await model.encodeParts([{ image }]);
  assert.ok(differenceOfSome(media[0].embeddings, allRows(expected.cases[0])) < ROWS);
  const content = [{ type: 'audio', audio: soundOf(400) }];
  await assert.rejects(model.generate([{ role: 'user', content }]).result, /without an encoder of sounds/);
  await model.free();
  const alone = new Blob([patched(hearing, { set: [['clip.projector_type', STRING, 'gemma3na']] })]);
  await assert.rejects(open(expected, { mmproj: alone }), { code: 'unsupported_architecture', message: /"gemma3na"/ });
});

test('a session keeps its sounds', async () => {
  const model = await open(expectationsOf('ultravox'));
  const session = model.session();
  const content = [
    { type: 'audio', audio: soundOf(8219) },
    { type: 'text', text: 'ab' },
  ];
  await session.send({ role: 'user', content }, { maxTokens: 2, ignoreEos: true }).result;
  const again = await model.restoreSession(await session.save());
  assert.match(again.messages[0].content[0].audio, /^data:audio\/wav;base64,/);
  assert.equal(await again.countTokens(), await session.countTokens());
  await model.free();
});

test('useChat sends sounds, and keeps them for the page and for later answers', async () => {
  const model = await open(expectationsOf('qwen3a'));
  const store = new ChatStore();
  store.configure(model, { max_completion_tokens: 3, temperature: 0 });
  const audio = soundOf(8000);
  await store.send('What is said?', { sounds: [audio] });
  await store.send('And now?');
  const { messages, error } = store.state();
  assert.equal(error, undefined);
  const [said, , again, answer] = messages;
  assert.deepEqual(
    [said.content, said.sounds, said.images, again.sounds],
    ['What is said?', [audio], undefined, undefined],
  );
  const content = [
    { type: 'audio', audio },
    { type: 'text', text: 'What is said?' },
  ];
  const all = [{ role: 'user', content }, messages[1], { role: 'user', content: 'And now?' }];
  const asked = all.map(({ role, content: each }) => ({ role, content: each }));
  const { usage } = await model.chat.completions.create({ messages: asked, max_tokens: 1 });
  const { cache_n: read, prompt_n: more } = answer.timings;
  assert.equal(read + more, usage.prompt_tokens, 'with the rows of the sound');
  await model.free();
});

test('transcriptions are what the model writes of a sound, in all shapes of the call', async () => {
  const model = await open(expectationsOf('ultravox'), { contextLength: 430 });
  const file = waveOf(soundOf(8219));
  const { text } = await model.audio.transcriptions.create({ file, prompt: 'ab' });
  const content = [
    { type: 'audio', audio: file },
    { type: 'text', text: 'ab' },
  ];
  const direct = await model.generate([{ role: 'user', content }], { temperature: 0 }).result;
  assert.equal(text, direct.text.trim());
  assert.notEqual(text, '');
  const client = openai({ model });
  assert.equal(await client.audio.transcriptions.create({ file, prompt: 'ab', response_format: 'text' }), text);
  const form = new FormData();
  for (const [name, value] of Object.entries({ file, prompt: 'ab', model: 'any', temperature: '0' })) {
    form.set(name, value);
  }
  const send = webggufFetch({ model });
  const ask = (body) => send('http://webgguf/v1/audio/transcriptions', { method: 'POST', body });
  assert.deepEqual(await (await ask(form)).json(), { text });
  form.set('response_format', 'text');
  assert.equal(await (await ask(form)).text(), text);
  form.set('response_format', 'mp3');
  const refused = await ask(form);
  assert.equal(refused.status, 400);
  assert.match((await refused.json()).error.message, /one of json, text, verbose_json, srt, vtt, found 'mp3'/);
  for (const [wrong, message] of [
    [{}, /'file' is missing/],
    [{ file, temperature: 3 }, /'temperature' must be a number from 0 to 2/],
    [{ file, prompt: 7 }, /'prompt' must be a string/],
    [{ file, lang: 'en' }, /unknown field 'lang'/],
  ]) {
    await assert.rejects(model.audio.transcriptions.create(wrong), { code: 'invalid_argument', message });
  }
  await model.free();
});

test('Qwen3-ASR is asked as it was trained, and its answer is the words alone', async () => {
  const model = await open(expectationsOf('qwen3a'));
  const [file, tail] = [waveOf(soundOf(8219)), '<|im_end|>\n<|im_start|>assistant\n'];
  const asked = [];
  const generate = model.generate.bind(model);
  model.generate = (prompt, options) => {
    asked.push(prompt.text.replace('\ufdd2', '[sound]'));
    return generate(prompt, { ...options, maxTokens: 5, ignoreEos: true });
  };
  const create = (request) => model.audio.transcriptions.create({ file, ...request });
  const expected = async (system, answer) => {
    const before = `<|im_start|>system\n${system}<|im_end|>\n<|im_start|>user\n`;
    const { ids } = await model.encodeParts([{ text: before }, { audio: soundOf(8219) }, { text: tail + answer }]);
    return (await generate(ids, { maxTokens: 5, temperature: 0, ignoreEos: true }).result).text.trim();
  };
  assert.equal((await create({})).text, await expected('', ''));
  assert.equal(
    (await create({ prompt: 'abc', language: 'de' })).text,
    await expected('abc', 'language German<asr_text>'),
  );
  assert.equal((await create({ language: 'en-GB' })).text, await expected('', 'language English<asr_text>'));
  assert.equal(
    (await create({ language: 'Old <|im_end|>Norse' })).text,
    await expected('', 'language Old imendNorse<asr_text>'),
  );
  await create({ prompt: 'a<|im_end|>\ufdd2b' });
  assert.deepEqual(asked.at(-1), `<|im_start|>system\na<\ufdd1|im_end|>b<|im_end|>\n<|im_start|>user\n[sound]${tail}`);
  const answer = await model.tokenize('language English<asr_text>all ams', { parseSpecial: true });
  model.generate = () => ({ result: Promise.resolve({ ids: answer, text: 'not looked at' }) });
  assert.deepEqual(await create({}), { text: 'all ams' });
  await model.free();
});

test('files of the AI SDK are sounds by their media type', () => {
  const data = new Uint8Array([1, 2]);
  const part = (mediaType) => ({ type: 'file', mediaType, data });
  const user = (...content) => messagesOf([{ role: 'user', content }])[0].content;
  assert.deepEqual(user(part('audio/wav'), part('image/png'), { type: 'text', text: 'ab' }), [
    { type: 'audio', audio: data },
    { type: 'image', image: data },
    { type: 'text', text: 'ab' },
  ]);
  const base64 = { ...part('audio/mpeg'), data: 'AQI=' };
  assert.deepEqual(user(base64), [{ type: 'audio', audio: 'data:audio/mpeg;base64,AQI=' }]);
  assert.throws(() => user(part('application/pdf')), /application\/pdf/);
});

test('what cannot be heard is refused, and the model stays usable', async () => {
  const model = await open(expectationsOf('ultravox'));
  const refused = (audio, message, code = 'invalid_argument') =>
    assert.rejects(model.generate([{ role: 'user', content: [{ type: 'audio', audio }] }]).result, { code, message });
  await refused({ samples: new Float32Array(0), sampleRate: 16000 }, /0 samples/);
  await refused({ samples: new Float32Array(5), sampleRate: 10 }, /10 samples a second, expected 1000 to 768000/);
  await refused({ samples: new Float32Array(1_802_000), sampleRate: 1000 }, /1802 seconds, at most 1800/);
  await refused({ samples: Float32Array.of(0, Number.NaN), sampleRate: 16000 }, /a sample of NaN, expected finite/);
  await refused({ samples: Float32Array.of(Infinity), sampleRate: 16000 }, /a sample of infinity, expected finite/);
  await refused(new Uint8Array([1, 2, 3]), /file of 3 bytes is no WAV file/);
  await refused(7, /expected a File/);
  await refused(
    { samples: new Float32Array(1_500_000), sampleRate: 16000 },
    /94 seconds take 1500 tokens, the context has room for [45]\d\d$/,
    'context_full',
  );
  assert.equal((await model.generate('ab', { maxTokens: 2, ignoreEos: true }).result).ids.length, 2);
  const image = { width: 1, height: 1, data: new Uint8Array(4) };
  const asked = (model, part) => model.generate([{ role: 'user', content: [part] }]).result;
  await assert.rejects(asked(model, { type: 'image', image }), /without an encoder of images/);
  const seeing = await open(expectationsOf('lfm2'));
  await assert.rejects(asked(seeing, { type: 'audio', audio: soundOf(400) }), /without an encoder of sounds/);
  await Promise.all([model.free(), seeing.free()]);
});

test('pieces stand where models expect them', () => {
  assert.deepEqual(layoutOfSound('qwen2a', 2), ['<|audio_bos|>', 0, 1, '<|audio_eos|>']);
  assert.deepEqual(layoutOfSound('qwen3a', 1), ['<|audio_start|>', 0, '<|audio_end|>']);
  assert.deepEqual(layoutOfSound('gemma4a', 1), ['<|audio>', 0, '<audio|>']);
  assert.deepEqual(layoutOfSound('voxtral', 1), ['[BEGIN_AUDIO]', 0]);
  assert.deepEqual(layoutOfSound('ultravox', 1), [0]);
  assert.deepEqual(layoutOfSound('lfm2a', 2), [0, 1]);
  assert.deepEqual(layoutOfSound('musicflamingo', 1), ['<sound>', 0]);
  assert.deepEqual(layoutOfSound('lfm3a', 1), [0]);
  assert.deepEqual(layoutOfSound('lfm3a', 1, true), ['<|vision_start|>', 0, '<|vision_end|>']);
});
