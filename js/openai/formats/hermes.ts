/**
 * Hermes, Qwen 2.5 and 3, Granite 4, SmolLM 3: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`; Qwen 3.5 and
 * Qwen 3 Coder: `<tool_call><function=name><parameter=key>value</parameter></function></tool_call>`.
 */
import type { Call, Cursor, Tools } from './cursor.js';
import { type Format, objectStart, objectText } from './format.js';
import { takeCalls } from './json.js';

const OPEN = '<tool_call>';
const CLOSE = '</tool_call>';

/** @internal */
export const hermes: Format = {
  opens: [OPEN],
  marks: [OPEN],
  special: [OPEN, CLOSE],
  isJson: true,
  object: { before: `${OPEN}\n`, key: 'arguments' },
  read(cursor) {
    cursor.expect(OPEN);
    cursor.space();
    if (cursor.peek() === '<') takeFunction(cursor);
    else takeCalls(cursor);
    cursor.space();
    cursor.takeOptional(CLOSE);
  },
  force: (name) => `${OPEN}\n${objectStart('arguments', name)}`,
  write: (calls) => calls.map((call) => `${OPEN}\n${objectText(call)}\n${CLOSE}`).join('\n'),
};

/** @internal */
export const functions: Format = {
  opens: [OPEN, '<function='],
  special: [OPEN, CLOSE],
  read(cursor) {
    if (cursor.take('<function=')) takeFunctionBody(cursor);
    else hermes.read(cursor);
  },
  force: (name) => `${OPEN}\n<function=${name === undefined ? '' : `${name}>\n`}`,
};

function takeFunction(cursor: Cursor): void {
  cursor.expect('<function=');
  takeFunctionBody(cursor);
}

function takeFunctionBody(cursor: Cursor): void {
  const call = cursor.call(cursor.until('>').trim());
  let text = '{';
  for (;;) {
    cursor.space();
    if (cursor.take('</function>')) break;
    cursor.expect('<parameter=');
    const key = cursor.until('>').trim();
    const value = cursor.until('</parameter>').replace(/^\n/, '').replace(/\n$/, '');
    text += `${text === '{' ? '' : ', '}${JSON.stringify(key)}: ${valueText(value, typeOf(cursor.tools, call, key))}`;
    call.arguments = text;
    cursor.mark();
  }
  call.arguments = `${text}}`;
  call.complete = true;
  cursor.mark();
}

/** What the schema of the tool says about a parameter. */
function typeOf(tools: Tools, { name }: Call, key: string): unknown {
  const schema = tools.get(name) as { properties?: Record<string, { type?: unknown }> } | undefined;
  return Object.hasOwn(schema?.properties ?? {}, key) ? schema?.properties?.[key]?.type : undefined;
}

/** Values are written bare: what is no JSON, or text by the schema, is text. */
function valueText(value: string, type: unknown): string {
  if (type === 'string') return JSON.stringify(value);
  try {
    return JSON.stringify(JSON.parse(value));
  } catch {
    const word = value.trim().toLowerCase();
    return type === 'boolean' && ['true', 'false'].includes(word) ? word : JSON.stringify(value);
  }
}
