// Names of imports and exports of a WebAssembly module.

const IMPORT_SECTION = 2;
const EXPORT_SECTION = 7;
const HEADER = 8;

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

/** The module with another body of its section `id`. */
function withSection(module, id, change) {
  const parts = [module.subarray(0, HEADER)];
  let at = HEADER;
  while (at < module.length) {
    const [size, body] = readNumber(module, at + 1);
    const end = body + size;
    parts.push(module[at] === id ? sectionOf(id, change(module.subarray(body, end))) : module.subarray(at, end));
    at = end;
  }
  return Buffer.concat(parts);
}

function sectionOf(id, content) {
  return Buffer.concat([Buffer.of(id), number(content.length), content]);
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

/** An unsigned LEB128 number, and where it ends. */
function readNumber(bytes, at) {
  let value = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[at++];
    value += (byte & 127) * 2 ** shift;
    if (byte < 128) return [value, at];
  }
}

function number(value) {
  const bytes = [];
  do {
    bytes.push((value & 127) | (value > 127 ? 128 : 0));
    value >>>= 7;
  } while (value > 0);
  return Buffer.from(bytes);
}
