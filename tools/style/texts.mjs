// The checks that read the texts of the repository: each gives what is above its limits, by title and name.

import { largeFunctions, longFiles } from './budgets.mjs';
import { lostPaths } from './paths.mjs';
import { exceptions, faultsOf, shrunk, writeExceptions } from './ratchet.mjs';
import { sources } from './sources.mjs';
import { wideLines } from './width.mjs';
import { openings, words } from './words.mjs';

const CHECKS = {
  width: wideLines,
  'sizes of files': longFiles,
  functions: largeFunctions,
  words,
  openings,
  paths: lostPaths,
};

/** The names of the checks, each with what is wrong: a line for each fault; `undefined` where git lists no files. */
export function checkTexts() {
  const texts = sources();
  if (!texts) return undefined;
  const allowed = exceptions();
  return Object.entries(CHECKS).map(([name, check]) => {
    const faults = Object.entries(check(texts)).flatMap(([title, found]) => {
      const lines = faultsOf(found, allowed[title] ?? {});
      return lines.length > 0 ? [`${title}:`, ...lines] : [];
    });
    return { name, faults, files: texts.length };
  });
}

/** Lowers the exceptions to what is left, and takes out those that are not needed. */
export function shrinkExceptions() {
  const texts = sources() ?? [];
  const allowed = exceptions();
  const found = Object.assign({}, ...Object.values(CHECKS).map((check) => check(texts)));
  const left = Object.entries(found).map(([title, of]) => [title, shrunk(of, allowed[title] ?? {})]);
  writeExceptions(Object.fromEntries(left));
}
