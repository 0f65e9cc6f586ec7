/**
 * By which sign of its chat template a family is known: how it writes calls of tools, and where its thoughts stand.
 */
import type { Thoughts } from './reader.js';

/** The formats of calls. @internal */
export type FormatName =
  | 'harmony'
  | 'plain'
  | 'llama'
  | 'hermes'
  | 'functions'
  | 'seed'
  | 'zaya'
  | 'functionJson'
  | 'minimax'
  | 'dsml'
  | 'step'
  | 'kimi3'
  | 'glm'
  | 'longcat'
  | 'kimi'
  | 'deepseek'
  | 'deepseek31'
  | 'solar'
  | 'hunyuan'
  | 'mistral'
  | 'mistralArgs'
  | 'granite'
  | 'graniteCode'
  | 'nemotron'
  | 'toolCalls'
  | 'minimaxLines'
  | 'apertus'
  | 'command'
  | 'commandOld'
  | 'internlm'
  | 'gigachat'
  | 'functools'
  | 'gemma4'
  | 'functiongemma'
  | 'lfm2'
  | 'olmo'
  | 'minicpm';

/** Texts in a template, one after the other. A template is part of a hostile file: each is looked for once. */
type Signs = readonly string[];

/** Texts of templates, and what they say; the first line that fits is taken, with any of its alternatives. */
const FORMATS: readonly (readonly [readonly Signs[], FormatName])[] = [
  [[['<|channel|>']], 'harmony'],
  [[['｜DSML｜']], 'dsml'],
  [[['steptml:invoke']], 'step'],
  [[['```json', '<｜tool▁call▁end｜>']], 'deepseek'],
  [[['<｜tool▁calls▁begin｜>']], 'deepseek31'],
  [[['<|tool_calls_section_begin|>'], ['<|tool_call_argument_begin|>']], 'kimi'],
  [[['<|open|>', '<|close|>']], 'kimi3'],
  [[['<|tools_prefix|>']], 'apertus'],
  [[['<|START_ACTION|>']], 'command'],
  [[['Action: ```json'], ['Action:```json']], 'commandOld'],
  [[['minimax:tool_call']], 'minimax'],
  [[['seed:tool_call']], 'seed'],
  [[['zyphra_tool_call']], 'zaya'],
  [[['<TOOLCALL>']], 'nemotron'],
  [[['<longcat_tool_call>'], ['longcat_arg_key']], 'longcat'],
  [[['<arg_key>']], 'glm'],
  [[['<tool_calls>', '<tool_sep>'], ['<tool_sep>']], 'hunyuan'],
  [[['<tool_calls>\n{'], ['<tool_calls>\\n{'], ["<tool_calls>\\n' }}"]], 'minimaxLines'],
  [[['<tool_calls>']], 'toolCalls'],
  [[['<|tool_call:begin|>']], 'solar'],
  [[['<|tool_call>']], 'gemma4'],
  [[['<start_function_call>']], 'functiongemma'],
  [[['[TOOL_CALLS]', '[ARGS]']], 'mistralArgs'],
  [[['[TOOL_CALLS]']], 'mistral'],
  [
    [
      ['<|tool_call_start|>', '```python'],
      ['```python', '<|tool_call_start|>'],
    ],
    'minicpm',
  ],
  [[['<|tool_call_start|>'], ['<|tool_list_start|>'], ['List of tools: [']], 'lfm2'],
  [[['<|action_start|>']], 'internlm'],
  [[['<function_calls>']], 'olmo'],
  [[['function call<|role_sep|>'], ['function call', '<|role_sep|>']], 'gigachat'],
  [[['functools[']], 'functools'],
  [[['<|tool_call|>'], ['<|tool|>']], 'granite'],
  [[['<function_call>']], 'graniteCode'],
  [
    [
      ['<tool_call>', '<function='],
      ['<function=', '<parameter='],
    ],
    'functions',
  ],
  [[['<tool_call>']], 'hermes'],
  [[['ipython'], ['<|python_tag|>'], ['<|python_start|>']], 'llama'],
  [[['<function=']], 'functionJson'],
];

const THOUGHTS: readonly (readonly [readonly string[], Thoughts])[] = [
  [['<|channel>'], { opens: ['<|channel>thought'], close: '<channel|>', special: ['<|channel>'] }],
  [['[THINK]'], { opens: ['[THINK]'], close: '[/THINK]' }],
  [['<|inner_prefix|>'], { opens: ['<|inner_prefix|>'], close: '<|inner_suffix|>' }],
  [
    ['<|START_THINKING|>'],
    {
      opens: ['<|START_THINKING|>'],
      close: '<|END_THINKING|>',
      dropped: ['<|START_RESPONSE|>', '<|END_RESPONSE|>', '<|START_TEXT|>', '<|END_TEXT|>'],
    },
  ],
  [
    ['<|open|>'],
    {
      opens: ['<|open|>think<|sep|>'],
      close: '<|close|>think<|sep|>',
      special: ['<|open|>', '<|close|>', '<|sep|>'],
      dropped: ['<|open|>response<|sep|>', '<|close|>response<|sep|>', '<|close|>message<|sep|>'],
    },
  ],
  [['<seed:think>'], { opens: ['<seed:think>'], close: '</seed:think>' }],
  [['<longcat_think>'], { opens: ['<longcat_think>'], close: '</longcat_think>' }],
  [['<|thought_start|>'], { opens: ['<|thought_start|>'], close: '<|thought_end|>' }],
  [['<|think|>'], { opens: ['<|think|>'], close: '<|end|>', dropped: ['<|content|>', '<|begin|>assistant'] }],
  [
    ['[BEGIN FINAL RESPONSE]'],
    {
      opens: ['Here are my reasoning steps:', '<thinking>'],
      close: '[BEGIN FINAL RESPONSE]',
      dropped: ['[END FINAL RESPONSE]'],
    },
  ],
  [['minimax:tool_call'], { opens: ['<think>'], close: '</think>' }],
  [['<response>'], { opens: ['<think>'], close: '</think>', dropped: ['<response>', '</response>'] }],
  [['<answer>'], { opens: ['<think>'], close: '</think>', dropped: ['<answer>', '</answer>'] }],
  [
    ['Here is my thought process:'],
    { opens: ['Here is my thought process:', "Here's my thought process:"], close: 'Here is my response:' },
  ],
  [['<think>', '</think>'], { opens: ['<think>'], close: '</think>' }],
  [['<thinking>', '</thinking>'], { opens: ['<thinking>'], close: '</thinking>' }],
];

/** Whether a text has all signs in this order. */
function hasInOrder(text: string, signs: Signs): boolean {
  let at = 0;
  for (const sign of signs) {
    const found = text.indexOf(sign, at);
    if (found < 0) return false;
    at = found + sign.length;
  }
  return true;
}

/** Whether a template lists the tools. @internal */
export const takesTools = (template: string): boolean => /\btools\b/.test(template);

/** How calls are written; `undefined` where the template has no sign of it. @internal */
export function formatOf(template: string): FormatName | undefined {
  return FORMATS.find(([any]) => any.some((signs) => hasInOrder(template, signs)))?.[1];
}

/** Where thoughts stand. @internal */
export function thoughtsOf(template: string): Thoughts | undefined {
  return THOUGHTS.find(([any]) => any.some((sign) => template.includes(sign)))?.[1];
}

/** How calls of tools are read, as `info.tools` says it. @internal */
export function toolsOf(template = ''): string | false {
  if (!takesTools(template) && !template.includes('tool_calls')) return 'prompt';
  return formatOf(template) ?? false;
}
