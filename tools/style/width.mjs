// Widths of lines.

import { note } from './ratchet.mjs';

const WIDTH = 120;
/** What cannot be broken: rows of tables in Markdown, and addresses. */
const UNBREAKABLE = /^\||\]\(http|data:image|https?:\S{80}/;

/** Lines wider than WIDTH that can be broken, by file. */
export function wideLines(sources) {
  const found = new Map();
  for (const { file, text } of sources) {
    for (const [i, line] of text.split('\n').entries()) {
      const length = [...line].length;
      if (length > WIDTH && !UNBREAKABLE.test(line)) note(found, file, `${file}:${i + 1}: ${length} characters`);
    }
  }
  return { [`lines of more than ${WIDTH} characters`]: found };
}
