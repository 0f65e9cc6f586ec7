/**
 * Texts as Python has them: what is white space, and how values are written.
 */
import {
  type Budget,
  charactersOf,
  checkDepth,
  Float,
  isAscii,
  isList,
  isMap,
  kindOf,
  Safe,
  Series,
  TemplateError,
  Tuple,
  type Value,
} from './values.js';

/** What Python takes for white space, within the brackets of a pattern. @internal */
export const SPACE = '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const SPACES = new RegExp(`[${SPACE}]`);

/** Without white space at its ends, or without the characters of `chars`. @internal */
export function stripped(text: string, left: boolean, right: boolean, chars?: string): string {
  if (chars !== undefined && !(isAscii(text) && isAscii(chars))) {
    const [all, some] = [charactersOf(text), new Set(charactersOf(chars))];
    const [from, to] = ends(all, (char) => some.has(char), left, right);
    return all.slice(from, to).join('');
  }
  const some = chars === undefined ? undefined : new Set(chars);
  return text.slice(...ends(text, (char) => (some ? some.has(char) : SPACES.test(char)), left, right));
}

function ends(
  text: ArrayLike<string>,
  isTaken: (char: string) => boolean,
  left: boolean,
  right: boolean,
): [number, number] {
  let [from, to] = [0, text.length];
  while (left && from < to && isTaken(text[from] as string)) from += 1;
  while (right && to > from && isTaken(text[to - 1] as string)) to -= 1;
  return [from, to];
}

/** A number as Python's `repr` writes it. @internal */
export function numberText(value: number | bigint, isFloat: boolean): string {
  if (typeof value === 'bigint') return String(value);
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (!isFloat && Number.isInteger(value)) return String(BigInt(value));
  const size = Math.abs(value);
  const isPlain = size === 0 || (size >= 1e-4 && size < 1e16);
  if (isPlain) {
    const text = String(value);
    return (Object.is(value, -0) ? '-' : '') + text + (Number.isInteger(value) ? '.0' : '');
  }
  const [digits = '', exponent = ''] = value.toExponential().split('e');
  return `${digits}e${exponent[0]}${exponent.slice(1).padStart(2, '0')}`;
}

/** `str(value)` @internal */
export function textOf(budget: Budget, value: Value): string {
  if (typeof value === 'string') return value;
  if (value === undefined) return '';
  if (value instanceof Safe) return value.text;
  return repr(budget, value);
}

/** `repr(value)`: as values stand in lists that are written out. @internal */
export function repr(budget: Budget, value: Value, depth = 0): string {
  budget.step();
  checkDepth(depth);
  if (value === undefined) return 'Undefined';
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (value instanceof Float) return numberText(value.value, true);
  if (typeof value === 'number') return numberText(value, false);
  if (typeof value === 'bigint') {
    budget.text(5000);
    return numberText(value, false);
  }
  if (typeof value === 'string') {
    budget.text(2 * value.length);
    return quoted(value);
  }
  if (value instanceof Safe) return `Markup(${repr(budget, value.text)})`;
  const text = collected(budget, value, (item) => repr(budget, item, depth + 1));
  budget.text(text.length);
  return text;
}

function collected(budget: Budget, value: Value, inner: (item: Value) => string): string {
  if (value instanceof Series && value.kind !== 'generator') {
    return value.text ?? `${value.kind}([${value.items.map(inner).join(', ')}])`;
  }
  if (value instanceof Tuple) return `(${value.map(inner).join(', ')}${value.length === 1 ? ',' : ''})`;
  if (isList(value)) return `[${value.map(inner).join(', ')}]`;
  if (isMap(value)) return `{${[...value].map(([key, item]) => `${inner(key)}: ${inner(item)}`).join(', ')}}`;
  const hint = value instanceof Series ? '; put |list behind it' : '';
  budget.step();
  throw new TemplateError(`${kindOf(value)} cannot be written as text${hint}`);
}

const SHORT_ESCAPES: Record<string, string> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replace(/[\\'"]|[^\P{C} ]|[^\P{Z} ]/gu, (char) => {
    if (char === "'" || char === '"') return char === quote ? `\\${char}` : char;
    if (SHORT_ESCAPES[char]) return SHORT_ESCAPES[char];
    const code = char.codePointAt(0) as number;
    const [sign, width] = code < 0x100 ? ['x', 2] : code < 0x10000 ? ['u', 4] : ['U', 8];
    return `\\${sign}${code.toString(16).padStart(width as number, '0')}`;
  });
  return quote + escaped + quote;
}
