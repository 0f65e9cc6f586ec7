/**
 * German.
 */
import { GREAT, type SpokenLanguage } from './language.js';

const SMALL = [
  ...'null ein zwei drei vier fünf sechs sieben acht neun'.split(' '),
  ...'zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn'.split(' '),
];
const TENS = '- - zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig'.split(' ');
const NAMES = [
  ['Billion', 'Billionen'],
  ['Milliarde', 'Milliarden'],
  ['Million', 'Millionen'],
];
const ORDINALS: Record<number, string> = { 1: 'erst', 3: 'dritt', 7: 'siebt', 8: 'acht' };

/** Below a million, without the ending of `eins`. */
function stem(value: number): string {
  if (value < 20) return SMALL[value] as string;
  if (value < 100) {
    return (value % 10 ? `${SMALL[value % 10]}und` : '') + (TENS[Math.floor(value / 10)] as string);
  }
  const step = value >= 1000 ? 1000 : 100;
  const name = step === 1000 ? 'tausend' : 'hundert';
  return stem(Math.floor(value / step)) + name + (value % step ? closed(value % step) : '');
}

const closed = (value: number): string => (value === 1 ? 'eins' : stem(value));

function cardinal(value: number, beforeNoun = false): string {
  const at = GREAT.findIndex((step) => value >= step);
  if (at < 0) return beforeNoun ? stem(value) : closed(value);
  const step = GREAT[at] as number;
  const [count, tail] = [Math.floor(value / step), value % step];
  const [one, many] = NAMES[at] as [string, string];
  const head = count === 1 ? `eine ${one}` : `${cardinal(count, true)} ${many}`;
  return head + (tail ? ` ${cardinal(tail, beforeNoun)}` : '');
}

function ordinal(value: number): string {
  const last = value % 100;
  const small = ORDINALS[last];
  if (small) return `${value > 100 ? stem(value - last) : ''}${small}e`;
  return `${cardinal(value, true)}${last > 0 && last < 20 ? 'te' : 'ste'}`;
}

function year(value: number): string {
  if (value < 1100 || value > 1999) return cardinal(value);
  return `${stem(Math.floor(value / 100))}hundert${value % 100 ? closed(value % 100) : ''}`;
}

const MONTHS = 'Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember';
/** `am fünften März`, in place of `fünfter` or `fünfte`. */
const BENT = new RegExp(`(?<!\\p{L})(am|vom|zum|dem|den|des|beim|ab|bis) (\\p{L}{0,60}te)r?(?= (?:${MONTHS}))`, 'giu');

/** @internal */
export const de: SpokenLanguage = {
  ...{ tag: 'de-DE', cardinal, ordinal, year, minus: 'minus', point: 'Komma', to: 'bis' },
  day: (value) => `${ordinal(value)}r`,
  time: (hours, minutes) => `${cardinal(hours, true)} Uhr${minutes ? ` ${cardinal(minutes)}` : ''}`,
  ...{ group: '.', decimal: ',', order: 'day', ordinals: `\\.(?= (?:[a-zäöü]|${MONTHS}))` },
  bend: (text) => text.replaceAll(BENT, '$1 $2n'),
  dot: ' Punkt ',
  short: [
    ...([
      ['z. B.', 'zum Beispiel'],
      ['z.B.', 'zum Beispiel'],
      ['d. h.', 'das heißt'],
      ['d.h.', 'das heißt'],
    ] as const),
    ...([
      ['u. a.', 'unter anderem'],
      ['u.a.', 'unter anderem'],
      ['usw.', 'und so weiter'],
      ['etc.', 'et cetera'],
    ] as const),
    ...([
      ['bzw.', 'beziehungsweise'],
      ['ca.', 'circa'],
      ['Mio.', 'Millionen'],
      ['Mrd.', 'Milliarden'],
      ['Dr.', 'Doktor'],
      ['Prof.', 'Professor'],
    ] as const),
    ...([
      ['Nr.', 'Nummer'],
      ['evtl.', 'eventuell'],
      ['ggf.', 'gegebenenfalls'],
      ['inkl.', 'inklusive'],
    ] as const),
    ...([
      ['Hr.', 'Herr'],
      ['Fr.', 'Frau'],
      ['Str.', 'Straße'],
      ['Abb.', 'Abbildung'],
      ['vgl.', 'vergleiche'],
    ] as const),
  ],
  signs: {
    '&': 'und',
    '+': 'plus',
    '=': 'gleich',
    '@': 'at',
    '#': 'Nummer',
    '×': 'mal',
    '÷': 'geteilt durch',
    '°': 'Grad',
  },
};
