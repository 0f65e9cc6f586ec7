/**
 * The formats in which model families call tools, a row for each: what calls begin and end with, and how the name and
 * the arguments are written. `signs.ts` says by which sign of its chat template a family is known.
 */
import { type CallRule, type Format, objectText } from './format.js';
import { free, gemma, named, objects, python, tagged, takeAny } from './kinds.js';
import type { FormatName } from '../signs.js';

const deepseekSign = (words: string): string => `<｜${words.replaceAll(' ', '▁')}｜>`;
const CALLS = deepseekSign('tool calls begin');
const CALL = deepseekSign('tool call begin');
const CALL_END = deepseekSign('tool call end');
const SEPARATOR = deepseekSign('tool sep');
const DEEPSEEK = {
  opens: [CALLS, CALL],
  closers: [CALL_END, deepseekSign('tool calls end')],
  special: [SEPARATOR],
};
const FENCE = '```';
const HERMES = { opens: ['<tool_call>'], closers: ['</tool_call>'] };
const writeHermes = (calls: Parameters<NonNullable<Format['write']>>[0]): string =>
  calls.map((call) => `<tool_call>\n${objectText(call)}\n</tool_call>`).join('\n');

const MISTRAL = { opens: ['[TOOL_CALLS]'], special: ['[ARGS]', '[CALL_ID]'] };
const mistralName = {
  nameOf: (head: string): string => head.split(/\[(?:CALL_ID|ARGS)\]/)[0] ?? '',
  ends: [],
};
/** Behind this sign calls are objects, or a name and its arguments. */
const mistral = named({ name: 'mistral', ...MISTRAL }, mistralName, {
  marks: ['[TOOL_CALLS]'],
  object: { before: '[TOOL_CALLS]', key: 'arguments', isList: true },
  force: (name) => `[TOOL_CALLS][{"name": "${name === undefined ? '' : `${name}", "arguments": `}`,
});

const deepseekName = {
  nameOf: (head: string): string => head.replace(`function${SEPARATOR}`, '').split(SEPARATOR)[0] ?? '',
  ends: DEEPSEEK.closers,
};

const solarCall = ({ name, json, sign }: CallRule): string =>
  `${name} ${sign('<|tool_call:args|>')} ${json} ${sign('<|tool_call:end|>')}`;
const hunyuanCall = ({ name, json, sign }: CallRule): string =>
  `${name} "\\n${FENCE}json\\n" ${json} "\\n${FENCE}" ${sign('</tool_call>')}`;

const kimi = {
  sections: ['<|tool_calls_section_begin|>', '<|tool_calls_section_end|>'] as const,
  call: '<|tool_call_begin|>',
  argument: '<|tool_call_argument_begin|>',
  end: '<|tool_call_end|>',
};

/** `<tool_call><function=name><parameter=key>value</parameter></function></tool_call>` */
const FUNCTION = {
  open: '<function=',
  afterName: '>',
  close: '</function>',
  parameter: '<parameter=',
  afterKey: '>',
  endValue: '</parameter>',
};

const INVOKE = (prefix: string) => ({
  open: `<${prefix}invoke name="`,
  afterName: '>',
  close: `</${prefix}invoke>`,
  parameter: `<${prefix}parameter name="`,
  afterKey: '>',
  endValue: `</${prefix}parameter>`,
  hasAttributes: true,
});

/** `<tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>` */
const KEYED = (prefix: string) => ({
  open: `<${prefix}tool_call>`,
  afterName: '',
  close: `</${prefix}tool_call>`,
  parameter: `<${prefix}arg_key>`,
  afterKey: `</${prefix}arg_key>`,
  beforeValue: `<${prefix}arg_value>`,
  endValue: `</${prefix}arg_value>`,
});

const listed = (name: FormatName, before: string, close: string, rest: Partial<Format> = {}): Format =>
  objects(
    { name, opens: [before], closers: [close] },
    { before, key: 'arguments', isList: true },
    { marks: [before], ...rest },
  );

const hermes = objects(
  { name: 'hermes', ...HERMES },
  { before: '<tool_call>\n', key: 'arguments' },
  {
    marks: ['<tool_call>'],
    write: writeHermes,
  },
);

const functionTags = (name: FormatName, outer: readonly [string, string]): Format => {
  const isSeed = outer[0].startsWith('<seed:');
  return tagged(
    { name, opens: [outer[0], FUNCTION.open], closers: [FUNCTION.close, outer[1]] },
    { ...FUNCTION, outer, ...(!isSeed && { isPadded: true }) },
  );
};

