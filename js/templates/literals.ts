/**
 * Numbers and texts as they stand in a template.
 */
import { float, type Value } from './values.js';

const ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f', v: '\v', a: '\x07', '\n': '' };

/** @internal */
export function numberIn(text: string, isFloat: boolean): Value {
  const digits = text.replaceAll('_', '');
  if (isFloat) return float(Number(digits));
  const number = Number(digits);
  // Digits beyond what Python converts are infinite here, which no count and no index is.
  return Number.isSafeInteger(number) ? number : digits.length < 4000 ? BigInt(digits) : Infinity;
}

/** What stands between the signs of a text. @internal */
export function textIn(literal: string): string {
  const signs = /\\(?:u([\da-fA-F]{4})|U([\da-fA-F]{8})|x([\da-fA-F]{2})|([0-7]{1,3})|([^]))/g;
  return literal.slice(1, -1).replace(signs, (whole, unit, point, byte, octal, sign) => {
    if (unit ?? byte) return String.fromCharCode(Number.parseInt(unit ?? byte, 16));
    if (octal) return String.fromCharCode(Number.parseInt(octal, 8));
    if (point) return codePoint(Number.parseInt(point, 16)) ?? whole;
    return ESCAPES[sign] ?? (/[\\'"]/.test(sign) ? sign : whole);
  });
}

const codePoint = (code: number): string | undefined => (code < 0x110000 ? String.fromCodePoint(code) : undefined);
