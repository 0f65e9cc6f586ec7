/**
 * Files with examples: JSON Lines, JSON, CSV and plain text.
 */
import { invalidArgument, WebggufError } from '../../errors.js';
import { show } from '../../check.js';
import { csvRows } from './csv.js';
import type { Example } from './examples.js';
import { exampleOf } from './records.js';

/**
 * Reads the examples of a file.
 *
 * - **JSON Lines** (`.jsonl`), an object on each line, or a **JSON** array of such objects: OpenAI's
 *   `{ messages, tools }`, with `weight: 0` on answers that are not learned; `{ prompt, completion }`, texts or
 *   messages; `{ prompt, chosen, rejected }`, or whole conversations as `chosen` and `rejected`; `{ text }`; Alpaca's
 *   `{ instruction, input, output }`, also `{ question, answer }` and such; ShareGPT's `{ conversations }`
 * - **CSV** (`.csv`, `.tsv`) whose first row names its columns as above: `text`; `prompt` and `completion`;
 *   `instruction`, `input` and `output`; with commas, semicolons or tabs between them
 * - **plain text**: an example for each paragraph, that is up to the next empty line
 *
 * The name of the file says which; where it does not, how the text begins.
 *
 * @param file the file, or its text
 * @param name its name; default: the name of a `File`
 * @returns the examples, in order
 * @throws {WebggufError} `invalid_argument` for what cannot be read: the message names the line, and what was found
 *
 * @example
 * const examples = await readExamples(input.files[0]);
 */
export async function readExamples(file: Blob | string, name?: string): Promise<Example[]> {
  const called = name ?? (file as Partial<File>).name ?? '';
  const place = called === '' ? 'readExamples' : `readExamples: ${called}`;
  const text = (typeof file === 'string' ? file : await file.text()).replace(/^\ufeff/, '');
  try {
    const examples = examplesOf(text, called);
    if (examples.length === 0) throw invalidArgument('there are no examples in it');
    return examples;
  } catch (error) {
    if (!(error instanceof WebggufError)) throw error;
    throw new WebggufError(error.code, `${place}: ${error.message}`, { cause: error });
  }
}

function examplesOf(text: string, name: string): Example[] {
  checkIsText(text);
  if (/\.(csv|tsv)$/i.test(name)) return fromTable(text);
  if (/\.(jsonl|ndjson|json)$/i.test(name)) return fromJson(text);
  if (/^\s*[[{]/.test(text) && isJson(text)) return fromJson(text);
  if (!/\.\w+$/.test(name) && looksLikeTable(text)) return fromTable(text);
  return paragraphs(text);
}

function checkIsText(text: string): void {
  if (text.startsWith('PAR1'))
    throw invalidArgument('this is a Parquet file: write it as JSON Lines, an object a line');
  const at = text.indexOf('\0');
  if (at >= 0) throw invalidArgument(`this is no text in UTF-8: it has a zero at character ${at + 1}`);
}

/** Whether a text without a name is JSON: its first line, or all of it. */
function isJson(text: string): boolean {
  return [text.trim().split('\n', 1)[0] as string, text].some((part) => {
    try {
      JSON.parse(part);
      return true;
    } catch {
      return false;
    }
  });
}

/** Whether the first line of a text without a name is the header of a table with examples. */
function looksLikeTable(text: string): boolean {
  const [header = ''] = text.split(/\r|\n/, 1);
  const columns = header.split(/[,;\t]/).map((column) => column.replaceAll('"', '').trim().toLowerCase());
  if (columns.length === 1 && columns[0] !== 'text') return false;
  const record = Object.fromEntries(columns.map((column) => [column, 'x']));
  try {
    exampleOf(record);
    return true;
  } catch {
    return false;
  }
}

function paragraphs(text: string): string[] {
  return text
    .split(/\r?\n(?:[ \t]*\r?\n)+/)
    .map((paragraph) => paragraph.trim())
    .filter(Boolean);
}

// ---- JSON -----------------------------------------------------------------------------------------------------------

function fromJson(text: string): Example[] {
  if (/^\s*\[/.test(text)) return fromArray(parsed(text, 'the file'));
  const lines = text.split(/\r\n|\r|\n/).map((content, at) => ({ content, where: `line ${at + 1}` }));
  const written = lines.filter(({ content }) => content.trim() !== '');
  // An object on several lines is all there is.
  if (written[0]?.content.trim() === '{') return [at('the file', () => exampleOf(parsed(text, 'the file')))];
  return written.map(({ content, where }) => at(where, () => exampleOf(parsed(content, where))));
}

function fromArray(list: unknown): Example[] {
  return (list as unknown[]).map((item, index) =>
    at(`element ${index + 1}`, () => (typeof item === 'string' ? item : exampleOf(item))),
  );
}

function parsed(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const message = `${where} is no JSON (${(error as Error).message}): ${show(text.trim())}`;
    throw invalidArgument(message);
  }
}

/** Puts the place before the message of an error that has none yet. */
function at<T>(where: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof WebggufError) || error.message.startsWith(where)) throw error;
    throw new WebggufError(error.code, `${where}: ${error.message}`, { cause: error });
  }
}

// ---- CSV ------------------------------------------------------------------------------------------------------------

function fromTable(text: string): Example[] {
  const [header, ...rows] = csvRows(text);
  if (!header) return [];
  const columns = header.fields.map((column) => column.trim().toLowerCase());
  return rows.map(({ line, fields }) => {
    const where = `line ${line}`;
    if (fields.length !== columns.length) {
      throw invalidArgument(`${where}: found ${fields.length} fields, expected ${columns.length} as in the first row`);
    }
    // What is empty is not there: most tables have columns that not all rows need.
    const named = columns.map((column, index) => [column, fields[index]] as const);
    return at(where, () => exampleOf(Object.fromEntries(named)));
  });
}
