/**
 * One record of a file with examples as an example: the shapes that data sets have.
 */
import { invalidArgument } from '../../errors.js';
import { conversationOf } from '../../model/conversation.js';
import { show } from '../../check.js';
import type { Tool } from '../../types/chat.js';
import type { Example, ExampleMessage, PreferenceExample } from './examples.js';

type RecordOf = Readonly<Record<string, unknown>>;

/** What questions and answers are called: pairs that become a conversation of two messages. */
const PAIRS = [
  ['instruction', 'output'],
  ['instruction', 'response'],
  ['question', 'answer'],
  ['input', 'output'],
  ['user', 'assistant'],
] as const;
/** What stands behind an instruction, where a record has it. */
const FURTHER = ['input', 'context'];
/** Who speaks, in ShareGPT's words and others'. */
const ROLES: Readonly<Record<string, string>> = {
  human: 'user',
  prompter: 'user',
  gpt: 'assistant',
  model: 'assistant',
  bot: 'assistant',
  chatgpt: 'assistant',
  function_response: 'tool',
  observation: 'tool',
};

/**
 * The example that a record is.
 *
 * @throws {WebggufError} `invalid_argument`, which names the fields that were found
 * @internal
 */
export function exampleOf(record: unknown): Example {
  if (typeof record !== 'object' || record === null || Array.isArray(record)) {
    throw invalidArgument(`expected an object, found ${show(record)}`);
  }
  const fields = record as RecordOf;
  if ('chosen' in fields && 'rejected' in fields) return preferenceOf(fields);
  if ('messages' in fields) return chatOf(fields.messages, fields.tools);
  if ('conversations' in fields) return chatOf(turnsOf('conversations', fields.conversations), fields.tools);
  if ('conversation' in fields) return chatOf(turnsOf('conversation', fields.conversation), fields.tools);
  if ('prompt' in fields && 'completion' in fields) return completionOf(fields);
  const pair = PAIRS.find(([question, answer]) => question in fields && answer in fields);
  if (pair) return pairOf(fields, pair);
  if ('text' in fields) return { text: textOf(fields, 'text') };
  throw invalidArgument(
    `found the fields ${Object.keys(fields).slice(0, 8).map(show).join(', ') || 'of none'}; expected 'messages', ` +
      "'prompt' and 'completion', 'prompt', 'chosen' and 'rejected', 'instruction' and 'output', 'conversations' " +
      "or 'text'",
  );
}

function textOf(fields: RecordOf, name: string): string {
  const value = fields[name];
  if (typeof value === 'string' && value !== '') return value;
  throw invalidArgument(`'${name}' must be a text, found ${value === '' ? 'an empty one' : show(value)}`);
}

/**
 * A text and what follows; or messages and those that follow, which alone are learned.
 *
 * @param name of the field with what follows
 * @internal
 */
export function completionOf(fields: RecordOf, name = 'completion'): Example {
  const { prompt, [name]: completion } = fields;
  if (!Array.isArray(prompt) && !Array.isArray(completion)) {
    const given = prompt === '' ? '' : textOf(fields, 'prompt');
    return { prompt: given, completion: textOf(fields, name) };
  }
  const asked = messagesOf(prompt, 'user').map((message) => ({ ...message, weight: 0 }));
  return chatOf([...asked, ...messagesOf(completion, 'assistant')], fields.tools);
}

/** A better and a worse answer; of two whole conversations the prompt is their common beginning. */
function preferenceOf(fields: RecordOf): Example {
  const { chosen, rejected } = fields;
  const isWhole = Array.isArray(chosen) && Array.isArray(rejected) && chosen[0]?.role !== 'assistant';
  const pair = isWhole ? withoutPrompt(chosen, rejected) : { prompt: fields.prompt, chosen, rejected };
  // Only to be checked.
  for (const side of ['chosen', 'rejected']) completionOf({ ...pair }, side);
  return pair as PreferenceExample;
}

function withoutPrompt(chosen: readonly unknown[], rejected: readonly unknown[]): object {
  const differs = chosen.findIndex((message, at) => JSON.stringify(message) !== JSON.stringify(rejected[at]));
  const same = differs < 0 ? chosen.length : differs;
  return { prompt: chosen.slice(0, same), chosen: chosen.slice(same), rejected: rejected.slice(same) };
}

function messagesOf(value: unknown, role: string): ExampleMessage[] {
  return Array.isArray(value) ? value : [{ role, content: value as string }];
}

function pairOf(fields: RecordOf, [question, answer]: readonly [string, string]): Example {
  const { system } = fields;
  const further = FURTHER.filter(
    (name) => name !== question && typeof fields[name] === 'string' && fields[name] !== '',
  );
  const content = [question, ...further].map((name) => textOf(fields, name)).join('\n\n');
  return {
    messages: [
      ...(typeof system === 'string' && system !== '' ? [{ role: 'system', content: system }] : []),
      { role: 'user', content },
      { role: 'assistant', content: textOf(fields, answer) },
    ],
  };
}

/** ShareGPT's `{ from, value }`, or messages. */
function turnsOf(name: string, turns: unknown): unknown[] {
  if (!Array.isArray(turns)) throw invalidArgument(`'${name}' must be an array, found ${show(turns)}`);
  return turns.map((turn: unknown, index) => {
    const { from, value, role = from, content = value } = (turn ?? {}) as Record<string, unknown>;
    if (typeof role !== 'string' || typeof content !== 'string') {
      throw invalidArgument(`${name}[${index}] must be { from, value } with texts, found ${show(turn)}`);
    }
    return { role: ROLES[role] ?? role, content };
  });
}

function chatOf(messages: unknown, tools: unknown): Example {
  const chat = {
    messages: messages as ExampleMessage[],
    ...(Array.isArray(tools) && tools.length > 0 && { tools: tools as Tool[] }),
  };
  // Only to be checked.
  conversationOf('chat', chat.messages, { tools: chat.tools });
  const answers = chat.messages.filter(({ role, weight }) => role === 'assistant' && weight !== 0);
  if (answers.length > 0) return chat;
  const roles = [...new Set(chat.messages.map(({ role }) => role))].join(', ');
  throw invalidArgument(`no message of the role assistant to learn from, found ${roles}`);
}
