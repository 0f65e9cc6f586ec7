// The text of a file. Files are hostile input: nothing of them is run, and what cannot be read is said in plain words.

/** Bytes of a file that is read, and characters of its text. */
const MOST_BYTES = 50e6;
const MOST_CHARACTERS = 2e6;
const KINDS = '.txt, .md, .html, .csv and .pdf are read';

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

/**
 * @param {File} file
 * @returns {Promise<{name: string, text: string, pages?: number[], header?: string, isCut: boolean}>} `pages` is where
 *   the pages of a PDF begin, `header` the first line of a table
 * @throws {Error} whose message goes on after the name of the file
 */
export async function readFile(file, signal) {
  if (file.size > MOST_BYTES) throw new Error(`has ${megabytes(file.size)}; up to ${megabytes(MOST_BYTES)} are read`);
  const bytes = await bytesOf(file);
  if (bytes.length === 0) throw new Error('is empty');
  const found = await textIn(bytes, file.name.toLowerCase(), signal);
  const text = found.text.slice(0, MOST_CHARACTERS);
  if (!/[\p{L}\p{N}]/u.test(text)) {
    throw new Error(found.pages ? 'has no text: its pages may be pictures of a scanner' : 'has no words in it');
  }
  return { ...found, name: file.name, text, isCut: text.length < found.text.length };
}

async function bytesOf(file) {
  try {
    return new Uint8Array(await file.arrayBuffer());
  } catch {
    throw new Error('cannot be read: it is a folder, or it was moved or changed since it was chosen');
  }
}

async function textIn(bytes, name, signal) {
  if (name.endsWith('.pdf') || startsWith(bytes, '%PDF-')) {
    const { textOfPdf } = await import('./pdf.js');
    return textOfPdf(bytes, { most: MOST_CHARACTERS, signal });
  }
  const text = decoded(bytes).replaceAll('\r\n', '\n');
  if (/\.html?$/.test(name)) return { text: textOfHtml(text) };
  if (/\.[ct]sv$/.test(name)) return { text, header: text.split('\n', 1)[0] };
  return { text };
}

const startsWith = (bytes, text) => [...text].every((character, at) => bytes[at] === character.charCodeAt(0));

/** UTF-8, UTF-16 with its mark, or what old programs of Windows wrote. */
function decoded(bytes) {
  const isLittle = bytes[0] === 0xff && bytes[1] === 0xfe;
  const isBig = bytes[0] === 0xfe && bytes[1] === 0xff;
  if (isLittle || isBig) return new TextDecoder(isLittle ? 'utf-16le' : 'utf-16be').decode(bytes);
  // No text has these.
  if (bytes.some((byte) => byte < 9 || (byte > 13 && byte < 27))) throw new Error(`is no text; ${KINDS}`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

/** Elements that nobody reads, and those that stand on lines of their own. */
const UNREAD = 'script, style, template, noscript, svg, head, iframe, object';
const BLOCKS =
  'p, div, section, article, header, footer, aside, nav, main, ul, ol, dl, table, blockquote, pre, h1, h2, h3, h4, h5';
const LINES = 'br, li, tr, dt, dd, hr';

/** A document of `DOMParser` runs no script and loads no picture. */
function textOfHtml(html) {
  const { body } = new DOMParser().parseFromString(html, 'text/html');
  for (const each of body.querySelectorAll(UNREAD)) each.remove();
  for (const each of body.querySelectorAll('td, th')) each.append(' ');
  for (const each of body.querySelectorAll(LINES)) each.after('\n');
  for (const each of body.querySelectorAll(BLOCKS)) {
    each.before('\n\n');
    each.after('\n\n');
  }
  return body.textContent
    .replaceAll(/[ \t]+/g, ' ')
    .replaceAll(/\s*\n\s*\n\s*/g, '\n\n')
    .trim();
}
