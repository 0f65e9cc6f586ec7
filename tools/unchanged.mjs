// Programs of tests that are not run again while all that they are made of is the same: their digests are written
// when they have passed (`npm test -- --record`), see docs/design/tests.md.

import fs from 'node:fs';
import path from 'node:path';
import { ask, filesUnder, hashOf, ROOT } from './common.mjs';

const FILE = path.join(ROOT, 'tests', 'fixtures', 'agreed', 'programs.txt');
const DIGEST_CHARS = 16;
/** What every program is compiled of: the crate, its tools, what tests share and read. */
const SHARED = ['Cargo.toml', 'Cargo.lock', '.cargo', 'build.rs', 'webdriver.json', 'shaders', 'src', 'tools'];
/** Devices of a GPU on Linux. Where one is, the tests run on another adapter than where these are missing. */
const GPUS = ['/dev/dri', '/dev/nvidia0', '/dev/kfd'];

/** Fixtures of tests that run elsewhere. */
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
  const files = filesUnder(...SHARED, 'tests').filter((file) => /^(?!tools\/).|\.rs$/.test(file));
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
