/**
 * Decimals of floats, exact to the last: halves go to the even side, as in Python.
 */
import { asFloat } from './numbers.js';
import { float, isInteger, kindOf, numberOf, TemplateError, type Value } from './values.js';

/** `value | round(precision, method)` @internal */
export function rounded(value: Value, digits: number, method: Value): Value {
  const number = numberOf(value);
  if (number === undefined) throw new TemplateError(`round: expected a number, found ${kindOf(value)}`);
  if (method === 'ceil' || method === 'floor') {
    const scale = 10 ** digits;
    const scaled = Math[method](number * scale);
    if (!Number.isFinite(scaled)) throw new TemplateError('round: the number is not finite');
    return float(scaled / scale);
  }
  if (method !== 'common') throw new TemplateError("round: method must be 'common', 'ceil' or 'floor'");
  if (isInteger(value)) {
    if (digits >= 0) return typeof value === 'boolean' ? Number(value) : value;
    return wholeRounded(BigInt(value), -digits);
  }
  if (!Number.isFinite(number) || digits > 100) return float(number);
  if (digits >= 0) return float(Number(fixed(number, digits)));
  const size = digits < -308 ? 0 : Number(tens(Math.abs(number), -digits));
  return float(number < 0 || Object.is(number, -0) ? -asFloat(size) : asFloat(size));
}

/** The nearest multiple of a power of ten; a fraction decides where the whole number is in the middle. */
function tens(size: number, digits: number): Value {
  const unit = 10n ** BigInt(digits);
  const whole = BigInt(Math.floor(size));
  const isAbove = 2n * (whole % unit) === unit && !Number.isInteger(size);
  return wholeRounded(isAbove ? whole + 1n : whole, digits);
}

/** A whole number without its last `digits`. */
function wholeRounded(value: bigint, digits: number): Value {
  if (digits > 5000) return 0;
  const unit = 10n ** BigInt(digits);
  const size = value < 0n ? -value : value;
  const [down, rest] = [size / unit, size % unit];
  const up = 2n * rest > unit || (2n * rest === unit && down % 2n === 1n) ? 1n : 0n;
  const found = (down + up) * unit * (value < 0n ? -1n : 1n);
  return Number.isSafeInteger(Number(found)) ? Number(found) : found;
}

/** `'%.{digits}f' % value` of a finite number; at most 100 digits. @internal */
export function fixed(value: number, digits: number): string {
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const size = Math.abs(value);
  if (size >= 1e21) return sign + BigInt(size) + (digits > 0 ? `.${'0'.repeat(digits)}` : '');
  const text = size.toFixed(digits);
  // JavaScript takes the larger of two that are equally near.
  const exact = size.toFixed(100).slice(text.length + (digits === 0 ? 1 : 0));
  const isHalf = /^50*$/.test(exact) && digits < 100;
  const isOdd = '13579'.includes(text.at(-1) as string);
  if (!isHalf || !isOdd) return sign + text;
  return sign + less(text);
}

/** One less in the last place, which is odd. */
const less = (text: string): string => text.slice(0, -1) + String(Number(text.at(-1)) - 1);

/** `'%.{digits}e' % value` of a finite number; at most 100 digits. @internal */
export function exponential(value: number, digits: number): string {
  const [mantissa = '', exponent = ''] = value.toExponential(digits).split('e');
  const [exact = ''] = value.toExponential(100).split('e');
  const isHalf = /^50*$/.test(exact.slice(mantissa.length + (digits === 0 ? 1 : 0))) && digits < 100;
  const isOdd = '13579'.includes(mantissa.at(-1) as string);
  const sign = Object.is(value, -0) ? '-' : '';
  const number = isHalf && isOdd ? less(mantissa) : mantissa;
  return `${sign}${number}e${exponent[0]}${exponent.slice(1).padStart(2, '0')}`;
}

/** `'%.{digits}g' % value` of a finite number, `alternate` with zeros at the end. @internal */
export function general(value: number, digits: number, alternate: boolean): string {
  const precision = Math.max(1, digits);
  const scientific = exponential(value, precision - 1);
  const exponent = Number(scientific.split('e')[1]);
  const isPlain = exponent >= -4 && exponent < precision;
  const text = isPlain ? fixed(value, Math.min(100, precision - 1 - exponent)) : scientific;
  if (alternate || !text.includes('.')) return text;
  return text.replace(/\.?0+(?=e|$)/, '');
}
