/**
 * DeepSeek: `<｜tool▁calls▁begin｜>`, calls, `<｜tool▁calls▁end｜>`. Of V3 and R1 a call is
 * `<｜tool▁call▁begin｜>function<｜tool▁sep｜>name`, then the arguments in a fence of `json`; of V3.1
 * `<｜tool▁call▁begin｜>name<｜tool▁sep｜>{…}`. Both end with `<｜tool▁call▁end｜>`.
 */
import type { Call, Cursor } from './cursor.js';
import type { Format } from './format.js';
import { takeArguments } from './json.js';

const sign = (words: string): string => `<｜${words.replaceAll(' ', '▁')}｜>`;
const CALLS = sign('tool calls begin');
const CALLS_END = sign('tool calls end');
const CALL = sign('tool call begin');
const CALL_END = sign('tool call end');
const SEPARATOR = sign('tool sep');
const FENCE = '```';

/** @internal */
export const deepseek: Format = {
  opens: [CALLS, CALL],
  marks: [CALL],
  body: (name, json, sign) => `"function" ${sign(SEPARATOR)} ${name} "\\n${FENCE}json\\n" ${json} "\\n${FENCE}"`,
  special: [CALLS, CALLS_END, CALL, CALL_END, SEPARATOR],
  isJson: true,
  read(cursor) {
    cursor.take(CALLS);
    for (;;) {
      cursor.space();
      takeOne(cursor);
      cursor.mark();
      cursor.space();
      if (cursor.takeOptional(CALLS_END)) return;
      if (!cursor.text.startsWith(CALL, cursor.at) && !CALL.startsWith(cursor.text.slice(cursor.at))) return;
    }
  },
  force: (name) => `${CALLS}${CALL}function${SEPARATOR}${name === undefined ? '' : `${name}\n${FENCE}json\n`}`,
  write: (calls) => `${CALLS}${calls.map(callText).join('\n')}${CALLS_END}`,
};

/** A call as V3 and R1 write it. */
function callText({ name, arguments: text }: Pick<Call, 'name' | 'arguments'>): string {
  return `${CALL}function${SEPARATOR}${name}\n${FENCE}json\n${text}\n${FENCE}${CALL_END}`;
}

/** @internal */
export const deepseek31: Format = {
  ...deepseek,
  body: (name, json, sign) => `${name} ${sign(SEPARATOR)} ${json}`,
  force: (name) => `${CALLS}${CALL}${name === undefined ? '' : `${name}${SEPARATOR}`}`,
};

function takeOne(cursor: Cursor): void {
  cursor.expect(CALL);
  const kind = cursor.until(SEPARATOR);
  const call = cursor.call(kind === 'function' ? cursor.until('\n').trim() : kind.trim());
  cursor.space();
  const fenced = cursor.take(FENCE);
  if (fenced) cursor.until('\n');
  cursor.space();
  takeArguments(cursor, call);
  cursor.space();
  if (fenced) cursor.takeOptional(FENCE);
  cursor.space();
  cursor.takeOptional(CALL_END);
}
