/**
 * The filter `wordwrap`: lines of a width, as Python's `textwrap` breaks them
 * (<https://docs.python.org/3/library/textwrap.html>).
 */
import { SPACE } from './text.js';
import { type Budget, charactersOf, TemplateError } from './values.js';

/** What `textwrap` takes for white space. */
const isSpace = (sign: string | undefined): boolean => sign !== undefined && '\t\n\v\f\r '.includes(sign);
const isWordSign = (sign: string | undefined): boolean => sign !== undefined && /[\p{L}\p{N}_]/u.test(sign);
const isLetter = (sign: string | undefined): boolean => isWordSign(sign) && !/[\p{Nd}]/u.test(sign as string);
/** What may stand before a dash between words. */
const isBeforeDash = (sign: string | undefined): boolean =>
  isWordSign(sign) || (sign !== undefined && '!"\'&.,?'.includes(sign));
const BLANK = new RegExp(`[${SPACE}]`);

/** A part of a text: from one place to another. */
type Part = [from: number, to: number];

/** @internal */
export interface Wrapping {
  readonly width: number;
  readonly breaksLong: boolean;
  readonly breaksAtHyphens: boolean;
}

/** The lines of a paragraph. @internal */
export function wrapped(budget: Budget, text: string, wrapping: Wrapping): string[] {
  if (wrapping.width < 1) throw new TemplateError(`wordwrap: expected a width of at least 1, found ${wrapping.width}`);
  budget.text(4 * text.length);
  const signs = charactersOf(text);
  const parts = partsOf(signs, wrapping.breaksAtHyphens).reverse();
  const lines: string[] = [];
  while (parts.length > 0) {
    budget.step();
    if (lines.length > 0 && isBlank(signs, parts.at(-1) as Part)) parts.pop();
    const line = lineOf(signs, parts, wrapping);
    if (line.length > 0) lines.push(line.map(([from, to]) => signs.slice(from, to).join('')).join(''));
  }
  return lines;
}

function isBlank(signs: readonly string[], [from, to]: Part): boolean {
  return runOf(signs, from, (sign) => BLANK.test(sign), to) === to;
}

/** Takes the parts of a line from the end of `parts`. */
function lineOf(signs: readonly string[], parts: Part[], { width, breaksLong, breaksAtHyphens }: Wrapping): Part[] {
  const line: Part[] = [];
  let room = width;
  for (let next = parts.at(-1); next && next[1] - next[0] <= room; next = parts.at(-1)) {
    line.push(next);
    room -= next[1] - next[0];
    parts.pop();
  }
  const next = parts.at(-1);
  if (next && next[1] - next[0] > width) {
    if (breaksLong) {
      const end = next[0] + cutOf(signs, next[0], room, breaksAtHyphens);
      line.push([next[0], end]);
      next[0] = end;
    } else if (line.length === 0) line.push(parts.pop() as Part);
  }
  if (line.length > 0 && isBlank(signs, line.at(-1) as Part)) line.pop();
  return line;
}

/** How much of a part that is too long fits: up to its last hyphen, unless nothing but hyphens is before it. */
function cutOf(signs: readonly string[], from: number, room: number, atHyphens: boolean): number {
  let hyphen = atHyphens ? room - 1 : -1;
  while (hyphen > 0 && signs[from + hyphen] !== '-') hyphen -= 1;
  if (hyphen <= 0) return room;
  const end = from + hyphen;
  return runOf(signs, from, (sign) => sign === '-', end) < end ? hyphen + 1 : room;
}

/** White space, dashes between words, and words, which may end at a hyphen. */
function partsOf(signs: readonly string[], atHyphens: boolean): Part[] {
  const parts: Part[] = [];
  for (let at = 0; at < signs.length; ) {
    const end = isSpace(signs[at])
      ? runOf(signs, at, (sign) => isSpace(sign))
      : atHyphens
        ? wordEnd(signs, at)
        : runOf(signs, at, (sign) => !isSpace(sign));
    parts.push([at, end]);
    at = end;
  }
  return parts;
}

function runOf(signs: readonly string[], from: number, isPart: (sign: string) => boolean, end = signs.length): number {
  let at = from;
  while (at < end && isPart(signs[at] as string)) at += 1;
  return at;
}

/** Behind the dashes at a place, where they are two or more and stand between words; else nothing. */
function dashEnd(signs: readonly string[], from: number): number | undefined {
  if (signs[from] !== '-' || !isBeforeDash(signs[from - 1])) return undefined;
  const end = runOf(signs, from, (sign) => sign === '-');
  return end - from >= 2 && isWordSign(signs[end]) ? end : undefined;
}

function wordEnd(signs: readonly string[], from: number): number {
  const dash = dashEnd(signs, from);
  if (dash !== undefined) return dash;
  // A run of dashes is looked at once.
  let looked = from;
  for (let at = from + 1; ; at += 1) {
    if (at >= signs.length || isSpace(signs[at])) return at;
    if (signs[at] !== '-') continue;
    if (isHyphen(signs, at)) return at + 1;
    if (at < looked) continue;
    if (dashEnd(signs, at) !== undefined) return at;
    looked = runOf(signs, at, (sign) => sign === '-');
  }
}

/** Whether a word may be broken behind the hyphen at a place: two letters before it, and two behind it. */
function isHyphen(signs: readonly string[], at: number): boolean {
  const [third, second, first] = [signs[at - 3], signs[at - 2], signs[at - 1]];
  const isBefore = isLetter(first) && (isLetter(second) || (second === '-' && isLetter(third)));
  const [next, later, last] = [signs[at + 1], signs[at + 2], signs[at + 3]];
  return isBefore && isLetter(next) && (isLetter(later) || (later === '-' && isLetter(last)));
}
