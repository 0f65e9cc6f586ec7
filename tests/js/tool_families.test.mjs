// Calls as each family's published template writes them in history are read back equal: awkward values, several calls,
// text around them, cut anywhere, and in as many steps as there are characters.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dist } from './api.mjs';

const { familyOf, readerOf } = await import(`${dist}openai/families.js`);
const { toolsOf } = await import(`${dist}openai/signs.js`);

const json = JSON.stringify;
const SCHEMA = {
  type: 'object',
  properties: {
    text: { type: 'string' },
    zip: { type: ['string', 'null'] },
    count: { type: 'integer' },
    ratio: { type: 'number' },
    on: { type: 'boolean' },
    none: { type: ['object', 'null'] },
    list: { type: 'array' },
    at: { type: 'object' },
  },
};
const NAMES = ['get_weather', 'user-profile/update', 'a.b:c', 'погода_今日'];
const TOOLS = new Map(NAMES.map((name) => [name, SCHEMA]));

/** Arguments as JSON text, so that digits and the order of keys are seen. */
const ARGUMENTS = [
  '{}',
  '{"text": "Paris"}',
  '{"text": "12134", "zip": "007"}',
  '{"text": "a \\"quoted\\" \\\\ word\\nand a line, é 🦙 \'x\' {[("}',
  '{"count": 2512292042121000001, "ratio": 1.0}',
  '{"on": true, "none": null, "list": [1, -2.5, "b", {"c": []}], "at": {"2": "x", "1": [true, null]}}',
  '{"text": "<b>not</b> a <tag", "list": []}',
  '{"text": " spaces at both ends "}',
];

/** A value as templates write those that stand bare: texts as they are, others as JSON. */
const bare = (value) => (typeof value === 'string' ? value : value.json);

/** The members of a JSON object, with the text of each value. */
function members(text) {
  const found = [];
  const pattern = /"(?:[^"\\]|\\.)*"|[[{]|[\]}]|[^\s,:"[\]{}]+|[,:]/g;
  let [depth, key, from] = [0, undefined, 0];
  for (const { 0: part, index } of text.matchAll(pattern)) {
    if (depth === 1 && key === undefined && part.startsWith('"')) {
      key = JSON.parse(part);
      continue;
    }
    if (depth === 1 && part === ':' && from === 0) from = index + 1;
    if ('[{'.includes(part)) depth += 1;
    if (']}'.includes(part)) depth -= 1;
    if (key !== undefined && from > 0 && ((depth === 1 && part === ',') || (depth === 0 && part === '}'))) {
      const value = text.slice(from, index).trim();
      found.push([key, value.startsWith('"') ? JSON.parse(value) : { json: value }]);
      [key, from] = [undefined, 0];
    }
  }
  return found;
}

const tags = (call, name) => (n, a) => `${call[0]}${name(n)}${members(a).map(call[1]).join('')}${call[2]}`;
const object =
  (key, nameKey = 'name') =>
  (n, a) =>
    `{"${nameKey}": ${json(n)}, "${key}": ${a}}`;
const functions = (open, close, line) =>
  tags(
    [`${open}\n`, ([k, v]) => `<parameter=${k}>${line}${bare(v)}${line}</parameter>\n`, `</function>\n${close}`],
    (n) => `<function=${n}>\n`,
  );
const glm = (line) =>
  tags(
    [
      '<tool_call>',
      ([k, v]) => `<arg_key>${k}</arg_key>${line}<arg_value>${bare(v)}</arg_value>${line}`,
      '</tool_call>',
    ],
    (n) => `${n}${line}`,
  );
const invoke = (p, attributes = () => '') =>
  tags(
    ['', ([k, v]) => `<${p}parameter name="${k}"${attributes(v)}>${bare(v)}</${p}parameter>\n`, `</${p}invoke>\n`],
    (n) => `<${p}invoke name="${n}">\n`,
  );
const isText = (value) => typeof value === 'string';
const kindOf = (value) => (isText(value) ? 'string' : 'object');
const python = (text) =>
  text.replaceAll(
    /"(?:[^"\\]|\\.)*"|true|false|null/g,
    (part) => ({ true: 'True', false: 'False', null: 'None' })[part] ?? part,
  );
