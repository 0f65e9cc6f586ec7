/**
 * Methods of text that few templates use.
 */
import { find, placeOf } from './compare.js';
import { bracesFormatted } from './format-braces.js';
import { mapped, pieces, separatorOf, textAt } from './methods.js';
import { type Args, given, type Method, type Named } from './more.js';
import { SPACE, stripped } from './text.js';
import {
  type Budget,
  charactersOf,
  integerOf,
  isAscii,
  isList,
  isMap,
  kindOf,
  lengthOf,
  TemplateError,
  tupleOf,
  type Value,
} from './values.js';

/** A method that says whether the text is not empty and has such characters only. */
const only = (pattern: RegExp): Method<string> => mapped((value) => pattern.test(value));

const SEPARATORS = '\\x1c-\\x1e\\x85\\u2028\\u2029';
const LINE_END = new RegExp(`\\r\\n|[\\n-\\r${SEPARATORS}]`, 'g');

/** @internal */
export const METHODS: Record<string, Method<string>> = {
  capitalize: mapped(capitalized),
  casefold: mapped((value) => value.toLowerCase().replaceAll('ß', 'ss').replaceAll('ς', 'σ')),
  center: (budget, value, args) => centered(budget, value, integerOf(args[0], 'a width'), fillOf(args)),
  count: (budget, value, args) => counted(budget, value, args),
  endswith: (budget, value, args) => isAtEnd(budget, value, args, 'endsWith'),
  expandtabs: expanded,
  find: (budget, value, args) => found(budget, value, args, false),
  format: bracesFormatted,
  format_map: (budget, value, [map]) => {
    if (!isMap(map)) throw new TemplateError(`format_map: expected a map, found ${kindOf(map)}`);
    return bracesFormatted(budget, value, [], map as Named);
  },
  index: (budget, value, args) => present(found(budget, value, args, false)),
  isalnum: only(/^[\p{L}\p{N}]+$/u),
  isalpha: only(/^\p{L}+$/u),
  isascii: mapped(isAscii),
  isdecimal: only(/^\p{Nd}+$/u),
  isdigit: only(/^[\p{Nd}\xb2\xb3\xb9\u2070\u2074-\u2079\u2080-\u2089\u2460-\u2468\u2474-\u247c]+$/u),
  isidentifier: only(/^[\p{ID_Start}_]\p{ID_Continue}*$/u),
  islower: mapped((value) => /\p{Lowercase}/u.test(value) && !/[\p{Uppercase}\p{Lt}]/u.test(value)),
  isnumeric: only(/^\p{N}+$/u),
  isprintable: mapped((value) => !/[^\P{C} ]|[^\P{Z} ]/u.test(value)),
  isspace: only(new RegExp(`^[${SPACE}]+$`)),
  istitle: mapped((value) => /\p{Cased}/u.test(value) && value === titled(value)),
  isupper: mapped((value) => /\p{Uppercase}/u.test(value) && !/[\p{Lowercase}\p{Lt}]/u.test(value)),
  ljust: (budget, value, args) => padded(budget, value, args, 'right'),
  partition: (budget, value, args) => {
    const at = placeOf(budget, value, separator(args));
    return parted(value, at, args, [value, '', '']);
  },
  removeprefix: mapped((value, args) => (value.startsWith(textAt(args)) ? value.slice(textAt(args).length) : value)),
  removesuffix: mapped((value, args) => {
    return value.endsWith(textAt(args)) ? value.slice(0, value.length - textAt(args).length) : value;
  }),
  rfind: (budget, value, args) => found(budget, value, args, true),
  rindex: (budget, value, args) => present(found(budget, value, args, true)),
  rjust: (budget, value, args) => padded(budget, value, args, 'left'),
  rpartition: (budget, value, args) => {
    budget.text(3 * value.length + separator(args).length);
    return parted(value, lastOf(value, separator(args)), args, ['', '', value]);
  },
  rsplit,
  splitlines: (budget, value, args, named) => linesOf(budget, value, given(args, named, 0, 'keepends', false) === true),
  startswith: (budget, value, args) => isAtEnd(budget, value, args, 'startsWith'),
  swapcase: mapped((value) =>
    charactersOf(value)
      .map((char) => (char === char.toLowerCase() ? char.toUpperCase() : char.toLowerCase()))
      .join(''),
  ),
  title: mapped(titled),
  zfill: (budget, value, [width]) => {
    const missing = Math.max(0, integerOf(width, 'a width') - lengthOf(value));
    budget.text(value.length + missing);
    const sign = /^[-+]/.exec(value)?.[0] ?? '';
    return sign + '0'.repeat(missing) + value.slice(sign.length);
  },
};

