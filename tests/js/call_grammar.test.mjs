// Answers that may call tools, by the real grammars: text is free, and a call goes only as its tool's schema says.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { dist } from './api.mjs';

const MODULE = new URL(`${dist}grammar/webgguf_grammar.js`);
const WASM = new URL(`${dist}grammar/webgguf_grammar_bg.wasm`);
const skip = !existsSync(WASM) && 'no WebAssembly of grammars: run `npm run build`';
const { familyOf, specialOf } = await import(`${dist}openai/families.js`);
const { callGrammar, forcedGrammar } = await import(`${dist}openai/call-grammar.js`);
const grammars = skip ? undefined : await import(MODULE);
if (grammars) await grammars.default({ module_or_path: readFileSync(WASM) });

const TOOLS = [
  [
    'get_weather',
    { properties: { place: { type: 'string' }, days: { type: 'integer' } }, required: ['place', 'days'] },
  ],
  ['ping', { properties: {}, additionalProperties: false }],
].map(([name, parameters]) => ({
  type: 'function',
  function: { name, parameters: { additionalProperties: false, ...parameters } },
}));
const GOOD = '{"place": "Rome", "days": 2}';

/** A vocabulary of bytes, some words, and signs; `isControl`: these are control tokens, or those that it names. */
class Tokens {
  constructor(signs, isControl) {
    const words = ['{"', '": "', '":', '<tool', '_call>', 'the', ' a', '\n\n', '}}'].map((word) => Buffer.from(word));
    const single = Array.from({ length: 256 }, (_, byte) => Buffer.from([byte]));
    this.signs = Array.isArray(isControl) ? isControl : isControl ? signs : [];
    this.words = [...single, ...words];
    this.end = this.words.length + this.signs.length;
    const all = [...this.words, ...this.signs.map((sign) => Buffer.from(sign)), Buffer.from('<|end|>')];
    const ends = [];
    for (const word of all) ends.push((ends.at(-1) ?? 0) + word.length);
    const kinds = all.map((_, id) => (id >= this.words.length ? 1 : 0));
    const inside = (text) => Uint32Array.from(Buffer.from(text));
    const parts = [
      Buffer.concat(all),
      Uint32Array.from(ends),
      Uint8Array.from(kinds),
      Uint32Array.of(this.end),
      inside,
    ];
    this.vocabulary = new grammars.Vocabulary(...parts);
  }

  /** The longest tokens first; signs where `parseSpecial`. */
  async tokenize(text) {
    const ids = [];
    let rest = Buffer.from(text);
    while (rest.length > 0) {
      const sign = this.signs.findIndex((each) => rest.indexOf(each) === 0);
      const word = this.words.findLastIndex((each) => rest.indexOf(each) === 0);
      ids.push(sign < 0 ? word : this.words.length + sign);
      rest = rest.subarray(Buffer.byteLength(sign < 0 ? '' : this.signs[sign]) || this.words[word].length);
    }
    return ids;
  }

  async detokenize([id]) {
    return id >= this.words.length ? '' : this.words[id].toString();
  }
}

/** A family, and a vocabulary with its signs. */
function familyAndTokens(template, isControl) {
  const family = familyOf(template);
  const signs = new Set([...specialOf(family, true), ...(family.format.marks ?? [])]);
  return { family, tokens: new Tokens([...signs], isControl) };
}

/** The text that the grammar takes before it refuses; `undefined` where the text may be all. */
async function refusedAt(template, isControl, prompt, text, answer) {
  const { family, tokens } = familyAndTokens(template, isControl);
  return takenOf(tokens, await callGrammar(tokens, family, prompt, TOOLS, answer), text);
}

/** The same of what follows the beginning of a forced call. */
async function refusedForced(template, isControl, text, { tools = TOOLS, several = true } = {}) {
  const { family, tokens } = familyAndTokens(template, isControl);
  return takenOf(tokens, await forcedGrammar(tokens, family, tools, several), text);
}

async function takenOf(tokens, { lark }, text) {
  const matcher = tokens.vocabulary.compile('lark', lark).matcher();
  const taken = [];
  for (const id of [...(await tokens.tokenize(text)), tokens.end]) {
    const mask = matcher.mask();
    // The mask has one of the tokens that spell what must come.
    const isInMask = Boolean((mask[id >> 5] >>> (id & 31)) & 1);
    // A grammar that has ended takes no end either.
    const isAllowed = matcher.commit(id) || (id === tokens.end && isInMask);
    assert.ok(isAllowed || !isInMask, `${lark}\n${text}`);
    if (!isAllowed) return Buffer.concat(taken).toString();
    taken.push(tokens.words[id] ?? Buffer.from(tokens.signs[id - tokens.words.length] ?? ''));
  }
  return undefined;
}