const GEMMA_4 = { name: 'gemma4', opens: ['<|tool_call>'], closers: ['<tool_call|>'] };
const FUNCTION_GEMMA = {
  name: 'functiongemma',
  opens: ['<start_function_call>'],
  closers: ['<end_function_call>'],
};
const GRANITE = { opens: ['<|tool_call|>', '<tool_call>'], closers: ['<|/tool_call|>', '</tool_call>'] };
const TOOL_CALLS = { opens: ['<tool_calls>', '<tool_call>'], closers: ['</tool_call>', '</tool_calls>'] };

/** @internal */
export const FORMATS: Record<Exclude<FormatName, 'harmony' | 'plain' | 'llama'>, Format> = {
  hermes,
  functions: functionTags('functions', ['<tool_call>', '</tool_call>']),
  seed: functionTags('seed', ['<seed:tool_call>', '</seed:tool_call>']),
  zaya: functionTags('zaya', ['<zyphra_tool_call>', '</zyphra_tool_call>']),
  functionJson: free(
    tagged({ name: 'functionJson', opens: [FUNCTION.open], closers: [FUNCTION.close] }, FUNCTION, {
      isJson: true,
      force: (name) => `<function=${name === undefined ? '' : `${name}>`}`,
    }),
  ),
  minimax: tagged(
    {
      name: 'minimax',
      opens: ['<minimax:tool_call>', '<invoke name="'],
      closers: ['</invoke>', '</minimax:tool_call>'],
    },
    { ...INVOKE(''), outer: ['<minimax:tool_call>', '</minimax:tool_call>'] },
  ),
  dsml: tagged(
    {
      name: 'dsml',
      opens: ['<｜DSML｜function_calls>', '<｜DSML｜tool_calls>', '<｜DSML｜invoke name="'],
      closers: ['</｜DSML｜invoke>', '</｜DSML｜function_calls>', '</｜DSML｜tool_calls>'],
      special: ['｜DSML｜'],
    },
    {
      ...INVOKE('｜DSML｜'),
      outer: ['<｜DSML｜function_calls>', '</｜DSML｜function_calls>'],
      kinds: { text: ' string="true"', others: [' string="false"'] },
    },
  ),
  step: tagged(
    {
      name: 'step',
      opens: ['<｜tool_calls_begin｜>', '<｜tool_call_begin｜>', 'function<｜tool_sep｜>', '<steptml:invoke name="'],
      closers: ['</steptml:invoke>', '<｜tool_call_end｜>', '<｜tool_calls_end｜>'],
      special: ['<｜tool_sep｜>'],
    },
    {
      ...INVOKE('steptml:'),
      outer: ['<｜tool_calls_begin｜>', '<｜tool_calls_end｜>'],
      inner: ['<｜tool_call_begin｜>function<｜tool_sep｜>', '<｜tool_call_end｜>'],
    },
  ),
  kimi3: tagged(
    {
      name: 'kimi3',
      opens: ['<|open|>tools<|sep|>', '<|open|>call tool="'],
      closers: ['<|close|>call<|sep|>', '<|close|>tools<|sep|>'],
      special: ['<|open|>', '<|close|>', '<|sep|>'],
    },
    {
      open: '<|open|>call tool="',
      afterName: '<|sep|>',
      close: '<|close|>call<|sep|>',
      parameter: '<|open|>argument key="',
      afterKey: '<|sep|>',
      endValue: '<|close|>argument<|sep|>',
      outer: ['<|open|>tools<|sep|>', '<|close|>tools<|sep|>'],
      inner: ['', ''],
      isNumbered: true,
      hasAttributes: true,
      kinds: {
        text: ' type="string"',
        others: ['number', 'integer', 'boolean', 'object', 'array', 'null'].map((kind) => ` type="${kind}"`),
      },
    },
    { endsThoughts: true },
  ),
  glm: tagged(
    { name: 'glm', opens: ['<tool_calls>', '<tool_call>'], closers: ['</tool_call>', '</tool_calls>'] },
    KEYED(''),
  ),
  longcat: tagged(
    { name: 'longcat', opens: ['<longcat_tool_call>'], closers: ['</longcat_tool_call>'] },
    KEYED('longcat_'),
  ),
  kimi: named(
    {
      name: 'kimi',
      opens: [kimi.sections[0], kimi.call],
      closers: [kimi.end, kimi.sections[1]],
      special: [kimi.argument],
    },
    {
      nameOf: (head) => (head.split(kimi.argument)[0] ?? '').trim().replace(/^functions\.|:\d+$/g, ''),
      ends: [kimi.end],
    },
    {
      endsThoughts: true,
      marks: [kimi.call],
      isFree: true,
      body: ({ name, json, sign }) =>
        `"functions." ${name} /:[0-9]{1,3}/ ${sign(kimi.argument)} ${json} ${sign(kimi.end)}`,
      rest: ({ name, json, sign }) => `${name} /:[0-9]{1,3}/ ${sign(kimi.argument)} ${json} ${sign(kimi.end)}`,
      force: (name) =>
        `${kimi.sections[0]}${kimi.call}functions.${name === undefined ? '' : `${name}:0${kimi.argument}`}`,
    },
  ),
  deepseek: named({ name: 'deepseek', ...DEEPSEEK }, deepseekName, {
    marks: [CALL],
    body: ({ name, json, sign }) => `"function" ${sign(SEPARATOR)} ${name} "\\n${FENCE}json\\n" ${json} "\\n${FENCE}"`,
    rest: ({ name, json }) => `${name} "\\n${FENCE}json\\n" ${json} "\\n${FENCE}"`,
    force: (name) => `${CALLS}${CALL}function${SEPARATOR}${name === undefined ? '' : `${name}\n${FENCE}json\n`}`,
    write: (calls) => {
      const texts = calls.map(
        ({ name, arguments: text }) =>
          `${CALL}function${SEPARATOR}${name}\n${FENCE}json\n${text || '{}'}\n${FENCE}${CALL_END}`,
      );
      return `${CALLS}${texts.join('\n')}${DEEPSEEK.closers[1]}`;
    },
  }),
  deepseek31: named({ name: 'deepseek31', ...DEEPSEEK }, deepseekName, {
    marks: [CALL],
    body: ({ name, json, sign }) => `${name} ${sign(SEPARATOR)} ${json}`,
    force: (name) => `${CALLS}${CALL}${name === undefined ? '' : `${name}${SEPARATOR}`}`,
  }),
  solar: named(
    {
      name: 'solar',
      opens: ['<|tool_call:begin|>'],
      closers: ['<|tool_call:end|>', '<|calls|>'],
      special: ['<|tool_call:name|>', '<|tool_call:args|>'],
    },
    {
      nameOf: (head) => head.split('<|tool_call:name|>').at(-1)?.split('<|tool_call:args|>')[0] ?? '',
      ends: ['<|tool_call:end|>'],
    },
    {
      endsThoughts: true,
      marks: ['<|tool_call:begin|>'],
      isFree: true,
      body: (rule) => `/\\w{1,32}/ ${rule.sign('<|tool_call:name|>')} ${solarCall(rule)}`,
      rest: solarCall,
      force: (name) =>
        `<|tool_call:begin|>call00001<|tool_call:name|>${name === undefined ? '' : `${name}<|tool_call:args|>`}`,
    },
  ),
  hunyuan: named(
    { name: 'hunyuan', ...TOOL_CALLS, special: ['<tool_sep>'] },
    {
      nameOf: (head) => head.replace(/^\w*<tool_sep>/, ''),
      ends: ['</tool_call>'],
    },
    {
      marks: ['<tool_call>'],
      isFree: true,
      body: (rule) => `"function" ${rule.sign('<tool_sep>')} ${hunyuanCall(rule)}`,
      rest: hunyuanCall,
      force: (name) =>
        `<tool_calls><tool_call>function<tool_sep>${name === undefined ? '' : `${name}\n${FENCE}json\n`}`,
    },
  ),
  mistral,
  mistralArgs: named({ name: 'mistralArgs', ...MISTRAL }, mistralName, {
    marks: ['[TOOL_CALLS]'],
    body: ({ name, json, sign }) => `${name} ${sign('[ARGS]')} ${json}`,
    force: (name) => `[TOOL_CALLS]${name === undefined ? '' : `${name}[ARGS]`}`,
  }),
  granite: objects(
    { name: 'granite', ...GRANITE },
    { before: '<|tool_call|>', key: 'arguments', isList: true },
    {
      marks: GRANITE.opens,
      write: (calls) => `<|tool_call|>[${calls.map(objectText).join(', ')}]`,
    },
  ),
  graniteCode: objects(
    { name: 'graniteCode', opens: ['<function_call>'], closers: ['</function_call>'] },
    { before: '<function_call> ', key: 'arguments' },
    { marks: ['<function_call>'] },
  ),
  nemotron: listed('nemotron', '<TOOLCALL>', '</TOOLCALL>'),
  toolCalls: objects(
    { name: 'toolCalls', ...TOOL_CALLS },
    { before: '<tool_calls>', key: 'arguments', isList: true },
    { marks: ['<tool_calls>'] },
  ),
  minimaxLines: objects(
    { name: 'minimaxLines', ...TOOL_CALLS },
    { before: '<tool_calls>\n', key: 'arguments' },
    { marks: ['<tool_calls>'] },
  ),
  apertus: objects(
    { name: 'apertus', opens: ['<|tools_prefix|>'], closers: ['<|tools_suffix|>'] },
    { before: '<|tools_prefix|>', key: 'arguments', isList: true, isByName: true },
    { marks: ['<|tools_prefix|>'], endsThoughts: true },
  ),
  command: objects(
    { name: 'command', opens: ['<|START_ACTION|>'], closers: ['<|END_ACTION|>'] },
    { before: '<|START_ACTION|>', name: 'tool_name', key: 'parameters', isList: true, id: 'tool_call_id' },
    { marks: ['<|START_ACTION|>'], endsThoughts: true },
  ),
  commandOld: objects(
    { name: 'commandOld', opens: [`Action: ${FENCE}json\n`, `Action:${FENCE}json\n`], closers: [FENCE] },
    { before: `Action: ${FENCE}json\n`, name: 'tool_name', key: 'parameters', isList: true },
  ),
  internlm: objects(
    {
      name: 'internlm',
      opens: ['<|action_start|><|plugin|>', '<|action_start|> <|plugin|>'],
      closers: ['<|action_end|>'],
      special: ['<|action_start|>', '<|plugin|>'],
    },
    { before: '<|action_start|><|plugin|>\n', key: 'parameters' },
  ),
  gigachat: objects(
    { name: 'gigachat', opens: ['function call<|role_sep|>'], closers: ['<|message_sep|>'], special: ['<|role_sep|>'] },
    { before: 'function call<|role_sep|>\n', key: 'arguments' },
  ),
  functools: objects(
    { name: 'functools', opens: ['functools'], closers: [] },
    { before: 'functools', key: 'arguments', isList: true },
    { marks: ['functools'] },
  ),
  gemma4: gemma(GEMMA_4, '<|"|>'),
  functiongemma: gemma(FUNCTION_GEMMA, '<escape>'),
  lfm2: python({ name: 'lfm2', opens: ['<|tool_call_start|>'], closers: ['<|tool_call_end|>'] }, [
    '<|tool_call_start|>[',
    ']<|tool_call_end|>',
  ]),
  olmo: python({ name: 'olmo', opens: ['<function_calls>'], closers: ['</function_calls>'] }, [
    '<function_calls>',
    '</function_calls>',
  ]),
  minicpm: python({ name: 'minicpm', opens: ['<|tool_call_start|>'], closers: [FENCE, '<|tool_call_end|>'] }, [
    `<|tool_call_start|>\n${FENCE}python\n`,
    `\n${FENCE}\n<|tool_call_end|>`,
  ]),
};

