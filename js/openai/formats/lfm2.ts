/**
 * LFM 2 and 2.5: `<|tool_call_start|>[name(key="text", other=5)]<|tool_call_end|>`, as Python or as JSON.
 */
import type { Call } from './cursor.js';
import type { Format } from './format.js';
import { takeJsonOrPython } from './literal.js';

const OPEN = '<|tool_call_start|>';
const CLOSE = '<|tool_call_end|>';

/** @internal */
export const lfm2: Format = {
  opens: [OPEN],
  special: [OPEN, CLOSE],
  read(cursor) {
    cursor.expect(OPEN);
    cursor.space();
    takeJsonOrPython(cursor);
    cursor.space();
    cursor.takeOptional(CLOSE);
  },
  force: (name) => `${OPEN}[${name === undefined ? '' : `${name}(`}`,
  write: (calls) => `${OPEN}[${calls.map(pythonCall).join(', ')}]${CLOSE}`,
};

function pythonCall({ name, arguments: text }: Pick<Call, 'name' | 'arguments'>): string {
  const values = Object.entries(JSON.parse(text || '{}') as Record<string, unknown>);
  return `${name}(${values.map(([key, value]) => `${key}=${python(value)}`).join(', ')})`;
}

/** A JSON value as Python writes it. */
function python(value: unknown): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(python).join(', ')}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  const entries = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${python(item)}`);
  return `{${entries.join(', ')}}`;
}