const object = (key) => (name, json) => `{"name": "${name}", "${key}": ${json}}`;
const R1 = '<｜tool▁call▁end｜>';
const FORMATS = {
  hermes: ['{{ tools }}<tool_call>', (name, json) => `<tool_call>\n${object('arguments')(name, json)}\n</tool_call>`],
  thinking: ['{{ tools }}<tool_call><think></think>', (name, json) => `<tool_call>${object('arguments')(name, json)}`],
  plain: ['', (name, json) => `<tool_call>${object('arguments')(name, json)}</tool_call>`],
  mistral: ['{{ tools }}[TOOL_CALLS]', (name, json) => `[TOOL_CALLS][${object('arguments')(name, json)}]`],
  mistralArgs: ['{{ tools }}[TOOL_CALLS] [ARGS]', (name, json) => `[TOOL_CALLS]${name}[ARGS]${json}`],
  granite: ['{{ tools }}<|tool_call|>', (name, json) => `<|tool_call|>[${object('arguments')(name, json)}]`],
  deepseek: [
    `{{ tools }}\`\`\`json${R1}`,
    (name, json) => `<｜tool▁call▁begin｜>function<｜tool▁sep｜>${name}\n\`\`\`json\n${json}\n\`\`\`${R1}`,
  ],
  deepseek31: [
    `{{ tools }}<｜tool▁calls▁begin｜>`,
    (name, json) => `<｜tool▁call▁begin｜>${name}<｜tool▁sep｜>${json}${R1}`,
  ],
};

for (const [name, [template, call]] of Object.entries(FORMATS)) {
  for (const isControl of [false, true]) {
    test(`${name}, signs are ${isControl ? 'control tokens' : 'text'}`, { skip }, async () => {
      const at = (text) => refusedAt(template, isControl, '', text);
      assert.equal(await at('Just {"text"}: [1] <b>é</b> 🦙\n'), undefined);
      assert.equal(await at(''), undefined);
      assert.equal(await at(call('get_weather', GOOD)), undefined);
      assert.equal(await at(`Let me see. ${call('ping', '{}')}\n${call('get_weather', GOOD)} and more`), undefined);
      // Each is refused at the token that begins here; `{"` is a token.
      const cases = [
        [call('get_weather', '{"place": "Rome"}'), '"Rome"}', 6],
        [call('get_weather', '{"place": 5, "days": 2}'), '5,'],
        [call('get_weather', '{"place": "Rome", "days": "2"}'), '"2"'],
        [`No. ${call('ping', '{"a": 1}')}`, '{"a"'],
        [call('pong', '{}'), 'ong'],
        [`${call('ping', '{}')} ${call('get_weather', '[]')}`, '[]'],
      ];
      for (const [text, where, later = 0] of cases) {
        assert.equal(await at(text), text.slice(0, text.indexOf(where) + later), text);
      }
    });
  }
}

const ANSWER = {
  type: 'object',
  properties: { sky: { $ref: '#/$defs/sky' }, name: { type: 'string' } },
  required: ['sky'],
  additionalProperties: false,
  $defs: { sky: { enum: ['blue', 'grey'] } },
};

for (const [name, [template, call]] of Object.entries(FORMATS)) {
  for (const isControl of [false, true]) {
    test(`${name}, ${isControl ? 'control tokens' : 'text'}: an answer by its schema, or calls`, { skip }, async () => {
      const at = (text) => refusedAt(template, isControl, '', text, ANSWER);
      assert.equal(await at('{"sky": "blue", "name": "get_weather"}'), undefined);
      assert.equal(await at('\n\n{"sky":"grey"}'), undefined);
      assert.equal(await at(call('get_weather', GOOD)), undefined);
      assert.equal(await at(`\n${call('ping', '{}')}\n${call('get_weather', GOOD)}`), undefined);
      for (const [text, where] of [
        ['The sky is blue.', 'The'],
        ['{"sky": "pink"}', 'pink'],
        ['{"name": "x"}', 'name'],
        ['{"sky": "blue"} It is.', 'It'],
        [call('get_weather', '{"place": 5, "days": 2}'), '5,'],
        [call('pong', '{}'), 'ong'],
      ]) {
        assert.ok((await at(text))?.trim().length <= text.indexOf(where), text);
      }
    });
  }
}

