/**
 * Markdown as text that can be read aloud: what marks it goes, and its blocks end as sentences do.
 */

/** A line that ends as a sentence, so that a heading does not run into the next. */
const ended = (line: string): string => (line === '' || /[.!?:;,。！？…]["'”’)]?$/.test(line) ? line : `${line}.`);

/** One line of a table as its cells. */
function cellsOf(line: string): string {
  const cells = line.split('|').map((cell) => cell.trim());
  return cells.filter(Boolean).join(', ');
}

function lineOf(line: string): string {
  const text = line.trim();
  // A rule, and what is below the head of a table.
  if (/^[-*_=|: ]{3,}$/.test(text)) return '';
  if (text.startsWith('|')) return ended(cellsOf(text));
  const block = /^(?:>\s?)*(?:#{1,6}\s+|[-*+•]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+)?/.exec(text)?.[0] ?? '';
  const bare = text.slice(block.length).replace(/\s#+$/, '');
  const number = /^(\d{1,3})[.)]\s/.exec(block)?.[1];
  return /[#\-*+•\d]/.test(block) ? ended(number ? `${number}: ${bare}` : bare) : bare;
}

/** @internal */
export function withoutMarkdown(text: string): string {
  const plain = text
    .replaceAll(/(?<=\d) ?\* ?(?=\d)/g, '×')
    // Code is not read aloud; nor is what HTML hides.
    .replaceAll(/^ {0,3}(`{3,}|~{3,})[^`\n]*\n[^]*?(?:^ {0,3}\1[^\n]*$|$(?![^]))/gm, '\n')
    .replaceAll(/<!--[^]{0,2000}?-->/g, ' ')
    .replaceAll(/!\[([^\]\n]{0,500})\]\([^)\n]{0,2000}\)/g, '$1')
    .replaceAll(/\[([^\]\n]{1,500})\](?:\([^)\n]{0,2000}\)|\[[^\]\n]{0,200}\])/g, '$1')
    .replaceAll(/\[\^[^\]\n]{1,50}\]/g, '')
    .replaceAll(/<(?:https?:\/\/[^>\s]{1,2000})>/g, (link) => link.slice(1, -1))
    .replaceAll(/<\/?[a-zA-Z][^<>\n]{0,500}>/g, ' ')
    .replaceAll(/(\*\*\*|\*\*|~~|__)(?=\S)([^\n]{1,2000}?\S?)\1/g, '$2')
    .replaceAll(/(?<![\p{L}\p{N}*])\*(?=\S)([^*\n]{1,2000})\*(?![\p{L}\p{N}*])/gu, '$1')
    .replaceAll(/(?<![\p{L}\p{N}_])_(?=\S)([^_\n]{1,2000})_(?![\p{L}\p{N}_])/gu, '$1')
    .replaceAll(/`{1,2}([^`\n]{1,2000})`{1,2}/g, '$1')
    .replaceAll(/\\([\\`*_{}[\]()#+\-.!~|>])/g, '$1');
  return plain.split('\n').map(lineOf).join('\n');
}