/** @internal */
export function capitalized(value: string): string {
  const [first = '', ...rest] = charactersOf(value);
  return large(first) + rest.join('').toLowerCase();
}

/** Signs of two letters, of which the first alone is large where a word begins with them. */
const DIGRAPHS: Record<string, string> = { Ǆ: 'ǅ', Ǉ: 'ǈ', Ǌ: 'ǋ', Ǳ: 'ǲ' };

/** A capital letter; of a character that becomes several, such as ß, only the first one is. */
function large(char: string): string {
  const [first = '', ...rest] = charactersOf(char.toUpperCase());
  return (DIGRAPHS[first] ?? first) + rest.join('').toLowerCase();
}

/** Large is what follows no letter. */
function titled(value: string): string {
  return value.replace(/\p{Cased}+/gu, (word) => capitalized(word));
}

/** The lines of a text, without or with what ends them. @internal */
export function linesOf(budget: Budget, value: string, withEnds = false): string[] {
  budget.text(2 * value.length);
  const lines: string[] = [];
  let from = 0;
  for (const { 0: end, index } of value.matchAll(LINE_END)) {
    budget.list(1);
    lines.push(value.slice(from, index + (withEnds ? end.length : 0)));
    from = index + end.length;
  }
  if (from < value.length) lines.push(value.slice(from));
  budget.list(lines.length);
  return lines;
}

function fillOf(args: Args): string {
  const fill = args.length > 1 ? textAt(args, 1) : ' ';
  if (lengthOf(fill) === 1) return fill;
  throw new TemplateError('a fill must be one character');
}

/** @internal */
export function centered(budget: Budget, value: string, width: number, fill = ' '): string {
  const missing = Math.max(0, width - lengthOf(value));
  budget.text(value.length + fill.length * missing);
  const left = Math.floor(missing / 2) + (missing & width & 1);
  return fill.repeat(left) + value + fill.repeat(missing - left);
}

function padded(budget: Budget, value: string, args: Args, side: 'left' | 'right'): string {
  const [fill, width] = [fillOf(args), integerOf(args[0], 'a width')];
  const missing = Math.max(0, width - lengthOf(value));
  budget.text(value.length + fill.length * missing);
  return side === 'left' ? fill.repeat(missing) + value : value + fill.repeat(missing);
}

function expanded(budget: Budget, value: string, args: Args, named: Named): string {
  const size = integerOf(given(args, named, 0, 'tabsize', 8), 'tabsize');
  const tabs = value.split('\t').length - 1;
  budget.text(2 * value.length + tabs * Math.max(0, size));
  let column = 0;
  return charactersOf(value)
    .map((char) => {
      if (char === '\t') {
        const spaces = size > 0 ? size - (column % size) : 0;
        column += spaces;
        return ' '.repeat(spaces);
      }
      column = char === '\n' || char === '\r' ? 0 : column + 1;
      return char;
    })
    .join('');
}

