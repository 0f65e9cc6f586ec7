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
      return padded(dayOfYear(date), 3);
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
    case 'P':
      return hour < 12 ? 'am' : 'pm';
    case 'k':
      return padded(hour, 2, ' ');
    case 'l':
      return padded(hour % 12 || 12, 2, ' ');
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
    case 'r':
      return `${both('I', 'M', 'S').join(':')} ${both('p')}`;
    case 'c':
      return `${both('a', 'b', 'e', 'T').join(' ')} ${year}`;
    case 'C':
      return padded(Math.floor(year / 100));
    case 'f':
      return padded(date.getMilliseconds() * 1000, 6);
    case 's':
      return String(Math.floor(date.getTime() / 1000));
    // The zone of a date that names none.
    case 'z':
    case 'Z':
      return '';
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case '%':
      return '%';
    default:
      return ofWeek(date, letter);
  }
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
