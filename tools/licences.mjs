// THIRD-PARTY.txt: the code of others that the package has, with its licences. The build writes it.
//
// The code of others is the crates in the WebAssembly modules (normal dependencies for wasm32; macros run at build
// time), the standard library of Rust, and tables. No npm package is in dist/.

import fs from 'node:fs';
import path from 'node:path';
import { must, programIn, ROOT, Stop } from './common.mjs';
import { rustEnv, TARGET } from './toolchain.mjs';

const FILE = path.join(ROOT, 'THIRD-PARTY.txt');
/** Folder of each crate that becomes a module, and that module. */
const MODULES = { '.': 'dist/wasm/webgguf_bg.wasm', grammar: 'dist/grammar/webgguf_grammar_bg.wasm' };
/** Licences that ask for no more than a notice. */
const PERMISSIVE = new Set('MIT Apache-2.0 Zlib ISC 0BSD BSD-2-Clause BSD-3-Clause Unlicense Unicode-3.0'.split(' '));
const LICENCE_FILE = /^(licen[cs]e|copying|unlicense|notice|copyright)/i;

const ownText = (name) => fs.readFileSync(path.join(ROOT, name), 'utf8').trim();

/** What is no crate of the registry. */
const others = (rustVersion) => [
  {
    title: `The Rust standard library with its dependencies (${rustVersion})`,
    licence: 'MIT OR Apache-2.0',
    repository: 'https://github.com/rust-lang/rust',
    places: Object.values(MODULES),
    texts: [ownText('LICENSE-APACHE')],
  },
  {
    title: 'Tables of the IQ formats, from ggml',
    licence: 'MIT',
    repository: 'https://github.com/ggml-org/llama.cpp',
    places: [MODULES['.']],
    texts: [ownText('LICENSE-MIT').replace(/^Copyright .*$/m, 'Copyright (c) 2023-2026 The ggml authors')],
  },
];

/** Writes THIRD-PARTY.txt. Expects that cargo has fetched the crates. */
export async function writeLicences({ bin, version }) {
  const crates = await shippedCrates(bin);
  fs.writeFileSync(FILE, describe([...others(version), ...crates]));
}

/** Whether a licence expression can be met by permissive licences: each of its parts, by one of its alternatives. */
export function isPermissive(expression) {
  const parts = expression.replaceAll('/', ' OR ').split(' AND ');
  return parts.every((part) =>
    part
      .replaceAll(/[()]/g, '')
      .split(' OR ')
      .some((name) => PERMISSIVE.has(name.trim())),
  );
}

async function shippedCrates(bin) {
  const found = new Map();
  for (const [folder, module] of Object.entries(MODULES)) {
    for (const crate of await cratesOf(bin, path.join(ROOT, folder))) {
      const title = `${crate.name} ${crate.version}`;
      const entry = found.get(title) ?? { title, ...crate, places: [], texts: textsOf(crate) };
      entry.places.push(module);
      found.set(title, entry);
    }
  }
  return [...found.values()].sort((a, b) => (a.title < b.title ? -1 : 1));
}

/** The crates of a module: `cargo tree` knows which, `cargo metadata` where they lie. */
async function cratesOf(bin, cwd) {
  const cargo = (...args) =>
    must(programIn(bin, 'cargo'), [...args, '--locked', '--no-default-features'], {
      cwd,
      env: rustEnv(bin),
      quiet: true,
    });
  const tree = ['tree', '--target', TARGET, '--edges', 'normal,no-proc-macro', '--prefix', 'none', '--format', '{p}'];
  const names = new Set((await cargo(...tree)).split('\n').map((line) => line.split(' ').slice(0, 2).join(' ')));
  const metadata = await cargo('metadata', '--quiet', '--format-version', '1', '--filter-platform', TARGET);
  const { packages } = JSON.parse(metadata.slice(metadata.indexOf('{"packages"')));
  return packages
    .filter(({ name, version, source }) => source && names.has(`${name} v${version}`))
    .map(({ name, version, license, repository, manifest_path: manifest }) => {
      if (!license || !isPermissive(license)) {
        throw new Stop(`the crate ${name} has the licence ${license}`, 'use another crate, or check the licence');
      }
      return { name, version, licence: license, repository, folder: path.dirname(manifest) };
    });
}

/** Takes the MIT licence of several; where a crate has no text, the Apache licence, which names no one. */
function textsOf({ name, licence, folder }) {
  const files = fs.readdirSync(folder).filter((file) => LICENCE_FILE.test(file));
  const hasMit = files.some((file) => /mit/i.test(file));
  const taken = hasMit ? files.filter((file) => /mit|unicode|notice|copyright/i.test(file)) : files;
  if (taken.length > 0) return taken.map((file) => fs.readFileSync(path.join(folder, file), 'utf8').trim());
  if (licence.includes('Apache-2.0')) return [ownText('LICENSE-APACHE')];
  throw new Stop(`the crate ${name} has no text of its licence`, 'add the text to tools/licences.mjs');
}

function describe(entries) {
  const list = entries.map(
    ({ title, licence, repository, places }) =>
      `${title}\n  licence: ${licence}\n  source: ${repository ?? 'crates.io'}\n  in: ${places.join(', ')}`,
  );
  const texts = new Map();
  for (const { title, texts: own } of entries) {
    for (const text of own) texts.set(text, [...(texts.get(text) ?? []), title]);
  }
  const line = '-'.repeat(80);
  const quoted = [...texts].map(([text, titles]) => `${line}\n${titles.join('\n')}\n${line}\n\n${text}\n`);
  return `webgguf contains code of others, under these licences.\n\n${list.join('\n\n')}\n\n\n${quoted.join('\n\n')}`;
}
