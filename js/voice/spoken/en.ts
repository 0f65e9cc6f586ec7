/**
 * English.
 */
import { GREAT, type SpokenLanguage } from './language.js';

const SMALL = [
  ...'zero one two three four five six seven eight nine'.split(' '),
  ...'ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(' '),
];
const TENS = '- - twenty thirty forty fifty sixty seventy eighty ninety'.split(' ');
const NAMES = ['trillion', 'billion', 'million'];
const ORDINALS: Record<string, string> = {
  ...{ one: 'first', two: 'second', three: 'third', five: 'fifth', eight: 'eighth', nine: 'ninth', twelve: 'twelfth' },
};

function cardinal(value: number): string {
  if (value < 20) return SMALL[value] as string;
  if (value < 100) return (TENS[Math.floor(value / 10)] as string) + (value % 10 ? `-${SMALL[value % 10]}` : '');
  const at = GREAT.findIndex((step) => value >= step);
  const step = GREAT[at] ?? (value >= 1000 ? 1000 : 100);
  const name = NAMES[at] ?? (step === 1000 ? 'thousand' : 'hundred');
  const tail = value % step;
  return `${cardinal(Math.floor(value / step))} ${name}${tail ? ` ${cardinal(tail)}` : ''}`;
}

function ordinal(value: number): string {
  const [, before = '', last = ''] = /^(.*[ -])?(.+)$/.exec(cardinal(value)) ?? [];
  return before + (ORDINALS[last] ?? `${last.replace(/y$/, 'ie')}th`);
}

function year(value: number): string {
  const [first, last] = [Math.floor(value / 100), value % 100];
  if (value < 1100 || value > 2099 || (value >= 2000 && value < 2010)) return cardinal(value);
  if (last === 0) return `${cardinal(first)} hundred`;
  return `${cardinal(first)} ${last < 10 ? `oh ${SMALL[last]}` : cardinal(last)}`;
}

function time(hours: number, minutes: number): string {
  if (minutes === 0) return hours % 12 === 0 ? (hours === 12 ? 'noon' : 'midnight') : `${cardinal(hours)} o'clock`;
  return `${cardinal(hours)} ${minutes < 10 ? `oh ${SMALL[minutes]}` : cardinal(minutes)}`;
}

/** @internal */
export const en: SpokenLanguage = {
  ...{ tag: 'en-US', cardinal, ordinal, year, day: ordinal, time, minus: 'minus', point: 'point', to: 'to' },
  ...{ group: ',', decimal: '.', order: 'month', ordinals: 'st|nd|rd|th' },
  dot: ' point ',
  short: [
    ...([
      ['Dr.', 'Doctor'],
      ['Mr.', 'Mister'],
      ['Mrs.', 'Missus'],
      ['Ms.', 'Miz'],
      ['Prof.', 'Professor'],
    ] as const),
    ...([
      ['St.', 'Saint'],
      ['Jr.', 'Junior'],
      ['Sr.', 'Senior'],
      ['e.g.', 'for example'],
      ['i.e.', 'that is'],
    ] as const),
    ...([
      ['etc.', 'et cetera'],
      ['vs.', 'versus'],
      ['approx.', 'approximately'],
      ['No.', 'number'],
    ] as const),
    ...([
      ['Inc.', 'Incorporated'],
      ['Ltd.', 'Limited'],
      ['Fig.', 'figure'],
      ['a.m.', 'A M'],
      ['p.m.', 'P M'],
    ] as const),
  ],
  signs: {
    '&': 'and',
    '+': 'plus',
    '=': 'equals',
    '@': 'at',
    '#': 'number',
    '×': 'times',
    '÷': 'divided by',
    '°': 'degrees',
  },
};
