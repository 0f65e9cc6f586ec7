// What the mutants of a shader file were last killed with, as one digest for each kernel whose cases kill them: the
// mutated file, the kernel's shader with all that it imports, what Rust says of the kernel, and its cases. Mutants
// whose digest stands in tests/fixtures/mutant_digests.json need not be killed again.

import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { filesUnder, readJson, ROOT } from '../../tools/common.mjs';
import { shaderFiles } from '../../tools/shaders.mjs';

const FILE = path.join(ROOT, 'tests', 'fixtures', 'mutant_digests.json');

const texts = new Map();

function textOf(file) {
  if (!texts.has(file)) texts.set(file, fs.readFileSync(path.join(ROOT, file), 'utf8'));
  return texts.get(file);
}

/** Text without comments and white space at the ends of lines: what does not change what a shader or case does. */
const code = (text) =>
  text
    .split('\n')
    .map((line) => line.replace(/\/\/.*$/, '').trim())
    .filter(Boolean)
    .join('\n');

/** Markers are comments, and say what the mutants are. */
const withMarkers = (text) => `${code(text)}\n${(text.match(/\/\/ mutant.*$/gm) ?? []).join('\n')}`;

const shader = (name) => shaderFiles.get(name);
const shared = [...shaderFiles.keys()].filter((name) => name.startsWith('shared/')).map((name) => path.basename(name));

/** The shared files that an import may stand for: one of that name, or those that variants put in its place. */
function meant(name) {
  if (shared.includes(name)) return [name];
  return shared.filter((file) => file.startsWith(`${name}_`));
}

/** A shader's files: its own, and all that it imports. */
function filesOf(kernel) {
  const found = new Set([shader(kernel)]);
  for (const file of found) {
    for (const [, name] of textOf(file).matchAll(/^#import (\w+)/gm)) {
      for (const other of meant(name)) found.add(shader(`shared/${other}`));
    }
  }
  return [...found];
}

const rust = ['src/kernels', 'src/harness', 'src/compute'].flatMap((folder) => filesUnder(folder));
const isCases = (file) => file.startsWith('src/harness') || path.basename(file).startsWith('cases');
const cases = rust.filter(isCases);

/** Rust files about a kernel: the one with its contract, and the cases beside it and those that use it. */
function casesOf(kernel) {
  const names = new RegExp(`(kernel_name: |\\bspec!?\\()"${kernel}"`);
  const contract = rust.find((file) => !isCases(file) && names.test(textOf(file)));
  if (!contract) return [];
  const folder = path.dirname(contract);
  const stem = path.basename(contract) === 'mod.rs' ? path.basename(folder) : path.basename(contract, '.rs');
  const uses = new RegExp(`kernels::(\\{[^}]*\\b)?${stem}\\b`);
  return [contract, ...cases.filter((file) => path.dirname(file) === folder || uses.test(textOf(file)))];
}

const known = new Map();

/** The digest of the mutants of `file` that cases of `kernel` kill. */
export function digestOf(file, kernel) {
  const key = `${file} ${kernel}`;
  if (!known.has(key)) known.set(key, computed(file, kernel));
  return known.get(key);
}

/** The order of digests: files that move to another folder keep it. */
const byName = (a, b) =>
  path.basename(a) < path.basename(b) || (path.basename(a) === path.basename(b) && a < b) ? -1 : 1;

function computed(file, kernel) {
  const hash = createHash('sha256').update(withMarkers(textOf(shader(file))));
  for (const of of [...filesOf(kernel), ...casesOf(kernel)].sort(byName)) {
    hash.update(`\0${path.basename(of)}\0${code(textOf(of))}`);
  }
  return hash.digest('hex').slice(0, 16);
}

/** The digest, had the file `changed` a line more. */
export function digestWith(changed, line, file, kernel) {
  const before = textOf(changed);
  texts.set(changed, `${before}\n${line}\n`);
  try {
    return computed(file, kernel);
  } finally {
    texts.set(changed, before);
  }
}

let kept = readJson(FILE, {});

/** Whether the mutants of `file` were killed by `kernel` as both are now. */
export const areKilled = (file, kernel) => kept[file]?.[kernel] === digestOf(file, kernel);

/** Keeps the digests of those whose mutants were all killed, by the run that saw it; forgets those that are no more. */
export function keepDigests(groups, killed) {
  const now = {};
  for (const { file, kernel } of groups) {
    const isKilled = killed.some((of) => of.file === file && of.kernel === kernel);
    const digest = isKilled ? digestOf(file, kernel) : kept[file]?.[kernel];
    if (digest) now[file] = { ...now[file], [kernel]: digest };
  }
  kept = now;
  fs.writeFileSync(FILE, `${JSON.stringify(now, null, 2)}\n`);
}