test('Llama 3: a call from the first character on, or behind the tag', { skip }, async () => {
  const call = (name, json) => object('parameters')(name, json);
  for (const isControl of [false, true]) {
    const at = (text) => refusedAt('ipython', isControl, '', text);
    assert.equal(await at('Just {"text"}: [1]; é'), undefined);
    assert.equal(await at(`${call('get_weather', GOOD)}; ${call('ping', '{}')}`), undefined);
    assert.equal(await at('{"name": "pong"'), '{"name": "p');
    assert.equal(await at(call('get_weather', '{"place": 5}')), '{"name": "get_weather", "parameters": {"place": ');
  }
  assert.equal(await refusedAt('ipython', true, '', `<|python_tag|>${call('ping', '{}')}`), undefined);
  assert.equal(await refusedAt('ipython', true, '', '<|python_tag|>print()'), '<|python_tag|>');
});

test('calls may be indented, but no line breaks where nobody breaks one', { skip }, async () => {
  const [template] = FORMATS.hermes;
  const at = (text) => refusedAt(template, true, '', `<tool_call>${text}`);
  const indented = `\n{\n  "name": "ping",\n  "arguments": {}\n}\n</tool_call>`;
  for (const text of [indented, '{"name":"ping","arguments":{}}', '{ "name" : "ping" , "arguments" : {} }']) {
    assert.equal(await at(text), undefined, text);
  }
  for (const before of ['{"name"', '{"name": ', '{"name": "ping"']) {
    assert.equal(await at(`${before}\n`), `<tool_call>${before}`);
  }
});

test('a call that is only thought of is text', { skip }, async () => {
  const [template] = FORMATS.thinking;
  const call = '<tool_call>{"name": "ping", "arguments": {}}';
  for (const [prompt, opened] of [
    ['<think>\n', ''],
    ['', '<think>'],
  ]) {
    const thought = `${opened}Write <tool_call> and what?`;
    assert.equal(await refusedAt(template, false, prompt, thought), undefined);
    assert.equal(await refusedAt(template, false, prompt, `${thought}</think>\n\n${call}`), undefined);
    const wrong = `${thought}</think><tool_call>`;
    assert.equal(await refusedAt(template, false, prompt, `${wrong}pong`), wrong);
  }
});

/** Formats of literals: how they write calls, several of them up to their end, pairs, texts and words. */
const LITERALS = {
  lfm2: {
    template: '{{ tools }}<|tool_call_start|>',
    call: (name, args) => `${name}(${args})`,
    list: (calls) => `${calls.join(', ')}]<|tool_call_end|>`,
    pair: (key, value) => `${key}=${value}`,
    inner: (key, value) => `"${key}": ${value}`,
    text: (text) => `"${text}"`,
    words: ['True', 'None'],
    number: '5',
  },
  gemma4: {
    template: '{{ tools }}<|tool_call>',
    call: (name, args) => `${name}{${args}}`,
    list: (calls) => `${calls.join('<tool_call|><|tool_call>call:')}<tool_call|>`,
    pair: (key, value) => `${key}:${value}`,
    inner: (key, value) => `${key}:${value}`,
    text: (text) => `<|"|>${text}<|"|>`,
    words: ['true', 'null'],
    number: '5',
  },
};

const TREE = {
  type: 'function',
  function: {
    name: 'plant',
    parameters: {
      properties: {
        kind: { enum: ['oak', 'elm'] },
        high: { type: ['number', 'null'] },
        old: { type: 'boolean' },
        tree: { $ref: '#/$defs/node' },
        tags: { type: 'array', items: { type: 'string' }, minItems: 1 },
      },
      required: ['kind', 'tree'],
      $defs: {
        node: {
          type: 'object',
          properties: { name: { type: 'string' }, next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } },
          required: ['name'],
        },
      },
    },
  },
};

