/**
 * `strftime_now`: the part of C's `strftime` that templates use, in the C locale.
 */
const MONTHS = 'January February March April May June July August September October November December'.split(' ');
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

/** `date` in local time; unknown directives stay as they are, `%-d` is without zeros in front. @internal */
export function strftime(date: Date, format: string): string {
  return format.replace(/%(-?)([^])/g, (whole, bare: string, letter: string) => {
    const found = directive(date, letter);
    if (found === undefined) return whole;
    return bare && found !== '' ? found.replace(/^[0 ]+/, '') || '0' : found;
  });
}

const padded = (number: number, width = 2, fill = '0'): string => String(number).padStart(width, fill);

/** Directives that stand for several others. */
const COMPOSED: Readonly<Record<string, string>> = {
  c: '%a %b %e %T %Y',
  D: '%m/%d/%y',
  F: '%Y-%m-%d',
  R: '%H:%M',
  r: '%I:%M:%S %p',
  T: '%H:%M:%S',
  X: '%H:%M:%S',
  x: '%m/%d/%y',
};

const hour12 = (date: Date): number => date.getHours() % 12 || 12;
const shortMonth = (date: Date): string | undefined => MONTHS[date.getMonth()]?.slice(0, 3);

const DIRECTIVES: Readonly<Record<string, (date: Date) => string | undefined>> = {
  A: (date) => DAYS[date.getDay()],
  a: (date) => DAYS[date.getDay()]?.slice(0, 3),
  B: (date) => MONTHS[date.getMonth()],
  b: shortMonth,
  C: (date) => padded(Math.floor(date.getFullYear() / 100)),
  d: (date) => padded(date.getDate()),
  e: (date) => padded(date.getDate(), 2, ' '),
  f: (date) => padded(date.getMilliseconds() * 1000, 6),
  H: (date) => padded(date.getHours()),
  h: shortMonth,
  I: (date) => padded(hour12(date)),
  j: (date) => padded(dayOfYear(date), 3),
  k: (date) => padded(date.getHours(), 2, ' '),
  l: (date) => padded(hour12(date), 2, ' '),
  M: (date) => padded(date.getMinutes()),
  m: (date) => padded(date.getMonth() + 1),
  n: () => '\n',
  P: (date) => (date.getHours() < 12 ? 'am' : 'pm'),
  p: (date) => (date.getHours() < 12 ? 'AM' : 'PM'),
  S: (date) => padded(date.getSeconds()),
  s: (date) => String(Math.floor(date.getTime() / 1000)),
  t: () => '\t',
  Y: (date) => String(date.getFullYear()),
  y: (date) => padded(date.getFullYear() % 100),
  // The zone of a date that names none.
  Z: () => '',
  z: () => '',
  '%': () => '%',
};

function directive(date: Date, letter: string): string | undefined {
  const composed = COMPOSED[letter];
  if (composed !== undefined) return strftime(date, composed);
  return DIRECTIVES[letter]?.(date) ?? ofWeek(date, letter);
}

/** Days and weeks, which begin on Sunday or on Monday; of ISO the week belongs to the year of its Thursday. */
function ofWeek(date: Date, letter: string): string | undefined {
  const weekday = date.getDay();
  const day = dayOfYear(date);
  if (letter === 'w') return String(weekday);
  if (letter === 'u') return String(weekday || 7);
  if (letter === 'U') return padded(Math.floor((day + 6 - weekday) / 7));
  if (letter === 'W') return padded(Math.floor((day + 6 - ((weekday + 6) % 7)) / 7));
  const thursday = new Date(date.getFullYear(), date.getMonth(), date.getDate() + 4 - (weekday || 7));
  if (letter === 'V') return padded(Math.ceil(dayOfYear(thursday) / 7));
  if (letter === 'G') return String(thursday.getFullYear());
  return letter === 'g' ? padded(thursday.getFullYear() % 100) : undefined;
}

/** From 1 on. */
function dayOfYear(date: Date): number {
  const [year, month, day] = [date.getFullYear(), date.getMonth(), date.getDate()];
  return Math.round((Date.UTC(year, month, day) - Date.UTC(year, 0, 1)) / 86_400_000) + 1;
}
