/**
 * Arithmetic: whole numbers stay exact, floats are JavaScript's.
 */
import { type Budget, float, isInteger, numeric, TemplateError, type Value } from './values.js';

/** Bits that a whole number may have: Python writes none of more than 4300 digits. */
const MOST_BITS = 14_000;

/** `a sign b`; nothing where one of them is no number. @internal */
export function arithmetic(budget: Budget, sign: string, a: Value, b: Value): Value {
  const [x, y] = [numeric(a), numeric(b)];
  if (x === undefined || y === undefined) return undefined;
  if (['/', '//', '%'].includes(sign) && Number(y) === 0) throw new TemplateError('division by zero');
  if (isInteger(a) && isInteger(b) && sign !== '/' && !(sign === '**' && y < 0)) return whole(budget, sign, x, y);
  const found = ofFloats(sign, asFloat(x), asFloat(y));
  return float(found);
}

/** A whole number as a float. @internal */
export function asFloat(value: number | bigint): number {
  const found = Number(value);
  if (typeof value === 'bigint' && !Number.isFinite(found))
    throw new TemplateError('a number is too large for a float');
  return found;
}

function ofFloats(sign: string, x: number, y: number): number {
  switch (sign) {
    case '+':
      return x + y;
    case '-':
      return x - y;
    case '*':
      return x * y;
    case '/':
      return x / y;
    case '//':
      return floored(x, y);
    case '%':
      return modulo(x, y);
    default:
      return power(x, y);
  }
}

/** The remainder, with the sign of the divisor. */
function modulo(x: number, y: number): number {
  const rest = x % y;
  if (rest === 0) return y < 0 ? -0 : 0;
  return rest < 0 === y < 0 ? rest : rest + y;
}

function floored(x: number, y: number): number {
  const rest = modulo(x, y);
  const quotient = (x - rest) / y;
  if (quotient === 0) return x / y < 0 ? -0 : 0;
  const down = Math.floor(quotient);
  return quotient - down > 0.5 ? down + 1 : down;
}

function power(x: number, y: number): number {
  if (x === 0 && y < 0) throw new TemplateError('0 to a negative power');
  if (x < 0 && Number.isFinite(x) && !Number.isInteger(y) && Number.isFinite(y)) {
    throw new TemplateError('a power of a negative number is no real number');
  }
  // In Python, 1 and -1 to an infinite power are 1, and so is 1 to the power of NaN.
  const found = x === 1 || (x === -1 && Math.abs(y) === Infinity) ? 1 : x ** y;
  if (Math.abs(found) === Infinity && Number.isFinite(x) && Number.isFinite(y)) {
    throw new TemplateError('a power is too large for a float');
  }
  return found;
}

function whole(budget: Budget, sign: string, x: number | bigint, y: number | bigint): Value {
  if (sign !== '**' && typeof x === 'number' && typeof y === 'number') {
    const found = sign === '//' ? (x - modulo(x, y)) / y : ofFloats(sign, x, y);
    if (Number.isSafeInteger(found)) return found || 0;
  }
  const bits = sign === '**' ? bitsOf(x) * Number(y) : bitsOf(x) + bitsOf(y);
  if (Math.abs(Number(x)) > 1 && !(bits <= MOST_BITS)) throw new TemplateError('a whole number is too large');
  budget.step(16);
  const found = ofBig(sign, BigInt(x), BigInt(y));
  return Number.isSafeInteger(Number(found)) ? Number(found) : found;
}

const bitsOf = (value: number | bigint): number => BigInt(value).toString(16).length * 4;

function ofBig(sign: string, x: bigint, y: bigint): bigint {
  switch (sign) {
    case '+':
      return x + y;
    case '-':
      return x - y;
    case '*':
      return x * y;
    case '**':
      return x ** (x === 0n || x === 1n || x === -1n ? y % 2n || (y === 0n ? 0n : 2n) : y);
    default: {
      const rest = x % y !== 0n && x % y < 0n !== y < 0n ? (x % y) + y : x % y;
      return sign === '%' ? rest : (x - rest) / y;
    }
  }
}

/** `-value` or `+value`; nothing where it is no number. @internal */
export function signed(sign: string, value: Value): Value {
  const number = numeric(value);
  if (number === undefined) return undefined;
  const found = sign === '-' ? -number : number;
  return isInteger(value) ? (typeof found === 'number' ? found || 0 : found) : float(Number(found));
}
