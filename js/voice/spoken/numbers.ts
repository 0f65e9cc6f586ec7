/**
 * Numbers with what stands beside them: dates, times, units, money, ordinals, ranges.
 */
import type { SpokenLanguage } from './language.js';

/** Units as they are written, and their names in `Intl`. */
const UNITS: Record<string, string> = {
  ...{ km: 'kilometer', m: 'meter', cm: 'centimeter', mm: 'millimeter', mi: 'mile', ft: 'foot', in: 'inch' },
  ...{ kg: 'kilogram', g: 'gram', lb: 'pound', lbs: 'pound', oz: 'ounce', l: 'liter', L: 'liter', ml: 'milliliter' },
  ...{
    'km/h': 'kilometer-per-hour',
    'm/s': 'meter-per-second',
    mph: 'mile-per-hour',
    '°C': 'celsius',
    '°F': 'fahrenheit',
  },
  ...{ '%': 'percent', '°': 'degree', h: 'hour', min: 'minute', s: 'second', ms: 'millisecond' },
  ...{ kB: 'kilobyte', KB: 'kilobyte', MB: 'megabyte', GB: 'gigabyte', TB: 'terabyte' },
};
const MONEY: Record<string, string> = {
  ...{ $: 'USD', '€': 'EUR', '£': 'GBP', '¥': 'JPY', EUR: 'EUR', USD: 'USD', GBP: 'GBP', CHF: 'CHF', CNY: 'CNY' },
};
/** Figures of a number that is said as one; more are said one by one. */
const LONGEST = 15;

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&');
const anyOf = (names: string[]): string =>
  names
    .sort((one, other) => other.length - one.length)
    .map(escaped)
    .join('|');

/** A number as it is written, in parts. */
interface Written {
  readonly isNegative: boolean;
  readonly whole: string;
  readonly decimals: string;
}

/** Says numbers in one language. @internal */
export class Numbers {
  readonly #language: SpokenLanguage;
  readonly #number: string;
  readonly #rules: readonly (readonly [RegExp, (...found: string[]) => string])[];