/** A part of a text: its characters, and where it begins. Nothing where it begins behind the end. */
function windowOf(budget: Budget, value: string, [start, stop]: Args): { text: string; from: number } | undefined {
  budget.text(2 * value.length);
  const length = lengthOf(value);
  const place = (at: Value, usual: number): number => {
    if (at === undefined || at === null) return usual;
    const found = integerOf(at, 'a place');
    return found < 0 ? Math.max(0, found + length) : found;
  };
  const [from, to] = [place(start, 0), Math.min(length, place(stop, length))];
  if (from > length || to < from) return undefined;
  if (from === 0 && to === length) return { text: value, from };
  return { text: isAscii(value) ? value.slice(from, to) : charactersOf(value).slice(from, to).join(''), from };
}

/** Where the text of the first argument stands, in characters; -1 where it does not. */
function found(budget: Budget, value: string, args: Args, last: boolean): number {
  const wanted = textAt(args);
  const part = windowOf(budget, value, args.slice(1));
  if (!part) return -1;
  budget.text(3 * part.text.length + wanted.length);
  const at = last ? lastOf(part.text, wanted) : find(part.text, wanted);
  return at < 0 ? -1 : part.from + lengthOf(part.text.slice(0, at));
}

function present(at: number): number {
  if (at < 0) throw new TemplateError('the text does not have the part');
  return at;
}

/** Where `part` stands last, in a time that is linear in both. */
function lastOf(text: string, part: string): number {
  if (part.length <= 32) return text.lastIndexOf(part);
  const backwards = (value: string): string => value.split('').reverse().join('');
  const at = find(backwards(text), backwards(part));
  return at < 0 ? -1 : text.length - at - part.length;
}

function counted(budget: Budget, value: string, args: Args): number {
  const wanted = textAt(args);
  const part = windowOf(budget, value, args.slice(1));
  if (!part) return 0;
  return wanted === '' ? lengthOf(part.text) + 1 : pieces(budget, part.text, wanted).length - 1;
}

function isAtEnd(budget: Budget, value: string, args: Args, end: 'startsWith' | 'endsWith'): boolean {
  const [first, ...places] = args;
  const part = windowOf(budget, value, places);
  const texts = isList(first) ? first.map((_, index) => textAt(first, index)) : [textAt(args)];
  return texts.some((text) => {
    budget.text(text.length);
    return part?.text[end](text) ?? false;
  });
}

function separator(args: Args): string {
  const text = textAt(args);
  if (text !== '') return text;
  throw new TemplateError('the separator must be a text that is not empty');
}

function parted(value: string, at: number, args: Args, without: readonly string[]): Value {
  const text = textAt(args);
  return tupleOf(at < 0 ? without : [value.slice(0, at), text, value.slice(at + text.length)]);
}

function rsplit(budget: Budget, value: string, args: Args, named: Named): Value {
  const [text, most] = separatorOf(args, named);
  if (text === null) return wordsFromRight(budget, value, most);
  budget.text(4 * value.length + text.length);
  const found: string[] = [];
  const backwards = (each: string): string => each.split('').reverse().join('');
  const [turned, part] = [backwards(value), backwards(text)];
  let from = 0;
  while (found.length < most) {
    const at = find(turned, part, from);
    if (at < 0) break;
    budget.list(1);
    found.push(value.slice(value.length - at, value.length - from));
    from = at + part.length;
  }
  found.push(value.slice(0, value.length - from));
  return found.reverse();
}

function wordsFromRight(budget: Budget, value: string, most: number): string[] {
  budget.text(3 * value.length);
  const places = [...value.matchAll(new RegExp(`[^${SPACE}]+`, 'g'))];
  budget.list(places.length);
  if (places.length <= most) return places.map(([word]) => word);
  const rest = places.slice(places.length - most).map(([word]) => word);
  const last = places[places.length - most - 1];
  return [value.slice(0, (last?.index ?? 0) + (last?.[0].length ?? 0)), ...rest].filter(
    (each, at) => at > 0 || stripped(each, true, true) !== '',
  );
}
