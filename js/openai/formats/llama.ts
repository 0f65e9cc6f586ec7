/**
 * Llama 3.1 to 3.3: the answer is `{"name": …, "parameters": {…}}`, perhaps behind `<|python_tag|>`; several are
 * separated by semicolons.
 */
import { type Format, objectStart } from './format.js';
import { takeCall } from './json.js';

const TAG = '<|python_tag|>';

/** @internal */
export const llama: Format = {
  opens: [TAG],
  marks: [TAG],
  isBare: true,
  atStart: ['{'],
  special: [TAG],
  isJson: true,
  object: { before: '', key: 'parameters' },
  read(cursor) {
    const tagged = cursor.take(TAG);
    do {
      cursor.space();
      takeCall(cursor, !tagged);
      cursor.mark();
      cursor.space();
    } while (cursor.takeOptional(';'));
  },
  force: (name) => objectStart('parameters', name),
};
