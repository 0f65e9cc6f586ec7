/**
 * `text.format(values)`, with Python's format specifications of texts and numbers.
 */
import { keyIn } from './compare.js';
import { aligned, ascii, characterOf, floatDigits } from './format-percent.js';
import type { Args, Named } from './more.js';
import { repr, textOf } from './text.js';
import {
  type Budget,
  isInteger,
  isList,
  isMap,
  kindOf,
  Namespace,
  numberOf,
  TemplateError,
  type Value,
} from './values.js';

/** Values of a format, and how many fields without a name it had. */
interface Given {
  readonly budget: Budget;
  readonly args: Args;
  readonly named: Named;
  count: number;
}

/** `text.format(*args, **named)` @internal */
export function bracesFormatted(budget: Budget, text: string, args: Args, named: Named): string {
  return written({ budget, args, named, count: 0 }, text, 2);
}

function written(given: Given, text: string, depth: number): string {
  const { budget } = given;
  if (depth === 0) throw new TemplateError('a format nests too deep');
  budget.text(2 * text.length);
  const parts: string[] = [];
  for (let at = 0; at < text.length; ) {
    const sign = text[at] as string;
    if (sign !== '{' && sign !== '}') {
      const next = text.slice(at).search(/[{}]/);
      const end = next < 0 ? text.length : at + next;
      budget.text(text.length - at);
      parts.push(text.slice(at, end));
      at = end;
    } else if (text[at + 1] === sign) {
      parts.push(sign);
      at += 2;
    } else {
      const end = sign === '{' ? endOf(text, at) : -1;
      if (end < 0) throw new TemplateError(`a format has a single '${sign}'`);
      parts.push(field(given, text.slice(at + 1, end), depth));
      at = end + 1;
    }
    budget.step();
  }
  budget.text(parts.reduce((sum, part) => sum + part.length, 0));
  return parts.join('');
}

/** Where the field ends that begins at `at`. */
function endOf(text: string, at: number): number {
  for (let end = at, open = 0; end < text.length; end += 1) {
    if (text[end] === '{') open += 1;
    if (text[end] === '}') open -= 1;
    if (open === 0) return end;
  }
  return -1;
}

