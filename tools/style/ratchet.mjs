// Exceptions from the checks of style: numbers of today that may only shrink. `exceptions.json` has them by check and
// by what is counted. A number that grows fails, and so does an exception that is no longer needed;
// `node tools/style.mjs --shrink` takes those out and lowers the others, and never adds one.

import path from 'node:path';
import { readJson, ROOT, writeJson } from '../common.mjs';

const FILE = path.join(ROOT, 'tools', 'style', 'exceptions.json');

/**
 * What is wrong with what a check has found.
 *
 * @param {Map<string, {count: number, where: string[]}>} found what is above the limit, by name
 * @param {Record<string, number>} allowed the exceptions of the check
 * @returns {string[]} a line for each fault
 */
export function faultsOf(found, allowed) {
  const grown = [...found].filter(([name, { count }]) => count > (allowed[name] ?? 0));
  const needless = Object.keys(allowed).filter((name) => !found.has(name));
  return [
    ...grown.flatMap(([name, { count, where }]) => {
      const limit = name in allowed ? `, ${allowed[name]} at most` : '';
      return [`${name}: ${count}${limit}`, ...where.map((line) => `  ${line}`)];
    }),
    ...needless.map((name) => `${name}: the exception is no longer needed (node tools/style.mjs --shrink)`),
  ];
}

/** The exceptions that are left: none above what was found, and none that is new. */
export function shrunk(found, allowed) {
  const kept = Object.entries(allowed).filter(([name]) => found.has(name));
  return Object.fromEntries(kept.map(([name, most]) => [name, Math.min(most, found.get(name).count)]));
}

/** Reads the exceptions, by check. */
export const exceptions = () => readJson(FILE, {});

/** Writes the exceptions of all checks, sorted by name. */
export function writeExceptions(all) {
  const sorted = (object) => Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
  const written = Object.entries(all).filter(([, of]) => Object.keys(of).length > 0);
  writeJson(FILE, sorted(Object.fromEntries(written.map(([check, of]) => [check, sorted(of)]))));
}

/** Adds to what a check has found under a name. */
export function note(found, name, where, count = 1) {
  const at = found.get(name) ?? { count: 0, where: [] };
  found.set(name, { count: at.count + count, where: [...at.where, where] });
}
