/**
 * Granite 3 and Phi 4 mini: `<|tool_call|>[{"name": …, "arguments": {…}}, …]`; Granite 3.3 at times `<tool_call>[…]`.
 */
import { type Format, objectText } from './format.js';
import { takeCalls } from './json.js';

const OPENS = ['<|tool_call|>', '<tool_call>'];

/** @internal */
export const granite: Format = {
  opens: OPENS,
  marks: OPENS,
  special: [...OPENS, '<|/tool_call|>', '</tool_call>'],
  isJson: true,
  object: { before: OPENS[0] ?? '', key: 'arguments', isList: true },
  read(cursor) {
    if (!cursor.take('<|tool_call|>')) cursor.expect('<tool_call>');
    cursor.space();
    takeCalls(cursor);
    cursor.mark();
    cursor.space();
    if (!cursor.takeOptional('<|/tool_call|>')) cursor.takeOptional('</tool_call>');
  },
  force: (name) => `<|tool_call|>[{"name": "${name === undefined ? '' : `${name}", "arguments": `}`,
  write: (calls) => `<|tool_call|>[${calls.map(objectText).join(', ')}]`,
};
