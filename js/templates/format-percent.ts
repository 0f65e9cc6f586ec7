/**
 * `text % values`, and what both kinds of formats share.
 */
import { exponential, fixed, general } from './rounding.js';
import type { State } from './state.js';
import { repr, textOf } from './text.js';
import {
  type Budget,
  charactersOf,
  integerOf,
  isInteger,
  isList,
  isMap,
  kindOf,
  numberOf,
  numeric,
  Series,
  TemplateError,
  Tuple,
  type Value,
} from './values.js';

/** The longest number of digits that a format may ask for. */
const MOST_DIGITS = 100;
const FIELD = /%(?:\(([^()]*)\))?([-#0 +]*)(\*|\d+)?(?:\.(\*|\d*))?[hlL]?([^])/g;

/** The values that a format takes, one after the other. */
class Values {
  #at = 0;

  constructor(
    private readonly budget: Budget,
    private readonly values: Value,
  ) {}

  next(): Value {
    const { values } = this;
    const all = values instanceof Tuple ? values : [values];
    if (this.#at >= all.length) throw new TemplateError('there are too few values for a format');
    this.#at += 1;
    this.budget.step();
    return all[this.#at - 1];
  }

  named(name: string): Value {
    if (!isMap(this.values)) throw new TemplateError('a format with names needs a map');
    if (!this.values.has(name)) throw new TemplateError(`a format names '${name}', which the map does not have`);
    this.#at = 1;
    return this.values.get(name);
  }

  end(): void {
    const { values } = this;
    const count =
      values instanceof Tuple
        ? values.length
        : isMap(values) || isList(values) || values === undefined || values instanceof Series
          ? 0
          : 1;
    const isLeft = this.#at < count || (this.#at === 0 && values instanceof Tuple && values.length > 0);
    if (isLeft) throw new TemplateError('a format has more values than fields');
  }
}

/** `text % values` @internal */
export function formatted({ budget }: State, text: string, values: Value): string {
  budget.text(text.length);
  const rest = new Values(budget, values);
  const parts: string[] = [];
  let at = 0;
  FIELD.lastIndex = 0;
  for (const match of text.matchAll(FIELD)) {
    const [whole, name, flags = '', width, precision, kind = ''] = match;
    parts.push(checkedText(text.slice(at, match.index)));
    at = match.index + whole.length;
    if (kind === '%' && whole === '%%') {
      parts.push('%');
      continue;
    }
    const sizes = [width, precision].map((size) => (size === '*' ? integerOf(rest.next(), 'a width') : size));
    const value = name === undefined ? rest.next() : rest.named(name);
    const field = { flags, width: Number(sizes[0] ?? 0), kind, precision: digitsOf(sizes[1]) };
    const made = ofField(budget, field, value);
    budget.text(made.length);
    parts.push(made);
  }
  parts.push(checkedText(text.slice(at)));
  rest.end();
  budget.text(parts.reduce((sum, part) => sum + part.length, 0));
  return parts.join('');
}

const digitsOf = (size: string | number | undefined): number | undefined =>
  size === undefined ? undefined : Math.max(0, Number(size));

function checkedText(text: string): string {
  if (text.includes('%')) throw new TemplateError('a format ends in the middle of a field');
  return text;
}

interface Field {
  readonly flags: string;
  readonly width: number;
  readonly precision: number | undefined;
  readonly kind: string;
}

function ofField(budget: Budget, { flags, width, precision, kind }: Field, value: Value): string {
  const isLeft = flags.includes('-') || width < 0;
  const size = Math.abs(width);
  budget.text(size);
  if ('sracC'.includes(kind)) return aligned(ofText(budget, kind, precision, value), size, isLeft ? '<' : '>', ' ');
  const [sign, digits] = ofNumber(budget, { kind, precision, alternate: flags.includes('#') }, value);
  const before = sign === '-' ? '-' : flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : '';
  if (isLeft) return aligned(before + digits, size, '<', ' ');
  return flags.includes('0') ? zeros(before, digits, size) : aligned(before + digits, size, '>', ' ');
}

function zeros(before: string, digits: string, size: number): string {
  const prefix = /^0[xXo](?=.)/.exec(digits)?.[0] ?? '';
  return before + prefix + digits.slice(prefix.length).padStart(size - before.length - prefix.length, '0');
}

function ofText(budget: Budget, kind: string, precision: number | undefined, value: Value): string {
  if (kind === 'c') return characterOf(value);
  const text = kind === 's' ? textOf(budget, value) : repr(budget, value);
  const plain = kind === 'a' ? ascii(text) : text;
  return precision === undefined ? plain : charactersOf(plain).slice(0, precision).join('');
}

/** With what is not ASCII written by number. @internal */
export function ascii(text: string): string {
  return text.replace(/\P{ASCII}/gu, (char) => {
    const code = (char.codePointAt(0) as number).toString(16);
    return code.length <= 2
      ? `\\x${code}`
      : code.length <= 4
        ? `\\u${code.padStart(4, '0')}`
        : `\\U${code.padStart(8, '0')}`;
  });
}

/** @internal */
export function characterOf(value: Value): string {
  if (typeof value === 'string' && charactersOf(value).length === 1) return value;
  const code = integerOf(value, 'a character');
  if (code >= 0 && code < 0x110000) return String.fromCodePoint(code);
  throw new TemplateError(`${code} is no character`);
}

/** @internal */
export interface NumberStyle {
  readonly kind: string;
  readonly precision: number | undefined;
  readonly alternate: boolean;
}

const BASES: Record<string, readonly [base: number, prefix: string]> = { x: [16, '0x'], X: [16, '0X'], o: [8, '0o'] };

/** The sign of a number, and its digits. */
function ofNumber(budget: Budget, style: NumberStyle, value: Value): [string, string] {
  const { kind, precision = 0, alternate } = style;
  budget.text(5000);
  if ('eEfFgG'.includes(kind)) {
    const number = numberOf(value);
    if (number === undefined) throw new TemplateError(`%${kind}: expected a number, found ${kindOf(value)}`);
    return floatDigits(style, number);
  }
  if (!'diuxXo'.includes(kind)) throw new TemplateError(`a format has no field '%${kind}'`);
  const [base, prefix] = BASES[kind] ?? [10, ''];
  if (numeric(value) === undefined || (base !== 10 && !isInteger(value))) {
    throw new TemplateError(`%${kind}: expected a number, found ${kindOf(value)}`);
  }
  if (!isInteger(value) && !Number.isFinite(numberOf(value))) throw new TemplateError(`%${kind}: not finite`);
  const number = isInteger(value) ? BigInt(value) : BigInt(Math.trunc(numberOf(value) as number));
  if (precision > 10_000) throw new TemplateError(`a format asks for ${precision} digits`);
  const digits = (number < 0n ? -number : number).toString(base).padStart(precision, '0');
  return [number < 0n ? '-' : '', (alternate ? prefix : '') + (kind === 'X' ? digits.toUpperCase() : digits)];
}

/** The same of a float, in one of the forms e, f and g. @internal */
export function floatDigits({ kind, precision = 6, alternate }: NumberStyle, value: number): [string, string] {
  if (precision > MOST_DIGITS) {
    throw new TemplateError(`a format asks for ${precision} digits, at most ${MOST_DIGITS} are written`);
  }
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const size = Math.abs(value);
  const isUpper = kind === kind.toUpperCase();
  const cased = (text: string): string => (isUpper ? text.toUpperCase() : text);
  if (!Number.isFinite(size)) return [sign, cased(Number.isNaN(size) ? 'nan' : 'inf')];
  const form = kind.toLowerCase();
  const digits =
    form === 'f'
      ? fixed(size, precision)
      : form === 'e'
        ? exponential(size, precision)
        : general(size, precision, alternate);
  const isBare = alternate && !digits.includes('.');
  return [sign, cased(isBare ? digits.replace(/(?=e)|$/, '.') : digits)];
}

/** @internal */
export function aligned(text: string, width: number, align: string, fill: string): string {
  const missing = Math.max(0, width - charactersOf(text).length);
  const left = align === '<' ? 0 : align === '^' ? Math.floor(missing / 2) : missing;
  return fill.repeat(left) + text + fill.repeat(missing - left);
}
