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

function directive(date: Date, letter: string): string | undefined {
  const [year, month, day] = [date.getFullYear(), date.getMonth(), date.getDate()];
  const [hour, minute, second] = [date.getHours(), date.getMinutes(), date.getSeconds()];
  const both = (...letters: string[]): string[] => letters.map((each) => directive(date, each) as string);
  switch (letter) {
    case 'Y':
      return String(year);
    case 'y':
      return padded(year % 100);
    case 'm':
      return padded(month + 1);
    case 'B':
      return MONTHS[month];
    case 'b':
    case 'h':
      return MONTHS[month]?.slice(0, 3);
    case 'd':
      return padded(day);
    case 'e':
      return padded(day, 2, ' ');
    case 'j':
      return padded(Math.round((Date.UTC(year, month, day) - Date.UTC(year, 0, 1)) / 86_400_000) + 1, 3);
    case 'A':
      return DAYS[date.getDay()];
    case 'a':
      return DAYS[date.getDay()]?.slice(0, 3);
    case 'H':
      return padded(hour);
    case 'I':
      return padded(hour % 12 || 12);
    case 'M':
      return padded(minute);
    case 'S':
      return padded(second);
    case 'p':
      return hour < 12 ? 'AM' : 'PM';
    case 'F':
      return both('Y', 'm', 'd').join('-');
    case 'D':
    case 'x':
      return both('m', 'd', 'y').join('/');
    case 'T':
    case 'X':
      return both('H', 'M', 'S').join(':');
    case 'R':
      return both('H', 'M').join(':');
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case '%':
      return '%';
    default:
      return undefined;
  }
}
