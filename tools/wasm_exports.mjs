// Takes exports away from a WebAssembly module. Rust exports every `#[no_mangle]` function of every crate, also the C
// interface of one that is used from Rust; without the export, wasm-opt drops the code.

const EXPORT_SECTION = 7;
const HEADER = 8;

/** The module without the exports whose names fit `pattern`. */
export function withoutExports(module, pattern) {
  const parts = [module.subarray(0, HEADER)];
  let at = HEADER;
  while (at < module.length) {
    const [size, body] = readNumber(module, at + 1);
    const section = module.subarray(at, body + size);
    parts.push(module[at] === EXPORT_SECTION ? exportSection(module.subarray(body, body + size), pattern) : section);
    at = body + size;
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
  const content = Buffer.concat([number(kept.length), ...kept]);
  return Buffer.concat([Buffer.of(EXPORT_SECTION), number(content.length), content]);
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
