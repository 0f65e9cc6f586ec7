// Files with examples: what `readExamples` makes of JSON Lines, JSON, CSV and text, and what it says of wrong ones.

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const dist = path.resolve(ROOT, process.env.WEBGGUF_DIST ?? 'dist');
const { readExamples } = await import(pathToFileURL(path.join(dist, 'training/index.js')).href);

const user = (content) => ({ role: 'user', content });
const assistant = (content, further = {}) => ({ role: 'assistant', content, ...further });
const lines = (...records) => records.map((record) => JSON.stringify(record)).join('\n');
const refused = (file, name, message) =>
  assert.rejects(readExamples(file, name), { name: 'WebggufError', code: 'invalid_argument', message });

test('JSON Lines: OpenAI, completions, texts, Alpaca, ShareGPT', async () => {
  const tools = [{ type: 'function', function: { name: 'f', parameters: {} } }];
  const call = { id: '1', type: 'function', function: { name: 'f', arguments: '{}' } };
  const messages = [user('a'), assistant('b', { weight: 0 }), user('c'), assistant(null, { tool_calls: [call] })];
  const read = await readExamples(
    lines(
      { messages, tools, parallel_tool_calls: false },
      { prompt: 'p', completion: ' c' },
      { prompt: '', completion: 'c' },
      { prompt: [user('p'), assistant('q'), user('r')], completion: [assistant('s')] },
      { text: 't', meta: 1 },
      { instruction: 'Sum up.', input: 'A text.', output: 'A.' },
      { instruction: 'Sum up.', input: '', output: 'A.', system: 'Be brief.' },
      { question: 'Why?', answer: 'So.', id: 7 },
      {
        conversations: [
          { from: 'system', value: 'S' },
          { from: 'human', value: 'H' },
          { from: 'gpt', value: 'G' },
        ],
      },
      { conversations: [user('H'), assistant('G')] },
    ),
    'set.jsonl',
  );
  assert.deepEqual(read, [
    { messages, tools },
    { prompt: 'p', completion: ' c' },
    { prompt: '', completion: 'c' },
    {
      messages: [
        { ...user('p'), weight: 0 },
        { ...assistant('q'), weight: 0 },
        { ...user('r'), weight: 0 },
        assistant('s'),
      ],
    },
    { text: 't' },
    { messages: [user('Sum up.\n\nA text.'), assistant('A.')] },
    { messages: [{ role: 'system', content: 'Be brief.' }, user('Sum up.'), assistant('A.')] },
    { messages: [user('Why?'), assistant('So.')] },
    { messages: [{ role: 'system', content: 'S' }, user('H'), assistant('G')] },
    { messages: [user('H'), assistant('G')] },
  ]);
});

test('pairs: texts, messages, whole conversations', async () => {
  const system = { role: 'system', content: 'S' };
  const read = await readExamples(
    lines(
      { prompt: 'p', chosen: ' c', rejected: ' r', score: 3 },
      { prompt: 'p', chosen: [assistant('c')], rejected: [assistant('r')] },
      { prompt: 'p', chosen: [user('p'), assistant('c')], rejected: [user('p'), assistant('r')] },
      { chosen: [system, user('p'), assistant('c')], rejected: [system, user('p'), assistant('r')] },
    ),
    'pairs.jsonl',
  );
  assert.deepEqual(read, [
    { prompt: 'p', chosen: ' c', rejected: ' r' },
    { prompt: 'p', chosen: [assistant('c')], rejected: [assistant('r')] },
    { prompt: [user('p')], chosen: [assistant('c')], rejected: [assistant('r')] },
    { prompt: [system, user('p')], chosen: [assistant('c')], rejected: [assistant('r')] },
  ]);
  assert.deepEqual(await readExamples('prompt,chosen,rejected\np,c,r\n', 'pairs.csv'), [
    { prompt: 'p', chosen: 'c', rejected: 'r' },
  ]);
  await refused(lines({ prompt: 'p', chosen: 'c', rejected: '' }), 'pairs.jsonl', /line 1: 'rejected' must be a text/);
  const same = [user('p'), assistant('c')];
  await refused(lines({ chosen: same, rejected: same }), 'pairs.jsonl', /line 1: /);
});

test('JSON: an array, an object on several lines; empty lines, BOM and CRLF do no harm', async () => {
  const wanted = [{ text: 'a' }, { text: 'b' }];
  assert.deepEqual(await readExamples(JSON.stringify(wanted, null, 2), 'set.json'), wanted);
  assert.deepEqual(await readExamples(JSON.stringify(['a', { text: 'b' }]), 'set.json'), ['a', { text: 'b' }]);
  assert.deepEqual(await readExamples(JSON.stringify({ text: 'a' }, null, 2), 'set.json'), [{ text: 'a' }]);
  assert.deepEqual(await readExamples('\ufeff{"text":"a"}\r\n\r\n{"text":"b"}\r\n', 'set.jsonl'), wanted);
  assert.deepEqual(await readExamples(lines(...wanted)), wanted, 'without a name');
  const file = new File([lines(...wanted)], 'set.jsonl');
  assert.deepEqual(await readExamples(file), wanted);
  assert.deepEqual(await readExamples(new Blob([lines(...wanted)])), wanted);
});

