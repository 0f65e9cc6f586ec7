/**
 * Mistral: `[TOOL_CALLS][{"name": …, "arguments": {…}}]`; since 2025 `[TOOL_CALLS]name[ARGS]{…}` for each call.
 */
import type { Cursor } from './cursor.js';
import type { Format } from './format.js';
import { takeArguments, takeCalls } from './json.js';

const OPEN = '[TOOL_CALLS]';
const NAME = /[\w.:-]*/y;

function takeNamed(cursor: Cursor): void {
  const call = cursor.call(cursor.match(NAME));
  if (cursor.take('[CALL_ID]')) cursor.match(NAME);
  cursor.take('[ARGS]');
  cursor.space();
  takeArguments(cursor, call);
}

/** @internal */
export const mistral: Format = {
  opens: [OPEN],
  marks: [OPEN],
  special: [OPEN, '[ARGS]', '[CALL_ID]'],
  isJson: true,
  object: { before: OPEN, key: 'arguments', isList: true },
  read(cursor) {
    cursor.expect(OPEN);
    cursor.space();
    if ('[{'.includes(cursor.peek())) takeCalls(cursor);
    else takeNamed(cursor);
  },
  force: (name) => `${OPEN}[{"name": "${name === undefined ? '' : `${name}", "arguments": `}`,
};

/** @internal */
export const mistralArgs: Format = {
  opens: mistral.opens,
  marks: [OPEN],
  body: (name, json, sign) => `${name} ${sign('[ARGS]')} ${json}`,
  special: mistral.special ?? [],
  isJson: true,
  read: mistral.read,
  force: (name) => `${OPEN}${name === undefined ? '' : `${name}[ARGS]`}`,
};