const TAG = '<|python_tag|>';

/**
 * Llama 3.1 to 3.3: the answer is `{"name": …, "parameters": {…}}`, perhaps behind `<|python_tag|>`; several are
 * separated by semicolons. Models made of them write arrays of such objects, and calls of Python. @internal
 */
export const llama: Format = {
  ...objects({ name: 'llama', opens: [TAG] }, { before: '', key: 'parameters' }),
  opens: [TAG, '<|python_start|>', '<function='],
  closers: ['<|python_end|>', '</function>'],
  special: [TAG, '<|python_start|>', '<|python_end|>'],
  atStart: ['{', '['],
  marks: [TAG],
  isBare: true,
  *read(scanner, sink) {
    const sign = yield* scanner.takeAny([TAG, '<|python_start|>', '<function=']);
    if (sign === '<function=') {
      scanner.rewind(sign.length);
      return yield* FORMATS.functionJson.read(scanner, sink);
    }
    yield* scanner.space();
    yield* takeAny(scanner, sink, { isKnown: sign === undefined });
  },
};

/**
 * Models without tools of their own, Gemma 3 among them, which are told to write as Hermes does; what they like to
 * write instead is read, too: JSON or Python in a fence, or a bare JSON object at the start, where it names a tool.
 * @internal
 */
export const plain: Format = {
  ...hermes,
  name: 'plain',
  opens: [...hermes.opens, `${FENCE}tool_code\n`, `${FENCE}tool_call\n`, `${FENCE}json\n`],
  closers: [...hermes.closers, FENCE],
  atStart: ['{'],
  *read(scanner, sink) {
    const isTag = yield* scanner.is('<');
    if (isTag) return yield* hermes.read(scanner, sink);
    if (yield* scanner.take(FENCE)) yield* scanner.run(/\w*/y);
    yield* scanner.space();
    yield* takeAny(scanner, sink, { isKnown: true });
  },
};
