// The text of a PDF, read in a worker of its own, which ends with the file.
import { getDocument, PDFWorker } from 'pdfjs-dist';

/** What of an error of pdf.js a visitor can do something about. */
const WORDS = {
  PasswordException: 'is protected by a password: save a copy without one',
  InvalidPDFException: 'is no PDF that can be read: it may be damaged',
};

/**
 * @param {Uint8Array} data
 * @param {{most: number, signal?: AbortSignal}} options `most` characters are read
 * @returns {Promise<{text: string, pages: number[]}>} `pages` is where each page begins
 */
export async function textOfPdf(data, { most, signal }) {
  const port = new Worker(new URL('./pdf-worker.js', import.meta.url), { type: 'module' });
  const worker = PDFWorker.create({ port, verbosity: 0 });
  // Fonts are for drawing, which nobody does here.
  const task = getDocument({ data, worker, disableFontFace: true, isOffscreenCanvasSupported: false, verbosity: 0 });
  const stop = () => task.destroy();
  signal?.addEventListener('abort', stop);
  try {
    return await textOfPages(await task.promise, most);
  } catch (error) {
    signal?.throwIfAborted();
    throw new Error(WORDS[error.name] ?? `is no PDF that can be read: ${error.message}`);
  } finally {
    signal?.removeEventListener('abort', stop);
    await task.destroy();
    worker.destroy();
    port.terminate();
  }
}

async function textOfPages(document, most) {
  const pages = [];
  let text = '';
  for (let number = 1; number <= document.numPages && text.length <= most; number += 1) {
    const page = await document.getPage(number);
    const { items } = await page.getTextContent();
    pages.push(text.length);
    text += `${items.map(({ str = '', hasEOL }) => (hasEOL ? `${str}\n` : str)).join('')}\n\n`;
    page.cleanup();
  }
  return { text, pages };
}