const pythonCall = (n, a) =>
  `${n}(${members(a)
    .map(([k, v]) => `${k}=${isText(v) ? json(v) : python(v.json)}`)
    .join(', ')})`;
const gemmaValue = (q) => (v) =>
  isText(v) ? `${q}${v}${q}` : v.json.replaceAll(/"((?:[^"\\]|\\.)*)"/g, (_, text) => `${q}${text}${q}`);
const gemma = (open, close, q) => (n, a) =>
  `${open}call:${n}{${members(a)
    .map(([k, v]) => `${k}:${gemmaValue(q)(v)}`)
    .join(',')}}${close}`;
const each =
  (open, call, close, between = '') =>
  (calls) =>
    open + calls.map(([n, a]) => call(n, a)).join(between) + close;
const D = (words) => `<｜${words.replaceAll(' ', '▁')}｜>`;

/** The sign of the template, and how it writes calls. */
const FAMILIES = {
  hermes: ['<tool_call>', each('', (n, a) => `<tool_call>\n${object('arguments')(n, a)}\n</tool_call>`, '', '\n')],
  functions: ['<tool_call><function=', each('', functions('<tool_call>', '</tool_call>', '\n'), '', '\n')],
  seed: ['<seed:tool_call>', each('', functions('<seed:tool_call>', '</seed:tool_call>', ''), '', '\n')],
  functionJson: ['<function=', each('', (n, a) => `<function=${n}>${a}</function>`, '')],
  glm: ['<tool_call><arg_key>', each('', glm('\n'), '', '\n')],
  'glm, one line': ['<tool_call><arg_key>', each('', glm(''), '')],
  longcat: [
    '<longcat_tool_call><longcat_arg_key>',
    (calls) => calls.map(([n, a]) => glm('\n')(n, a).replaceAll(/<(\/?)(tool_|arg_)/g, '<$1longcat_$2')).join('\n'),
  ],
  minimax: ['<minimax:tool_call>', each('<minimax:tool_call>\n', invoke(''), '</minimax:tool_call>')],
  dsml: [
    '｜DSML｜',
    each(
      '<｜DSML｜function_calls>\n',
      invoke('｜DSML｜', (v) => ` string="${isText(v)}"`),
      '</｜DSML｜function_calls>',
    ),
  ],
  step: [
    'steptml:invoke',
    each(
      '<｜tool_calls_begin｜>',
      (n, a) => `<｜tool_call_begin｜>function<｜tool_sep｜>${invoke('steptml:')(n, a)}<｜tool_call_end｜>`,
      '<｜tool_calls_end｜>',
    ),
  ],
  kimi: [
    '<|tool_calls_section_begin|>',
    each(
      '<|tool_calls_section_begin|>',
      (n, a) => `<|tool_call_begin|>functions.${n}:0<|tool_call_argument_begin|>${a}<|tool_call_end|>`,
      '<|tool_calls_section_end|>',
    ),
  ],
  kimi3: [
    '<|open|><|close|>',
    each(
      '<|open|>tools<|sep|>',
      (n, a) =>
        `<|open|>call tool="${n}" index="1"<|sep|>${members(a)
          .map(([k, v]) => `<|open|>argument key="${k}" type="${kindOf(v)}"<|sep|>${bare(v)}<|close|>argument<|sep|>`)
          .join('')}<|close|>call<|sep|>`,
      '<|close|>tools<|sep|>',
    ),
  ],
  deepseek: [
    `\`\`\`json ${D('tool call end')}`,
    each(
      D('tool calls begin'),
      (n, a) => `${D('tool call begin')}function${D('tool sep')}${n}\n\`\`\`json\n${a}\n\`\`\`${D('tool call end')}`,
      D('tool calls end'),
      '\n',
    ),
  ],
  deepseek31: [
    D('tool calls begin'),
    each(
      D('tool calls begin'),
      (n, a) => `${D('tool call begin')}${n}${D('tool sep')}${a}${D('tool call end')}`,
      D('tool calls end'),
    ),
  ],
  solar: [
    '<|tool_call:begin|>',
    each('', (n, a) => `<|tool_call:begin|>abc123<|tool_call:name|>${n}<|tool_call:args|>${a}<|tool_call:end|>`, ''),
  ],
  hunyuan: [
    '<tool_calls><tool_sep>',
    each(
      '<tool_calls>',
      (n, a) => `<tool_call>function<tool_sep>${n}\n\`\`\`json\n${a}\n\`\`\`</tool_call>`,
      '</tool_calls>',
      '\n',
    ),
  ],
  mistral: ['[TOOL_CALLS]', each('[TOOL_CALLS][', object('arguments'), ']', ', ')],
  mistralArgs: ['[TOOL_CALLS] [ARGS]', each('', (n, a) => `[TOOL_CALLS]${n}[ARGS]${a}`, '')],
  'mistralArgs, with ids': [
    '[TOOL_CALLS] [ARGS]',
    each('', (n, a) => `[TOOL_CALLS]${n}[CALL_ID]abc123456[ARGS]${a}`, ''),
  ],
  granite: ['<|tool_call|>', each('<|tool_call|>[', object('arguments'), ']', ', ')],
  'phi 4 mini': [
    '<|tool|>',
    each(
      '<|tool_call|>[',
      (n, a) => `{"type": "function", "function": ${object('arguments')(n, a)}}`,
      ']<|/tool_call|>',
      ', ',
    ),
  ],
  nemotron: ['<TOOLCALL>', each('<TOOLCALL>[', object('arguments'), ']</TOOLCALL>', ', ')],
  toolCalls: ['<tool_calls>', each('<tool_calls>[', object('arguments'), ']</tool_calls>', ', ')],
  minimaxLines: ['<tool_calls>\n{', each('<tool_calls>\n', object('arguments'), '\n</tool_calls>', '\n')],
  apertus: ['<|tools_prefix|>', each('<|tools_prefix|>[', (n, a) => `{${json(n)}: ${a}}`, ']<|tools_suffix|>', ', ')],
  command: [
    '<|START_ACTION|>',
    each(
      '<|START_ACTION|>[\n',
      (n, a) => `    {"tool_call_id": "0", "tool_name": ${json(n)}, "parameters": ${a}}`,
      '\n]<|END_ACTION|>',
      ',\n',
    ),
  ],
  commandOld: ['Action: ```json', each('Action: ```json\n[\n', object('parameters', 'tool_name'), '\n]```', ',\n')],
  internlm: ['<|action_start|>', each('<|action_start|><|plugin|>\n', object('parameters'), '<|action_end|>'), 1],
  gigachat: [
    'function call<|role_sep|>',
    each('function call<|role_sep|>\n', object('arguments'), '<|message_sep|>'),
    1,
  ],
  functools: ['functools[', each('functools[', object('arguments'), ']', ', ')],
  gemma4: ['<|tool_call>', each('', gemma('<|tool_call>', '<tool_call|>', '<|"|>'), '')],
  functiongemma: [
    '<start_function_call>',
    each('', gemma('<start_function_call>', '<end_function_call>', '<escape>'), ''),
  ],
  lfm2: ['<|tool_call_start|>', each('<|tool_call_start|>[', pythonCall, ']<|tool_call_end|>', ', ')],
  minicpm: [
    '```python <|tool_call_start|>',
    each('<|tool_call_start|>\n```python\n', pythonCall, '\n```\n<|tool_call_end|>', '\n'),
  ],
  olmo: ['<function_calls>', each('<function_calls>', pythonCall, '</function_calls>', '\n')],
  llama: ['ipython', each('', object('parameters'), '', '; '), 9, ''],
  'llama, an array': ['ipython', each('[', object('arguments'), ']', ', '), 9, ''],
  'llama, Python': ['ipython', each('<|python_tag|>[', pythonCall, ']', ', ')],
  harmony: [
    '<|channel|>',
    each(
      '',
      (n, a) => `<|channel|>commentary to=functions.${n} <|constrain|>json<|message|>${a}<|call|>`,
      '',
      '<|start|>assistant',
    ),
    9,
    '<|channel|>commentary<|message|>I look.<|end|><|start|>assistant',
  ],
};

