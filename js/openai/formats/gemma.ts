/**
 * Gemma 4: `<|tool_call>call:name{key:<|"|>text<|"|>,other:5}<tool_call|>`; FunctionGemma: the same in other signs.
 */
import type { Format } from './format.js';
import { takePairs } from './literal.js';

const NAME = /[\w.:-]*/y;

function gemmaFormat(open: string, close: string, quote: string): Format {
  return {
    opens: [open],
    special: [open, close, quote],
    read(cursor) {
      cursor.expect(open);
      cursor.expect('call:');
      const call = cursor.call(cursor.match(NAME));
      cursor.expect('{');
      takePairs(cursor, call, { quotes: [quote, '"'], assign: ':' }, '}');
      cursor.takeOptional(close);
    },
    force: (name) => `${open}call:${name === undefined ? '' : `${name}{`}`,
  };
}

/** @internal */
export const gemma4: Format = gemmaFormat('<|tool_call>', '<tool_call|>', '<|"|>');

/** @internal */
export const functionGemma: Format = gemmaFormat('<start_function_call>', '<end_function_call>', '<escape>');