for (const [name, { template, call, list, pair, inner, text, words, number }] of Object.entries(LITERALS)) {
  for (const isControl of [false, true]) {
    test(`${name}, ${isControl ? 'control tokens' : 'text'}: forced calls follow their schemas`, { skip }, async () => {
      const at = (written, more) => refusedForced(template, isControl, written, more);
      const weather = call('get_weather', `${pair('place', text("Rome's {a} [b]"))}, ${pair('days', '2')}`);
      assert.equal(await at(list([weather])), undefined);
      assert.equal(await at(list([weather, call('ping', '')])), undefined);
      const one = { several: false };
      assert.equal(await at(list([weather]), one), undefined);
      assert.ok(list([weather, call('ping', '')]).startsWith(await at(list([weather, call('ping', '')]), one)));
      for (const [wrong, where] of [
        [call('pong', ''), 'ong'],
        [call('get_weather', `${pair('place', number)}, ${pair('days', '2')}`), number],
        [call('get_weather', `${pair('place', text('Rome'))}, ${pair('days', text('2'))}`), text('2')],
        [call('get_weather', pair('days', '2')), 'days'],
        [call('ping', pair('a', '1')), 'a'],
      ]) {
        assert.equal(await at(list([wrong])), wrong.slice(0, wrong.indexOf(where)), wrong);
      }
    });

    test(`${name}, ${isControl ? 'control tokens' : 'text'}: words, unions, references`, { skip }, async () => {
      const at = (args) => refusedForced(template, isControl, list([call('plant', args)]), { tools: [TREE] });
      const [yes, nothing] = words;
      const node = `{${inner('name', text('a'))}, ${inner('next', `{${inner('name', text('b'))}}`)}}`;
      const kind = pair('kind', text('oak'));
      const all = [kind, pair('high', '-1.5e3'), pair('old', yes), pair('tree', node), pair('tags', `[${text('x')}]`)];
      assert.equal(await at(all.join(', ')), undefined);
      assert.equal(await at(all.join(',')), undefined);
      assert.equal(await at([kind, pair('tree', node)].join(', ')), undefined);
      assert.equal(await at([kind, pair('high', nothing), pair('tree', node)].join(', ')), undefined);
      for (const [args, where] of [
        [pair('kind', text('ash')), 'ash'],
        [`${kind}, ${pair('old', '1')}`, '1'],
        [`${kind}, ${pair('tree', '{}')}`, '}'],
        [`${kind}, ${pair('tags', '[]')}`, 'ags'],
        [`${kind}, ${pair('tree', node)}, ${pair('tags', '[]')}`, ']'],
      ]) {
        const written = call('plant', args);
        assert.equal(await at(args), written.slice(0, written.indexOf(where)), args);
      }
    });
  }
}

const TAGGED = {
  glm: [
    '{{ tools }}<tool_call><arg_key>',
    (name, pairs) => {
      const texts = pairs.map(([key, value]) => `<arg_key>${key}</arg_key><arg_value>${value}</arg_value>`);
      return `${name}${texts.join('')}</tool_call>`;
    },
  ],
  functions: [
    '{{ tools }}<tool_call><function=<parameter=',
    (name, pairs) => {
      const texts = pairs.map(([key, value]) => `<parameter=${key}>\n${value}\n</parameter>\n`);
      return `${name}>\n${texts.join('')}</function>\n</tool_call>`;
    },
  ],
};

for (const [name, [template, call]] of Object.entries(TAGGED)) {
  for (const isControl of [false, true]) {
    test(`${name}, ${isControl ? 'control tokens' : 'text'}: forced calls follow their tools`, { skip }, async () => {
      assert.equal(familyOf(template).format.name, name);
      const at = (text) => refusedForced(template, isControl, text, { several: false });
      const place = ['place', 'Rome, <b> {x}'];
      assert.equal(await at(call('get_weather', [place, ['days', '2']])), undefined);
      assert.equal(await at(call('ping', [])), undefined);
      const wrong = call('get_weather', [place, ['days', 'two']]);
      assert.equal(await at(wrong), wrong.slice(0, wrong.indexOf('two')));
      assert.equal(await at(call('pong', [])), 'p');
    });
  }
}

