/**
 * Words of transcriptions: compared, and put together where windows overlap.
 */

const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' });

/** The words of a text, each with what stands behind it up to the next one; together they are the text. @internal */
export function wordsOf(text: string): string[] {
  const words: string[] = [];
  let isOpen = false;
  for (const { segment, isWordLike } of segmenter.segment(text.trim())) {
    if ((isWordLike && isOpen) || words.length === 0) words.push(segment);
    else words[words.length - 1] += segment;
    isOpen ||= isWordLike === true;
  }
  return words;
}

/** What of a word is compared. */
const bare = (word: string): string => word.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

/** How many words at the beginning are the same in both. @internal */
export function agreed(one: readonly string[], other: readonly string[]): number {
  const at = one.findIndex((word, number) => bare(word) !== bare(other[number] ?? ''));
  return Math.min(at < 0 ? one.length : at, other.length);
}

/** Words that two windows may share. */
const SHARED = 6;

/** The words of a window behind the words `before` it, without what both have. @internal */
export function appended(before: readonly string[], words: readonly string[]): string[] {
  for (let count = Math.min(SHARED, before.length, words.length); count > 0; count -= 1) {
    const end = before.slice(-count).map(bare);
    const isShared = words.slice(0, count).every((word, at) => bare(word) === end[at]);
    if (isShared) return spaced(before, words.slice(count));
  }
  return spaced(before, words);
}

/** The last word of a window has no space behind it; Chinese, Japanese and Thai need none. */
function spaced(before: readonly string[], words: readonly string[]): string[] {
  const last = before.at(-1);
  const needsSpace =
    last !== undefined && words.length > 0 && /[^\s\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}。、]$/u.test(last);
  return [...(needsSpace ? [...before.slice(0, -1), `${last} `] : before), ...words];
}

/** @internal */
export const textOf = (words: readonly string[]): string => words.join('').trim();