  constructor(language: SpokenLanguage) {
    this.#language = language;
    const { group, decimal, ordinals } = language;
    const separator = group.startsWith('[') ? group : escaped(group);
    const whole = `\\d{1,3}(?:${separator}\\d{3})+(?!\\d)|\\d+`;
    this.#number = `(?:[-−](?=\\d))?(?:${whole})(?:${escaped(decimal)}\\d+)?`;
    // Chinese words stand beside figures without a space.
    const letters = language.isJoined ? '[\\p{sc=Latin}\\p{N}' : '[\\p{L}\\p{N}';
    const number = `(?<!${letters}])(${this.#number})(?!\\.?\\d)`;
    const [units, money] = [anyOf(Object.keys(UNITS)), anyOf(Object.keys(MONEY))];
    const [end, edge] = [`(?!${letters}])`, `(?<!${letters}.])`];
    const rule = (pattern: string): RegExp => new RegExp(pattern, 'gu');
    this.#rules = [
      [rule(`${edge}(\\d{4})-(\\d\\d?)-(\\d\\d?)(?!\\d)`), (all, y, m, d) => this.#date(all, y, m, d)],
      [rule(`${edge}(\\d{4})年(\\d\\d?)月(\\d\\d?)日`), (all, y, m, d) => this.#date(all, y, m, d)],
      [
        rule(`${edge}(\\d\\d?)([./])(\\d\\d?)\\2(\\d{4})(?!\\d)`),
        (all, one, sign, two, y) => {
          const isMonthFirst = sign === '/' && language.order === 'month';
          return isMonthFirst ? this.#date(all, y, one, two) : this.#date(all, y, two, one);
        },
      ],
      [
        rule(`${edge}([01]?\\d|2[0-3])(?::|h(?=\\d))([0-5]\\d)(?::[0-5]\\d)?(?: ?Uhr| ?h${end})?(?![:\\d])`),
        (_, hours, minutes) => language.time(Number(hours), Number(minutes)),
      ],
      [rule(`${edge}(\\d{1,9}(?:\\.\\d{1,9}){2,9})(?![.\\d])`), (version) => this.#version(version)],
      [rule(`(?<!${letters}])(${money}) ?(${this.#number})`), (_, sign, amount) => this.#money(sign, amount)],
      [rule(`${number}[ \\u00a0\\u202f]?(${money})${end}`), (_, amount, sign) => this.#money(sign, amount)],
      [
        rule(`${number}[ \\u00a0\\u202f]?[-–—][ \\u00a0\\u202f]?(?=\\d)`),
        (_, first) => `${this.#say(first)} ${language.to} `,
      ],
      [rule(`${number}[ \\u00a0\\u202f]?(${units})${end}`), (_, amount, unit) => this.#unit(amount, unit)],
      [rule(`(?<!${letters}])(\\d{1,6})(?:${ordinals})${end}`), (_, value) => language.ordinal(Number(value))],
      [rule(number), (_, value) => this.#say(value)],
    ];
  }

  /** A text with its numbers as words. */
  words(text: string): string {
    return this.#rules.reduce((said, [pattern, say]) => said.replaceAll(pattern, say as () => string), text);
  }

  /** `1.2.3`, if it is no number. */
  #version(text: string): string {
    const { cardinal, dot } = this.#language;
    if (new RegExp(`^${this.#number}$`, 'u').test(text)) return text;
    const parts = text.split('.').map((part) => cardinal(Number(part)));
    return parts.join(dot);
  }

  #parts(text: string): Written {
    const { group, decimal } = this.#language;
    const isNegative = /^[-−]/.test(text);
    const bare = text.replace(/^[-−]/, '');
    const at = bare.indexOf(decimal);
    const groups = new RegExp(group.startsWith('[') ? group : escaped(group), 'g');
    const whole = (at < 0 ? bare : bare.slice(0, at)).replaceAll(groups, '');
    return { isNegative, whole, decimals: at < 0 ? '' : bare.slice(at + 1) };
  }

  #figures(text: string): string {
    return [...text].map((figure) => this.#language.cardinal(Number(figure))).join(this.#language.isJoined ? '' : ' ');
  }

  #say(text: string, beforeNoun = false): string {
    const { cardinal, year, minus, point, isJoined } = this.#language;
    const { isNegative, whole, decimals } = this.#parts(text);
    const isCode = whole.length > LONGEST || (whole.length > 1 && whole.startsWith('0'));
    const isYear = /^(1[1-9]|20)\d\d$/.test(text) && !beforeNoun;
    const value = Number(whole);
    const head = isCode ? this.#figures(whole) : isYear ? year(value) : cardinal(value, beforeNoun && !decimals);
    const space = isJoined ? '' : ' ';
    const tail = decimals ? `${space}${point}${space}${this.#figures(decimals)}` : '';
    return `${isNegative ? minus + space : ''}${head}${tail}`;
  }

  /** The number as `Intl` wants it, to choose between one and many. */
  #value(text: string): number {
    const { whole, decimals } = this.#parts(text);
    return Number(`${whole}.${decimals || 0}`);
  }

  /** What `Intl` writes beside a number, with the number in words. */
  #named(text: string, options: Intl.NumberFormatOptions): string {
    const { tag } = this.#language;
    const parts = new Intl.NumberFormat(tag, { maximumFractionDigits: 20, ...options }).formatToParts(
      this.#value(text),
    );
    const isNumber = ({ type }: Intl.NumberFormatPart): boolean =>
      /^(integer|group|decimal|fraction|minusSign)$/.test(type);
    const first = parts.findIndex(isNumber);
    return parts
      .map((part, at) => (at === first ? this.#say(text, true) : isNumber(part) ? '' : part.value))
      .join('')
      .replaceAll(/[\u00a0\u202f]/g, ' ');
  }

  #unit(amount: string, unit: string): string {
    const { percent } = this.#language;
    if (percent && unit === '%') return percent(this.#say(amount));
    return this.#named(amount, { style: 'unit', unit: UNITS[unit] as string, unitDisplay: 'long' });
  }

  #money(sign: string, amount: string): string {
    const isYuan = sign === '¥' && this.#language.isJoined;
    const currency = isYuan ? 'CNY' : (MONEY[sign] as string);
    const { whole, decimals } = this.#parts(amount);
    const options = { style: 'currency', currency, currencyDisplay: 'name', minimumFractionDigits: 0 } as const;
    if (this.#language.isJoined || decimals.length !== 2) return this.#named(amount, options);
    const head = this.#named(amount.slice(0, amount.length - decimals.length - 1), options);
    const small = Number(decimals);
    return small > 0 && whole !== '' ? `${head} ${this.#language.cardinal(small)}` : head;
  }

  #date(all: string, ...[year, month, day]: string[]): string {
    const [y, m, d] = [Number(year), Number(month), Number(day)];
    if (m < 1 || m > 12 || d < 1 || d > 31) return all;
    const { tag, day: dayOf, year: yearOf, cardinal } = this.#language;
    const format = new Intl.DateTimeFormat(tag, { year: 'numeric', month: 'long', day: 'numeric', timeZone: 'UTC' });
    const parts = format.formatToParts(Date.UTC(y, m - 1, d));
    return parts
      .map(({ type, value }) => {
        if (type === 'day') return dayOf(d);
        if (type === 'year') return yearOf(y);
        if (type === 'month') return value.replace(/\d+/, cardinal(m));
        return value === '. ' ? ' ' : value;
      })
      .join('');
  }
}
