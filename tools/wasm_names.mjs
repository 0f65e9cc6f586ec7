// Names of imports and exports of a WebAssembly module.

import { EXPORT_SECTION, IMPORT_SECTION, number, readNumber, withSection } from './wasm_sections.mjs';

/**
 * The module without the exports whose names fit `pattern`: Rust exports every `#[no_mangle]` function of every crate,
 * also the C interface of one that is used from Rust; without the export, wasm-opt drops the code.
 */
export function withoutExports(module, pattern) {
  return withSection(module, EXPORT_SECTION, (body) => exportSection(body, pattern));
}

/**
 * The module and the script of wasm-bindgen, whose functions it imports, with short names for these: half of each name
 * is a hash, which no compression makes smaller.
 */
export function withShortImports(module, script) {
  const names = new Map();
  const shorten = (name) => {
    if (!name.startsWith('__wb')) return name; // a function of ours
    if (!names.has(name)) names.set(name, `i${names.size}`);
    return names.get(name);
  };
  const shortened = withSection(module, IMPORT_SECTION, (body) => importSection(body, shorten));
  return [shortened, script.replaceAll(/\b__wb\w+(?=: )/g, (name) => names.get(name) ?? name)];
}

function importSection(body, rename) {
  const [count, first] = readNumber(body, 0);
  const parts = [number(count)];
  for (let index = 0, at = first; index < count; index++) {
    const [moduleLength, moduleAt] = readNumber(body, at);
    const [length, name] = readNumber(body, moduleAt + moduleLength);
    const kind = name + length;
    if (body[kind] !== 0) throw new Error(`import ${index} is no function`);
    const [, end] = readNumber(body, kind + 1);
    const short = Buffer.from(rename(Buffer.from(body.subarray(name, kind)).toString()));
    parts.push(body.subarray(at, moduleAt + moduleLength), number(short.length), short, body.subarray(kind, end));
    at = end;
  }
  return Buffer.concat(parts);
}

function exportSection(body, pattern) {
  const [count, first] = readNumber(body, 0);
  const kept = [];
  for (let index = 0, at = first; index < count; index++) {
    const start = at;
    const [length, name] = readNumber(body, at);
    const [, end] = readNumber(body, name + length + 1); // past the kind
    at = end;
    const text = Buffer.from(body.subarray(name, name + length)).toString();
    if (!pattern.test(text)) kept.push(body.subarray(start, end));
  }
  return Buffer.concat([number(kept.length), ...kept]);
}