test('CSV: quotes, commas, semicolons, tabs, line breaks in fields', async () => {
  const wanted = [
    { prompt: 'Say "hi", please', completion: 'hi\nthere' },
    { prompt: 'b', completion: 'c; d, e' },
  ];
  const csv = 'prompt,completion\r\n"Say ""hi"", please","hi\nthere"\r\nb,"c; d, e"\r\n';
  assert.deepEqual(await readExamples(csv, 'set.csv'), wanted);
  assert.deepEqual(await readExamples(csv), wanted, 'without a name');
  assert.deepEqual(await readExamples('Prompt;Completion\n"a, b";c\n', 'x.csv'), [{ prompt: 'a, b', completion: 'c' }]);
  assert.deepEqual(await readExamples('text\tid\n"a\tb"\t1', 'x.tsv'), [{ text: 'a\tb' }]);
  assert.deepEqual(await readExamples('"text"\n"one, two"\n\nthree\n', 'x.csv'), [
    { text: 'one, two' },
    { text: 'three' },
  ]);
  assert.deepEqual(await readExamples('instruction,input,output\nDo,,done\nAdd,1+1,2', 'x.csv'), [
    { messages: [user('Do'), assistant('done')] },
    { messages: [user('Add\n\n1+1'), assistant('2')] },
  ]);
});

test('text: an example for each paragraph', async () => {
  assert.deepEqual(await readExamples('One\ntwo.\n\n \n  Three.\r\n\r\nFour.\n'), ['One\ntwo.', 'Three.', 'Four.']);
  assert.deepEqual(await readExamples('{curly} words\n\nmore'), ['{curly} words', 'more']);
  assert.deepEqual(await readExamples('text\n\nmore', 'notes.txt'), ['text', 'more']);
  assert.deepEqual(await readExamples('The prompt, and the completion.'), ['The prompt, and the completion.']);
});

test('errors name the file, the line and what was found', async () => {
  await refused('{"text":"a"}\n\n{"text":', 'set.jsonl', /^readExamples: set\.jsonl: line 3 is no JSON .*'\{"text":'/);
  await refused('{"text":"a"}\n7', 'set.jsonl', /line 2: expected an object, found 7/);
  await refused('{"a":1,"b":2}', 'set.jsonl', /line 1: found the fields 'a', 'b'; expected 'messages'/);
  await refused('{"text":""}', 'set.jsonl', /line 1: 'text' must be a text, found an empty one/);
  await refused('{"text":5}', 'set.jsonl', /line 1: 'text' must be a text, found 5/);
  await refused(
    lines({ messages: [user('a')] }),
    'set.jsonl',
    /line 1: no message of the role assistant .* found user/,
  );
  await refused(lines({ messages: [assistant('a', { weight: 0 })] }), 'x.jsonl', /no message of the role assistant/);
  await refused(lines({ messages: [user('a'), { role: 1 }] }), 'x.jsonl', /line 1: .*message 1 must be/);
  await refused(
    lines({ conversations: [{ from: 'human' }] }),
    'x.jsonl',
    /conversations\[0\] must be \{ from, value \}/,
  );
  await refused('[{"text":"a"},{"txt":"b"}]', 'x.json', /element 2: found the fields 'txt'/);
  await refused('[{"text":"a"', 'x.json', /the file is no JSON/);
  await refused('prompt,completion\na,b\n"c"\n', 'x.csv', /line 3: found 1 fields, expected 2 as in the first row/);
  await refused('prompt,completion\n"a\nb",c\n"d,e\n', 'x.csv', /line 4: a quoted field is not closed/);
  await refused('prompt,completion\n"a" b,c\n', 'x.csv', /line 2: found " " behind a quoted field, expected ","/);
  await refused('a,b\n1,2\n', 'x.csv', /line 2: found the fields 'a', 'b'; expected/);
  await refused('prompt,completion\na,\n', 'x.csv', /line 2: 'completion' must be a text, found an empty one/);
  await refused('', 'x.jsonl', /there are no examples in it/);
  await refused('prompt,completion\n', 'x.csv', /there are no examples/);
  await refused(' \n', undefined, /^readExamples: there are no examples/);
  await refused('PAR1\0\0', 'x.parquet', /Parquet/);
  await refused('a\0b', 'x.txt', /no text in UTF-8: it has a zero at character 2/);
});
