// Reading an answer piece by piece takes work in proportion to its length: the characters that are looked at are
// counted, since a clock on a busy machine says little.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dist } from './api.mjs';

const { familyOf, readerOf } = await import(`${dist}openai/families.js`);

const TOOLS = new Map([['f', { type: 'object', properties: { x: { type: 'string' } } }]]);
const SMALL = 500;
const TIMES = 8;

/** Characters that methods of texts look at, or copy, while `work` runs. */
function counted(work) {
  const texts = String.prototype;
  const patterns = RegExp.prototype;
  const { indexOf, slice, trimEnd, trimStart, trim, replace, replaceAll, split, startsWith } = texts;
  const { exec, test: matches } = patterns;
  let count = 0;
  const add = (length) => {
    count += Math.max(0, length);
  };
  const whole = (method) =>
    function counting(...args) {
      add(this.length);
      return method.apply(this, args);
    };
  Object.assign(texts, {
    indexOf(word, from = 0) {
      const found = indexOf.call(this, word, from);
      add((found < 0 ? this.length : found) - from + 1);
      return found;
    },
    slice(...args) {
      const part = slice.apply(this, args);
      add(part.length);
      return part;
    },
    startsWith(word, at) {
      add(word.length);
      return startsWith.call(this, word, at);
    },
    trimEnd: whole(trimEnd),
    trimStart: whole(trimStart),
    trim: whole(trim),
    replace: whole(replace),
    replaceAll: whole(replaceAll),
    split: whole(split),
  });
  Object.assign(patterns, {
    exec(text) {
      const from = this.lastIndex;
      const found = exec.call(this, text);
      add((found ? found.index + found[0].length : text.length) - (this.global || this.sticky ? from : 0));
      return found;
    },
    test(text) {
      add(text.length);
      return matches.call(this, text);
    },
  });
  try {
    work();
  } finally {
    Object.assign(texts, { indexOf, slice, trimEnd, trimStart, trim, replace, replaceAll, split, startsWith });
    Object.assign(patterns, { exec, test: matches });
  }
  return count;
}

/** The work for `length` characters, in pieces of five between a beginning and an end. */
function workOf(template, [head, piece, tail], length) {
  const reader = readerOf(familyOf(`{{ tools }} ${template}`), '', TOOLS);
  return counted(() => {
    for (const part of [head, ...Array.from({ length: length / 5 }, () => piece), tail]) reader.push(part);
    reader.end();
  });
}

const TEXTS = {
  text: ['', 'abcd ', ''],
  'white space': ['a', '     ', 'b'],
  'lines of signs': ['a', '<a</>', 'b'],
  'a thought': ['<think>', 'abcd ', '</think>'],
};
/** A call from its sign to its long value, and the rest of it. */
const CALLS = {
  '<tool_call>': ['<tool_call>{"name": "f", "arguments": {"x": "', '"}}</tool_call>'],
  '<tool_call><function=': ['<tool_call>\n<function=f>\n<parameter=x>\n', '\n</parameter>\n</function>\n</tool_call>'],
  '<arg_key>': ['<tool_call>f\n<arg_key>x</arg_key>\n<arg_value>', '</arg_value>\n</tool_call>'],
  '<minimax:tool_call>': ['<minimax:tool_call>\n<invoke name="f">\n<parameter name="x">', '</parameter>\n</invoke>'],
  '<|tool_calls_section_begin|>': ['<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"x": "', '"}'],
  '[TOOL_CALLS]': ['[TOOL_CALLS][{"name": "f", "arguments": {"x": "', '"}}]'],
  '[TOOL_CALLS][ARGS]': ['[TOOL_CALLS]f[ARGS]{"x": "', '"}'],
  '<|tool_call>': ['<|tool_call>call:f{x:<|"|>', '<|"|>}<tool_call|>'],
  '<|tool_call_start|>': ['<|tool_call_start|>[f(x="', '")]<|tool_call_end|>'],
  '<|START_ACTION|>': ['<|START_ACTION|>[{"tool_name": "f", "parameters": {"x": "', '"}}]<|END_ACTION|>'],
  ipython: ['{"name": "f", "parameters": {"x": "', '"}}'],
  '<|channel|>': ['<|channel|>commentary to=functions.f<|message|>{"x": "', '"}<|call|>'],
};

for (const [template, [head, tail]] of Object.entries(CALLS)) {
  test(`${template}: eight times the text is eight times the work`, () => {
    const texts = {
      ...TEXTS,
      arguments: [head, 'abcd ', tail],
      'signs in arguments': [head, '</par', tail],
      'arguments without end': [head, 'abcd ', ''],
      calls: ['', `${head}a${tail}\n`, ''],
      'beginnings of calls': ['', head, ''],
    };
    for (const [what, parts] of Object.entries(texts)) {
      const small = workOf(template, parts, SMALL);
      const large = workOf(template, parts, SMALL * TIMES);
      assert.ok(large < small * TIMES * 1.5, `${what}: ${small} characters for one, ${large} for ${TIMES}`);
    }
  });
}
