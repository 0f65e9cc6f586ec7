// Messages that a template refuses are put to it in other forms that say the same.

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const dist = path.resolve(ROOT, process.env.WEBGGUF_DIST ?? 'dist');
const load = (file) => import(pathToFileURL(path.join(dist, file)).href);
const { otherForms } = await load('openai/other-forms.js');
const { writeConversation } = await load('templates/content.js');

const user = (content = 'q') => ({ role: 'user', content });
const system = (content) => ({ role: 'system', content });
const call = (id) => ({ id, type: 'function', function: { name: `f${id}`, arguments: '{}' } });
const calls = (...ids) => ({ role: 'assistant', content: 'I look.', tool_calls: ids.map(call) });
const result = (id) => ({ role: 'tool', tool_call_id: id, content: `r${id}` });

/** A message in few signs. */
const shown = ({ role, content, tool_calls: made, tool_call_id: id }) =>
  role === 'assistant'
    ? `${content}(${(made ?? []).map((each) => each.id)})`
    : role === 'tool'
      ? (id ?? content)
      : `${role}:${content}`;
const formsOf = (messages) => [...otherForms(messages)].map((form) => form.map(shown).join(' '));

test('several calls become messages of their own, each with its result', () => {
  for (const [messages, other] of [
    [[user(), calls('a', 'b'), result('a'), result('b')], 'user:q I look.(a) a (b) b'],
    [[user(), calls('a', 'b'), result('b'), result('a'), user('x')], 'user:q I look.(a) a (b) b user:x'],
    [[user(), calls('a', 'b', 'c'), result('c')], 'user:q I look.(a) (b) (c) c'],
    [[user(), calls('a', 'b')], 'user:q I look.(a) (b)'],
    [
      [user(), calls('a', 'b'), { role: 'tool', content: '1' }, { role: 'tool', content: '2' }],
      'user:q I look.(a) 1 (b) 2',
    ],
    [
      [calls('a', 'b'), result('a'), result('b'), calls('c', 'd'), result('c'), result('z')],
      'I look.(a) a (b) b I look.(c) c (d) z',
    ],
  ]) {
    assert.deepEqual(formsOf(messages), [messages.map(shown).join(' '), other]);
  }
  assert.equal(formsOf([user(), calls('a'), result('a')]).length, 1);
});

test('system messages become one', () => {
  assert.deepEqual(formsOf([system('A'), system('B'), user()]), ['system:A system:B user:q', 'system:A\n\nB user:q']);
  assert.deepEqual(formsOf([system('A'), user(), system('B'), user('x')]), [
    'system:A user:q system:B user:x',
    'system:A\n\nB user:q user:x',
  ]);
  assert.deepEqual(formsOf([user(), system('B')]), ['user:q system:B', 'system:B user:q']);
  const parts = {
    role: 'system',
    content: [
      { type: 'text', text: 'A' },
      { type: 'text', text: 'B' },
    ],
  };
  assert.deepEqual(formsOf([parts, system('C')]).at(-1), 'system:A\nB\n\nC');
  assert.equal(formsOf([system('A'), user()]).length, 1);
});

test('both at once', () => {
  const messages = [system('A'), system('B'), user(), calls('a', 'b'), result('a'), result('b')];
  assert.equal(formsOf(messages).at(-1), 'system:A\n\nB user:q I look.(a) a (b) b');
});

test('a role that other interfaces have is named', () => {
  const template = (source) => ({ source, bos: '', eos: '', unknown: '', padding: '' });
  const write = (source, role) => writeConversation(template(source), { messages: [user(), { role, content: 'hi' }] });
  const chatml = '{% for m in messages %}{{ m.role }}:{{ m.content }} {% endfor %}';
  for (const [role, meant] of [
    ['bot', 'assistant'],
    ['chatbot', 'assistant'],
    ['ai', 'assistant'],
    ['human', 'user'],
  ]) {
    assert.throws(() => write(chatml, role), {
      code: 'invalid_argument',
      message: `message 1: the chat template knows no role '${role}', did you mean '${meant}'?`,
    });
    assert.ok(write(`{% if m == '${role}' %}{% endif %}${chatml}`, role).includes('hi'), 'a template that has it');
  }
  assert.ok(write(chatml, 'critic').includes('critic:hi'));
});
