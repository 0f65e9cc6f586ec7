// A text in passages: each ends where the text has a joint, and begins again a little before the end of the last one.

/** Characters of a passage: some 130 tokens. Embedders read up to 512, but a vector of many things says little. */
const LENGTH = 600;
/** Characters that two passages may share, so that a sentence at a border is whole in one of them. */
const OVERLAP = 100;
/** Where a text may be cut, the best first: before headings, then paragraphs, lines, sentences, words. */
const JOINTS = [/\n\s*\n(?=#{1,6} )/g, /\n\s*\n/g, /\n/g, /[.!?…]["'”’»)\]]*\s+|[。！？]/g, /\s+/g];

/** The ends of all joints of the best kind that the text has from `from` to `to`. */
function joints(text, from, to) {
  const part = text.slice(from, to);
  for (const joint of JOINTS) {
    const ends = [...part.matchAll(joint)].map(({ index, 0: found }) => from + index + found.length);
    if (ends.length > 0) return ends;
  }
  // No space anywhere: not between the two halves of a character, all the same.
  return [/[\uD800-\uDBFF]/.test(text[to - 1]) ? to - 1 : to];
}

/**
 * @param {string} text
 * @returns {{start: number, end: number}[]} where passages with words in them begin and end, in characters
 */
export function chunksOf(text, { length = LENGTH, overlap = OVERLAP } = {}) {
  const chunks = [];
  let start = 0;
  for (;;) {
    const isLast = start + length >= text.length;
    const end = isLast ? text.length : joints(text, start + Math.ceil(length / 2), start + length).at(-1);
    const words = text.slice(start, end);
    const before = words.length - words.trimStart().length;
    if (/[\p{L}\p{N}]/u.test(words)) chunks.push({ start: start + before, end: start + words.trimEnd().length });
    if (isLast) return chunks;
    start = joints(text, end - overlap, end)[0];
  }
}
