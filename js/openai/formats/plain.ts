/**
 * Models without tools of their own, Gemma 3 among them, which are told to write as Hermes does; what they like to
 * write instead is read, too: JSON or Python in a fence, or a bare JSON object at the start, where it names a tool.
 */
import type { Cursor } from './cursor.js';
import type { Format } from './format.js';
import { hermes } from './hermes.js';
import { takeCalls } from './json.js';
import { takeJsonOrPython } from './literal.js';

const FENCE = '```';
const LANGUAGE = /\w*/y;

/** @internal */
export const plain: Format = {
  ...hermes,
  opens: [...hermes.opens, `${FENCE}tool_code\n`, `${FENCE}tool_call\n`, `${FENCE}json\n`],
  atStart: ['{'],
  read(cursor) {
    const first = cursor.peek();
    if (first === '<') hermes.read(cursor);
    else if (first === '{') takeCalls(cursor, true);
    else takeFenced(cursor);
  },
};

function takeFenced(cursor: Cursor): void {
  cursor.expect(FENCE);
  cursor.match(LANGUAGE);
  cursor.space();
  takeJsonOrPython(cursor, true);
  cursor.mark();
  cursor.space();
  cursor.takeOptional(FENCE);
}

/** What a model is told about its tools where its template does not say it. @internal */
export function toolsPrompt(tools: readonly unknown[], { write }: Format): string {
  const lines = tools.map((tool) => JSON.stringify(tool)).join('\n');
  const example = { name: 'name-of-the-function', arguments: '{"name-of-an-argument": "value"}' };
  return `# Tools

You may call these functions:
<tools>
${lines}
</tools>

To call a function, write its name and its arguments as JSON in this form, and then stop:
${write?.([example]) ?? ''}
Its result comes back in the next message. Call a function only where it helps to answer.`;
}
