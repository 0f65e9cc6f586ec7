/**
 * French.
 */
import { GREAT, type SpokenLanguage } from './language.js';

const SMALL = [
  ...'zéro un deux trois quatre cinq six sept huit neuf'.split(' '),
  ...'dix onze douze treize quatorze quinze seize dix-sept dix-huit dix-neuf'.split(' '),
];
const TENS = '- - vingt trente quarante cinquante soixante soixante quatre-vingt quatre-vingt'.split(' ');
const NAMES = ['billion', 'milliard', 'million'];

/** `isLast`: no other number follows, so that `cents` and `quatre-vingts` have their ending. */
function below(value: number, isLast: boolean): string {
  if (value < 20) return SMALL[value] as string;
  if (value < 100) {
    const ten = Math.floor(value / 10);
    const one = ten === 7 || ten === 9 ? value - (ten - 1) * 10 : value % 10;
    if (one === 0) return (TENS[ten] as string) + (ten === 8 && isLast ? 's' : '');
    const isJoined = (one === 1 || one === 11) && ten < 8;
    return `${TENS[ten]}${isJoined ? ' et ' : '-'}${SMALL[one]}`;
  }
  if (value < 1000) {
    const [count, tail] = [Math.floor(value / 100), value % 100];
    const head = count === 1 ? 'cent' : `${SMALL[count]} cent${tail === 0 && isLast ? 's' : ''}`;
    return tail ? `${head} ${below(tail, isLast)}` : head;
  }
  const [count, tail] = [Math.floor(value / 1000), value % 1000];
  const head = count === 1 ? 'mille' : `${below(count, false)} mille`;
  return tail ? `${head} ${below(tail, isLast)}` : head;
}

function cardinal(value: number): string {
  const at = GREAT.findIndex((step) => value >= step);
  if (at < 0) return below(value, true);
  const step = GREAT[at] as number;
  const [count, tail] = [Math.floor(value / step), value % step];
  return `${cardinal(count)} ${NAMES[at]}${count > 1 ? 's' : ''}${tail ? ` ${cardinal(tail)}` : ''}`;
}

function ordinal(value: number): string {
  if (value === 1) return 'premier';
  const stem = cardinal(value).replace(/e$|(?<=cent|vingt)s$/, '');
  return `${stem.replace(/cinq$/, 'cinqu').replace(/neuf$/, 'neuv')}ième`;
}

/** @internal */
export const fr: SpokenLanguage = {
  ...{ tag: 'fr-FR', cardinal, ordinal, year: cardinal, minus: 'moins', point: 'virgule', to: 'à' },
  day: (value) => (value === 1 ? 'premier' : cardinal(value)),
  time: (hours, minutes) => {
    const head = hours === 0 ? 'minuit' : hours === 12 ? 'midi' : `${cardinal(hours).replace(/un$/, 'une')} heure`;
    return `${head}${hours % 12 !== 0 && hours > 1 ? 's' : ''}${minutes ? ` ${cardinal(minutes)}` : ''}`;
  },
  ...{ group: '[ \\u00a0\\u202f]', decimal: ',', order: 'day', ordinals: 'er|re|e|ème' },
  dot: ' point ',
  short: [
    ...([
      ['M.', 'Monsieur'],
      ['Mme', 'Madame'],
      ['Mlle', 'Mademoiselle'],
      ['Dr', 'Docteur'],
      ['Pr', 'Professeur'],
    ] as const),
    ...([
      ['p. ex.', 'par exemple'],
      ['p.ex.', 'par exemple'],
      ['c.-à-d.', 'c’est-à-dire'],
      ['etc.', 'et cetera'],
    ] as const),
    ...([
      ['env.', 'environ'],
      ['n°', 'numéro'],
      ['av.', 'avenue'],
      ['bd', 'boulevard'],
      ['cf.', 'voir'],
    ] as const),
  ],
  signs: {
    '&': 'et',
    '+': 'plus',
    '=': 'égale',
    '@': 'arobase',
    '#': 'numéro',
    '×': 'fois',
    '÷': 'divisé par',
    '°': 'degrés',
  },
};
