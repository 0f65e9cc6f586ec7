// The shaders that are not in the WebAssembly, as modules, without comments. Those of `webgguf/compute`:
// shaders/compute/*.wgsl with their imports, and the types of their `params` (js/compute/shaders.d.ts says what is in
// it). Those of operations that no model uses, which the WebAssembly asks for by name (js/tensor/shaders.d.ts). And
// those of shaders/rare/ with the grids of src/formats/grids/, which few models need (js/wasm/rare.d.ts), and
// shaders/device/, which few devices need (js/wasm/device.d.ts).

import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { filesUnder, isMain, ROOT, runMain, Stop } from './common.mjs';

const FOLDER = path.join(ROOT, 'shaders');
/** Where the modules are. */
export const SHADERS = path.join(ROOT, 'dist', 'compute', 'shaders.js');
const TENSOR_SHADERS = path.join(ROOT, 'dist', 'tensor', 'shaders.js');
const RARE = path.join(ROOT, 'dist', 'wasm', 'rare.js');
const DEVICE = path.join(ROOT, 'dist', 'wasm', 'device.js');

/** Folders of shaders that are kernels, with what stands before their names. */
const KERNELS = { model: '', 'rare/model': '', 'device/model': '', tensor: '', compute: 'compute/' };

/** A shader's name, as build.rs makes it: a kernel's is that of its file, what kernels import is `shared/name`. */
function nameOf(file) {
  const before = KERNELS[path.posix.relative('shaders', path.posix.dirname(file))] ?? 'shared/';
  return before + path.basename(file, '.wgsl');
}

/** Where each shader is, by name. */
export const shaderFiles = new Map(filesUnder('shaders').map((file) => [nameOf(file), file]));

/** A shader's text, by its name. */
export function shaderText(name) {
  const file = shaderFiles.get(name);
  if (!file) throw new Stop(`shaders/ has no ${name}`);
  return fs.readFileSync(path.join(ROOT, file), 'utf8');
}

/** The lines of a file without comments, indentation and empty lines: build.rs cuts the same. */
function stripped(name) {
  const text = shaderText(name);
  const lines = text.split('\n').map((line) => line.replace(/\/\/.*$/, '').trim());
  return lines.filter(Boolean);
}

/** A file with what it imports; `imports` names the files of imports that are not called like one. */
export function expand(name, imports = {}) {
  const imported = (from) => expand(`shared/${imports[from] ?? from}`, imports);
  return stripped(name)
    .map((line) => (line.startsWith('#import ') ? imported(line.slice(8).trim()) : line))
    .join('\n');
}

/** Fields of `struct Params` by name: 'u32', 'i32', 'f32', or a number of words that are given as they are. */
function paramsOf(name, code) {
  const body = /struct Params \{([^}]*)\}/.exec(code)?.[1];
  if (body === undefined) throw new Stop(`shaders/${name}.wgsl has no struct Params`);
  const fields = [...body.matchAll(/(\w+): (?:([uif]32)|array<vec4<u32>, (\d+)>),/g)];
  if (fields.length !== body.split(':').length - 1) throw new Stop(`shaders/${name}.wgsl: a field of Params is odd`);
  return Object.fromEntries(fields.map(([, field, type, count]) => [field, type ?? 4 * Number(count)]));
}

/** Every shader: its name in the module, and what the module says of it. */
export function computeShaders() {
  const files = fs.readdirSync(path.join(FOLDER, 'compute')).filter((file) => file.endsWith('.wgsl'));
  return files.sort().map((file) => {
    const label = `compute/${path.basename(file, '.wgsl')}`;
    const code = expand(label);
    const name = path.basename(label).replaceAll(/_(\w)/g, (_, letter) => letter.toUpperCase());
    return { name, shader: { label, code, params: paramsOf(label, code) } };
  });
}

/**
 * The files under `shaders/<folder>/`, which the WebAssembly of pages asks for by name, one after the other: see
 * src/kernels/shaders.rs.
 */
export function shadersUnder(folder) {
  const names = [...shaderFiles].filter(([, file]) => file.startsWith(`shaders/${folder}/`)).map(([name]) => name);
  return names.map((name) => [`#file ${name}`, ...stripped(name), ''].join('\n')).join('');
}

/** Functions that shaders of formulas have: js/compute/region-code.ts. */
const libraries = () => ({ math: expand('shared/math') });

/** Writes the modules. */
export function writeShaders() {
  const made = [...computeShaders().map(({ name, shader }) => [name, shader]), ...Object.entries(libraries())];
  const lines = made.map(([name, value]) => `export const ${name} = ${JSON.stringify(value)};\n`);
  fs.mkdirSync(path.dirname(SHADERS), { recursive: true });
  fs.writeFileSync(SHADERS, lines.join(''));
  fs.writeFileSync(DEVICE, `export const deviceShaders = ${JSON.stringify(shadersUnder('device'))};\n`);
  fs.writeFileSync(TENSOR_SHADERS, `export const tensorShaders = ${JSON.stringify(shadersUnder('tensor'))};\n`);
  const grids = Buffer.concat(filesUnder('src/formats/grids').map((file) => fs.readFileSync(path.join(ROOT, file))));
  const rare = { rareShaders: shadersUnder('rare'), grids: grids.toString('base64') };
  fs.writeFileSync(
    RARE,
    Object.entries(rare)
      .map(([name, value]) => `export const ${name} = ${JSON.stringify(value)};\n`)
      .join(''),
  );
}

if (isMain(import.meta.url)) {
  await runMain(async () => {
    writeShaders();
    for (const { name, shader } of computeShaders()) {
      const gzip = zlib.gzipSync(shader.code, { level: 9 }).length;
      console.log(
        `${name.padEnd(24)}${String(shader.code.length).padStart(6)} B  ${String(gzip).padStart(6)} B gzipped`,
      );
    }
  });
}
