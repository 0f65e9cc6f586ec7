/**
 * What a language says in words. No code here.
 */

/** @internal */
export interface SpokenLanguage {
  /** The tag with which `Intl` names dates, units and currencies; with figures from 0 to 9. */
  readonly tag: string;
  /** A whole number from 0 to 999,999,999,999,999. `beforeNoun`: a noun of no certain gender follows. */
  cardinal(value: number, beforeNoun?: boolean): string;
  /** Which one, from 1 on. */
  ordinal(value: number): string;
  year(value: number): string;
  /** The day of a date, before the name of its month. */
  day(value: number): string;
  time(hours: number, minutes: number): string;
  /** Before a number below 0, and between a whole number and its decimals. */
  readonly minus: string;
  readonly point: string;
  /** Between the parts of `1.2.3`. */
  readonly dot: string;
  /** Between the ends of a range. */
  readonly to: string;
  /** Numbers as they are written: what groups digits, and what decimals begin with. */
  readonly group: string;
  readonly decimal: string;
  /** Which part of `1/2/2024` is the day. */
  readonly order: 'day' | 'month';
  /** Endings that make a number an ordinal, as a pattern. */
  readonly ordinals: string;
  /** Abbreviations as they are written, and as words. */
  readonly short: readonly (readonly [string, string])[];
  /** Signs as words. */
  readonly signs: Readonly<Record<string, string>>;
  /** Where `Intl` has a sign alone. */
  readonly percent?: (number: string) => string;
  /** Whether words stand without spaces. */
  readonly isJoined?: boolean;
  /** What words change in words beside them. */
  readonly bend?: (text: string) => string;
}

/** A name for each step of a thousand, a million and more, from the greatest on. @internal */
export const GREAT = [1e12, 1e9, 1e6] as const;
