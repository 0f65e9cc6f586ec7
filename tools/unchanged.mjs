// Which programs of tests have passed already with the files that are here, so that they need not run again. A file has
// a digest for each program that has passed; `npm test -- --record` writes it, see docs/design/tests.md.

import fs from 'node:fs';
import path from 'node:path';
import { ask, filesUnder, hashOf, ROOT } from './common.mjs';

const FILE = path.join(ROOT, 'tests', 'fixtures', 'agreed', 'programs.txt');
const DIGEST_CHARS = 16;
/** What every program is compiled from, beside its tests and fixtures. Tests use Rust files of `tools`, too. */
const SHARED = ['Cargo.toml', 'Cargo.lock', '.cargo', 'build.rs', 'webdriver.json', 'shaders', 'src', 'tools'];
/** Files of GPUs on Linux. Where one of them is, the tests run on another adapter than on a machine without a GPU. */
const GPUS = ['/dev/dri', '/dev/nvidia0', '/dev/kfd'];

/** Fixtures that only tests outside of the browser read. */
const ELSEWHERE = /^tests\/fixtures\/(agreed\/|mutants|mutant_digests|simulated|dispatches|variants|passes)/;

/** The files of the program `name` of tests in `files`: its own, those that programs share, and fixtures. */
export function inputsOf(name, files) {
  const own = new RegExp(`^tests/${name}(\\.rs$|/|_\\w+/)`);
  const isShared = (file) => /^tests\/(?:common|fixtures)\//.test(file) && !ELSEWHERE.test(file);
  return files.filter((file) => !file.startsWith('tests/') || own.test(file) || isShared(file));
}

/** @param {string} text lines of names and digests @returns {Map<string, string>} */
const parse = (text) => new Map([...text.matchAll(/^(\S+) (\S+)$/gm)].map(([, name, digest]) => [name, digest]));

/** The text of `digests` by name, as `parse` reads it. */
export const written = (digests) =>
  [...digests]
    .sort()
    .map(([name, digest]) => `${name} ${digest}\n`)
    .join('');

/**
 * Which programs have passed with the files that are here.
 * @param {string[]} names of programs in tests/ @param {string} browser path of the browser that runs them
 * @returns {{isKnown: (name: string) => boolean, record: (name: string) => void}} `record` writes that a program has
 *   passed
 */
export function unchanged(names, browser) {
  const isCompiled = (file) => !file.startsWith('tools/') || file.endsWith('.rs');
  const files = filesUnder(...SHARED, 'tests').filter(isCompiled);
  const system = [process.platform, process.arch, ...GPUS.map((file) => fs.existsSync(file))];
  const version = ask(browser, ['--version']);
  const digests = new Map(
    names.map((name) => [name, hashOf(inputsOf(name, files), ...system, version).slice(0, DIGEST_CHARS)]),
  );
  const known = parse(fs.readFileSync(FILE, 'utf8'));
  return {
    isKnown: (name) => known.get(name) === digests.get(name),
    record: (name) => {
      known.set(name, digests.get(name));
      fs.writeFileSync(FILE, written(known));
    },
  };
}
