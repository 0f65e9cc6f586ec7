/**
 * The filter `urlize`: addresses in a text as links, as jinja2 finds them
 * (<https://jinja.palletsprojects.com/en/stable/templates/#jinja-filters.urlize>).
 */
import { SPACE } from './text.js';

/** What letters, digits and the underscore are in Python. */
const W = '\\p{L}\\p{N}_';
/** Digits of an address of the sixth version. */
const HEX = '[\\p{Nd}a-f]{0,4}';
const HOSTS = [
  // A scheme or www, parts of a name, and a last part of letters.
  `(?:https?://|www\\.)(?:[${W}%-]+\\.)*(?:[a-z]{2,63}|xn--[${W}%]{2,59})`,
  // A name with one of the oldest last parts.
  `(?:[${W}%-]{2,63}\\.)+(?:com|net|int|edu|gov|org|info|mil)`,
  // Numbers of the fourth or the sixth version, whose groups are as long as they can be.
  `https?://(?:\\p{Nd}{1,3}(?:\\.\\p{Nd}{1,3}){3}|\\[(?:${HEX}:){2}(?:(?=(?<group>${HEX}:?))\\k<group>){1,6}\\])`,
];
const HTTP = new RegExp(`^(?:${HOSTS.join('|')})(?::\\p{Nd}{1,5})?(?:[/?#]\\S*)?$`, 'iu');
const EMAIL = new RegExp(`^\\S+@[${W}][${W}.-]*\\.[${W}]+$`, 'u');
const SCHEME = new RegExp(`^([${W}.+-]{2,}:(/){0,2})$`, 'u');
const SPACES = new RegExp(`([${SPACE}]+)`);
const OPENING = /^(?:[(<]|&lt;)+/;
const PAIRS = [
  ['(', ')'],
  ['<', '>'],
  ['&lt;', '&gt;'],
] as const;
/** Signs that end a sentence and no address. */
const ENDS = ['&gt;', ')', '>', '.', ',', '\n'];

/** @internal */
export interface Links {
  /** Characters of an address that are shown; default: all. */
  readonly shown: number | undefined;
  /** Attributes of links, escaped. */
  readonly attributes: string;
  /** Further beginnings of addresses. */
  readonly schemes: readonly string[];
}

/** Whether a text may be the beginning of an address. @internal */
export const isScheme = (text: string): boolean => SCHEME.test(text);

/** An escaped text with its links. @internal */
export function linked(escaped: string, links: Links): string {
  return escaped
    .split(SPACES)
    .map((word) => linkedWord(word, links))
    .join('');
}

function linkedWord(word: string, links: Links): string {
  const head = OPENING.exec(word)?.[0] ?? '';
  let [middle, tail] = withoutEnds(word.slice(head.length));
  for (const [open, close] of PAIRS) {
    const missing = countOf(middle, open) - countOf(middle, close);
    if (missing <= 0) continue;
    const most = Math.min(countOf(middle, open), countOf(tail, close));
    let end = 0;
    for (let count = 0; count < most; count += 1) end = tail.indexOf(close, end) + close.length;
    [middle, tail] = [middle + tail.slice(0, end), tail.slice(end)];
  }
  return head + linkOf(middle, links) + tail;
}

const countOf = (text: string, part: string): number => text.split(part).length - 1;

function withoutEnds(word: string): [string, string] {
  let end = word.length;
  for (;;) {
    const found = ENDS.find((sign) => word.endsWith(sign, end) && end >= sign.length);
    if (!found) return [word.slice(0, end), word.slice(end)];
    end -= found.length;
  }
}

function linkOf(text: string, { shown, attributes, schemes }: Links): string {
  const link = (address: string, name: string, rest = ''): string => `<a href="${address}"${rest}>${name}</a>`;
  if (HTTP.test(text)) {
    const signs = shown === undefined ? [] : [...text];
    const name = shown !== undefined && signs.length > shown ? `${signs.slice(0, shown).join('')}...` : text;
    return link(/^https?:\/\//.test(text) ? text : `https://${text}`, name, attributes);
  }
  if (text.startsWith('mailto:') && EMAIL.test(text.slice(7))) return link(text, text.slice(7));
  const isMail = text.includes('@') && !/^(?:www\.|@)/.test(text) && !text.includes(':') && EMAIL.test(text);
  if (isMail) return link(`mailto:${text}`, text);
  let found = text;
  for (const scheme of schemes) {
    if (found !== scheme && found.startsWith(scheme)) found = link(found, found, attributes);
  }
  return found;
}