/** The message that comes of pieces. */
function read(template, pieces, cut = false) {
  const reader = readerOf(familyOf(`{{ tools }} ${template}`), '', TOOLS);
  const message = { content: '', calls: [] };
  for (const delta of [...pieces.flatMap((piece) => reader.push(piece)), ...reader.end(cut)]) {
    if ('content' in delta) message.content += delta.content;
    else if ('name' in delta) message.calls.push([delta.name, '']);
    else if ('arguments' in delta) message.calls[delta.index][1] += delta.arguments;
  }
  return message;
}

/** JSON without white space between its parts: values that stand bare come so. */
const compact = (text) =>
  text.replaceAll(/"(?:[^"\\]|\\.)*"|\s+/g, (part) => (part.startsWith('"') ? json(JSON.parse(part)) : ''));
const compacted = (calls) => calls.map(([name, text]) => [name, compact(text)]);

const known = (name, args) => !/^(gemma4|functiongemma)$/.test(name) || !/[\\]"/.test(args.slice(1));

for (const [name, [template, write, most = 9, said = 'I look. ']] of Object.entries(FAMILIES)) {
  const cases = [
    ...ARGUMENTS.map((args) => [[NAMES[0], args]]),
    ...NAMES.slice(1).map((each) => [[each, ARGUMENTS[1]]]),
    [
      [NAMES[0], ARGUMENTS[2]],
      [NAMES[1], ARGUMENTS[3]],
    ],
    [
      [NAMES[0], ARGUMENTS[0]],
      [NAMES[0], ARGUMENTS[5]],
    ],
  ].filter((calls) => calls.length <= most && calls.every(([, args]) => known(name, args)));

  test(`${name}: what was written is read`, () => {
    for (const calls of cases) {
      const text = `${said}${write(calls)}`;
      const expected = { content: said ? 'I look.' : '', calls: compacted(calls) };
      const whole = read(template, [text]);
      assert.deepEqual({ ...whole, calls: compacted(whole.calls) }, expected, text);
      assert.deepEqual(read(template, [...text]), whole, `${text}, by characters`);
      for (let at = 1; at < text.length; at += 1) {
        assert.deepEqual(read(template, [text.slice(0, at), text.slice(at)]), whole, `${text}, in two at ${at}`);
      }
    }
  });

  test(`${name}: cut off anywhere, a call has the beginning of its arguments, and no sign is text`, () => {
    for (const calls of cases) {
      const text = `${said}${write(calls)}`;
      const all = compacted(read(template, [text]).calls);
      for (let at = 1; at < text.length; at += 1) {
        const cut = read(template, [text.slice(0, at)], true);
        if (at % 17 === 0) assert.deepEqual(read(template, [...text.slice(0, at)], true), cut, text.slice(0, at));
        for (const [index, [called]] of cut.calls.entries()) assert.equal(called, all[index][0]);
        for (const [, args] of cut.calls.slice(0, -1)) JSON.parse(args);
      }
    }
  });

  test(`${name}: a text that ends within a call holds it, or all of its arguments`, () => {
    for (const calls of cases) {
      const text = `${said}${write(calls)}`;
      for (let at = 1; at < text.length; at += 1) {
        for (const [, args] of read(template, [text.slice(0, at)]).calls) {
          assert.doesNotThrow(() => JSON.parse(args), text.slice(0, at));
        }
      }
    }
  });
}

test('each family is known by its sign, and a template with other calls is not', () => {
  for (const [name, [template]] of Object.entries(FAMILIES)) {
    const found = toolsOf(`{{ tools }} ${template}`);
    assert.equal(found, name.startsWith('phi 4') ? 'granite' : name.replace(/,.*/, ''), template);
  }
  assert.equal(toolsOf('{{ tools }} <my_own_call>'), false);
  assert.equal(toolsOf('{{ messages }}'), 'prompt');
});
