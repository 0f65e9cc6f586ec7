// What models write → messages: the fixtures of tool_calls/, fed whole, in random pieces and character by character.

import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { dist } from './api.mjs';

const { familyOf, readerOf } = await import(`${dist}openai/families.js`);

const here = path.dirname(fileURLToPath(import.meta.url));
const TOOLS = new Map([
  ['get_weather', { type: 'object', properties: { place: { type: 'string' }, days: { type: 'integer' } } }],
  ['ping', {}],
  ['save', { properties: { now: { type: 'boolean' } } }],
]);

/** Pieces of up to `most` characters. */
function pieces(text, most, random) {
  const parts = [];
  const characters = [...text];
  while (characters.length > 0) parts.push(characters.splice(0, 1 + Math.floor(random() * most)).join(''));
  return parts;
}

/** A generator of numbers from 0 to 1 that repeats. */
function generator(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** The message that comes of all deltas; a call's name comes first and once. */
function read({ template, prompt = '', cut = false }, parts) {
  const reader = readerOf(familyOf(template), prompt, TOOLS);
  const message = { content: null, calls: [] };
  for (const delta of [...parts.flatMap((part) => reader.push(part)), ...reader.end(cut)]) {
    if ('content' in delta) message.content = (message.content ?? '') + delta.content;
    else if ('reasoning' in delta) message.reasoning = (message.reasoning ?? '') + delta.reasoning;
    else if ('name' in delta) {
      assert.equal(delta.index, message.calls.length);
      message.calls.push({ name: delta.name, arguments: '' });
    } else message.calls[delta.index].arguments += delta.arguments;
  }
  return message;
}

for (const file of readdirSync(path.join(here, 'tool_calls'))) {
  const { template, cases } = JSON.parse(readFileSync(path.join(here, 'tool_calls', file), 'utf8'));
  test(`${path.basename(file, '.json')}: ${cases.length} texts`, () => {
    for (const { name, text, prompt, expected } of cases) {
      const from = { template, prompt };
      assert.deepEqual(read(from, [text]), expected, name);
      assert.deepEqual(read(from, [...text]), expected, `${name}, by characters`);
      for (let seed = 0; seed < 50; seed += 1) {
        const parts = pieces(text, 12, generator(seed));
        assert.deepEqual(read(from, parts), expected, `${name}, as ${JSON.stringify(parts)}`);
      }
    }
  });
}

test('whatever is written, nothing throws, is lost or depends on the pieces', () => {
  const files = readdirSync(path.join(here, 'tool_calls'));
  const fixtures = files.map((file) => JSON.parse(readFileSync(path.join(here, 'tool_calls', file), 'utf8')));
  const random = generator(7);
  for (let round = 0; round < 3000; round += 1) {
    const { template, cases } = fixtures[Math.floor(random() * fixtures.length)];
    const texts = [0, 1].map(() => [...cases[Math.floor(random() * cases.length)].text]);
    for (const text of texts)
      text.splice(Math.floor(random() * text.length), Math.floor(random() * 4), ...'{"<'.slice(random() * 3));
    const text = texts.flat().join('');
    const whole = read({ template }, [text]);
    assert.deepEqual(read({ template }, [...text]), whole, `${template}: ${text}`);
    assert.deepEqual(read({ template }, pieces(text, 9, random)), whole, `${template}: ${text}`);
    // Each letter of what was written is somewhere in the message, or in the signs around calls.
    const letters = (value) => new Set(value.match(/[🦙é3]/gu));
    const out = letters(JSON.stringify(whole).replace('\\u00e9', 'é'));
    for (const letter of letters(text))
      assert.ok(out.has(letter), `${letter} of ${text} is lost: ${JSON.stringify(whole)}`);
  }
});

test('deep and long texts end', () => {
  const deep = `<tool_call>{"name": "f", "arguments": ${'{"a":'.repeat(20000)}`;
  // Nested too deep is no call, and stays text.
  assert.deepEqual(read({ template: '{{ tools }}<tool_call>' }, [deep]), { content: deep, calls: [] });
  for (const template of ['{{ tools }}<|tool_call>', '{{ tools }}<|tool_call_start|>', '{{ tools }}ipython']) {
    read({ template }, [`<|tool_call>call:f{a:${'['.repeat(20000)}`]);
    read({ template }, [`<|tool_call_start|>[f(a=${'['.repeat(20000)}`]);
    read({ template }, [`${'{"function":'.repeat(20000)}`]);
  }
  const long = JSON.stringify({ name: 'save', arguments: { text: 'x'.repeat(20000) } });
  const message = read(
    { template: '{{ tools }}<tool_call>' },
    pieces(`<tool_call>${long}</tool_call>`, 8, generator(1)),
  );
  assert.equal(JSON.parse(message.calls[0].arguments).text.length, 20000);
});

const TEMPLATES = path.resolve(here, '../../../shared/templates');

test('templates of published models say which format', {
  skip: !existsSync(TEMPLATES) && 'no ../shared/templates',
}, () => {
  const found = Object.fromEntries(
    readdirSync(TEMPLATES).map((file) => {
      const family = familyOf(readFileSync(path.join(TEMPLATES, file), 'utf8'));
      return [file.replace('.jinja', ''), [family.format.force('f'), family.thoughts?.close ?? '']];
    }),
  );
  const plain = '<tool_call>\n{"name": "f", "arguments": ';
  assert.deepEqual(found, {
    'HuggingFaceTB-SmolLM3-3B': [plain, '</think>'],
    'LFM2.5-Instruct': ['<|tool_call_start|>[f(', '</think>'],
    'Qwen-Qwen2.5-7B-Instruct': [plain, ''],
    'Qwen-Qwen3-0.6B': [plain, '</think>'],
    'deepseek-ai-DeepSeek-R1-Distill-Llama-8B': [
      '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n',
      '</think>',
    ],
    'google-gemma-2-2b-it': [plain, ''],
    'google-gemma-4-31B-it': ['<|tool_call>call:f{', '<channel|>'],
    'ibm-granite-granite-3.3-2B-Instruct': ['<|tool_call|>[{"name": "f", "arguments": ', '</think>'],
    'meta-llama-Llama-3.2-3B-Instruct': ['{"name": "f", "parameters": ', ''],
    'microsoft-Phi-3.5-mini-instruct': [plain, ''],
    'mistralai-Mistral-Nemo-Instruct-2407': ['[TOOL_CALLS][{"name": "f", "arguments": ', ''],
  });
});

const templateOf = (name) => JSON.parse(readFileSync(path.join(here, 'tool_calls', `${name}.json`), 'utf8')).template;

/** Texts that the limit cut, and what is left of them: the content, then a name and arguments for each call. */
const CUT = {
  mistral: [
    ['[TOOL_CALLS]', null],
    ['[TOOL_CALLS][ {   \n     ', null],
    ['Let me see. [TOOL_CALLS][{"name": "get_wea', 'Let me see.'],
    ['[TOOL_CALLS][{"name": "get_weather", "argum', null, ['get_weather', '']],
    ['[TOOL_CALLS][{"name": "get_weather", "arguments": {"days": 1', null, ['get_weather', '{"days": 1']],
    ['[TOOL_CALLS][{"name": "get_weather", "arguments": {"place": "Par', null, ['get_weather', '{"place": "Par']],
    ['[TOOL_CALLS][{"name": "ping", "arguments": {}}, {"na', null, ['ping', '{}']],
    ['[TOOL_CALLS]get_weather[ARGS]{"place": "a\\u00', null, ['get_weather', '{"place": "a\\u00']],
    // Arguments whose name never came are kept as they were written, and so is what is no call.
    ['[TOOL_CALLS][{"arguments": {"place": "Paris"}, "na', '[TOOL_CALLS][{"arguments": {"place": "Paris"}, "na'],
    ['[TOOL_CALLS] is a sign', '[TOOL_CALLS] is a sign'],
  ],
  hermes: [
    ['<tool_call>\n{"name": "pi', null],
    ['<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>\n<tool_call>\n{', null, ['ping', '{}']],
    ['A brace: {', 'A brace: {'],
  ],
  functions: [
    ['<tool_call>\n<function=get_w', null],
    ['<tool_call>\n<function=ping>\n<parameter=a>\n5', null, ['ping', '{"a": "5']],
    ['<tool_call>\n<function=get_weather>\n<parameter=days>\n5', null, ['get_weather', '{"days": 5']],
    ['<function=ping>\n<parameter=a>\nb\n</parameter>\n</func', null, ['ping', '{"a": "b"']],
  ],
  gemma3: [
    ['```json\n{"a": 1', '```json\n{"a": 1'],
    ['{"name": "ping", "a', '{"name": "ping", "a'],
  ],
  harmony: [
    ['<|channel|>commentary to=functions.pi', null],
    ['<|channel|>final<|message|>Yes.<|end|><|start|>assist', 'Yes.'],
  ],
};

for (const [name, cases] of Object.entries(CUT)) {
  test(`${name}: a call that was cut leaves no sign, and loses nothing`, () => {
    for (const [text, content, ...calls] of cases) {
      const expected = { content, calls: calls.map(([called, args]) => ({ name: called, arguments: args })) };
      const from = { template: templateOf(name), cut: true };
      assert.deepEqual(read(from, [text]), expected, text);
      assert.deepEqual(read(from, [...text]), expected, `${text}, by characters`);
    }
  });
}

test('a text that the model ended by itself keeps what is no call', () => {
  const text = '[TOOL_CALLS][{"na';
  assert.deepEqual(read({ template: templateOf('mistral') }, [text]), { content: text, calls: [] });
});