/** Formats whose attributes say what a value is, with the control tokens of their models. */
const ATTRIBUTES = {
  dsml: {
    template: '{{ tools }}｜DSML｜',
    control: ['｜DSML｜'],
    call: (name, pairs) => {
      const texts = pairs.map(
        ([key, value, isText]) => `<｜DSML｜parameter name="${key}" string="${isText}">${value}</｜DSML｜parameter>\n`,
      );
      return `${name}">\n${texts.join('')}</｜DSML｜invoke>\n</｜DSML｜function_calls>`;
    },
    next: '<｜DSML｜function_calls>\n<｜DSML｜invoke name="',
  },
  step: {
    template: '{{ tools }}steptml:invoke',
    control: [
      '<｜tool_calls_begin｜>',
      '<｜tool_calls_end｜>',
      '<｜tool_call_begin｜>',
      '<｜tool_call_end｜>',
      '<｜tool_sep｜>',
    ],
    call: (name, pairs) => {
      const texts = pairs.map(([key, value]) => `<steptml:parameter name="${key}">${value}</steptml:parameter>`);
      return `${name}">${texts.join('')}</steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>`;
    },
    next: '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="',
  },
  kimi3: {
    template: '{{ tools }}<|open|><|close|>',
    control: ['<|open|>', '<|close|>', '<|sep|>'],
    call: (name, pairs) => {
      const texts = pairs.map(
        ([key, value, isText]) =>
          `<|open|>argument key="${key}" type="${isText ? 'string' : 'number'}"<|sep|>${value}<|close|>argument<|sep|>`,
      );
      return `${name}" index="1"<|sep|>${texts.join('')}<|close|>call<|sep|><|close|>tools<|sep|>`;
    },
    next: '<|open|>tools<|sep|><|open|>call tool="',
  },
};

for (const [name, { template, control, call, next }] of Object.entries(ATTRIBUTES)) {
  for (const [title, isControl] of [
    ['text', false],
    ['control tokens', true],
    ['its own control tokens', control],
  ]) {
    test(`${name}, ${title}: forced calls follow their tools`, { skip }, async () => {
      const { format } = familyOf(template);
      assert.deepEqual([format.name, format.force()], [name, next]);
      const at = (text, more) => refusedForced(template, isControl, text, more);
      const place = ['place', 'Rome, <b> {x}\n</a', true];
      const weather = call('get_weather', [place, ['days', '2', false]]);
      assert.equal(await at(weather), undefined);
      assert.equal(await at(`${weather}${next}${call('ping', [])}`), undefined);
      assert.equal(await at(`${weather}${next}${call('ping', [])}`, { several: false }), weather);
      const plant = call('plant', [
        ['kind', 'oak', true],
        ['tree', '{"name": "a", "next": {"name": "b"}}', false],
      ]);
      assert.equal(await at(plant, { tools: [TREE] }), undefined);
      for (const [wrong, where, tools = TOOLS] of [
        [call('pong', []), 'ong'],
        [call('get_weather', [place, ['days', 'two', false]]), 'two'],
        [call('get_weather', [place]), undefined],
        [plant.replace('oak', 'ash'), 'ash', [TREE]],
        [plant.replace('"name": "a", ', ''), 'ext"', [TREE]],
      ]) {
        const taken = await at(wrong, { tools });
        if (where === undefined) assert.ok(taken !== undefined && wrong.startsWith(taken), `${taken}`);
        else assert.equal(taken, wrong.slice(0, wrong.indexOf(where)), wrong);
      }
    });
  }
}

const SIGNED = {
  solar: [
    '{{ tools }}<|tool_call:begin|>',
    (name, json) => `${name}<|tool_call:args|>${json}<|tool_call:end|>`,
    '<|tool_call:begin|>call2<|tool_call:name|>',
  ],
  hunyuan: [
    '{{ tools }}<tool_calls><tool_call><tool_sep>```json',
    (name, json) => `${name}\n\`\`\`json\n${json}\n\`\`\`</tool_call>`,
    '<tool_call>function<tool_sep>',
  ],
};

for (const [name, [template, call, next]] of Object.entries(SIGNED)) {
  test(`${name}: forced calls of several tools follow their schemas`, { skip }, async () => {
    assert.equal(familyOf(template).format.name, name);
    for (const isControl of [false, true]) {
      const at = (text) => refusedForced(template, isControl, text);
      assert.equal(await at(`${call('get_weather', GOOD)}\n${next}${call('ping', '{}')}`), undefined);
      assert.equal(await at(call('pong', '{}')), 'p');
      const wrong = call('get_weather', '{"place": 5}');
      assert.equal(await at(wrong), wrong.slice(0, wrong.indexOf('5')));
    }
  });
}

test('formats that are no JSON stay free', { skip }, async () => {
  for (const template of ['{{ tools }}<|tool_call_start|>', '{{ tools }}<|tool_call>', '{{ tools }}<function=']) {
    assert.equal(await callGrammar(undefined, familyOf(template), '', TOOLS), undefined);
  }
});

test('long texts are taken', { skip }, async () => {
  for (const isControl of [false, true]) {
    assert.equal(await refusedAt(FORMATS.hermes[0], isControl, '', 'the long text. '.repeat(400)), undefined);
  }
});