function field(given: Given, text: string, depth: number): string {
  const [, name = '', conversion, spec = ''] =
    /^([^!:[]*(?:\[[^\]]*\][^!:[]*)*)(?:!(.))?(?::([^]*))?$/.exec(text) ?? [];
  if (text !== '' && name === '' && conversion === undefined && !text.startsWith(':')) {
    throw new TemplateError(`a format has the field '${text}'`);
  }
  const value = converted(given.budget, found(given, name), conversion);
  return specified(given.budget, value, spec.includes('{') ? written(given, spec, depth - 1) : spec);
}

function found(given: Given, name: string): Value {
  const { args, named, budget } = given;
  const [first = '', ...rest] = name.split(/(?=[.[])/);
  budget.list(rest.length);
  let value: Value;
  if (first === '' || /^\d+$/.test(first)) {
    const at = first === '' ? given.count : Number(first);
    if (first === '') given.count += 1;
    if (at >= args.length) throw new TemplateError(`a format has no value ${at}`);
    value = args[at];
  } else {
    if (!named.has(first)) throw new TemplateError(`a format has no value '${first}'`);
    value = named.get(first);
  }
  return rest.reduce<Value>((whole, step) => part(budget, whole, step), value);
}

/** `.name` or `[key]` of a value. */
function part(budget: Budget, value: Value, step: string): Value {
  const key = step.startsWith('[') ? step.slice(1, -1) : step.slice(1);
  const index = /^\d+$/.test(key) ? Number(key) : key;
  if (value instanceof Namespace && step.startsWith('.')) return value.entries.get(key);
  if (isMap(value)) {
    const own = keyIn(budget, value, index);
    if (own && step.startsWith('[')) return value.get(own.key);
  }
  if (isList(value) && typeof index === 'number' && index < value.length) return value[index];
  throw new TemplateError(`a format asks ${kindOf(value)} for '${key}'`);
}

function converted(budget: Budget, value: Value, conversion: string | undefined): Value {
  if (conversion === undefined) return value;
  if (conversion === 's') return textOf(budget, value);
  if (conversion === 'r') return repr(budget, value);
  if (conversion === 'a') return ascii(repr(budget, value));
  throw new TemplateError(`a format has no conversion '!${conversion}'`);
}

const SPEC = /^(?:([^]?)([<>=^]))?([-+ ]?)(#?)(0?)(\d*)([,_]?)(?:\.(\d+))?([a-zA-Z%]?)$/u;

interface Spec {
  readonly fill: string;
  readonly align: string | undefined;
  readonly sign: string;
  readonly alternate: boolean;
  readonly width: number;
  readonly group: string;
  readonly precision: number | undefined;
  readonly kind: string;
}

function specOf(budget: Budget, text: string): Spec {
  const match = SPEC.exec(text);
  if (!match) throw new TemplateError(`a format has no specification '${text}'`);
  const [, fill, align, sign = '', hash, zero, width = '', group = '', precision, kind = ''] = match;
  budget.text(Number(width) * (fill?.length || 1));
  return {
    fill: fill || (zero ? '0' : ' '),
    align: align ?? (zero ? '=' : undefined),
    sign,
    alternate: hash === '#',
    width: Number(width),
    group,
    precision: precision === undefined ? undefined : Number(precision),
    kind,
  };
}

function specified(budget: Budget, value: Value, text: string): string {
  if (text === '') return textOf(budget, value);
  const spec = specOf(budget, text);
  if (numberOf(value) !== undefined) return ofNumber(budget, spec, value);
  if (typeof value !== 'string') throw new TemplateError(`${kindOf(value)} has no format '${text}'`);
  const isWrong = !'s'.includes(spec.kind) || spec.sign || spec.alternate || spec.group || spec.align === '=';
  if (isWrong && !(spec.align === '=' && text.startsWith('0'))) {
    throw new TemplateError(`a text has no format '${text}'`);
  }
  const cut = spec.precision === undefined ? value : [...value].slice(0, spec.precision).join('');
  return aligned(cut, spec.width, spec.align === '=' ? '<' : (spec.align ?? '<'), spec.fill);
}

function ofNumber(budget: Budget, spec: Spec, value: Value): string {
  const { fill, align = '>', width, sign: wanted, kind } = spec;
  if (kind === 'c') return aligned(characterOf(value), width, spec.align ?? '<', fill);
  const [sign, digits] = digitsOf(budget, spec, value);
  const before = sign || (wanted === '-' ? '' : wanted);
  const prefix = /^0[xXobB](?=.)/.exec(digits)?.[0] ?? '';
  if (align !== '=') return aligned(before + grouped(spec, digits, 0), width, align, fill);
  const bare = digits.slice(prefix.length);
  const room = width - before.length - prefix.length;
  return before + prefix + aligned(grouped(spec, bare, fill === '0' ? room : 0), room, '>', fill);
}

/** Zeros in front are grouped, too. */
function grouped({ group, kind }: Spec, digits: string, room: number): string {
  if (!group) return digits;
  const [, prefix = '', whole = '', rest = ''] = /^(0[xXobB](?=.))?([\da-fA-F]*)([^]*)$/.exec(digits) ?? [];
  const size = 'xXob'.includes(kind) && kind !== '' ? 4 : 3;
  const space = room - rest.length;
  const length = Math.max(whole.length, Math.ceil(((space - 1) * size) / (size + 1)), 0);
  const filled = whole.padStart(length, '0');
  const out: string[] = [];
  for (let end = filled.length; end > 0; end -= size) out.unshift(filled.slice(Math.max(0, end - size), end));
  return prefix + out.join(group) + rest;
}

const BASES: Record<string, readonly [number, string]> = { x: [16, '0x'], X: [16, '0X'], o: [8, '0o'], b: [2, '0b'] };

function digitsOf(budget: Budget, spec: Spec, value: Value): [string, string] {
  const { kind, precision, alternate } = spec;
  budget.text(20_000);
  const isWhole = isInteger(value);
  if (isWhole && (kind === '' || 'dnbxXo'.includes(kind))) {
    if (precision !== undefined) throw new TemplateError('a whole number has no digits behind the point');
    const [base, prefix] = BASES[kind] ?? [10, ''];
    const number = BigInt(value);
    const text = (number < 0n ? -number : number).toString(base);
    return [number < 0n ? '-' : '', (alternate ? prefix : '') + (kind === 'X' ? text.toUpperCase() : text)];
  }
  const number = numberOf(value) as number;
  if (kind === '') return plainFloat(budget, spec, value);
  if (kind === '%') {
    const [sign, digits] = floatDigits({ kind: 'f', precision, alternate }, number * 100);
    return [sign, `${digits}%`];
  }
  if (!'eEfFgGn'.includes(kind)) throw new TemplateError(`${kindOf(value)} has no format '${kind}'`);
  return floatDigits({ kind: kind === 'n' ? 'g' : kind, precision, alternate }, number);
}

/** A float without a kind: as `str` writes it, or with this number of digits, and at least one behind the point. */
function plainFloat(budget: Budget, { precision, alternate }: Spec, value: Value): [string, string] {
  const number = numberOf(value) as number;
  if (precision === undefined) {
    const text = textOf(budget, value);
    return text.startsWith('-') ? ['-', text.slice(1)] : ['', text];
  }
  const [sign, digits] = floatDigits({ kind: 'g', precision, alternate }, number);
  const isBare = /^\d+$/.test(digits);
  if (!isBare) return [sign, digits];
  const fits = digits.length < Math.max(1, precision);
  return [
    sign,
    fits
      ? `${digits}.0`
      : floatDigits({ kind: 'e', precision: Math.max(0, precision - 1), alternate }, number)[1].replace(
          /\.?0+(?=e)/,
          '',
        ),
  ];
}
