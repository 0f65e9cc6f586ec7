/**
 * Spanish.
 */
import { GREAT, type SpokenLanguage } from './language.js';

const SMALL = [
  ...'cero uno dos tres cuatro cinco seis siete ocho nueve diez'.split(' '),
  ...'once doce trece catorce quince dieciséis diecisiete dieciocho diecinueve'.split(' '),
  ...'veinte veintiuno veintidós veintitrés veinticuatro veinticinco'.split(' '),
  ...'veintiséis veintisiete veintiocho veintinueve'.split(' '),
];
const TENS = '- - - treinta cuarenta cincuenta sesenta setenta ochenta noventa'.split(' ');
const HUNDREDS =
  '- ciento doscientos trescientos cuatrocientos quinientos seiscientos setecientos ochocientos novecientos'.split(' ');
const ORDINALS = 'cero primero segundo tercero cuarto quinto sexto séptimo octavo noveno décimo'.split(' ');

function below(value: number): string {
  if (value < 30) return SMALL[value] as string;
  if (value < 100) return (TENS[Math.floor(value / 10)] as string) + (value % 10 ? ` y ${SMALL[value % 10]}` : '');
  if (value === 100) return 'cien';
  if (value < 1000) {
    return (HUNDREDS[Math.floor(value / 100)] as string) + (value % 100 ? ` ${below(value % 100)}` : '');
  }
  const [count, tail] = [Math.floor(value / 1000), value % 1000];
  return `${count === 1 ? 'mil' : `${short(below(count))} mil`}${tail ? ` ${below(tail)}` : ''}`;
}

/** `veintiún` and `un`, before a noun. */
const short = (words: string): string => words.replace(/veintiuno$/, 'veintiún').replace(/uno$/, 'un');

/** A thousand millions have no name of their own: `mil millones`. */
function whole(value: number): string {
  const step = value >= GREAT[0] ? GREAT[0] : value >= GREAT[2] ? GREAT[2] : undefined;
  if (step === undefined) return below(value);
  const [count, tail] = [Math.floor(value / step), value % step];
  const name = step === GREAT[0] ? 'bill' : 'mill';
  const head = count === 1 ? `un ${name}ón` : `${short(whole(count))} ${name}ones`;
  return tail ? `${head} ${whole(tail)}` : head;
}

const cardinal = (value: number, beforeNoun = false): string => (beforeNoun ? short(whole(value)) : whole(value));

/** @internal */
export const es: SpokenLanguage = {
  ...{ tag: 'es-ES', cardinal, year: cardinal, minus: 'menos', point: 'coma', to: 'a' },
  ordinal: (value) => ORDINALS[value] ?? cardinal(value),
  day: (value) => (value === 1 ? 'primero' : cardinal(value)),
  time: (hours, minutes) =>
    `${cardinal(hours).replace(/uno$/, 'una')}${minutes ? ` y ${cardinal(minutes)}` : ' en punto'}`,
  ...{ group: '[.\\u00a0\\u202f]', decimal: ',', order: 'day', ordinals: '\\.?[ºª]' },
  dot: ' punto ',
  short: [
    ...([
      ['Sr.', 'señor'],
      ['Sra.', 'señora'],
      ['Srta.', 'señorita'],
      ['Dr.', 'doctor'],
      ['Dra.', 'doctora'],
    ] as const),
    ...([
      ['p. ej.', 'por ejemplo'],
      ['p.ej.', 'por ejemplo'],
      ['etc.', 'etcétera'],
      ['aprox.', 'aproximadamente'],
    ] as const),
    ...([
      ['n.º', 'número'],
      ['Ud.', 'usted'],
      ['Uds.', 'ustedes'],
      ['pág.', 'página'],
      ['EE. UU.', 'Estados Unidos'],
    ] as const),
  ],
  signs: {
    '&': 'y',
    '+': 'más',
    '=': 'igual a',
    '@': 'arroba',
    '#': 'número',
    '×': 'por',
    '÷': 'entre',
    '°': 'grados',
  },
};
