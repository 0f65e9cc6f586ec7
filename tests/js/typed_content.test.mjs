// Templates that loop over the parts of a message: they get parts, all others the string that they always got.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ENCODERS, expectationsOf, open } from './encoders.mjs';
import { readPng } from './images.mjs';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const dist = path.resolve(ROOT, process.env.WEBGGUF_DIST ?? 'dist');
const load = (file) => import(pathToFileURL(path.join(dist, file)).href);
const { chatText } = await load('engine/chat-text.js');
const { renderConversation } = await load('templates/index.js');
const { writeConversation } = await load('templates/content.js');
const { conversationOf } = await load('model/conversation.js');
const { encodeExamples } = await load('training/language/examples.js');
const { WasmModel } = await load('index.js');
const { wasmClasses } = await load('wasm/instance.js');
const TEMPLATES = path.join(ROOT, 'tests/fixtures/templates');
const SHARED = path.join(ROOT, '../shared/templates');
const MARK = '\ufdd2';

/** What those of SmolVLM, SmolVLM2 and Idefics3 do. */
const IDEFICS = [
  '<|im_start|>{% for m in messages %}{{ m.role | capitalize }}',
  "{{ ':' if m.content[0]['type'] == 'image' else ': ' }}",
  "{% for part in m.content %}{{ part.text if part['type'] == 'text' else '<image>' }}{% endfor %}",
  "{{ '<end_of_utterance>\\n' }}{% endfor %}{{ 'Assistant:' if add_generation_prompt }}",
].join('');
/** What that of LLaVA does: images first. */
const LLAVA = [
  "{% for m in messages %}{{ m.role }}{% for _ in m.content | selectattr('type', 'equalto', 'image') %}",
  "{{ '<image>\\n' }}{% endfor %}",
  "{% for part in m.content | selectattr('type', 'equalto', 'text') %}{{ part['text'] }} {% endfor %}{% endfor %}",
].join('');
/** What that of Qwen3-ASR does: the system's text, and sounds of the user without a text. */
const ASR = [
  "{% for m in messages if m.role == 'system' %}<|system|>{{ m.content }}{% endfor %}<|user|>",
  "{% for m in messages if m.content is not string %}{% for c in m.content if c['type'] == 'audio' %}",
  '<|audio_start|><|audio_pad|><|audio_end|>{% endfor %}{% endfor %}<|end|>',
].join('');
/** What those of Qwen2-VL and Gemma 3 do: either. */
const EITHER = [
  '{% for m in messages %}<{{ m.role }}>{% if m.content is string %}{{ m.content }}{% else %}',
  "{% for part in m.content %}{{ part['text'] if 'text' in part else '<|image_pad|>' }}{% endfor %}",
  '{% endif %}{% endfor %}',
].join('');

const user = (content) => ({ role: 'user', content });
const text = (words) => ({ type: 'text', text: words });
const image = { type: 'image', image: 'x.png' };
const audio = { type: 'audio', audio: 'x.wav' };

function written(source, messages, options) {
  const template = { source, bos: '<s>', eos: '</s>', unknown: '', padding: '' };
  const protect = (words) => words.replaceAll('<image>', '<\ufdd1image>');
  return chatText({ chatTemplate: () => template, protect }, conversationOf('test', messages, options));
}

test('a template that loops over parts gets the text in parts', () => {
  const asked = [user('What is the capital of France?')];
  const end = '<end_of_utterance>\n';
  assert.equal(
    written(IDEFICS, asked),
    `<|im_start|>User: What is the capital of France?${end}Assistant:`,
    'as Hugging Face writes it',
  );
  const more = [{ role: 'system', content: 'S' }, user('a'), { role: 'assistant', content: 'b' }, user([text('c')])];
  assert.equal(
    written(IDEFICS, more),
    `<|im_start|>System: S${end}User: a${end}Assistant: b${end}User: c${end}Assistant:`,
  );
  assert.equal(written(LLAVA, more), 'systemS usera assistantb userc ');
  const called = { role: 'assistant', content: null, tool_calls: [{ id: '1', function: { name: 'f' } }] };
  const tools = [{ type: 'function', function: { name: 'f' } }];
  assert.equal(
    written(IDEFICS, [user('a'), called, { role: 'tool', content: 'r' }], { tools }),
    `<|im_start|>User: a${end}Assistant: ${end}Tool: r${end}Assistant:`,
  );
  assert.equal(written(IDEFICS, [user('')]), `<|im_start|>User: ${end}Assistant:`);
});

test('marks of images and sounds stand where the template has them', () => {
  const end = '<end_of_utterance>\nAssistant:';
  const idefics = (...content) => written(IDEFICS, [user(content)]);
  assert.equal(idefics(text('a'), image, text('b')), `<|im_start|>User: a${MARK}b${end}`);
  assert.equal(idefics(image, text('b'), image), `<|im_start|>User:${MARK}b${MARK}${end}`, 'no space, as trained');
  assert.equal(idefics(image, text('<image>')), `<|im_start|>User:${MARK}<\ufdd1image>${end}`);
  const own = written(IDEFICS, [user([text('<image>'), image])], { parseSpecial: true });
  assert.equal(own, `<|im_start|>User: <image>${MARK}${end}`, "a user's own sign is no image");
  assert.equal(written(LLAVA, [user([text('a'), image])]), `user${MARK}\na `);
  const terms = { role: 'system', content: 'Webgguf' };
  assert.equal(written(ASR, [terms, user([audio, audio])]), `<|system|>Webgguf<|user|>${MARK}${MARK}<|end|>`);
  assert.equal(written(EITHER, [user([text('a'), image])]), `<user>a${MARK}`, 'a string, where that is written');
});

