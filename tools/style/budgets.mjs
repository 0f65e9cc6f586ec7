// Budgets of the code: lines of files and functions, arguments, nesting. ARCHITECTURE.md has them for people.

import { functionsOf } from './functions.mjs';
import { languageOf } from './lexer.mjs';
import { isProduct, mostLines } from './sources.mjs';

const MOST = { lines: 50, args: 6, nesting: 3 };
const TITLES = {
  lines: `lines of a function, ${MOST.lines} at most`,
  args: `arguments of a function, ${MOST.args} at most`,
  nesting: `nesting of a function, ${MOST.nesting} at most`,
};

/** The code of a file without the tests of Rust at its end. */
export const withoutTests = (file, text) =>
  file.endsWith('.rs') ? text.split(/^#\[cfg\((?:all\()?test\b[^\n]*\]\nmod /m)[0] : text;

/** What is above the budgets of files, by file. */
export function longFiles(sources) {
  const found = new Map();
  for (const { file, text } of sources.filter(({ file }) => isProduct(file))) {
    const count = withoutTests(file, text).trimEnd().split('\n').length;
    if (count > mostLines(file)) found.set(file, { count, where: [] });
  }
  return { 'lines of a file': found };
}

/** What is above the budgets of functions, by file and name; of several of one name the largest counts. */
export function largeFunctions(sources) {
  const found = Object.fromEntries(Object.values(TITLES).map((title) => [title, new Map()]));
  for (const { file, text } of sources.filter(({ file }) => isProduct(file))) {
    for (const fn of functionsOf(withoutTests(file, text), languageOf(file))) keep(found, file, fn);
  }
  return found;
}

function keep(found, file, fn) {
  for (const [budget, title] of Object.entries(TITLES)) {
    const name = `${file} ${fn.name}`;
    const count = fn[budget];
    const isLarger = count > (found[title].get(name)?.count ?? MOST[budget]);
    if (isLarger) found[title].set(name, { count, where: [`${file}:${fn.line}`] });
  }
}