test('a text that the template writes in neither form is refused', () => {
  const message = /writes nothing of the text in messages of the role 'user', neither as a string nor in parts/;
  for (const messages of [[user('a')], [user([audio, text('a')])]]) {
    assert.throws(() => written(ASR, messages), { code: 'invalid_argument', message });
  }
  assert.throws(() => written("{{ raise_exception('no') }}", [user('a')]), { message: /line 1: no/ });
});

test('each role gets what the template writes of it', () => {
  const mixed = [
    "{% for m in messages %}{% if m.role == 'user' %}{% for part in m.content %}{{ part['text'] }}{% endfor %}",
    '{% else %}[{{ m.content }}]{% endif %}{% endfor %}',
  ].join('');
  assert.equal(written(mixed, [user('a'), { role: 'assistant', content: 'b' }, user('c')]), 'a[b]c');
});

test('all other templates get the messages as they are', () => {
  const { cases } = JSON.parse(fs.readFileSync(path.join(TEMPLATES, 'expected.json'), 'utf8'));
  const folders = [TEMPLATES, ...(fs.existsSync(SHARED) ? [SHARED] : [])];
  const files = folders.flatMap((folder) => fs.readdirSync(folder).map((name) => path.join(folder, name)));
  const sources = files.filter((name) => name.endsWith('.jinja')).map((name) => fs.readFileSync(name, 'utf8'));
  assert.ok(sources.length >= 4);
  const outcome = (write, source, conversation) => {
    try {
      return write({ source, bos: '<s>', eos: '</s>', unknown: '<unk>', padding: '<pad>' }, conversation);
    } catch (error) {
      return String(error);
    }
  };
  for (const source of [...sources, EITHER]) {
    for (const conversation of Object.values(cases)) {
      assert.equal(outcome(writeConversation, source, conversation), outcome(renderConversation, source, conversation));
    }
  }
});

/** Does `work` with models whose template is `source`. */
async function withTemplate(source, work) {
  const { WasmModel: Handle } = await wasmClasses();
  const { chatTemplate } = Handle.prototype;
  Handle.prototype.chatTemplate = function () {
    return { ...chatTemplate.call(this), source };
  };
  try {
    await work();
  } finally {
    Handle.prototype.chatTemplate = chatTemplate;
  }
}

test('requests, sessions and training read the text', async () => {
  const bytes = fs.readFileSync(path.join(ROOT, 'www/models/storyteller.gguf'));
  const model = await WasmModel.load(new Blob([bytes]), { backend: 'cpu' });
  await withTemplate(IDEFICS, async () => {
    const words = 'one two three four five six seven';
    const { length } = await model.tokenize(words);
    const tokensOf = {
      generate: async (content) => (await model.generate([user(content)], { maxTokens: 1 })).usage.promptTokens,
      session: (content) => model.session().countTokens([user(content)]),
      openai: async (content) =>
        (await model.chat.completions.create({ messages: [user(content)], max_tokens: 1 })).usage.prompt_tokens,
    };
    for (const [name, count] of Object.entries(tokensOf)) {
      const more = (await count(words)) - (await count('x'));
      assert.ok(more >= length - 2, `${name}: ${more} tokens of ${length}`);
    }
    const asked = await model.applyChatTemplate([user(words)]);
    assert.ok(asked.includes(`User: ${words}<`), asked);
    const [{ ids, learned }] = await encodeExamples(model, [
      { messages: [user(words), { role: 'assistant', content: 'eight nine' }] },
    ]);
    const read = await model.detokenize(ids.filter((_, at) => learned[at]));
    assert.ok(read.includes('eight nine') && !read.includes('seven'), read);
  });
  await model.free();
});

test('a picture between two texts goes to the model', async () => {
  const model = await open(expectationsOf('idefics3'));
  const picture = readPng(path.join(ENCODERS, 'picture-60x40.png'));
  await withTemplate(IDEFICS, async () => {
    const content = [text('Look:'), { type: 'image', image: picture }, text('What is it?')];
    const options = { maxTokens: 2, temperature: 0 };
    const { usage, ids } = await model.generate([user(content)], options);
    const [before, behind] = ['<|im_start|>User: Look:', 'What is it?<end_of_utterance>\nAssistant:'];
    const parts = await model.encodeParts([{ text: before }, { image: picture }, { text: behind }]);
    assert.equal(usage.promptTokens, parts.ids.length);
    assert.deepEqual([...(await model.generate(parts.ids, options)).ids], [...ids]);
    const answer = await model.chat.completions.create({ messages: [user(content)], max_tokens: 2 });
    assert.equal(answer.usage.prompt_tokens, usage.promptTokens);
  });
  await model.free();
});
